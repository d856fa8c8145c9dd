"""Graphs as data: the same node comes back; data that is no graph is refused, whatever it is."""

import json

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.export import graph_from_data, graph_to_data, stored_parameter
from pinnsolve.diff.graph import Shape, make
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.verify import verify
from pinnsolve.errors import FileError, GraphError
from pinnsolve.nets import MLP, SIREN

X = ops.input_points("site0", 2)
W = Parameter((2, 3), lambda rng, shape: rng.normal(size=shape))
NAMES = {W: "w"}


def everything():
    """A node with every primitive below it, but for directions."""
    z = X @ W.node
    wide = ops.concatenate([z, ops.column(X, 1), ops.constant([[1.0, 2.0]])])
    functions = [ops.tanh, ops.sigmoid, ops.sin, ops.cos, ops.exp, ops.erf, ops.arctan, ops.sign]
    total = ops.log(ops.absolute(z)) + (1 + z * z) ** 1.5 + ops.coefficient(0.3)
    for function in functions:
        total = total + 0.5 * function(z)
    pair = ops.stack([total, z])
    outer = ops.outer(pair, ops.stack([z, z]), 2)
    column = ops.sum_columns(ops.part(pair, 1)) * ops.ones(z) + ops.sum_columns(outer)
    return column * ops.sum_columns(ops.sum_points(ops.sin(wide)))


def restored(node, parameters=None):
    text = json.dumps(graph_to_data(node, NAMES))
    return graph_from_data(json.loads(text), parameters or {"w": W})


def test_round_trip_of_every_primitive():
    node = everything()
    assert restored(node) is node
    contracted = ops.contract(X, X @ W.node)
    assert restored(contracted) is contracted


@pytest.mark.parametrize("net", [MLP(2, 3, 5, 2), SIREN(2, 1, 6, 2), MLP(2, 1, 4, 1, ops.gelu)])
def test_round_trip_of_networks(net):
    node = net(X)
    named = net.named_parameters()
    names = {p: name for name, p in named.items()}
    rows = json.loads(json.dumps(graph_to_data(node, names)))
    assert graph_from_data(rows, named) is node
    rng = np.random.default_rng(0)
    arrays = {name: rng.normal(size=p.shape) for name, p in named.items()}
    stored = {name: stored_parameter(value) for name, value in arrays.items()}
    other = graph_from_data(rows, stored)
    points = {"site0": rng.normal(size=(4, 2))}
    first = evaluate([node], {**points, **{named[k]: v for k, v in arrays.items()}})[0]
    again = evaluate([other], {**points, **{stored[k]: v for k, v in arrays.items()}})[0]
    assert np.array_equal(first, again)
    assert np.array_equal(
        stored[next(iter(stored))].initializer(rng, (0, 0)), arrays[next(iter(arrays))]
    )


def test_numbers_come_back_to_the_last_bit():
    node = (0.1 + 0.2) * ops.column(X, 0) ** (1 / 3) * ops.coefficient(np.pi) + 1e-300
    assert restored(node) is node


def test_data_is_plain():
    """Lists, texts and numbers only."""

    def plain(value):
        if isinstance(value, list | tuple):
            return all(map(plain, value))
        return isinstance(value, str | int | float)

    assert plain(graph_to_data(everything(), NAMES))


INPUT = ["input", [], ["site0"], [1, 1, 2]]
WEIGHT = ["parameter", [], ["w"], [0, 2, 3]]
DEEP = [INPUT, WEIGHT, ["dot", [0, 1], [False], [1, 1, 3]]]

HOSTILE = {
    "nothing": [],
    "no list": 7,
    "none": None,
    "text": "rows",
    "a mapping": {"rows": []},
    "a short row": [["input", [], ["site0"]]],
    "a long row": [[*INPUT, 1]],
    "unknown operation": [["system", [], ["ls"], [0, 1, 1]]],
    "operation of no text": [[["tanh"], [], [], [0, 1, 1]]],
    "a dunder": [["__class__", [], [], [0, 1, 1]]],
    "argument of later rows": [["tanh", [1], [], [1, 1, 2]], INPUT],
    "argument of itself": [["tanh", [0], [], [1, 1, 2]]],
    "negative argument": [INPUT, ["tanh", [-1], [], [1, 1, 2]]],
    "decimal argument": [INPUT, ["tanh", [0.0], [], [1, 1, 2]]],
    "argument of text": [INPUT, ["tanh", ["0"], [], [1, 1, 2]]],
    "too few arguments": [INPUT, ["add", [0], [], [1, 1, 2]]],
    "too many arguments": [INPUT, ["tanh", [0, 0], [], [1, 1, 2]]],
    "three terms": [INPUT, ["add", [0, 0, 0], [], [1, 1, 2]]],
    "no arguments": [["tanh", [], [], [1, 1, 2]]],
    "a leaf with arguments": [INPUT, ["constant", [0], [[[1.0]]], [0, 1, 1]]],
    "wrong shape": [INPUT, ["tanh", [0], [], [1, 1, 3]]],
    "wrong shape of a sum": [INPUT, ["add", [0, 0], [], [0, 1, 2]]],
    "endless shape": [INPUT, ["tanh", [0], [], [1, 1, float("inf")]]],
    "shape of text": [INPUT, ["tanh", [0], [], ["n", 1, 2]]],
    "shape too long": [INPUT, ["tanh", [0], [], [1, 1, 2, 2]]],
    "negative width": [["input", [], ["site0"], [1, 1, -2]]],
    "points in rows": [["input", [], ["site0"], [1, 4, 2]]],
    "input without a name": [["input", [], [], [1, 1, 2]]],
    "input named by a number": [["input", [], [3], [1, 1, 2]]],
    "unhashable attribute": [INPUT, ["scale", [0], [[1]], [1, 1, 2]]],
    "scale by text": [INPUT, ["scale", [0], ["two"], [1, 1, 2]]],
    "scale without number": [INPUT, ["scale", [0], [], [1, 1, 2]]],
    "two exponents": [INPUT, ["power", [0], [2, 3], [1, 1, 2]]],
    "column beyond": [INPUT, ["column", [0], [2], [1, 1, 1]]],
    "column before": [INPUT, ["column", [0], [-1], [1, 1, 1]]],
    "column of text": [INPUT, ["column", [0], ["0"], [1, 1, 1]]],
    "decimal column": [INPUT, ["column", [0], [0.5], [1, 1, 1]]],
    "part of no stack": [INPUT, ["part", [0], [0, 1], [1, 1, 2]]],
    "part beyond": [INPUT, ["stack", [0, 0], [], [2, 1, 2]], ["part", [1], [2, 2], [1, 1, 2]]],
    "part of another stack": [
        INPUT, ["stack", [0, 0], [], [2, 1, 2]], ["part", [1], [0, 3], [1, 1, 2]]
    ],
    "stack of shapes": [
        INPUT, ["column", [0], [0], [1, 1, 1]], ["stack", [0, 1], [], [2, 1, 2]]
    ],
    "dot without flag": [INPUT, WEIGHT, ["dot", [0, 1], [], [1, 1, 3]]],
    "dot flag of text": [INPUT, WEIGHT, ["dot", [0, 1], ["False"], [1, 1, 3]]],
    "dot that does not fit": [INPUT, WEIGHT, ["dot", [0, 1], [True], [1, 1, 3]]],
    "dot of points": [INPUT, ["dot", [0, 0], [False], [1, 1, 2]]],
    "outer in no blocks": [INPUT, ["outer", [0, 0], [0], [1, 1, 4]]],
    "outer in too many blocks": [INPUT, ["outer", [0, 0], [2], [1, 1, 4]]],
    "sum over no points": [WEIGHT, ["sum_points", [0], [], [0, 1, 3]]],
    "concatenate of one": [INPUT, ["concatenate", [0], [], [1, 1, 2]]],
    "concatenate of a matrix": [INPUT, WEIGHT, ["concatenate", [0, 1], [], [1, 1, 5]]],
    "ragged constant": [["constant", [], [[[1.0], [1.0, 2.0]]], [0, 2, 1]]],
    "empty constant": [["constant", [], [[]], [0, 0, 0]]],
    "constant of text": [["constant", [], [[["a"]]], [0, 1, 1]]],
    "constant of another shape": [["constant", [], [[[1.0]]], [0, 1, 2]]],
    "unknown parameter": [["parameter", [], ["q"], [0, 2, 3]]],
    "parameter of another shape": [["parameter", [], ["w"], [0, 3, 2]]],
    "direction": [["direction", [], ["w"], [0, 2, 3]]],
    "coefficient of no number": [["coefficient", [], [None], [0, 1, 1]]],
    "matrix times points": [INPUT, WEIGHT, ["multiply", [0, 1], [], [1, 1, 3]]],
    "too many attributes": [INPUT, ["tanh", [0], [1.0], [1, 1, 2]]],
    "a bad row in the middle": [INPUT, ["tanh", [0], [], [1, 1, 9]], INPUT],
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data_is_refused(name):
    with pytest.raises(FileError, match="graph"):
        graph_from_data(HOSTILE[name], {"w": W})


def test_the_good_rows_among_them_are_good():
    assert graph_from_data(DEEP, {"w": W}) is X @ W.node


@pytest.mark.parametrize("primitive", sorted(PRIMITIVES))
def test_random_rows_never_do_more_than_fail(primitive):
    """Any row gives a valid node or a FileError."""
    rng = np.random.default_rng(sum(map(ord, primitive)))
    values = [0, 1, 2, -1, True, 0.5, "w", "site0", None, [1.0], [[1.0, 2.0]], [[1.0], [2.0]]]
    for _ in range(300):
        attributes = [values[k] for k in rng.integers(len(values), size=rng.integers(3))]
        row = [
            primitive,
            rng.integers(0, 3, size=rng.integers(4)).tolist(),
            attributes,
            rng.integers(0, 4, size=3).tolist(),
        ]
        try:
            node = graph_from_data([*DEEP, row], {"w": W})
        except FileError:
            continue
        leaves = {"site0": np.ones((2, 2)), W: np.ones((2, 3))}
        (value,) = evaluate([node], {**leaves, **{a: np.ones((2, node.columns)) for a in
                            node.attributes if isinstance(a, str)}})  # fmt: skip
        rows = 2 * node.points if node.points else node.shape.rows
        assert np.broadcast_shapes(value.shape, (rows, node.columns)) == (rows, node.columns)


# --- the verifier on nodes made by hand ----------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (lambda: make("place", (X,), (0, 2), Shape(1, 1, 2)), "no primitive 'place'"),
        (lambda: make("tanh", (X,), (), Shape(1, 1, 3)), r"shape \[n, 3\], expected \[n, 2\]"),
        (lambda: make("column", (X,), (5,), Shape(1, 1, 1)), r"cannot have the attributes \(5,\)"),
        (lambda: make("multiply", (X,) * 3, (), X.shape), "multiply cannot have these arguments"),
        (lambda: make("tanh", (), (), X.shape), "tanh cannot have these arguments: none"),
        (lambda: make("dot", (X, W.node), (True,), X.shape), "cannot multiply"),
        (lambda: make("parameter", (), (W,), Shape(0, 9, 9)), "parameter has shape"),
    ],
)  # fmt: skip
def test_a_tampered_node_is_found_wherever_it_lies(node, message):
    wrong = node()
    above = make("tanh", (wrong,), (), wrong.shape)
    for root in (wrong, above):
        with pytest.raises(GraphError, match=message):
            verify([X, root])


def test_reverse_leaves_no_helper_nodes_behind():
    out = ops.column(X, 0) * ops.column(ops.sin(X), 1) + ops.column(X, 1)
    verify([g for g in reverse({out: ops.constant(1.0)}, [X]) if g is not None])
