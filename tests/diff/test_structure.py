"""Shapes, parts, sums and products of arrays of any rank: as numpy has them, at each point."""

import itertools

import numpy as np
import pytest
from scipy import special

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Shape
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.taylor import tangent
from pinnsolve.errors import GraphError
from tests.diff.transposes import (
    N,
    array_for,
    at_points,
    check,
    check_transposes,
    check_value,
    uniform,
)

CUBE = (2, 3, 4)
LEAVES = {"at points": at_points, "uniform": uniform}
both = pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)


# --- shapes ---------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("dims", [(24,), (6, 4), (3, 8), (2, 1, 12), (1, 24, 1), (-1,), (4, -1, 2)])
def test_reshape(leaf, dims):
    check(lambda x: ops.reshape(x, dims), lambda x: x.reshape(dims), leaf("x", *CUBE))


def test_reshape_to_and_from_a_number():
    for leaf in LEAVES.values():
        check(lambda x: ops.reshape(x, ()), lambda x: x.reshape(()), leaf("x", 1, 1))
        check(lambda x: ops.reshape(x, 1), lambda x: x.reshape(1), leaf("x"))


def test_reshapes_of_reshapes_are_one():
    x = at_points("x", 2, 6)
    assert ops.reshape(ops.reshape(x, (3, 4)), (12,)) is ops.reshape(x, (-1,))
    assert ops.reshape(ops.reshape(x, (3, 4)), (2, 6)) is x
    assert ops.reshape(ops.constant(np.ones(6)), (2, 3)) is ops.constant(np.ones((2, 3)))


@both
@pytest.mark.parametrize("axes", [None, *itertools.permutations(range(3)), (-1, 0, 1)])
def test_transpose(leaf, axes):
    def exact(x):
        return np.transpose(x, axes)

    check(lambda x: ops.sin(ops.transpose(x, axes)), lambda x: np.sin(exact(x)), leaf("x", *CUBE))


def test_transposes_that_do_nothing():
    x = at_points("x", 3)
    assert ops.transpose(x) is x
    assert ops.transpose(at_points("x", 2, 3), (0, 1)) is at_points("x", 2, 3)
    assert ops.transpose(ops.constant([[1.0, 2.0]])) is ops.constant([[1.0], [2.0]])


# --- parts ----------------------------------------------------------------------------------------

KEYS = [
    0, -1, 1, (0, 2), (-1, -1, -1), (0, 0, 0), np.int64(1), ..., None, (), (..., 0), (0, ...),
    (..., None), (0, ..., None, 1), (None, 1, None), slice(None), slice(1, 2), slice(0, -1),
    slice(None, None, -1), slice(None, 100), slice(-1, None), (slice(None), 2),
    (slice(None), slice(None, None, 2)), (..., slice(0, 4, 2)), (..., slice(3, 0, -1)),
    (..., slice(3, None, -2)), (1, slice(2, 0, -1), slice(1, 3)),
    (slice(1), None, ..., slice(-2, 4)),
]  # fmt: skip


@both
@pytest.mark.parametrize("key", KEYS, ids=str)
def test_index(leaf, key):
    def scaled(x):  # other entries must not get a share of the cotangent
        return x[key] * (1 + np.arange(np.empty(CUBE)[key].size).reshape(np.empty(CUBE)[key].shape))

    check(scaled, scaled, leaf("x", *CUBE))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (2, r"index 2 of an axis of 2 entries, shape \[n, 2, 3, 4\]"),
        (-3, "index -3 of an axis of 2"),
        ((0, 3), "index 3 of an axis of 3"),
        (slice(1, 1), "an empty part"),
        (slice(5, None), "an empty part"),
        ((0, 0, 0, 0), "too many indices"),
        ((..., 0, ...), "too many indices"),
        (0.5, r"whole numbers, slices, None and \.\.\. as index, not 0\.5"),
        (True, "not True"),
        ([0, 1], r"not \[0, 1\]"),
        (np.array([0, 1]), "not array"),
        ("x", "not 'x'"),
    ],
)
def test_index_refusals(key, message):
    with pytest.raises(GraphError, match=message):
        at_points("x", *CUBE)[key]


def test_a_value_is_a_sequence_of_its_first_axis():
    x = at_points("x", *CUBE)
    assert len(x) == 2
    first, second = x
    assert (first, second)[1] is x[1]
    assert first is x[0]
    with pytest.raises(TypeError, match="a number has no length"):
        len(at_points("x"))


@both
def test_cut(leaf):
    x = leaf("x", *CUBE)
    for axis, start, length in [(0, 1, 1), (1, 1, 2), (2, 0, 3), (-1, 3, 1), (-2, 0, 3)]:
        check(
            lambda x, a=axis, s=start, c=length: ops.cut(x, a, s, c) * ops.cut(x, a, s, c),
            lambda x, a=axis, s=start, c=length: np.take(x, range(s, s + c), a) ** 2,
            x,
        )


def test_cuts_of_cuts_are_one():
    x, y = at_points("x", 3, 6), at_points("y", 2, 6)
    assert ops.cut(ops.cut(x, -1, 1, 4), -1, 2, 2) is ops.cut(x, -1, 3, 2)
    assert ops.cut(x, 0, 0, 3) is x
    joined = ops.concatenate([x, y], 0)
    assert ops.cut(joined, 0, 3, 2) is y
    assert ops.cut(joined, 0, 1, 2) is ops.cut(x, 0, 1, 2)
    assert ops.cut(joined, 0, 2, 2).primitive == "cut"  # of both
    assert ops.cut(ops.constant([[1.0, 2.0]]), 1, 1, 1) is ops.constant([[2.0]])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_concatenate(axis):
    def dims(size):
        shape = list(CUBE)
        shape[axis] = size
        return shape

    def join(*parts):
        return ops.concatenate(parts, axis) * ops.concatenate(parts[::-1], axis)

    def exact(*parts):
        return np.concatenate(parts, axis) * np.concatenate(parts[::-1], axis)

    a, b, c = at_points("a", *dims(1)), uniform("b", *dims(3)), at_points("c", *dims(2))
    check(join, exact, a, b, c)
    check(join, exact, uniform("a", *dims(2)), b)
    check(join, exact, a)


def test_a_row_of_a_batch_is_put_beside_values_at_points():
    row = uniform("row", 1, 2)
    node = ops.concatenate([at_points("x", 3), row])
    check_value(node, [at_points("x", 3), row], lambda x, r: np.concatenate([x, r[0]]))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_stack_values(axis):
    def join(*parts):
        return ops.stack_values(parts, axis)

    def exact(*parts):
        return np.stack(parts, axis)

    check(join, exact, at_points("a", 2, 3), uniform("b", 2, 3), at_points("c", 2, 3))
    check(join, exact, uniform("a", 2, 3), uniform("b", 2, 3))
    if axis in (0, -1):
        check(join, exact, at_points("a"), uniform("b"))


# --- sums -----------------------------------------------------------------------------------------

AXES = [None, 0, 1, 2, -1, -2, -3, (0, 1), (0, 2), (-1, -2), (0, 1, 2), [2, 0], ()]
REDUCTIONS = {
    "sum": (ops.sum_entries, np.sum),
    "mean": (ops.mean, np.mean),
    "norm": (ops.norm, lambda x, axis, keepdims: np.sqrt((x * x).sum(axis, keepdims=keepdims))),
}  # fmt: skip


@both
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_over_axes(leaf, axis, name):
    function, exact = REDUCTIONS[name]
    numpy_axis = tuple(axis) if isinstance(axis, list) else axis
    for keepdims in (False, True):
        check(
            lambda x, k=keepdims: function(x, axis, k),
            lambda x, k=keepdims: exact(x, axis=numpy_axis, keepdims=k),
            leaf("x", *CUBE),
        )


@both
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_reductions_along_one_axis(leaf, axis):
    x = leaf("x", *CUBE)
    check(lambda x: ops.max_entries(x, axis), lambda x: x.max(axis), x)
    check(lambda x: ops.max_entries(x, axis, True), lambda x: x.max(axis, keepdims=True), x)
    check(lambda x: ops.logsumexp(x, axis), lambda x: special.logsumexp(x, axis), x)
    check(lambda x: ops.softmax(x, axis), lambda x: special.softmax(x, axis), x)
    check(
        lambda x: ops.logsumexp(x, axis, keepdims=True),
        lambda x: special.logsumexp(x, axis, keepdims=True),
        x,
    )


@both
def test_the_largest_of_all(leaf):
    check(ops.max_entries, lambda x: x.max(), leaf("x", *CUBE))
    x = leaf("x", 2, 3)
    check(lambda x: ops.max_entries(x, keepdims=True), lambda x: x.max(keepdims=True), x)


@both
def test_reductions_of_a_number(leaf):
    for function in (ops.sum_entries, ops.mean, ops.max_entries):
        node = function(leaf("x"))
        assert node is leaf("x")
    check(lambda x: ops.norm(x, keepdims=True), abs, leaf("x"))


def test_sums_over_points():
    x = at_points("x", *CUBE)
    values = {x: np.random.default_rng(0).normal(size=(N, *CUBE))}
    total, mean = evaluate([ops.sum_points(x), ops.mean_points(x)], values)
    assert ops.sum_points(x).shape == ops.mean_points(x).shape == Shape(0, CUBE)
    assert np.allclose(total, values[x].sum(axis=0), rtol=1e-14)
    assert np.allclose(mean, values[x].mean(axis=0), rtol=1e-14)
    for operand in (x, at_points("x")):
        check_transposes(lambda x: ops.sin(ops.sum_points(x * x)), [operand])
        check_transposes(lambda x: x - ops.mean_points(x), [operand])


def test_what_vanishes_keeps_its_points():
    """0 x and x**0 are a number at each point, so they can be summed and put together."""
    x = at_points("x", 2, 3)
    for node, number in ((0 * x, 0.0), (x * 0.0, 0.0), (x**0, 1.0)):
        assert node.shape == x.shape
        (value,) = evaluate([ops.sum_points(node)], {x: np.ones((N, 2, 3))})
        assert np.array_equal(value, np.full((2, 3), N * number))
    assert ops.is_zeros(0 * x)
    assert x + 0 * x is x
    assert (x + 0 * ops.sin(x)) is x


# --- products of matrices -------------------------------------------------------------------------

SIZES = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((1, 3), (3, 1))]


@pytest.mark.parametrize("first", LEAVES)
@pytest.mark.parametrize("second", LEAVES)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_matmul(first, second, sizes):
    x, y = LEAVES[first]("x", *sizes[0]), LEAVES[second]("y", *sizes[1])
    check(lambda x, y: x @ y, lambda x, y: x @ y, x, y)


def test_matmul_with_arrays():
    x, array = at_points("x", 3), np.arange(12.0).reshape(3, 4)
    check(lambda x: x @ array, lambda x: x @ array, x)
    check(lambda x: array.T @ x, lambda x: array.T @ x, x)
    check(lambda x: [1.0, 2.0, 3.0] @ x, lambda x: np.array([1, 2, 3]) @ x, x)


@both
@pytest.mark.parametrize("dims", [(3,), (2, 3), (2, 5, 3)])
def test_dot(leaf, dims):
    w, v = uniform("w", 3, 4), uniform("v", 4, 3)
    check(ops.dot, lambda x, w: x @ w, leaf("x", *dims), w)
    check(lambda x, v: ops.dot(x, v, transposed=True), lambda x, v: x @ v.T, leaf("x", *dims), v)


@both
@pytest.mark.parametrize("dims", [(3,), (2, 3)])
def test_dot_with_a_matrix_at_each_point(leaf, dims):
    w, v = at_points("w", 3, 4), at_points("v", 4, 3)
    check(ops.dot, lambda x, w: x @ w, leaf("x", *dims), w)
    check(lambda x, v: ops.dot(x, v, transposed=True), lambda x, v: x @ v.T, leaf("x", *dims), v)


def test_contract():
    for dims in ((), (5,), (2, 5)):
        x, y = at_points("x", *dims, 3), at_points("y", *dims, 4)
        values = {leaf: array_for(leaf, np.random.default_rng(0)) for leaf in (x, y)}
        (value,) = evaluate([ops.contract(x, y)], values)
        exact = values[x].reshape(-1, 3).T @ values[y].reshape(-1, 4)
        assert np.allclose(value, exact, rtol=1e-13)
        check_transposes(ops.contract, [x, y])


# --- points and rows ------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [(), (3,), (2, 3)])
def test_rows_become_points_and_points_rows(dims):
    x = uniform("x", N, *dims)
    points = ops.spread(x)
    assert points.shape == Shape(1, dims, N)
    assert ops.collect(points) is x
    assert ops.collect(ops.sin(points)).shape == Shape(0, (N, *dims))
    assert ops.spread(ops.collect(ops.sin(points))) is ops.sin(points)
    check_value(ops.collect(ops.sin(points)), [x], np.sin)
    check_transposes(lambda x: ops.collect(ops.sin(ops.spread(x)) * ops.spread(x)), [x])
    check_transposes(lambda x: ops.sum_points(ops.sin(ops.spread(x))), [x])
    check_transposes(lambda x: ops.collect(ops.spread(x) - ops.mean_points(ops.spread(x))), [x])


def test_the_mean_over_counted_points_needs_no_counting():
    mean = ops.mean_points(ops.spread(uniform("x", N, 2)))
    assert (mean.primitive, mean.attributes) == ("scale", (1 / N,))


def test_choices_among_rows():
    x = uniform("x", N, 2)
    node = ops.collect(ops.where(ops.spread(x) > 0, ops.log(ops.spread(x)), 0.0))
    (slope,) = reverse({ops.sum_entries(node): ops.constant(1.0)}, [x])
    value = np.random.default_rng(0).normal(size=(N, 2))
    exact = np.where(value > 0, 1 / value, 0)
    assert np.array_equal(evaluate([slope], {x: value})[0], exact)
    assert np.array_equal(evaluate(tangent([node], {x: ops.constant(1.0)}), {x: value})[0], exact)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x: ops.reshape(x, (5, 5)), r"cannot reshape .*\[n, 2, 3, 4\] to \(5, 5\)"),
        (lambda x: ops.reshape(x, (-1, -1)), "cannot reshape"),
        (lambda x: ops.reshape(x, (0, -1)), "cannot reshape"),
        (lambda x: ops.reshape(x, (5, -1)), "cannot reshape"),
        (lambda x: ops.reshape(x, (-2, -12)), "cannot reshape"),
        (lambda x: ops.transpose(x, (0, 1)), r"cannot transpose .*by the axes \(0, 1\)"),
        (lambda x: ops.transpose(x, (0, 0, 1)), "cannot transpose"),
        (lambda x: ops.transpose(x, (3, 1, 2)), "cannot transpose along axis 3"),
        (lambda x: ops.cut(x, 3, 0, 1), r"cannot cut along axis 3 .*\[n, 2, 3, 4\]"),
        (lambda x: ops.cut(x, 1, 2, 2), r"entries 2 to 3 of a value of shape \[n, 2, 3, 4\]"),
        (lambda x: ops.cut(x, 1, 0, 0), "entries 0 to -1"),
        (lambda x: ops.concatenate([]), "nothing to concatenate"),
        (lambda x: ops.concatenate([x, x], 3), "cannot concatenate along axis 3"),
        (lambda x: ops.concatenate([x, at_points("y", 2, 3)]), "side by side"),
        (lambda x: ops.concatenate([x, at_points("y", 2, 2, 4)]), "side by side"),
        (lambda x: ops.concatenate([x, uniform("y", 5, 3, 4)]), "side by side"),
        (lambda x: ops.stack_values([]), "nothing to concatenate"),
        (lambda x: ops.stack_values([x, x], 4), "along axis 4"),
        (lambda x: ops.stack_values([x, x], -5), "along axis -5"),
        (lambda x: ops.stack_values([x, x[0]]), "side by side"),
        (lambda x: ops.sum_entries(x, 3), "cannot sum along axis 3"),
        (lambda x: ops.sum_entries(x, (0, -3)), r"cannot sum twice along an axis: \(0, -3\)"),
        (lambda x: ops.mean(x, -4), "cannot sum along axis -4"),
        (lambda x: ops.max_entries(x, 3), "cannot take the maximum along axis 3"),
        (lambda x: ops.logsumexp(x, 3), "cannot sum exponentials along axis 3"),
        (lambda x: ops.logsumexp(at_points("y")), r"axis -1 of a value of shape \[n\]"),
        (lambda x: x @ x, r"matmul of values of shapes \[n, 2, 3, 4\]"),
        (lambda x: ops.dot(x, uniform("w", 3, 4)), r"cannot multiply \[n, 2, 3, 4\] by the matrix"),
        (
            lambda x: ops.dot(x, at_points("w", 4, 4)),
            r"matmul of .* \[n, 2, 3, 4\] and \[n, 4, 4\]",
        ),
        (lambda x: ops.dot(x, uniform("w", 4)), r"the matrix \[4\]"),
        (lambda x: ops.dot(at_points("y"), uniform("w", 1, 4)), r"cannot multiply \[n\]"),
        (lambda x: ops.contract(x, at_points("y", 2, 4)), "cannot contract"),
        (lambda x: ops.contract(at_points("y"), at_points("y")), "cannot contract"),
        (lambda x: ops.spread(x), r"rows of a value of shape \[n, 2, 3, 4\] cannot be points"),
        (lambda x: ops.spread(uniform("y")), r"rows of a value of shape \[\] cannot be points"),
        (lambda x: ops.collect(x), r"points of a value of shape \[n, 2, 3, 4\] cannot become rows"),
        (lambda x: ops.collect(uniform("y", 3)), "cannot become rows"),
        (lambda x: x + uniform("y", 5, 2, 3, 4), "rows of points meet rows of an array"),
        (lambda x: x + at_points("y", 4, 4), r"cannot add values of shapes \[n, 2, 3, 4\] and"),
        (
            lambda x: ops.spread(uniform("y", 5, 2)) + ops.spread(uniform("z", 6, 2)),
            r"cannot add values of shapes \[5, 2\] and \[6, 2\]",
        ),
        (
            lambda x: ops.concatenate([ops.spread(uniform(f"y{k}", k, 2)) for k in (5, 6)]),
            r"side by side \[5, 2\], \[6, 2\]",
        ),
    ],
)
def test_refusals(build, message):
    with pytest.raises(GraphError, match=message):
        build(at_points("x", *CUBE))
