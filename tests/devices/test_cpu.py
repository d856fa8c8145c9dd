"""The CPU device against the reference device: the same numbers in any precision and shape."""

from dataclasses import replace

import numpy as np
import pytest

from pinnsolve.devices.base import BlockPoints, ResidualBlock
from pinnsolve.devices.cpu import CpuDevice, jit, kernel
from pinnsolve.devices.cpu.device import CpuExecutable
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Layout, Parameter
from pinnsolve.errors import DeviceError
from pinnsolve.nets import MLP
from pinnsolve.pipeline import build, plan, represent
from tests.devices.gallery import case, hand_made, points_of, relative, system_of
from tests.devices.shapes import five_dimensions_block, fixed_block, point_block, together

QUANTITIES = {
    "residuals": lambda o, theta, v, w: o.residuals(theta),
    "loss": lambda o, theta, v, w: np.array([o.loss_gradient(theta)[0]]),
    "gradient": lambda o, theta, v, w: o.loss_gradient(theta)[1],
    "jacobian": lambda o, theta, v, w: o.jacobian(theta),
    "J'J": lambda o, theta, v, w: o.normal_equations(theta).matrix,
    "J'r": lambda o, theta, v, w: o.normal_equations(theta).vector,
    "r'r": lambda o, theta, v, w: np.array([o.normal_equations(theta).loss]),
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


def test_two_threads_give_the_numbers_of_one():
    problem, points = case("burgers"), points_of(case("burgers").system, 900)
    theta = problem.theta()
    one, two = (everything(executable_of("burgers", n).bind(points), theta) for n in (1, 2))
    for name in QUANTITIES:
        assert relative(two[name], one[name]) <= 1e-13, name


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


# --- compiling -----------------------------------------------------------------------------------


class Stub:
    """In place of compiled code: only the texts are looked at."""

    def compile(self, signature):
        return None


def texts_of(monkeypatch, name, network, program):
    """The distinct loop texts of one program, before any is compiled."""
    captured = []

    def record(texts, dtype, folder):
        captured.append(tuple(texts))
        return Stub()

    monkeypatch.setattr(kernel, "program", record)
    system = system_of(name)
    model = represent(system, network(system))
    blocks = build(system, plan(system, model), model)
    CpuDevice(threads=1).compile(blocks, model.layout).program(program)
    (texts,) = captured
    return texts


@pytest.mark.parametrize("program", ["residuals", "gradient", "transposed", "tangent", "jacobian"])
@pytest.mark.parametrize("name", ["burgers", "taylor_green"])
def test_depth_is_no_part_of_a_program(monkeypatch, name, program):
    """Three and eight layers run the same file, so they compile in the same time."""

    def network(depth):
        return lambda system: MLP(system.dimension, len(system.fields), 20, depth)

    three, eight = (texts_of(monkeypatch, name, network(d), program) for d in (3, 8))
    assert three == eight


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


def test_a_program_is_a_file_named_by_its_text(tmp_path):
    text = """def call(row, at, D, U, S, O, A, tile, stride, column, segment):
    p0 = row[1]
    for i in range(tile):
        store(O, p0 + i, R(2.0) * load(D, at + i, 1), 0)
"""
    first = jit.program([text], "float64", tmp_path)
    assert jit.program([text], "float64", tmp_path) is first
    assert jit.program([text.replace("2.0", "3.0")], "float64", tmp_path) is not first
    assert jit.program([text], "float32", tmp_path) is not first
    files = sorted(tmp_path.rglob("program_*.py"))
    assert len(files) == 3
    assert all(f.stem == f"program_{jit.digest(f.read_text())}" for f in files)
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_second_executable_loads_the_program_of_the_first():
    one, two = executable_of("burgers"), executable_of("burgers", 2)
    assert isinstance(one, CpuExecutable)
    pair = (e.program("residuals")[0].run for e in (one, two))
    assert len(set(pair)) == 1


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda o: o.residuals(np.zeros(3)), r"theta must have shape \(105,\), got \(3,\)"),
        (lambda o: o.residuals(np.zeros((105, 1))), r"got \(105, 1\)"),
        (lambda o: o.loss_gradient(np.zeros(106)), "theta must have shape"),
        (lambda o: o.jacobian(np.zeros(106)), "theta must have shape"),
        (lambda o: o.normal_equations(np.zeros(0)), "theta must have shape"),
        (lambda o: o.jvp(np.zeros(105), np.zeros(2)), r"direction must have shape \(105,\)"),
        (lambda o: o.vjp(np.zeros(105), np.zeros(2)), r"weights must have shape \(52,\)"),
    ],
)
def test_vectors_of_a_wrong_shape_are_refused(ask, message):
    objective = executable_of("burgers").bind(case("burgers").points)
    assert (objective.size, objective.rows) == (105, 52)
    with pytest.raises(DeviceError, match=message):
        ask(objective)


def test_a_sum_over_points_inside_a_residual_is_refused():
    net = MLP(2, 1, 6, 1)
    u = net(ops.input_points("site0", 2))
    block, _ = hand_made(2, u - ops.sum_points(u) / 13)
    executable = CpuDevice(threads=1).compile([block], Layout.of(net.named_parameters()))
    with pytest.raises(DeviceError, match="add at points needs a sum over all points first"):
        executable.program("residuals")


def test_unknown_settings_are_refused():
    with pytest.raises(DeviceError, match="float64 or float32, not 'float16'"):
        CpuDevice(precision="float16")
    with pytest.raises(DeviceError, match="threads must be positive, not -1"):
        CpuDevice(threads=-1)


DEVICES = [CpuDevice(threads=1), ReferenceDevice()]


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
@pytest.mark.parametrize(
    ("sites", "scale", "message"),
    [
        ((np.zeros((13, 3)),), np.ones((13, 1)), r"site0 of shape \(points, 2\).*\(13, 3\)"),
        ((np.zeros((12, 2)),), np.ones((13, 1)), r"got \(12, 2\) with 13 row scales"),
        ((np.zeros((13, 2)),), np.ones((13, 2)), r"block 0 needs scale of shape \(points, 1\)"),
        ((np.zeros((13, 2)),), np.ones(13), "needs scale"),
        ((), np.ones((13, 1)), "needs site0 .* got nothing"),
        ((np.zeros((0, 2)),), np.ones((0, 1)), "at least one point"),
    ],
)
def test_points_of_a_wrong_shape_are_refused(device, sites, scale, message):
    problem = case("burgers")
    executable = device.compile(problem.blocks, problem.layout)
    with pytest.raises(DeviceError, match=message):
        executable.bind([BlockPoints(sites, scale), *problem.points[1:]])
    with pytest.raises(DeviceError, match="expected points for 4 blocks, got 2"):
        executable.bind(problem.points[:2])


def test_an_operation_without_code_is_named(monkeypatch):
    from pinnsolve.devices.cpu import emit

    monkeypatch.delitem(emit.ELEMENTARY, "arctan")
    weight = Parameter((1, 1), lambda rng, shape: np.ones(shape))
    block, _ = hand_made(1, ops.arctan(ops.multiply(weight, ops.input_points("site0", 1))))
    executable = CpuDevice(threads=1).compile([block], Layout.of({"w": weight}))
    with pytest.raises(DeviceError, match="the CPU device has no arctan"):
        executable.program("residuals")


def test_blocks_are_kept():
    block = ResidualBlock((ops.column(ops.input_points("site0", 1), 0),))
    weight = Parameter((1, 1), lambda rng, shape: np.ones(shape))
    assert CpuDevice().compile([block], Layout.of({"w": weight})).blocks == (block,)
