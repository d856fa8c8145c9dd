"""Nodes: interned, printed, guarded against Python branches; the interpreter's own errors."""

import math
import re

import numpy as np
import pytest

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.freeze import freeze
from pinnsolve.diff.graph import Graph, Shape, make, rebuild, show, substitute, topological
from pinnsolve.diff.parameters import Layout, Parameter, initialize
from pinnsolve.errors import GraphError, NetworkError

x, y = ops.input_points("x", 2), ops.input_points("y", 3)
weight = Parameter((2, 3), lambda rng, shape: rng.normal(size=shape))


def test_equal_nodes_are_one_object():
    assert ops.tanh(x @ weight.node) is ops.tanh(ops.dot(x, weight))
    assert x + ops.sin(x) is ops.sin(x) + x
    assert x * ops.sin(x) is ops.sin(x) * x
    assert ops.tanh(x) is not ops.tanh(y)
    assert ops.input_points("x", 2) is x
    assert ops.coefficient(2.0) is ops.coefficient(2.0)
    assert ops.coefficient(2.0) is not ops.coefficient(3.0)


def test_parameters_are_told_apart_by_identity():
    other = Parameter((2, 3), weight.initializer)
    assert other.node is not weight.node
    assert (x @ other.node) is not (x @ weight.node)


def test_numbers_are_folded():
    assert (2 * x) * 3 is 6 * x
    assert (2 * x) * (3 * ops.sin(x)) is 6 * (x * ops.sin(x))
    assert x + x is 2 * x
    assert x + 0 is x
    assert 1 * x is x
    assert x / 4 is 0.25 * x
    assert x**1 is x
    assert x**2 is x * x
    assert -1 * (-x) is x
    assert ops.number_of(ops.constant(2) * ops.constant(3) + 1) == 7
    assert ops.is_zeros(0 * ops.column(x, 0))
    assert (0 * x).dims == x.dims
    assert np.float64(2) * x is 2 * x
    assert np.float32(2) * x is np.array(2.0) * x is x * np.int64(2) is 2 * x


def test_constants_that_are_not_finite_are_folded_without_a_warning():
    assert ops.constant(10.0) ** 400 is ops.constant(np.inf)
    total, product = ops.constant([np.inf, 1]) + np.array([-np.inf, 2]), 0 * ops.constant([np.inf])
    assert {total.primitive, product.primitive} == {"constant"}
    values = np.concatenate(evaluate([total, product], {}))
    assert np.array_equal(values, [np.nan, 3, np.nan], equal_nan=True)


def test_equal_arrays_are_one_constant():
    row = np.array([1.0, 2.0])
    assert ops.constant([1, 2]) is ops.constant(row) is ops.constant(row.astype(np.float32))
    assert ops.constant([0.0, -0.0]) is ops.constant([0.0, 0.0])
    assert ops.constant([1.0, 2.0]) is not ops.constant([[1.0, 2.0]])
    assert ops.constant([np.nan, 1.0]) is ops.constant([np.nan, 1.0])
    long = np.arange(100.0)
    assert ops.constant(long) is ops.constant(long.copy())
    assert ops.constant(long) is not ops.constant(long[::-1])
    assert x * row is x * ops.constant(row)
    assert row * x is x * row


def test_a_constant_keeps_its_value():
    """The array that it was made from may change afterwards."""
    row = np.array([1.0, 2.0])
    node = ops.constant(row)
    row[:] = 7
    assert np.array_equal(evaluate([node], {})[0], [1, 2])
    with pytest.raises(ValueError, match="read-only"):
        evaluate([node], {})[0][0] = 3


def test_text():
    graph = Graph({"u": ops.tanh(x @ weight.node) + 0.5})
    assert str(graph).splitlines() == [
        "%0: [n, 2] = input x",
        f"%1: [2, 3] = parameter {weight}",
        "%2: [n, 3] = dot False %0 %1",
        "%3: [n, 3] = tanh %2",
        "%4: [] = constant 0.5",
        "%5: [n, 3] = add %3 %4",
        "u = %5",
    ]
    assert repr(ops.sin(x)) == "%0: [n, 2] = input x\n%1: [n, 2] = sin %0\nvalue = %1"
    shapes = {
        "[2 n, 2]": ops.stack([x, 2 * x]),
        "[]": ops.coefficient(1),
        "[n]": ops.reshape(ops.column(x, 0), ()),
        "[n, 2, 1]": ops.reshape(x, (2, 1)),
        "[5, 2]": ops.spread(ops.constant(np.ones((5, 2)))),
    }
    assert [str(node.shape) for node in shapes.values()] == list(shapes)
    assert "constant [[1.0, 1.0], [1.0, 1.0]]\n" in str(ops.constant(np.ones((2, 2))))
    assert re.search(r"constant array\(50,\):[0-9a-f]{8}\n", str(ops.constant(np.ones(50))))


def test_a_graph_built_twice_has_the_same_text():
    def build():
        w = Parameter((2, 3), weight.initializer)
        z = ops.tanh(x @ w.node) * ops.column(y, 1) + ops.sin(x @ w.node)
        return show({"u": z * (1 + z)}).replace(str(w), "w")

    first = build()
    ops.sin(x) * ops.cos(ops.exp(x))
    assert build() == first


def test_topological_order_puts_arguments_first():
    node = ops.sin(x) * ops.cos(x) + ops.sin(x)
    order = topological([node, ops.cos(x)])
    assert len(order) == len(set(order)) == 5
    place = {n: k for k, n in enumerate(order)}
    assert all(place[a] < place[n] for n in order for a in n.args)


def test_deep_graphs_need_no_recursion():
    node = x
    for _ in range(5000):
        node = ops.sin(node)
    assert len(topological([node])) == 5001
    assert np.isfinite(evaluate([node], {"x": np.ones((1, 2))})[0]).all()


def test_substitute_rebuilds_what_lies_above():
    node = ops.sin(x) + ops.exp(x)
    new = substitute({"value": node}, {ops.sin(x): ops.cos(x)})["value"]
    assert new is ops.cos(x) + ops.exp(x)
    assert rebuild(node, node.args) is node


@pytest.mark.parametrize(
    "branch",
    [
        lambda v: 1 if v else 0,
        lambda v: v and 1,
        lambda v: not v,
        lambda v: 1 if v > 0 else 0,
        lambda v: 1 if v >= 0 else 0,
        lambda v: 1 if v <= v + 1 else 0,
        lambda v: 0 < v < 1,
        lambda v: max(v, 0),
        lambda v: [k for k in range(3) if v],
    ],
)
def test_a_python_branch_on_a_traced_value_is_refused(branch):
    message = r"Python branch .* at .*test_graph\.py:\d+; .*ops\.where.*diff\.cond.*while_loop"
    with pytest.raises(GraphError, match=message):
        branch(x)


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (float, r"float\(\) was called .*test_graph\.py:\d+.*pinnsolve\.ops, not math"),
        (math.sin, r"float\(\) was called"),
        (int, r"int\(\) was called .*while_loop"),
        (range, r"int\(\) was called"),
        (np.asarray, r"a numpy function was called .*pinnsolve\.ops"),
        (np.linalg.norm, r"a numpy function was called"),
        (np.sin, r"numpy\.sin was called .*test_graph\.py:\d+; use the function of the same name"),
        (np.add.reduce, r"numpy\.add was called"),
        (lambda v: np.add(v, 1, where=False), r"numpy\.add was called"),
    ],
)
def test_a_traced_value_has_no_number(use, message):
    with pytest.raises(GraphError, match=message):
        use(x)


def test_operators_of_numpy_are_ours():
    row = np.array([1.0, 2.0])
    assert np.add(row, x) is row + x is x + row
    assert np.multiply(row, x) is x * row
    assert np.subtract(row, x) is row - x
    assert np.power(x, 2) is x * x
    assert np.matmul(x, weight.node) is x @ weight.node
    assert np.less(row, x) is (x > row)


def test_comparisons_give_masks():
    points = np.array([[-1.0, 0.0], [0.0, 2.0]])
    row = np.array([0.0, 2.0])
    masks = [x < 0, x <= 0, x > 0, x >= 0, row > x, row <= x, ops.equal(x, 0)]
    expected = [points < 0, points <= 0, points > 0, points >= 0, row > points, row <= points,
                points == 0]  # fmt: skip
    for mask, value in zip(evaluate(masks, {"x": points}), expected, strict=True):
        assert mask.dtype == float
        assert np.array_equal(mask, value)


def test_nodes_are_keys_and_have_no_equality():
    assert {x: 1}[ops.input_points("x", 2)] == 1
    assert (x == x) is True
    assert (x == "x") is False
    for compare in (lambda: x == ops.sin(x), lambda: x != y, lambda: x == 1.0, lambda: x != 1):
        with pytest.raises(GraphError, match=r"by == or != .*test_graph\.py:\d+; .*ops\.equal"):
            compare()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: x + y, r"cannot add values of shapes \[n, 2\] and \[n, 3\]"),
        (lambda: x * y, r"cannot multiply values of shapes \[n, 2\] and \[n, 3\]"),
        (lambda: x * weight, r"cannot multiply values of shapes \[n, 2\] and \[2, 3\]"),
        (lambda: ops.column(x, 0) * Parameter((3, 1), None), "cannot multiply values"),
        (lambda: y @ weight.node, r"matmul of .* \[n, 3\] and \[2, 3\]: \(3, 2\) differ"),
        (lambda: ops.dot(y, weight), r"cannot multiply \[n, 3\] by the matrix \[2, 3\]"),
        (lambda: ops.dot(x, x), r"cannot multiply \[n, 2\] by the matrix \[n, 2\]"),
        (lambda: ops.dot(x, weight, transposed=True), r"by the transposed matrix \[2, 3\]"),
        (lambda: x @ y, r"matmul of values of shapes \[n, 2\] and \[n, 3\]: \(2, 3\) differ"),
        (lambda: x @ 2, r"matmul of values of shapes \[n, 2\] and \[\]"),
        (lambda: ops.column(x, 2), r"entries 2 to 2 of a value of shape \[n, 2\]"),
        (lambda: ops.column(x, -1), "entries -1 to -1"),
        (lambda: ops.sum_points(weight.node), r"\[2, 3\], which has none"),
        (lambda: ops.contract(x, weight.node), r"cannot contract \[n, 2\] with \[2, 3\]"),
        (lambda: ops.concatenate([x, weight.node]), "side by side"),
        (lambda: ops.power(x, y), r"shapes \[n, 3\] and \[n, 2\]"),
        (lambda: ops.constant(-2) ** 0.5, "not a real number"),
        (lambda: ops.constant(0) ** -1, "not a real number"),
        (lambda: x / 0, "division by the number 0"),
        (lambda: x * np.ones(3), r"cannot multiply values of shapes \[n, 2\] and \[3\]"),
        (lambda: x + np.ones((4, 2)), r"\[n, 2\] and \[4, 2\]: rows of points meet rows"),
        (lambda: x + 1j, "expected a traced value, a parameter, a number or an array, not complex"),
        (lambda: x + np.array([1j, 2]), r"real numbers, not of complex128; split complex values"),
        (lambda: x + np.array(["1"]), "real numbers, not of <U1"),
        (lambda: ops.constant(None), "real numbers, not of object"),
        (lambda: ops.constant([]), "has no entries"),
        (lambda: x * [x, x], r"a list of traced values is not an array; join it with ops\.stack"),
        (lambda: x + "1", "not str"),
        (lambda: ops.apply("tanh", (), (x,)), "tanh cannot be applied"),
    ],
)
def test_wrong_operands_are_refused(build, message):
    with pytest.raises(GraphError, match=message):
        build()


def test_broadcasting_of_shapes():
    column, row, number = ops.column(x, 0), ops.constant([[1, 2, 3]]), ops.coefficient(1)
    assert (y + row).shape == (y * column).shape == (column + row).shape == Shape(1, (3,))
    assert (y + np.ones(3)).shape == (y * np.ones((1, 3))).shape == Shape(1, (3,))
    assert (number * row).shape == Shape(0, (1, 3))
    assert (weight.node * number).shape == (weight.node + row).shape == Shape(0, (2, 3))


# --- the interpreter -----------------------------------------------------------------------------


def test_a_leaf_without_a_value_is_named():
    with pytest.raises(GraphError, match="no value given for input x"):
        evaluate([ops.sin(x)], {})
    with pytest.raises(GraphError, match="no value given for parameter"):
        evaluate([x @ weight.node], {"x": np.ones((1, 2))})


@pytest.mark.parametrize(
    ("node", "values", "message"),
    [
        (x, {"x": np.ones(2)}, r"of shape \(2,\) was given for input x of shape \[n, 2\]"),
        (x, {"x": np.ones((4, 3))}, r"\(4, 3\) was given for input x"),
        (weight.node, {weight: np.ones((3, 2))}, r"\(3, 2\) was given for parameter"),
        (ops.coefficient(2), {ops.coefficient(2): [[4.0]]}, r"\(1, 1\) was given for a node"),
    ],
)
def test_values_of_another_shape_are_refused(node, values, message):
    """Broadcasting would give them another meaning."""
    with pytest.raises(GraphError, match=message):
        evaluate([ops.sin(node)], values)


def test_a_node_may_be_given_to_cut_the_graph():
    inner = ops.log(x)
    (value,) = evaluate([2 * inner + 1], {inner: np.full((2, 2), 3.0)})
    assert np.array_equal(value, np.full((2, 2), 7.0))


def test_coefficients_carry_a_value_that_can_be_replaced():
    nu = ops.coefficient(0.25)
    points = {"x": np.ones((1, 2))}
    assert evaluate([nu * x], points)[0][0, 0] == 0.25
    assert evaluate([nu * x], {**points, nu: 4.0})[0][0, 0] == 4


def test_parameters_carry_a_value_that_can_be_replaced():
    w = Parameter((2,), lambda rng, shape: np.array([1.0, 2.0]), name="w")
    with pytest.raises(GraphError, match="no value given for parameter"):
        evaluate([w.node], {})
    initialize([w])
    assert np.array_equal(evaluate([3 * w.node], {})[0], [3, 6])
    assert np.array_equal(evaluate([3 * w.node], {w: [0.0, 1.0]})[0], [0, 3])
    with pytest.raises(NetworkError, match=r"parameter w has shape \(2,\), .* \(3,\)"):
        w.value = np.ones(3)


def test_values_that_are_not_finite_are_results():
    """No warnings: IEEE arithmetic, as on every device."""
    values = evaluate([ops.log(x), x**-1, x / x, ops.exp(1e4 * x)], {"x": [[0.0, -1.0]]})
    expected = [[-np.inf, np.nan], [np.inf, -1], [np.nan, 1], [1, 0]]
    assert np.array_equal(np.vstack(values), expected, equal_nan=True)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, complex])
def test_the_interpreter_works_in_the_precision_asked_for(dtype):
    (value,) = evaluate([ops.tanh(x) * ops.constant(0.1)], {"x": np.ones((3, 2))}, dtype=dtype)
    assert value.dtype == dtype


# --- parameters in one vector --------------------------------------------------------------------


def test_layout():
    a, b = weight, Parameter((1, 4), lambda rng, shape: np.full(shape, 7.0))
    layout = Layout.of({"a": a, "b": b})
    assert (layout.sizes, layout.offsets, layout.size) == ((6, 4), (0, 6), 10)
    vector = layout.initialize(np.random.default_rng(0))
    assert np.array_equal(vector, layout.initialize(np.random.default_rng(0)))
    assert np.array_equal(vector[6:], [7, 7, 7, 7])
    views = layout.views(vector)
    views[a][1, 2] = -1
    assert vector[5] == -1  # a view, not a copy


def test_layout_errors():
    with pytest.raises(NetworkError, match="no parameters"):
        Layout.of({})
    with pytest.raises(NetworkError, match=r"expected 6 parameters, got an array \(5,\)"):
        Layout.of({"a": weight}).views(np.zeros(5))


# --- sympy to nodes: what it refuses -------------------------------------------------------------


def test_freeze_refusals():
    import sympy

    s, w = sympy.symbols("s w")
    with pytest.raises(GraphError, match="no value for the symbol w"):
        freeze(s + w, {s: x})
    with pytest.raises(GraphError, match=r"gamma in gamma\(s\) is not available.*sin"):
        freeze(sympy.gamma(s), {s: x})
    with pytest.raises(GraphError, match="complex number"):
        freeze(s + sympy.I, {s: x})


def test_small_numbers_are_text_and_others_are_inputs():
    import sympy

    s = sympy.Symbol("s")
    kinds = {
        n: make_kinds(freeze(n * s, {s: x}))
        for n in (2, -12, sympy.Rational(1, 2), 13, sympy.pi, sympy.Rational(1, 3), 0.01)
    }
    assert [n for n, found in kinds.items() if "coefficient" in found] == [
        13,
        sympy.pi,
        sympy.Rational(1, 3),
        0.01,
    ]


def make_kinds(node):
    return {n.primitive for n in topological([node])}


def test_graphs_that_differ_in_coefficients_alone_order_their_terms_alike():
    texts = {
        show({"u": ops.coefficient(nu) * ops.sin(x) + ops.cos(x) * x}).replace(repr(nu), "nu")
        for nu in (0.1, 0.25, 3.5, 100.5)
    }
    assert len(texts) == 1


def test_a_description_is_a_key():
    assert make("tanh", (x,), (), x.shape) is ops.tanh(x)
