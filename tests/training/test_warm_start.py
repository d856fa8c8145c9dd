"""Runs that start from another run's solution."""

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.errors import FileError, NetworkError, PinnsolveError

(t,) = ps.coordinates("t")
u = ps.field("u", t)
NETWORK = ps.MLP(1, 1, width=6, depth=1)
SETTINGS = {"network": NETWORK, "device": "reference", "progress": False}


def decay(rate: float, end: float = 1.0) -> ps.Problem:
    return ps.Problem(u.dt + rate * u, u(0) - 1, domain={t: (0, end)})


@pytest.fixture(scope="module")
def slow() -> ps.Solution:
    return decay(1.0).solve(steps=30, **SETTINGS)


def test_a_run_starts_where_another_ended(slow: ps.Solution) -> None:
    again = decay(1.0).solve(steps=1, start=slow, **SETTINGS)
    assert again.history[0].held_out == slow.kept.held_out
    near = decay(1.05).solve(steps=1, start=slow, **SETTINGS)
    fresh = decay(1.05).solve(steps=1, **SETTINGS)
    assert near.history[0].held_out < 0.1 * fresh.history[0].held_out


def test_the_network_sees_scaled_coordinates_so_that_domains_may_differ(slow: ps.Solution) -> None:
    """exp(-t) on [0, 1] is exp(-t / 2) on [0, 2] to the network."""
    stretched = decay(0.5, end=2.0).solve(steps=1, start=slow, **SETTINGS)
    places = np.linspace(0, 2, 5)
    assert stretched.u(places) == pytest.approx(np.exp(-places / 2), abs=1e-4)
    assert stretched.history[0].held_out < 1e-3


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (ps.MLP(1, 1, width=7, depth=1), r"cells.0.weight has shape \(1, 6\) there and \(1, 7\)"),
        (ps.MLP(1, 1, width=6, depth=2), r"cells.1.weight has shape \(6, 1\) there and \(6, 6\)"),
    ],
)
def test_another_network_is_refused(slow: ps.Solution, network: ps.MLP, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        decay(1.0).solve(start=slow, **{**SETTINGS, "network": network})


def test_names_that_differ_are_told(slow: ps.Solution) -> None:
    problem = decay(1.0)
    factorized = ps.MLP(1, 1, width=6, depth=1, dense=ps.nets.FactorizedDense)
    with pytest.raises(NetworkError, match="it has no parameter"):
        problem.solve(start=slow, **{**SETTINGS, "network": factorized})
    with pytest.raises(PinnsolveError, match="takes a Solution, not dict"):
        problem.solve(start=slow.weights, **SETTINGS)


def test_a_checkpoint_knows_its_start(slow: ps.Solution, tmp_path) -> None:
    path = tmp_path / "run.h5"
    decay(2.0).solve(steps=3, checkpoint=path, start=slow, **SETTINGS)
    assert decay(2.0).solve(steps=4, checkpoint=path, start=slow, **SETTINGS).steps == 4
    with pytest.raises(FileError, match="another run: start is"):
        decay(2.0).solve(steps=4, checkpoint=path, **SETTINGS)


def test_another_activation_is_refused(slow: ps.Solution) -> None:
    waves = ps.MLP(1, 1, width=6, depth=1, activation=ps.ops.sin)
    with pytest.raises(
        NetworkError, match="tanh, 19 parameters there and MLP 1-6-1, sin, 19 parameters here"
    ):
        decay(1.0).solve(start=slow, **{**SETTINGS, "network": waves})
