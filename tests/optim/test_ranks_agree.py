"""One process and several take the same steps, as far as the method lets any two runs do so."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pinnsolve import optim
from pinnsolve.devices.communication import Serial
from pinnsolve.devices.sharded import ShardedExecutable
from pinnsolve.sampling import draws, weights
from pinnsolve.sampling.weighting import AbstractWeights
from tests.devices.ranks import on_ranks
from tests.mpi import MPIEXEC, launch
from tests.optim import fifty_steps
from tests.optim.fifty_steps import (
    ALIKE,
    DRAWS,
    EVERY,
    RUNS,
    SENSITIVE,
    STEADY,
    WEIGHTS,
    Task,
    compare_trained,
    difference,
    exact,
    run,
    task,
    trained,
)

CASES = [
    pytest.param(name, size, marks=[pytest.mark.slow] * (size == 2 or name in ALIKE))
    for name in STEADY
    for size in (2, 3)
]
ALL = (*STEADY, *RUNS)
FEW = ("L-BFGS", "Gauss-Newton, QR", "RAD")
LONG = ("Gauss-Newton, CG to a tolerance", "NysNewtonCG, hardly damped")  # many calls of 12 lanes
ALL_EXACT = (*(name for name in EVERY if name not in LONG), *RUNS)


def alone(known: Task, optimizer, start):
    return run(optimizer, known.executable.bind(known.points), known.fields, start)


def together(known: Task, optimizer, size):
    """Of each rank."""
    blocks, inner = known.executable.blocks, known.executable

    def on_rank(communicator):
        objective = ShardedExecutable(blocks, inner, communicator).bind(known.points)
        return run(optimizer, objective, known.fields, known.start)

    return on_ranks(size, on_rank)


@pytest.mark.parametrize(("name", "size"), CASES)
def test_ranks_agree_after_fifty_steps(name, size):
    where, optimizer = STEADY[name]
    known = task(*where)
    with known.executable.session():
        expected, found = alone(known, optimizer, known.start), together(known, optimizer, size)
    assert difference(expected, found[0]) <= 1e-10
    for other in found[1:]:
        assert other[0] == found[0][0]
        assert np.array_equal(other[1], found[0][1])


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("name", SENSITIVE)
def test_ranks_differ_no_more_than_two_runs_of_one_process(name, size):
    """Runs of one process from starts that differ in the last bit of about half of their numbers:
    these grow apart by more than 1e-10, and ranks are among them."""
    where, optimizer = SENSITIVE[name]
    known, rng = task(*where), np.random.default_rng(1)
    with known.executable.session():
        expected = alone(known, optimizer, known.start)
        grown = []
        for _ in range(4):
            turned = np.where(rng.random(known.start.size) < 0.5, np.inf, known.start)
            grown.append(
                difference(expected, alone(known, optimizer, np.nextafter(known.start, turned)))
            )
        found = together(known, optimizer, size)
    assert max(grown) > 1e-10
    assert difference(expected, found[0]) <= 30 * max(grown)
    assert all(np.array_equal(other[1], found[0][1]) for other in found[1:])


@pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec is not installed")
@pytest.mark.parametrize(
    ("ranks", "names"),
    [
        (2, FEW),
        *(pytest.param(1 + k % 3, ALL[k // 3 :: 4], marks=pytest.mark.slow) for k in range(12)),
    ],
)
def test_processes_of_mpi_agree_with_one(ranks, names):
    """Draws and weights, too, which look at the residuals of all."""
    done = launch(ranks, fifty_steps.__file__, ";".join(names), PINNSOLVE_THREADS="1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() == set(names)
    for name, result in found.items():
        if name in RUNS:
            assert compare_trained(trained(name, "serial"), result) <= 1e-10, name
            continue
        where, optimizer = STEADY[name]
        known = task(*where)
        with known.executable.session():
            expected = alone(known, optimizer, known.start)
        assert difference(expected, (result["loss"], np.array(result["fields"]))) <= 1e-10, name


@pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec is not installed")
@pytest.mark.parametrize(
    ("ranks", "names"),
    [
        (2, ("SOAP", "RAR")),  # what makes the most of rounding
        (3, ("SSBFGS", "Gauss-Newton, hardly damped")),
        *(
            pytest.param(ranks, ALL_EXACT[k::12], marks=pytest.mark.slow)
            for k in range(12)
            for ranks in (1, 2, 3)
        ),
    ],
)
def test_with_lanes_processes_of_mpi_agree_with_one_to_the_last_bit(ranks, names):
    """And one thread with two."""
    done = launch(ranks, fifty_steps.__file__, ";".join(names), "lanes", PINNSOLVE_THREADS="1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.keys() == set(names)
    for name, result in found.items():
        if name in RUNS:
            assert result == trained(name, "serial", reproducible=True, threads=2), name
        else:
            assert result == [*exact(name, Serial(), threads=2)], name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in ("RAD", "gradients", "kernel")))
        for name in RUNS
    ],
)
def test_draws_and_weights_have_the_same_bits_on_one_thread_and_on_two(name):
    """Which they do not have without lanes."""
    one, two = (trained(name, "serial", reproducible=True, threads=k) for k in (1, 2))
    assert one == two
    if name == "RAD":
        assert trained(name, "serial") != trained(name, "serial", threads=2)


@pytest.mark.parametrize(
    ("module", "base", "known"),
    [
        (draws, draws.AbstractDraw, [*DRAWS.values()]),
        (weights, AbstractWeights, [*WEIGHTS.values(), weights.FixedWeights({})]),
    ],
)
def test_every_draw_and_every_strategy_of_weights_is_among_them(module, base, known):
    kinds = {
        kind
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, base) and kind is not base
    }
    assert kinds == {type(one) for one in known}


def test_every_optimizer_is_among_them():
    kinds = {
        kind
        for name in optim.__all__
        if isinstance(kind := getattr(optim, name), type)
        and issubclass(kind, optim.AbstractOptimizer)
        and not name.startswith("Abstract")
    }
    assert kinds - {type(optimizer) for _, optimizer in EVERY.values()} == {
        optim.Chain,  # of others
        optim.Placed,
    }
