"""Graphs as data: the same node comes back; data that is no graph is refused, whatever it is."""

import json

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.export import graph_from_data, graph_to_data, stored_parameter
from pinnsolve.diff.graph import Shape, make, topological
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.program import checkpoint
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.verify import verify
from pinnsolve.errors import FileError, GraphError
from pinnsolve.nets import MLP, SIREN

X = ops.input_points("site0", 2)
W = Parameter((2, 3), lambda rng, shape: rng.normal(size=shape))
NAMES = {W: "w"}
# Networks hold no derivatives and no loops; blocks are made for devices alone.
NOT_STORED = {
    "direction", "program", "again", "blocks", "sum_blocks", "join_blocks", "split_blocks",
    "orthonormal",
}  # fmt: skip


def everything():
    """A node with every primitive below it, but for directions and what only transforms make."""
    z = X @ W.node
    wide = ops.concatenate([z, ops.column(X, 1), ops.constant([[1.0, 2.0]])])
    functions = [ops.tanh, ops.sigmoid, ops.sin, ops.cos, ops.exp, ops.expm1, ops.erf, ops.arctan]
    functions += [ops.softplus, ops.sign, ops.floor, ops.relu, ops.stop_gradient, ops.single]
    total = ops.log(ops.absolute(z)) + (1 + z * z) ** 1.5 + ops.coefficient(0.3)
    total = total + ops.log1p(z * z) + ops.vanishing_power(z, -0.5)
    total = total + ops.where(z <= 1, ops.maximum(z, 2.0), ops.equal(z, 3))
    for function in functions:
        total = total + 0.5 * function(z)
    matrix = ops.transpose(ops.reshape(total, (3, 1))) * np.ones((2, 3))
    total = total + ops.sum_entries(matrix, 0)
    pair = ops.stack([total, z])
    outer = ops.outer(pair, ops.stack([z, z]), 2)
    column = ops.sum_columns(ops.part(pair, 1)) * ops.ones(z) + ops.sum_columns(outer)
    rows = ops.collect(ops.spread(W.node) * 2)
    return column * ops.sum_columns(ops.sum_points(ops.sin(wide))) + ops.sum_entries(rows)


def restored(node, parameters=None):
    text = json.dumps(graph_to_data(node, NAMES))
    return graph_from_data(json.loads(text), parameters or {"w": W})


def test_round_trip_of_every_primitive():
    node = everything()
    assert restored(node) is node
    contracted = ops.contract(X, X @ W.node)
    assert restored(contracted) is contracted
    stored = {n.primitive for n in [*topological([node]), contracted]}
    assert set(PRIMITIVES) - stored == NOT_STORED


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


def test_a_loop_comes_back():
    points = {"site0": np.linspace(-1, 1, 8).reshape(4, 2)}
    (value,) = evaluate([restored(checkpoint(ops.sin)(X))], points)
    assert np.array_equal(value, np.sin(points["site0"]))


def test_constants_come_back():
    """Of any rank, and what is not finite too."""
    for array in (2.5, [1.0, np.nan, -np.inf], np.arange(24.0).reshape(2, 3, 4) / 7):
        node = ops.constant(array)
        assert restored(node) is node


INPUT = ["input", [], ["site0"], [1, [2], 0]]
WEIGHT = ["parameter", [], ["w"], [0, [2, 3], 0]]
DEEP = [INPUT, WEIGHT, ["dot", [0, 1], [False], [1, [3], 0]]]
MATRIX = ["reshape", [0], [[2, 1], True], [1, [2, 1], 0]]  # of INPUT
STACK = ["stack", [0, 0], [], [2, [2], 0]]
HUGE = ["input", [], ["site0"], [1, [10**12], 0]]


def one(*row):
    """A row with INPUT as row 0 and WEIGHT as row 1 before it."""
    return [INPUT, WEIGHT, list(row)]


def a_constant(data, dims):
    return [["constant", [], data, [0, dims, 0]]]


# What is wrong -> what the message says, and rows that are right but for this.
HOSTILE = {
    "nothing": ("list index out of range", []),
    "no list": ("not iterable", 7),
    "none": ("not iterable", None),
    "text": ("unpack", "rows"),
    "a mapping": ("unpack", {"row": []}),
    "a short row": ("unpack", [INPUT[:3]]),
    "a long row": ("unpack", [[*INPUT, 1]]),
    "unknown operation": ("unknown operation", [["system", [], ["ls"], [0, [1], 0]]]),
    "operation of no text": ("unhashable", [[["tanh"], [], [], [0, [1], 0]]]),
    "a dunder": ("unknown operation", [["__class__", [], [], [0, [1], 0]]]),
    "argument of later rows": ("argument in row 0", [["tanh", [1], [], [1, [2], 0]], INPUT]),
    "argument of itself": ("argument in row 0", [["tanh", [0], [], [1, [2], 0]]]),
    "negative argument": ("argument in row 2", one("tanh", [-1], [], [1, [2], 0])),
    "decimal argument": ("indices must be integers", one("tanh", [0.0], [], [1, [2], 0])),
    "argument of text": ("not supported", one("tanh", ["0"], [], [1, [2], 0])),
    "too few arguments": ("cannot have these arg", one("add", [0], [], [1, [2], 0])),
    "too many arguments": ("cannot have these arg", one("tanh", [0, 0], [], [1, [2], 0])),
    "three terms": ("cannot have these arg", one("add", [0, 0, 0], [], [1, [2], 0])),
    "two of a choice": ("cannot have these arg", one("where", [0, 0], [], [1, [2], 0])),
    "no arguments": ("cannot have these arg", [["tanh", [], [], [1, [2], 0]]]),
    "a leaf with arguments": ("cannot have these arg", one("constant", [0], [[1.0]], [0, [1], 0])),
    "wrong shape": (r"expected \[n, 2\]", one("tanh", [0], [], [1, [3], 0])),
    "wrong shape of a sum": (r"expected \[n, 2\]", one("add", [0, 0], [], [0, [2], 0])),
    "a number of points": (r"\[7, 2\], expected \[n, 2\]", one("tanh", [0], [], [1, [2], 7])),
    "endless shape": ("not a shape", one("tanh", [0], [], [1, [float("inf")], 0])),
    "decimal shape": ("not a shape", one("tanh", [0], [], [1, [2.0], 0])),
    "true shape": ("not a shape", one("tanh", [0], [], [True, [2], 0])),
    "shape of text": ("not a shape", one("tanh", [0], [], ["n", [2], 0])),
    "shape without axes": ("an iterable", one("tanh", [0], [], [1, 2, 0])),
    "shape too short": ("unpack", one("tanh", [0], [], [1, [2]])),
    "shape too long": ("unpack", one("tanh", [0], [], [1, [2], 0, 2])),
    "negative width": ("cannot have the attr", [["input", [], ["site0"], [1, [-2], 0]]]),
    "no width": ("cannot have the attr", [["input", [], ["site0"], [1, [2, 0], 0]]]),
    "a stack of data": ("cannot have the attr", [["input", [], ["site0"], [2, [2], 0]]]),
    "negative points": ("cannot have the attr", [["input", [], ["site0"], [-1, [2], 0]]]),
    "negative count": ("cannot have the attr", [["input", [], ["site0"], [1, [2], -4]]]),
    "count without points": ("cannot have the attr", [["input", [], ["site0"], [0, [2], 4]]]),
    "input without a name": ("cannot have the attr", [["input", [], [], [1, [2], 0]]]),
    "input named by a number": ("cannot have the attr", [["input", [], [3], [1, [2], 0]]]),
    "unhashable attribute": ("unhashable", one("cut", [0], [{}, 0, 1], [1, [1], 0])),
    "scale by a list": ("not a number", one("scale", [0], [[1]], [1, [2], 0])),
    "scale by text": ("not a number", one("scale", [0], ["2"], [1, [2], 0])),
    "scale by what is no float": ("too large", one("scale", [0], [10**400], [1, [2], 0])),
    "scale without number": ("unpack", one("scale", [0], [], [1, [2], 0])),
    "scale of two numbers": ("cannot have the attr", one("scale", [0], [2, 3], [1, [2], 0])),
    "one exponent": ("cannot have the attr", one("power", [0], [2.0], [1, [2], 0])),
    "two exponents": ("cannot have the attr", one("power", [0], [2, 3], [1, [2], 0])),
    "cut beyond": ("cannot have the attr", one("cut", [0], [-1, 2, 1], [1, [1], 0])),
    "cut before": ("cannot have the attr", one("cut", [0], [-1, -1, 1], [1, [1], 0])),
    "cut too long": ("cannot have the attr", one("cut", [0], [-1, 1, 2], [1, [2], 0])),
    "cut of nothing": ("cannot have the attr", one("cut", [0], [-1, 1, 0], [1, [0], 0])),
    "cut of another axis": ("cannot have the attr", one("cut", [0], [-2, 0, 1], [1, [2], 0])),
    "cut of the points": ("cannot have the attr", one("cut", [0], [0, 0, 1], [1, [2], 0])),
    "cut of text": ("cannot have the attr", one("cut", [0], [-1, "0", 1], [1, [1], 0])),
    "decimal cut": ("cannot have the attr", one("cut", [0], [-1, 0.5, 1], [1, [1], 0])),
    "part of no stack": ("cannot have these arg", one("part", [0], [0, 1], [1, [2], 0])),
    "part beyond": ("cannot have the attr", [INPUT, STACK, ["part", [1], [2, 2], [1, [2], 0]]]),
    "part of another stack": (
        "cannot have the attr", [INPUT, STACK, ["part", [1], [0, 3], [1, [2], 0]]]
    ),
    "stack of shapes": (
        "cannot have these arg",
        [INPUT, ["cut", [0], [-1, 0, 1], [1, [1], 0]], ["stack", [0, 1], [], [2, [2], 0]]],
    ),
    "stack of parameters": ("cannot have these arg", one("stack", [1, 1], [], [2, [2, 3], 0])),
    "stack of a stack": (
        "cannot have these arg", [INPUT, STACK, ["stack", [1, 1], [], [4, [2], 0]]]
    ),
    "dot without flag": ("cannot have the attr", one("dot", [0, 1], [], [1, [3], 0])),
    "dot flag of text": ("cannot have the attr", one("dot", [0, 1], ["False"], [1, [3], 0])),
    "dot that does not fit": ("cannot multiply", one("dot", [0, 1], [True], [1, [3], 0])),
    "dot of points": ("cannot multiply", one("dot", [0, 0], [False], [1, [2], 0])),
    "dot of a number": (
        "cannot multiply",
        [WEIGHT, ["coefficient", [], [2.0], [0, [], 0]], ["dot", [1, 0], [True], [0, [2], 0]]],
    ),
    "outer in no blocks": ("cannot have these arg", one("outer", [0, 0], [0], [1, [4], 0])),
    "outer in too many blocks": ("cannot have these arg", one("outer", [0, 0], [2], [1, [4], 0])),
    "outer of a row for each block": (
        "cannot have these arg",
        [INPUT, STACK, *a_constant([[1.0, 2.0]], [2]), ["outer", [1, 2], [2], [1, [4], 0]]],
    ),
    "outer with a matrix": ("cannot have these arg", one("outer", [0, 1], [1], [1, [6], 0])),
    "outer of a row and a matrix": (
        "cannot have these arg", [INPUT, MATRIX, ["outer", [0, 1], [1], [1, [2], 0]]]
    ),
    "outer of parameters": ("cannot have these arg", one("outer", [1, 1], [1], [1, [9], 0])),
    "contraction of numbers": (
        "cannot have these arg",
        [["input", [], ["site0"], [1, [], 0]], ["contract", [0, 0], [], [0, [1, 1], 0]]],
    ),
    "contraction of rows": ("cannot contract", one("contract", [0, 1], [], [0, [2, 3], 0])),
    "sum over no points": ("which has none", one("sum_points", [1], [], [0, [3], 0])),
    "sum over points of a stack": (
        "which has none", [INPUT, STACK, ["sum_points", [1], [], [0, [2], 0]]]
    ),
    "ones at no points": ("cannot have these arg", one("ones", [1], [], [0, [1], 0])),
    "sum over no axes": ("cannot have the attr", one("sum_axes", [0], [[]], [1, [2], 0])),
    "sum over the points": ("cannot have the attr", one("sum_axes", [0], [[0]], [1, [2], 0])),
    "sum over an axis twice": (
        "cannot have the attr", one("sum_axes", [0], [[-1, -1]], [1, [1], 0])
    ),
    "sum over another axis": ("cannot have the attr", one("sum_axes", [0], [[-2]], [1, [2], 0])),
    "sum over an axis of text": ("cannot have the attr", one("sum_axes", [0], ["a"], [1, [1], 0])),
    "sum over no list": ("cannot have the attr", one("sum_axes", [0], [-1], [1, [1], 0])),
    "reshape to another size": ("cannot reshape", one("reshape", [0], [[3], True], [1, [3], 0])),
    "reshape to an open size": (
        "cannot have the attr", one("reshape", [0], [[-1], True], [1, [2], 0])
    ),
    "reshape of the points": (
        "cannot have the attr", one("reshape", [0], [[2], False], [1, [2], 0])
    ),
    "reshape to decimals": (
        "cannot have the attr", [INPUT, ["reshape", [0], [[2.0, 1.0], True], [1, [2, 1], 0]]]
    ),
    "transpose by no order": (
        "cannot have the attr", one("transpose", [1], [[0, 0], False], [0, [2, 2], 0])
    ),
    "transpose by negative axes": (
        "cannot have the attr", one("transpose", [1], [[-1, 0], False], [0, [3, 2], 0])
    ),
    "transpose by axes of text": (
        "cannot have the attr", one("transpose", [1], [["1", 0], False], [0, [3, 2], 0])
    ),
    "transpose of the points": (
        "cannot have the attr", one("transpose", [0], [[1, 0], True], [1, [2], 0])
    ),
    "concatenate of one": ("cannot have these arg", one("concatenate", [0], [-1], [1, [2], 0])),
    "concatenate of a matrix": (
        "cannot have these arg", one("concatenate", [0, 1], [-1], [1, [5], 0])
    ),
    "concatenate of a row for all points": (
        "cannot have these arg",
        [INPUT, *a_constant([[[1.0]]], [1, 1]), ["concatenate", [0, 1], [-1], [1, [3], 0]]],
    ),
    "concatenate along the points": (
        "cannot have the attr", one("concatenate", [0, 0], [0], [1, [4], 0])
    ),
    "concatenate along another axis": (
        "cannot have the attr", one("concatenate", [0, 0], [-2], [1, [4], 0])
    ),
    "rows of no array": ("cannot be points", one("spread", [0], [], [1, [2], 0])),
    "rows of a number": (
        "cannot be points",
        [["coefficient", [], [2.0], [0, [], 0]], ["spread", [0], [], [1, [], 1]]],
    ),
    "rows that are not counted": ("expected", one("spread", [1], [], [1, [3], 0])),
    "points without number as rows": ("cannot become rows", one("collect", [0], [], [0, [2], 0])),
    "ragged constant": ("inhomogeneous", a_constant([[[1.0], [1.0, 2.0]]], [2])),
    "empty constant": ("no entries", a_constant([[]], [0])),
    "constant of text": ("real numbers, not of <U", a_constant([["a"]], [1])),
    "constant of digits": ("real numbers, not of <U", a_constant(["1.0"], [])),
    "constant of nothing": ("real numbers, not of object", a_constant([None], [])),
    "constant of what is no float": ("not of object", a_constant([10**400], [])),
    "constant of two arrays": ("unpack", a_constant([[1.0], [2.0]], [1])),
    "constant of another shape": (r"expected \[1, 1\]", a_constant([[[1.0]]], [1, 2])),
    "unknown parameter": ("'q'", [["parameter", [], ["q"], [0, [2, 3], 0]]]),
    "parameter of a list": ("unhashable", [["parameter", [], [["w"]], [0, [2, 3], 0]]]),
    "two parameters": ("unpack", [["parameter", [], ["w", "w"], [0, [2, 3], 0]]]),
    "parameter of another shape": ("expected", [["parameter", [], ["w"], [0, [3, 2], 0]]]),
    "direction": ("'w'", [["direction", [], ["w"], [0, [2, 3], 0]]]),
    "a program": ("cannot have the attr", one("program", [0], [], [1, [2], 0])),
    "a named program": ("cannot have the attr", one("program", [0], ["scan"], [1, [2], 0])),
    "coefficient of no number": ("not a number", [["coefficient", [], [None], [0, [], 0]]]),
    "matrix times points": ("rows of points meet", one("multiply", [0, 1], [], [1, [2, 3], 0])),
    "matrix below points": ("rows of points meet", one("less", [1, 0], [], [1, [2, 3], 0])),
    "choice of matrices by points": (
        "rows of points meet", one("where", [0, 1, 1], [], [1, [2, 3], 0])
    ),
    "a row that is not aligned": (
        "cannot have these arg",
        [INPUT, *a_constant([[[1.0, 2.0]]], [1, 2]), ["add", [0, 1], [], [1, [2], 0]]],
    ),
    "numbers and rows at points": (
        "cannot have these arg",
        [INPUT, ["input", [], ["a"], [1, [], 0]], ["add", [0, 1], [], [1, [2], 0]]],
    ),
    "too many attributes": ("cannot have the attr", one("tanh", [0], [1.0], [1, [2], 0])),
    "a bad row in the middle": ("expected", [INPUT, ["tanh", [0], [], [1, [9], 0]], INPUT]),
    "a long row times zero": ("expected", [HUGE, ["scale", [0], [0.0], [0, [10**12], 0]]]),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data_is_refused(name):
    message, rows = HOSTILE[name]
    with pytest.raises(FileError, match=rf"graph.*{message}|{message}.*graph"):
        graph_from_data(rows, {"w": W})


def test_the_good_rows_among_them_are_good():
    assert graph_from_data(DEEP, {"w": W}) is X @ W.node
    assert graph_from_data([INPUT, MATRIX], {}) is ops.reshape(X, (2, 1))
    assert graph_from_data([INPUT, STACK], {}) is ops.stack([X, X])
    assert graph_from_data([HUGE], {}).dims == (10**12,)
    spread = graph_from_data([WEIGHT, ["spread", [0], [], [1, [3], 2]]], {"w": W})
    assert spread is ops.spread(W.node)
    row = graph_from_data([*a_constant([[1.0, float("nan"), float("-inf")]], [3])], {})
    assert np.array_equal(evaluate([row], {})[0], [1, np.nan, -np.inf], equal_nan=True)


@pytest.mark.parametrize("primitive", sorted(PRIMITIVES))
def test_random_rows_never_do_more_than_fail(primitive):
    """Any row gives a FileError, or a node that has a value of its shape."""
    rng = np.random.default_rng(sum(map(ord, primitive)))
    values = [0, 1, 2, -1, -2, True, False, 0.5, "w", "site0", None, [1.0], [[1.0, 2.0]], [0, 1],
              [1, 0], [-1], [2, 1], []]  # fmt: skip
    shapes = [[], [1], [2], [3], [1, 1], [2, 1], [1, 2], [2, 2], [2, 3], [3, 2], [1, 2, 1]]
    base = [*DEEP, MATRIX, ["ones", [0], [], [1, [1], 0]], ["spread", [1], [], [1, [3], 2]]]

    def pick(choices):
        return choices[rng.integers(len(choices))]

    for _ in range(400):
        row = [
            primitive,
            rng.integers(0, len(base), size=rng.integers(4)).tolist(),
            [pick(values) for _ in range(rng.integers(4))],
            [int(rng.integers(3)), pick(shapes), int(rng.integers(3)) // 2 * 2],
        ]
        try:
            node = graph_from_data([*base, row], {"w": W})
        except FileError:
            continue
        leaves = {node: np.ones((2, *node.dims)[node.points == 0 :]) for node in topological([node])
                  if node.primitive in ("input", "parameter")}  # fmt: skip
        (value,) = evaluate([node], leaves)
        full = (2 * node.points, *node.dims) if node.points else node.dims
        assert np.broadcast_shapes(value.shape, full) == full


# --- the verifier on nodes made by hand ----------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (lambda: make("place", (X,), (0, 2), Shape(1, (2,))), "no primitive 'place'"),
        (lambda: make("tanh", (X,), (), Shape(1, (3,))), r"shape \[n, 3\], expected \[n, 2\]"),
        (lambda: make("cut", (X,), (-1, 5, 1), Shape(1, (1,))), r"the attributes \(-1, 5, 1\)"),
        (lambda: make("multiply", (X,) * 3, (), X.shape), "multiply cannot have these arguments"),
        (lambda: make("tanh", (), (), X.shape), "tanh cannot have these arguments: none"),
        (lambda: make("dot", (X, W.node), (True,), X.shape), "cannot multiply"),
        (lambda: make("parameter", (), (W,), Shape(0, (9,))), r"shape \[9\], expected \[2, 3\]"),
        (lambda: make("where", (X, X), (), X.shape), "where cannot have these arguments"),
        (lambda: make("where", (X, W.node, X), (), X.shape), "rows of points meet rows"),
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
