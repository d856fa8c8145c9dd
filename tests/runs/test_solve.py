"""The training loop on small problems with known answers."""

import subprocess
import sys

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.errors import FileError, NetworkError, PinnsolveError
from tests.heat import EXACT, HEAT

SMALL = {"network": ps.MLP(2, 1, width=8, depth=2), "progress": False, "exact": "never"}


@pytest.fixture(scope="module")
def heat() -> ps.Solution:
    return HEAT.solve(steps=60, **SMALL)


def test_a_small_network_solves_the_heat_equation(heat: ps.Solution) -> None:
    assert heat.error(EXACT)["u"] < 1e-4
    assert heat.stop_reason == "60 steps done"
    assert max(heat.residuals().values()) < 1e-2


def test_derivatives_are_those_of_the_solution(heat: ps.Solution) -> None:
    points, times = np.linspace(0.1, 0.9, 7), 0.4
    h = 1e-5
    difference = (heat.u(points + h, times) - heat.u(points - h, times)) / (2 * h)
    assert heat.u.dx(points, times) == pytest.approx(difference, rel=1e-6, abs=1e-8)


def test_the_same_seed_gives_the_same_numbers(heat: ps.Solution) -> None:
    again = HEAT.solve(steps=60, **SMALL)
    other = HEAT.solve(steps=3, seed=1, **SMALL)
    assert np.array_equal(again.u(0.3, np.linspace(0, 1, 5)), heat.u(0.3, np.linspace(0, 1, 5)))
    assert again.history[0].loss != other.history[0].loss


@pytest.mark.parametrize(
    ("optimizer", "threads", "tolerance"),
    [(ps.LevenbergMarquardt(), 2, 1e-6), (ps.Adam(), 3, 1e-9), (ps.Adam(), 40, 1e-9)],
)
def test_the_same_threads_give_the_same_bits_and_others_the_same_numbers(
    optimizer, threads: int, tolerance: float
) -> None:
    """More than there are cores, or tiles, too. Twenty steps amplify rounding a little."""
    settings = {"steps": 20, "optimizer": optimizer, **SMALL}
    one, first, second = (HEAT.solve(threads=k, **settings) for k in (1, threads, threads))
    assert [r.loss for r in first.history] == [r.loss for r in second.history]
    assert np.array_equal(first.u(0.3, 0.7), second.u(0.3, 0.7))
    assert first.history[-1].loss == pytest.approx(one.history[-1].loss, rel=tolerance)


def test_looks_are_by_steps_and_at_every_change_of_stage() -> None:
    """And where points are drawn anew, here after 20 steps of LM; never by the clock."""
    chain = ps.Adam(steps=130) >> ps.Adam(steps=7) >> ps.LevenbergMarquardt(steps=25)
    chain = chain >> ps.SSBroyden(steps=3)
    solution = HEAT.solve(optimizer=chain, **SMALL)
    stages = [(r.step, r.stage) for r in solution.history]
    levenberg = "LevenbergMarquardt"
    assert stages == [
        (0, "Adam"), (100, "Adam"), (137, levenberg), (140, levenberg), (150, levenberg),
        (157, levenberg), (160, levenberg), (162, "SSBroyden"), (165, "SSBroyden"),
    ]  # fmt: skip
    assert solution.optimizer == "Adam >> LevenbergMarquardt >> SSBroyden"


def test_devices_train_alike() -> None:
    cpu = HEAT.solve(steps=6, threads=1, **SMALL)
    reference = HEAT.solve(steps=6, device="reference", **SMALL)
    assert cpu.history[-1].loss == pytest.approx(reference.history[-1].loss, rel=1e-5)


def test_float32_reaches_what_float32_can() -> None:
    assert HEAT.solve(steps=40, precision="float32", **SMALL).error(EXACT)["u"] < 1e-2


def test_first_order_then_quasi_newton() -> None:
    chain = ps.Adam(steps=200) >> ps.SSBroyden(steps=400)
    solution = HEAT.solve(optimizer=chain, **SMALL)
    assert solution.optimizer == "Adam >> SSBroyden"
    assert solution.error(EXACT)["u"] < 1e-3


def test_interruption_returns_the_best_so_far() -> None:
    def stop(record) -> None:
        if record.step >= 20:
            raise KeyboardInterrupt

    solution = HEAT.solve(callback=stop, **SMALL)
    assert solution.stop_reason == "interrupted"
    assert solution.steps == 20
    assert solution.kept is not None
    assert solution.kept.held_out < solution.history[0].held_out


def test_limits_stop_with_their_reason() -> None:
    assert HEAT.solve(loss=1e-2, **SMALL).stop_reason == "the loss is below 0.01"
    solution = HEAT.solve(seconds=0.2, **SMALL)
    assert solution.stop_reason == "0.2 s of training done"
    first = HEAT.solve(
        steps=30, optimizer=ps.Adam(steps=5) >> ps.LevenbergMarquardt(steps=4), **SMALL
    )
    assert first.steps == 9
    assert "4 steps" in first.stop_reason


def test_a_weight_acts() -> None:
    plain = HEAT.solve(steps=1, **SMALL)
    heavy = HEAT.solve(steps=1, weights={"u(x, 0)": 1000.0}, **SMALL)
    name = plain.residual_names.index("u(x, 0)")
    ratio = heavy.history[0].losses[name] / plain.history[0].losses[name]
    assert ratio == pytest.approx(10)  # initial conditions weigh 100 by default


def test_saved_and_loaded_in_a_new_process(heat: ps.Solution, tmp_path) -> None:
    path = tmp_path / "heat.h5"
    heat.save(path)
    code = (
        "import sys, numpy as np, pinnsolve as ps\n"
        "s = ps.load(sys.argv[1])\n"
        "X = np.linspace(0, 1, 11)\n"
        "sys.stdout.write(np.concatenate([s.u(X, 0.3), s.u.dxxt(X, 0.7)]).tobytes().hex())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    points = np.linspace(0, 1, 11)
    values = np.concatenate([heat.u(points, 0.3), heat.u.dxxt(points, 0.7)])
    assert done.stdout == values.tobytes().hex()


def test_a_killed_run_resumes_exactly(tmp_path) -> None:
    path = tmp_path / "run.h5"
    whole = HEAT.solve(steps=45, **SMALL)
    HEAT.solve(steps=25, checkpoint=path, **SMALL)
    resumed = HEAT.solve(steps=45, checkpoint=path, **SMALL)
    assert resumed.steps == 45
    assert [r.loss for r in resumed.history if r.step > 25] == [
        r.loss for r in whole.history if r.step > 25
    ]
    assert np.array_equal(resumed.u(0.3, 0.7), whole.u(0.3, 0.7))
    with pytest.raises(FileError, match="another run: seed is 0 there and 1 here"):
        HEAT.solve(seed=1, checkpoint=path, **SMALL)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": {"ux": 1.0}}, "weights are given for ux; the residuals are"),
        ({"seconds": -1}, "seconds must be positive"),
        ({"device": "gpu"}, "there is no device 'gpu'; choose 'cpu', 'reference'"),
        ({"precision": "half"}, "precision must be float64, float32, mixed, not .half."),
        ({"threads": 0}, "threads must be a whole number of at least 1, not 0; leave it out"),
        ({"threads": 1.5}, "threads must be a whole number of at least 1, not 1.5"),
    ],
)
def test_arguments_that_make_no_sense(arguments: dict, message: str) -> None:
    with pytest.raises(PinnsolveError, match=message):
        HEAT.solve(progress=False, **arguments)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (ps.MLP(3, 1), "a Dense layer of 3 inputs was given 2 columns"),
        (ps.MLP(2, 2), "the network gives values of shape .n, 2., but stands for 1 field"),
        ({"v": ps.MLP(2, 1)}, "a network is given for v, but the problem's fields are u"),
    ],
)
def test_networks_that_do_not_fit(network, message: str) -> None:
    with pytest.raises(NetworkError, match=message):
        HEAT.solve(network=network, progress=False)


def test_a_network_with_a_kink_is_refused_for_second_order() -> None:
    network = ps.MLP(2, 1, activation=ps.ops.relu)
    with pytest.raises(NetworkError) as caught:
        HEAT.solve(network=network, progress=False)
    assert "order 2" in str(caught.value)
    assert "u.dxx" in str(caught.value)
    assert "tanh" in str(caught.value)


def test_two_fields_two_networks() -> None:
    (s,) = ps.coordinates("s")
    a, b = ps.fields("a b", s)
    problem = ps.Problem(a.ds - b, b.ds + a, a(0), b(0) - 1, domain={s: (0, 2)})
    networks = {a: ps.MLP(1, 1, width=6, depth=1), "b": ps.MLP(1, 1, width=6, depth=1)}
    solution = problem.solve(network=networks, steps=60, progress=False)
    assert solution.a(1.5) == pytest.approx(np.sin(1.5), abs=1e-5)
    assert solution.b(1.5) == pytest.approx(np.cos(1.5), abs=1e-5)
