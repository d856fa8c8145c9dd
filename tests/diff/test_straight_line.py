"""Straight lines give what the interpreter gives, and read their leaves anew."""

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Shape, make
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.straight_line import StraightLine
from pinnsolve.errors import GraphError
from pinnsolve.nets import normal

W, B = Parameter((3, 4), normal(1.0)), Parameter((4,), normal(1.0))
x = ops.constant([1.0, -2.0, 0.5])
HIDDEN = ops.tanh(x @ W.node + B.node)
HIDDEN_ROWS = ops.tanh(W.node)
ROOTS = {
    "sum": 2 * B.node + B.node * B.node,
    "product": HIDDEN,
    "mask": ops.where(ops.less(B.node, 0.0), B.node, HIDDEN),
    "comparison": ops.less(B.node, HIDDEN),
    "contraction": ops.reshape(W.node, (-1,))[1:5],
    "scale": ops.scale(-1.5, B.node),
    "outer product": make("contract", (x, B.node), (), Shape(0, (3, 4))),
    "product of matrices": make("contract", (W.node, HIDDEN_ROWS), (), Shape(0, (4, 4))),
    "transposed": make("dot", (B.node, W.node), (True,), Shape(0, (3,))),
    "constant": ops.exp(x),
    "leaf": W.node,
}


def values(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, 4)), rng.normal(size=4)


@pytest.mark.parametrize("name", ROOTS)
def test_values_are_those_of_the_interpreter_at_every_call(name):
    w, b = (np.zeros(p.shape) for p in (W, B))
    line = StraightLine({W.node: w, B.node: b}, [ROOTS[name]])
    for seed in range(3):
        w[...], b[...] = values(seed)
        (found,) = line.run(0)
        (expected,) = evaluate([ROOTS[name]], {W: w, B: b})
        assert np.array_equal(found, expected)
        assert np.asarray(found).dtype == np.float64


def test_a_later_stage_goes_on_from_the_values_of_an_earlier_one():
    w, b = values(0)
    total = np.zeros(4)
    line = StraightLine(
        {W.node: w, B.node: b, ROOTS["sum"]: total}, [HIDDEN], [ROOTS["sum"] * HIDDEN]
    )
    (hidden,) = line.run(0)
    total += 3.0  # given between the stages, and cuts the graph
    assert np.array_equal(line.run(1)[0], 3.0 * hidden)
    w += 1.0
    assert np.array_equal(line.run(1)[0], 3.0 * hidden)  # the first stage has not run again
    assert np.array_equal(line.run(0)[0], evaluate([HIDDEN], {W: w, B: b})[0])


def test_overflow_is_a_value():
    b = np.full(4, 1e3)
    (found,) = StraightLine({B.node: b}, [ops.exp(B.node)]).run(0)
    assert np.isinf(found).all()


def test_a_leaf_without_a_value_is_named():
    with pytest.raises(GraphError, match="no value given for parameter"):
        StraightLine({W.node: np.zeros((3, 4))}, [HIDDEN])
