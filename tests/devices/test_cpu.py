"""The CPU device against the reference device: the same numbers in any precision and shape."""

from dataclasses import replace

import numpy as np
import pytest

from pinnsolve.devices.cpu import CpuDevice, kernel
from pinnsolve.devices.cpu.device import CpuExecutable
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import DeviceError
from pinnsolve.nets import MLP
from pinnsolve.pipeline import build, plan, represent
from tests.devices.gallery import case, points_of, relative, system_of
from tests.devices.shapes import (
    five_dimensions_block,
    fixed_block,
    laplacian_block,
    point_block,
    together,
)

QUANTITIES = {
    "residuals": lambda o, theta, v, w: o.residuals(theta),
    "loss": lambda o, theta, v, w: np.array([o.loss_gradient(theta)[0]]),
    "gradient": lambda o, theta, v, w: o.loss_gradient(theta)[1],
    "jacobian": lambda o, theta, v, w: o.jacobian(theta),
    "J'J": lambda o, theta, v, w: o.normal_equations(theta).matrix,
    "J'r": lambda o, theta, v, w: o.normal_equations(theta).vector,
    "r'r": lambda o, theta, v, w: np.array([o.normal_equations(theta).loss]),
    "diagonal": lambda o, theta, v, w: o.normal_diagonal(theta),
    "panel": lambda o, theta, v, w: o.normal_panels(theta, [(1, 4)])[0],
    "J v": lambda o, theta, v, w: o.jvp(theta, v),
    "J'w": lambda o, theta, v, w: o.vjp(theta, w),
}


def executable_of(name, threads=1, precision="float64"):
    """Programs are compiled once a process, whatever asks for them."""
    problem = case(name)
    return CpuDevice(threads, precision).compile(problem.blocks, problem.layout)


def everything(objective, theta):
    rng = np.random.default_rng(4)
    v, w = rng.normal(size=objective.size), rng.normal(size=objective.rows)
    return {name: ask(objective, theta, v, w) for name, ask in QUANTITIES.items()}


def compare(executable, points, theta, tolerance):
    """Each quantity at its own size, all of them."""
    reference = ReferenceDevice().compile(executable.blocks, executable.layout).bind(points)
    found, expected = everything(executable.bind(points), theta), everything(reference, theta)
    errors = {name: relative(found[name], expected[name]) for name in QUANTITIES}
    assert all(error <= tolerance for error in errors.values()), errors
    assert all(value.dtype == np.float64 for value in found.values())


# --- the gallery: second order, third order and periodic, three fields --------------------------


@pytest.mark.parametrize("name", ["burgers", "kdv", "taylor_green"])
def test_double_precision(name):
    compare(executable_of(name), case(name).points, case(name).theta(), 1e-12)


def test_single_precision():
    compare(executable_of("burgers", precision="float32"), case("burgers").points,
            case("burgers").theta(), 1e-4)  # fmt: skip


@pytest.mark.parametrize("count", [1, 7, 8, 64, 65, 700])
def test_any_number_of_points(count):
    """Fewer than a tile, whole tiles, several tiles, and what is left over; nothing is compiled."""
    executable = executable_of("burgers")
    compare(executable, points_of(case("burgers").system, count), case("burgers").theta(3), 1e-12)


def test_blocks_of_different_sizes():
    points = list(points_of(case("burgers").system, 5))
    points[0] = points_of(case("burgers").system, 2300)[0]
    points[2] = points_of(case("burgers").system, 1)[2]
    compare(executable_of("burgers"), points, case("burgers").theta(5), 1e-12)


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_give_the_numbers_of_one(threads):
    problem, points = case("burgers"), points_of(case("burgers").system, 900)
    theta = problem.theta()
    one, more = (everything(executable_of("burgers", n).bind(points), theta) for n in (1, threads))
    for name in QUANTITIES:
        assert relative(more[name], one[name]) <= 1e-12, name


@pytest.mark.parametrize("threads", [2, 5])
def test_the_same_call_gives_the_same_bits(threads):
    """Threads share no sums: each has its own, added in a fixed order."""
    objective = executable_of("burgers", threads).bind(points_of(case("burgers").system, 900))
    theta = case("burgers").theta()
    first = everything(objective, theta)
    for _ in range(3):
        again = everything(objective, theta)
        assert all(np.array_equal(first[name], again[name]) for name in QUANTITIES)


def test_more_threads_than_points():
    compare(executable_of("burgers", 5), points_of(case("burgers").system, 3),
            case("burgers").theta(), 1e-12)  # fmt: skip


def test_results_belong_to_the_caller():
    objective = executable_of("burgers").bind(case("burgers").points)
    theta = case("burgers").theta()
    kept = everything(objective, theta)
    copies = {name: value.copy() for name, value in kept.items()}
    everything(objective, theta + 1)
    assert all(np.array_equal(kept[name], copies[name]) for name in QUANTITIES)


def test_values_that_are_not_numbers_are_passed_on():
    objective = executable_of("burgers").bind(case("burgers").points)
    theta = np.full(objective.size, np.nan)
    assert np.isnan(objective.residuals(theta)).all()
    loss, gradient = objective.loss_gradient(theta)
    assert np.isnan(loss)
    assert np.isnan(gradient).any()
    assert np.isfinite(objective.residuals(case("burgers").theta())).all()


# --- shapes that the gallery does not have -------------------------------------------------------


@pytest.fixture(scope="module")
def shapes():
    """Two networks of five inputs and six outputs, one point alone, and nothing to train."""
    layout, blocks, points = together(five_dimensions_block(), point_block(), fixed_block())
    return CpuDevice(threads=2).compile(blocks, layout), points


def test_dimensions_networks_and_points(shapes):
    executable, points = shapes
    rng = np.random.default_rng(0)
    theta = executable.layout.initialize(rng) + 0.1 * rng.normal(size=executable.layout.size)
    compare(executable, points, theta, 1e-12)


def test_a_row_that_no_parameter_moves_is_zero_in_the_jacobian(shapes):
    executable, points = shapes
    objective = executable.bind(points)
    theta = executable.layout.initialize(np.random.default_rng(1))
    v = np.ones(objective.size)
    assert np.array_equal(objective.jvp(theta, v)[-18:], np.zeros(18))
    assert np.array_equal(objective.jacobian(theta)[-18:], np.zeros((18, objective.size)))


# --- bundles of directions -----------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [5, 100])
def test_bundles(dimension):
    """Of fewer and of more directions than the layers are wide; no tile is full at the end."""
    layout, blocks, points = together(*laplacian_block(dimension, width=20, count=37))
    executable = CpuDevice(threads=2).compile(blocks, layout)
    compare(executable, points, layout.initialize(np.random.default_rng(1)), 1e-11)


def test_bundles_in_single_precision():
    layout, blocks, points = together(*laplacian_block(5, width=20))
    executable = CpuDevice(threads=1, precision="float32").compile(blocks, layout)
    theta = layout.initialize(np.random.default_rng(1))
    found, expected = (
        e.bind(points) for e in (executable, ReferenceDevice().compile(blocks, layout))
    )
    assert relative(found.residuals(theta), expected.residuals(theta)) < 1e-4
    assert relative(found.loss_gradient(theta)[1], expected.loss_gradient(theta)[1]) < 1e-4


@pytest.mark.parametrize("program", ["residuals", "gradient", "transposed", "tangent", "jacobian"])
def test_dimensions_are_no_part_of_a_program(monkeypatch, program):
    """Nor are directions and widths that are sums of fives and sixes: 10 and 1,000 dimensions run
    the same file."""
    captured = []

    def record(texts, dtype, folder):
        captured.append(tuple(texts))
        return Stub(texts)

    monkeypatch.setattr(kernel, "program", record)
    for dimension, width in ((10, 10), (100, 30), (1000, 20)):
        layout, blocks, _ = together(*laplacian_block(dimension, width))
        CpuDevice(threads=1).compile(blocks, layout).program(program)
    assert captured[0] == captured[1] == captured[2]


def test_memory_is_linear_in_the_number_of_directions():
    """Exactly, as long as they are fewer than the features of the layer they enter; the arena,
    where buffers share memory, is packed a little better or worse."""

    def rows(dimension):
        layout, blocks, _ = together(*laplacian_block(dimension, width=400))
        kernels = CpuDevice(threads=1).compile(blocks, layout).program("gradient")
        return np.array([[sum(k.lowered.buffers), k.arena] for k in kernels]).T

    first, second, third = (rows(d) for d in (100, 200, 300))
    assert np.array_equal(third[0] - second[0], second[0] - first[0])
    assert np.allclose(third[1] - second[1], second[1] - first[1], rtol=0.01)
    assert np.all(third < 4 * first)


# --- compiling -----------------------------------------------------------------------------------


class Stub:
    """In place of compiled code: only the texts are looked at."""

    def __init__(self, texts):
        self.addresses = dict.fromkeys(texts, 0)


def texts_of(monkeypatch, name, network, program):
    """The distinct loop texts of one program, before any is compiled."""
    captured = []

    def record(texts, dtype, folder):
        captured.append(tuple(texts))
        return Stub(texts)

    monkeypatch.setattr(kernel, "program", record)
    system = system_of(name)
    model = represent(system, network(system))
    blocks = build(system, plan(system, model), model)
    CpuDevice(threads=1).compile(blocks, model.layout).program(program)
    (texts,) = captured
    return texts


@pytest.mark.parametrize("program", ["residuals", "gradient", "transposed", "tangent", "jacobian"])
@pytest.mark.parametrize("name", ["burgers", "taylor_green"])
def test_depth_and_width_are_no_part_of_a_program(monkeypatch, name, program):
    """Networks of any depth and width run the same file."""

    def network(depth, width):
        return lambda system: MLP(system.dimension, len(system.fields), width, depth)

    three, eight, wide = (
        texts_of(monkeypatch, name, network(*size), program) for size in ((3, 20), (8, 20), (3, 50))
    )
    assert three == eight == wide


def test_coefficients_are_no_part_of_a_program(monkeypatch):
    import pinnsolve as ps
    from pinnsolve.pde.system import normalize

    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    found = []
    for nu, high in ((0.01, 1), (0.3217, 1)):
        problem = ps.Problem(
            u.dt + u * u.dx - nu * u.dxx, u(x, 0) - nu * x**2, u(0, t), u(high, t) - nu,
            domain={x: (0, high), t: (0, 1)},
        )  # fmt: skip
        monkeypatch.setattr("tests.devices.test_cpu.system_of", lambda _, p=problem: normalize(p))
        found.append(texts_of(monkeypatch, "", lambda s: MLP(2, 1, 8, 2), "gradient"))
    assert found[0] == found[1]


def test_nothing_is_compiled_again(monkeypatch):
    """Other points, weights, parameters or coefficients are inputs of what is compiled already."""
    executable = executable_of("burgers")
    points = case("burgers").points
    everything(executable.bind(points), case("burgers").theta())
    seconds, kernels = executable.compile_seconds, dict(executable.kernels)
    assert seconds > 0

    def refuse(*arguments):
        raise AssertionError("compiled again")

    monkeypatch.setattr(kernel, "program", refuse)
    heavier = [replace(p, scale=2 * p.scale) for p in points_of(case("burgers").system, 40, seed=5)]
    everything(executable.bind(heavier), case("burgers").theta(9))
    assert executable.compile_seconds == seconds
    assert executable.kernels == kernels


def test_a_second_executable_loads_the_functions_of_the_first():
    one, two = executable_of("burgers"), executable_of("burgers", 2)
    assert isinstance(one, CpuExecutable)
    first, second = (e.program("residuals")[0].functions for e in (one, two))
    assert first == second


# --- where the time goes -------------------------------------------------------------------------


def test_every_instruction_is_timed():
    layout, blocks, points = together(*laplacian_block(5, width=20), point_block())
    objective = CpuDevice(threads=1).compile(blocks, layout).bind(points)
    theta = layout.initialize(np.random.default_rng(1))
    before = objective.loss_gradient(theta)[1]
    timings = objective.profile(theta, repeats=1)
    calls = {timing.label: timing.calls for timing in timings}
    # Of the two blocks of bundles: 13 points are two tiles of 8, or one of 16.
    tiles = sum(b.tiles for b in objective.bound["gradient"][:2])
    assert calls["product 20x20, 5 blocks"] == 2 * tiles  # forward, and back
    assert calls["contraction 20x20, 5 blocks"] == tiles
    assert sum(calls.values()) == sum(b.tiles * len(b.table) for b in objective.bound["gradient"])
    assert all(timing.seconds > 0 for timing in timings)
    assert timings == sorted(timings, key=lambda timing: -timing.seconds)
    assert np.array_equal(objective.loss_gradient(theta)[1], before)
    for program in ("residuals", "tangent", "jacobian"):
        assert objective.profile(theta, program, repeats=1)
    with pytest.raises(DeviceError, match="there is no program 'hessian': residuals, gradient"):
        objective.profile(theta, "hessian")


# --- products and precisions ------------------------------------------------------------------


@pytest.mark.parametrize("width", [5, 7, 9, 13, 19, 23, 130])
def test_any_width(width):
    """Widths that blocks of five and six features fill, that they do not, and that are so wide
    that weights are transposed first."""
    system = system_of("burgers")
    model = represent(system, MLP(2, 1, width=width, depth=2))
    plans = plan(system, model)
    blocks = build(system, plans, model)[:1]
    points, theta = points_of(system, 70)[:1], model.layout.initialize(np.random.default_rng(0))
    found, expected = (
        device.compile(blocks, model.layout).bind(points)
        for device in (CpuDevice(threads=1), ReferenceDevice())
    )
    assert relative(found.residuals(theta), expected.residuals(theta)) <= 1e-12
    assert relative(found.loss_gradient(theta)[1], expected.loss_gradient(theta)[1]) <= 1e-12


def test_mixed_precision_sums_in_double():
    """Values at points are those of single precision, and their sums add no error of it."""
    points, theta = points_of(case("burgers").system, 40_000), case("burgers").theta()
    single, mixed = (
        executable_of("burgers", precision=p).bind(points) for p in ("float32", "mixed")
    )
    errors = []
    for seed in range(6):
        rows = mixed.residuals(case("burgers").theta(seed))
        assert np.array_equal(rows, single.residuals(case("burgers").theta(seed)))
        exact = float(np.sum(np.square(rows)))
        losses = [o.loss_gradient(case("burgers").theta(seed))[0] for o in (mixed, single)]
        errors.append([abs(loss - exact) / exact for loss in losses])
    worst = np.max(errors, axis=0)
    assert worst[0] < 3e-8 < worst[1]
    reference = ReferenceDevice().compile(case("burgers").blocks, case("burgers").layout)
    expected = reference.bind(points).loss_gradient(theta)[1]
    assert relative(mixed.loss_gradient(theta)[1], expected) < 1e-5
