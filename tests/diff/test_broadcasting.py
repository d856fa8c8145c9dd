"""Broadcasting of values at points and of uniform ones, of any rank: values and derivatives."""

import itertools

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Shape
from pinnsolve.errors import GraphError
from tests.diff.transposes import at_points, check, check_transposes, check_value, uniform

LEAVES = {"at points": at_points, "uniform": uniform}
both = pytest.mark.parametrize("leaf", LEAVES.values(), ids=LEAVES)

DIMS = [(), (1,), (3,), (1, 3), (2, 1), (2, 3), (4, 2, 3)]
OPERANDS = [(kind, dims) for kind in LEAVES for dims in DIMS]
PAIRWISE = {
    "add": (ops.add, np.add),
    "multiply": (ops.multiply, np.multiply),
    "divide": (lambda x, y: x / (3 + y * y), lambda x, y: x / (3 + y * y)),
    "maximum": (ops.maximum, np.maximum),
    "less": (ops.less, np.less),
    "less_equal": (ops.less_equal, np.less_equal),
    "equal": (ops.equal, np.equal),
    "power": (lambda x, y: ops.power(1 + x * x, y), lambda x, y: (1 + x * x) ** y),
}


def meeting(*operands):
    """The dims of the result of values of these kinds and dims, or None where they do not fit."""
    ranks = [len(dims) for kind, dims in operands if kind == "at points"]
    rank = max(ranks, default=0)
    shapes = []
    for kind, dims in operands:
        if ranks and rank and kind == "uniform" and len(dims) > rank:
            if len(dims) > rank + 1 or dims[0] != 1:
                return None
            dims = dims[1:]  # a row of a batch
        shapes.append(dims)
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        return None


@pytest.mark.parametrize("name", PAIRWISE)
def test_broadcasting_of_pairs(name):
    function, exact = PAIRWISE[name]
    for (first, a), (second, b) in itertools.product(OPERANDS, OPERANDS):
        x, y = LEAVES[first]("x", *a), LEAVES[second]("y", *b)
        dims = meeting((first, a), (second, b))
        if dims is None:
            with pytest.raises(GraphError, match=r"cannot .* values of shapes"):
                function(x, y)
            continue
        node = function(x, y)
        assert node.dims == dims
        check_value(node, [x, y], lambda x, y, d=dims: np.asarray(exact(x, y)).reshape(d))


def test_broadcasting_of_choices():
    operands = [(k, d) for k, d in OPERANDS if d in ((), (3,), (1, 3), (2, 1))]
    for triple in itertools.product(operands, repeat=3):
        c, x, y = (LEAVES[kind](n, *d) for n, (kind, d) in zip("cxy", triple, strict=True))
        dims = meeting(*triple)
        if dims is None:
            with pytest.raises(GraphError, match=r"cannot .* values of shapes"):
                ops.where(c < 0, x, y)
            continue
        node = ops.where(c < 0, x, y)
        assert node.dims == dims
        check_value(
            node, [c, x, y], lambda c, x, y, d=dims: np.where(c < 0, x, y).reshape(d)
        )  # fmt: skip


@pytest.mark.parametrize("name", ["add", "multiply", "divide", "maximum"])
def test_derivatives_of_what_is_broadcast(name):
    function, _ = PAIRWISE[name]
    chosen = [(k, d) for k, d in OPERANDS if d in ((), (3,), (1, 3), (2, 1), (4, 2, 3))]
    for first, second in itertools.product(chosen, chosen):
        if meeting(first, second) is not None:
            x, y = LEAVES[first[0]]("x", *first[1]), LEAVES[second[0]]("y", *second[1])
            check_transposes(function, [x, y])


def test_derivatives_of_choices_that_are_broadcast():
    chosen = [(k, d) for k, d in OPERANDS if d in ((), (3,), (2, 1))]
    for c, first, second in itertools.product(chosen, repeat=3):
        if meeting(c, first, second) is not None:
            mask = LEAVES[c[0]]("c", *c[1]) < 0
            x, y = LEAVES[first[0]]("x", *first[1]), LEAVES[second[0]]("y", *second[1])
            check_transposes(lambda x, y, m=mask: ops.where(m, x, y * y), [x, y])


def test_values_at_points_repeated():
    like = at_points("like", 5)
    for dims in DIMS:
        x = uniform("x", *dims)
        repeated = ops.at_points(x, like)
        assert repeated.shape == Shape(1, dims)
        check_value(repeated, [x, like], lambda x, like: x)
        check_transposes(lambda x: ops.at_points(x, like), [x])


@both
def test_values_repeated_along_axes(leaf):
    for dims, wide in itertools.product(DIMS, DIMS):
        if meeting(("uniform", dims), ("uniform", wide)) == wide:
            check(
                lambda x, wide=wide: ops.widen(x, wide),
                lambda x, wide=wide: np.broadcast_to(x, wide),
                leaf("x", *dims),
            )
