"""J'J, JJ', their diagonal and Kronecker factors, against the Jacobian and against formulas."""

import numpy as np
import pytest

from pinnsolve.devices.base import BlockPoints
from pinnsolve.devices.cpu import CpuDevice, gram
from pinnsolve.devices.cpu.blas import mirror, rank_update, triangle_update
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff import functions as ops
from pinnsolve.diff.parameters import Parameter
from pinnsolve.nets import MLP
from tests.devices.gallery import case, hand_made, points_of, relative
from tests.devices.shapes import (
    five_dimensions_block,
    fixed_block,
    laplacian_block,
    linear_block,
    outside_block,
    point_block,
    second_derivatives,
    together,
)


def devices(parts, threads=2, precision="float64"):
    """The same blocks on the CPU and on the reference device, and parameters."""
    layout, blocks, points = together(*parts)
    rng = np.random.default_rng(3)
    theta = layout.initialize(rng) + 0.1 * rng.normal(size=layout.size)
    both = CpuDevice(threads, precision), ReferenceDevice()
    return *(device.compile(blocks, layout).bind(points) for device in both), theta


def burgers(count, threads=1, precision="float64"):
    problem = case("burgers")
    executable = CpuDevice(threads, precision).compile(problem.blocks, problem.layout)
    return executable.bind(points_of(problem.system, count)), problem.theta()


# --- the rank update ------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-14), ("float32", 1e-6)])
def test_rank_updates_add_to_one_triangle(dtype, tolerance):
    rng = np.random.default_rng(0)
    first = rng.normal(size=(150, 70)).astype(dtype)[:, :61]  # rows apart, as in a padded chunk
    second = rng.normal(size=(150, 33)).astype(dtype)
    total, other = np.full((150, 150), 7, dtype), np.zeros((150, 150), dtype)
    rank_update(total, first, keep=0.0)
    rank_update(total, second)
    rank_update(other, second)
    below = np.tril_indices(150, -1)
    assert (total[below] == 7).all()
    assert (other[below] == 0).all()
    mirror(total, [other])
    assert np.array_equal(total, total.T)
    assert relative(total, first @ first.T + 2 * second @ second.T) < tolerance


# --- J'J and JJ' ----------------------------------------------------------------------------------


def squares(objective, theta):
    normal, dual = objective.normal_equations(theta), objective.dual_equations(theta)
    diagonal = objective.normal_diagonal(theta)
    return normal.matrix, normal.vector, dual.matrix, dual.residuals, diagonal


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_squares_are_those_of_the_jacobian(threads):
    """Of three blocks with their padding, in several chunks and panels."""
    objective, theta = burgers(300, threads)
    jacobian, r = objective.jacobian(theta), objective.residuals(theta)
    expected = jacobian.T @ jacobian, jacobian.T @ r, jacobian @ jacobian.T, r
    *found, diagonal = squares(objective, theta)
    for value, right in zip(found, expected, strict=True):
        assert relative(value, right) < 1e-13
    assert relative(diagonal, expected[0].diagonal()) < 1e-13
    assert np.array_equal(found[0], found[0].T)
    assert relative(found[2], found[2].T) < 1e-15
    assert found[0].flags.c_contiguous


def test_more_threads_give_the_same_numbers():
    one, two, three = (squares(*burgers(400, threads)) for threads in (1, 2, 3))
    for first, second, third in zip(one, two, three, strict=True):
        assert relative(second, first) <= 1e-12
        assert relative(third, first) <= 1e-12


@pytest.mark.parametrize("threads", [2, 3])
def test_the_same_call_gives_the_same_bits(threads):
    objective, theta = burgers(200, threads)

    def everything():
        factors = [f for block in objective.kronecker_factors(theta) for f in block if f]
        return *squares(objective, theta), *(f.left for f in factors), *(f.right for f in factors)

    first = everything()
    for _ in range(3):
        assert all(map(np.array_equal, everything(), first))


def test_triangles_beyond_memory_are_fewer(monkeypatch):
    """Two of three threads work where three triangles are too many."""
    objective, theta = burgers(200, 3)
    expected, team, asked = objective.normal_equations(theta), objective.executable.team, []
    run = team.run
    monkeypatch.setattr(team, "run", lambda part, n: asked.append(n) or run(part, n))
    monkeypatch.setattr(gram, "TRIANGLES", 2 * 8 * objective.size**2)
    found = objective.normal_equations(theta)
    assert asked == [2]
    assert relative(found.matrix, expected.matrix) < 1e-13


def test_the_dual_in_many_panels(monkeypatch):
    """Panels that cut blocks anywhere, most of them made again for others."""
    objective, theta = burgers(300, threads=2)
    whole = objective.dual_equations(theta)
    jacobian = objective.jacobian(theta)
    monkeypatch.setattr(gram, "COLUMNS", (16, 1024))
    monkeypatch.setattr(gram, "PANEL", 100 * 8 * (objective.size + 1))
    panels = objective.dual_equations(theta)
    assert relative(panels.matrix, jacobian @ jacobian.T) < 1e-13
    assert np.array_equal(panels.residuals, whole.residuals)


def test_parameters_that_move_nothing_leave_zeros():
    """Rows of a chunk that no kernel writes, in memory that held other chunks before."""
    parts = fixed_block(), linear_block(), point_block()
    objective, reference, theta = devices(parts, threads=1)
    for value, right in zip(squares(objective, theta), squares(reference, theta), strict=True):
        assert relative(value, right) < 1e-13


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("mixed", 1e-13)])
def test_squares_of_values_in_single_precision(precision, tolerance):
    """Mixed: J is rounded, and its products and their sums are those of that J in double."""
    objective, theta = burgers(600, 2, precision)
    jacobian, r = objective.jacobian(theta), objective.residuals(theta)
    normal, diagonal = objective.normal_equations(theta), objective.normal_diagonal(theta)
    expected = jacobian.T @ jacobian
    assert normal.matrix.dtype == diagonal.dtype == np.float64
    assert relative(normal.matrix, expected) < tolerance
    assert relative(normal.vector, jacobian.T @ r) < 1e-5  # r by another program
    assert relative(diagonal, expected.diagonal()) < tolerance
    objective, _ = burgers(60, 2, precision)
    dual, jacobian = objective.dual_equations(theta), objective.jacobian(theta)
    assert relative(dual.matrix, jacobian @ jacobian.T) < tolerance


# --- Kronecker factors ----------------------------------------------------------------------------


def compare(objective, reference, theta, tolerance=1e-12):
    found, expected = (o.kronecker_factors(theta) for o in (objective, reference))
    compared = 0
    for block, other in zip(found, expected, strict=True):
        for factors, right in zip(block, other, strict=True):
            assert (factors is None) == (right is None)
            if factors is None:
                continue
            assert factors.terms == pytest.approx(right.terms, rel=1e-14)
            for name in ("left", "right"):
                a, b = getattr(factors, name), getattr(right, name)
                assert np.abs(a - b).max() <= tolerance * np.abs(b).max()
            compared += 1
    return compared


@pytest.mark.parametrize("name", ["burgers", "kdv", "taylor_green"])
def test_factors_of_the_gallery(name):
    problem = case(name)
    points = points_of(problem.system, 150)
    cpu, reference = (
        d.compile(problem.blocks, problem.layout).bind(points)
        for d in (CpuDevice(2), ReferenceDevice())
    )
    assert compare(cpu, reference, problem.theta()) >= 6


def test_factors_of_other_shapes():
    parts = five_dimensions_block(), point_block(), outside_block(), fixed_block()
    assert compare(*devices(parts)) >= 10
    assert compare(*devices(laplacian_block(3))) >= 6


@pytest.mark.parametrize("device", [ReferenceDevice(), CpuDevice(2)])
def test_factors_are_the_formulas_of_kfac(device):
    """r = s (u_xx + u_y + 3 u) of a network with one hidden layer, derivatives by hand."""
    net = MLP(2, 1, 5, 1)
    ((u, operator),) = second_derivatives(net, 2)  # u_xx + u_y
    block, points = hand_made(2, operator + 3 * u, count=40)
    points.scale[7] = 0.0
    layout, blocks, _ = together(({"net": net}, (block, points)))
    rng = np.random.default_rng(0)
    theta = layout.initialize(rng) + 0.3 * rng.normal(size=layout.size)
    values = [layout.views(theta)[p] for p in layout.parameters]
    w1, b1, w2, _ = values
    (x,), scale = points.sites, points.scale
    ones = np.ones((len(x), 1))
    z, along, across = x @ w1 + b1, w1[0], w1[1]
    f = np.tanh(z)
    f1 = 1 - f**2
    f2, f3 = -2 * f * f1, -2 * f1**2 + 4 * f**2 * f1
    # Channels: value, along x, and the operator, whose part of z is w1[1].
    w = w2.T
    first = [x, ones * [1.0, 0.0], ones * [0.0, 1.0]]
    second = [f, f2 * along**2 + f1 * across]  # nothing reads u_x
    slopes = [
        w * (f3 * along**2 + f2 * across + 3 * f1),
        w * 2 * f2 * along,
        w * f1,
    ]
    out = [3 * ones, ones]
    kept = scale != 0

    def total(parts, mask):
        return sum((mask * p).T @ (mask * p) for p in parts)

    factors = device.compile(blocks, layout).bind([points]).kronecker_factors(theta)[0]
    hidden, bias, last, shift = factors
    assert relative(hidden.left, total(first, kept)) < 1e-13
    assert relative(hidden.right, total(slopes, scale)) < 1e-12
    assert relative(last.left, total(second, kept)) < 1e-12
    assert relative(last.right, total(out, scale)) < 1e-13
    assert [f.terms for f in factors] == [3 * 39, 39, 2 * 39, 39]
    jacobian = device.compile(blocks, layout).bind([points]).jacobian(theta)
    for factor, start, stop in ((bias, 10, 15), (shift, 20, 21)):  # exact
        exact = jacobian[:, start:stop].T @ jacobian[:, start:stop]
        assert relative(factor.left * factor.right / factor.terms, exact) < 1e-12


def test_one_term_and_equal_inputs_make_factors_exact():
    """The same point again and again: (left x right) / terms is the block of J'J."""
    weight = Parameter((3, 4), lambda rng, shape: rng.normal(size=shape))
    block, points = hand_made(
        3, ops.sum_columns(ops.sin(ops.dot(ops.input_points("site0", 3), weight.node)))
    )
    same = BlockPoints((np.repeat(points.sites[0][:1], 13, axis=0),), points.scale)
    layout, blocks, _ = together(({"w": weight}, (block, same)))
    theta = layout.initialize(np.random.default_rng(1))
    for device in (ReferenceDevice(), CpuDevice(1)):
        objective = device.compile(blocks, layout).bind([same])
        ((factors,),) = objective.kronecker_factors(theta)
        product = np.kron(factors.left, factors.right) / factors.terms
        assert relative(product, objective.normal_equations(theta).matrix) < 1e-13


def test_all_uses_of_a_weight_count():
    """x W and y W^T with the one W, and an entry of it by itself."""
    weight = Parameter((3, 3), lambda rng, shape: rng.normal(size=shape))
    x, w = ops.input_points("site0", 3), weight.node
    first = ops.sum_columns(ops.dot(x, w))
    second = ops.sum_columns(ops.dot(2 * x, w, transposed=True)) * 3
    block, points = hand_made(3, first + second + 5 * w[1, 2])
    layout, blocks, _ = together(({"w": weight}, (block, points)))
    theta = layout.initialize(np.random.default_rng(1))
    (data,), scale, ones = points.sites, points.scale, np.ones((13, 3))
    left = data.T @ data + 9 * (scale * ones).T @ (scale * ones) + 13 * np.eye(3)
    unit = np.zeros((3, 3))
    unit[2, 2] = 25
    right = (scale**2).sum() * (np.ones((3, 3)) + unit) + 4 * data.T @ data
    for device in (ReferenceDevice(), CpuDevice(1)):
        ((factors,),) = device.compile(blocks, layout).bind([points]).kronecker_factors(theta)
        assert relative(factors.left, left) < 1e-13
        assert relative(factors.right, right) < 1e-13
        assert factors.terms == 5 * 13


# --- R of J ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("threads", "count"), [(1, 300), (2, 300), (3, 300), (2, 40)])
def test_triangle_is_the_r_of_the_jacobian(threads, count):
    """Also where rows are fewer than parameters; in several chunks, of several threads."""
    objective, theta = burgers(count, threads)
    rows = np.column_stack([objective.jacobian(theta), objective.residuals(theta)])
    triangle = objective.triangle(theta)
    assert np.array_equal(triangle, np.triu(triangle))
    assert relative(triangle.T @ triangle, rows.T @ rows) < 1e-13
    expected = np.linalg.qr(rows, mode="r")
    signs = np.sign(np.diagonal(triangle) * np.diagonal(expected))[:20]
    leading = triangle[: len(signs)] * signs[:, None]  # where the columns are not yet dependent
    assert relative(leading, expected[: len(signs)]) < 1e-9


def test_triangle_updates_keep_the_digits_that_squares_lose():
    """Of a Vandermonde matrix, in three parts: singular values of J to the last digits."""
    x = np.linspace(0, 1, 60)
    rows = np.ascontiguousarray(np.vander(x, 13, increasing=True).T)
    total = np.zeros((13, 13), order="F")
    for first in (0, 20, 40):
        triangle_update(total, rows[:, first : first + 20].copy())
    other = np.zeros((13, 13), order="F")
    triangle_update(other, rows.copy())
    triangle_update(total, other.T, upper=True)
    found = np.linalg.svd(total, compute_uv=False)
    expected = np.linalg.svd(np.vstack([rows.T, rows.T]), compute_uv=False)
    assert expected[0] / expected[-1] > 1e8
    assert np.abs(found - expected).max() < 1e-15 * 60 * expected[0]
