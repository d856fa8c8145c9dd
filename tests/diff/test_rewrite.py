"""Rewrites keep every value and never raise the cost; each rule does what it says, and no more."""

import numpy as np
import pytest
from hypothesis import given, settings

from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import cost
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Graph, Shape, make, topological
from pinnsolve.diff.parameters import Layout, Parameter
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.residual import PROGRAMS, direction
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.rewrite import PASSES, merge_products, merge_sums, rewrite, simplify, stages
from pinnsolve.diff.taylor import tangent
from pinnsolve.diff.verify import verify
from tests.devices.gallery import NAMES, case
from tests.diff.random_graphs import GRAPHS, VALUES, graph

# --- random graphs ---------------------------------------------------------------------------


def check_pass(before, after):
    """Valid, of the same shapes and values, and no dearer."""
    verify(after.outputs.values())
    assert [n.shape for n in after.outputs.values()] == [n.shape for n in before.outputs.values()]
    assert not cost(after).exceeds(cost(before))
    inner = evaluate(before.nodes(), VALUES)
    size = max((np.abs(v[np.isfinite(v)]).max(initial=1.0) for v in inner), default=1.0)
    values = (evaluate(g.outputs.values(), VALUES) for g in (before, after))
    for a, b in zip(*values, strict=True):
        assert np.array_equal(np.isfinite(a), np.isfinite(b))
        finite = np.isfinite(a)
        assert np.allclose(a[finite], b[finite], rtol=1e-11, atol=1e-12 * size)


def check(found):
    """Every pass alone, all of them in turn, and all of them again."""
    verify(found.outputs.values())
    for _, run in PASSES:
        check_pass(found, Graph(run(found.outputs)))
    before = found
    for _, after in stages(found):
        check_pass(before, after)
        before = after
    again = rewrite(before)
    assert all(again.outputs[name] is node for name, node in before.outputs.items())


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(GRAPHS)
def test_passes_keep_values_and_do_not_raise_the_cost(found):
    check(found)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None, database=None)
@given(GRAPHS)
def test_passes_on_many_graphs(found):
    check(found)


def test_random_graphs_have_every_operation():
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(200):
        choices = rng.integers(0, (8, 42, 42, 120), (40, 4)).tolist()
        found |= {n.primitive for n in graph(choices, 2, backward=True).nodes()}
    assert found == set(PRIMITIVES) - {"program", "orthonormal"}  # the second by the last lowering


# --- rules, one by one -----------------------------------------------------------------------

X, Y = ops.input_points("x", 6), ops.input_points("y", 6)
S, R = ops.input_points("s", 1), ops.input_points("r", 1)
BUNDLE = ops.blocks(make("input", (), ("rows",), Shape(0, (3, 6))), X)
U, V = (Parameter((6,), lambda rng, shape: rng.normal(size=shape)).node for _ in range(2))
WIDE = [Parameter((6, 6), lambda rng, shape: rng.normal(size=shape) / 3) for _ in range(2)]
W, NARROW = WIDE[0].node, Parameter((6, 2), WIDE[0].initializer).node
NU = ops.coefficient(0.01)
C = ops.less(0.0, X)
ONE = ops.constant(1.0)


def raw(primitive, args, attributes, like):
    """A node as it stands in graphs whose arguments were exchanged."""
    return make(primitive, args, attributes, like.shape)


REWRITTEN = {
    "constants": (ops.sin(ops.constant([0.0])) + U, U),
    "constants at points": (X * ops.exp(ops.constant(np.zeros(6))), X),
    "plus zero": (raw("add", (X, ops.constant(0.0)), (), X), X),
    "times one": (raw("multiply", (X, ops.constant(np.ones(6))), (), X), X),
    "numbers in numbers": (raw("scale", (2 * X,), (3.0,), X), 6 * X),
    "no choice": (raw("where", (C, X, X), (), X), X),
    "known choice": (raw("where", (ONE, X, Y), (), X), X),
    "choice in a choice": (raw("where", (C, ops.where(C, X, Y), R), (), X), ops.where(C, X, R)),
    "axes twice": (ops.transpose(raw("transpose", (ops.transpose(W),), ((0, 1), False), W)), W),
    "transposed weight": (ops.dot(X, ops.transpose(W)), ops.dot(X, W, transposed=True)),
    "transposed contraction": (ops.transpose(ops.contract(X, Y)), ops.contract(Y, X)),
    "neighbours": (ops.concatenate([X[:2], X[2:5], Y]), ops.concatenate([X[:5], Y])),
    "all neighbours": (ops.concatenate([X[:2], X[2:]]), X),
    "member of a stack": (ops.part(ops.stack([X, Y]), 1), Y),
    "sums of sums": (ops.sum_axes(ops.sum_axes(W, (0,)), (1,)), ops.sum_axes(W, (0, 1))),
    "even functions": (ops.cos(-X) * ops.absolute(-Y), ops.cos(X) * ops.absolute(Y)),
    "sum over points": (
        ops.sum_points(NU * (3 * X)),
        raw("multiply", (3 * NU, ops.sum_points(X)), (), U),
    ),
    "sum over blocks": (ops.sum_blocks(ops.sin(BUNDLE) * X), X * ops.sum_blocks(ops.sin(BUNDLE))),
    "sum over axes": (ops.sum_columns(S * (2 * X)), 2 * (S * ops.sum_columns(X))),
    "product": (ops.dot(S * X, NARROW), S * ops.dot(X, NARROW)),
    "small factors": (U * (X * V), (U * V) * X),
    "numbers at small factors": (-2 * (U * X), raw("multiply", (-2 * U, X), (), X)),
    "equal terms": ((X + Y) + 3 * Y, X + 4 * Y),
    "equal products": (
        X * (Y * S) + (X * Y) * S,
        raw("multiply", (raw("multiply", (2 * S, X), (), X), Y), (), X),
    ),
    "common weight": (ops.dot(X, W) + ops.dot(ops.sin(X), W), ops.dot(X + ops.sin(X), W)),
    "common choice": (ops.where(C, X, 0.0) + ops.where(C, 0.0, Y), ops.where(C, X, Y)),
    "common factor": (X * ops.sin(Y) + X * ops.cos(Y), X * (ops.sin(Y) + ops.cos(Y))),
    "common factors": (
        ops.exp(X) * (X * Y) + ops.exp(X) * (X * ops.sin(Y)) + ops.exp(X) * ops.cos(Y),
        ops.exp(X) * (X * (Y + ops.sin(Y)) + ops.cos(Y)),
    ),
    "common number": (3 * ops.sin(X) + (ops.cos(X) + 3 * Y), 3 * (ops.sin(X) + Y) + ops.cos(X)),
    "small terms": ((X + U) + V, (U + V) + X),
}  # fmt: skip


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_rule(name):
    """One object, as equal graphs are; the names of rules say what happens."""
    before, after = REWRITTEN[name]
    assert rewrite(Graph({"y": before})).outputs["y"] is after
    assert before is not after
    first, second = cost([before]), cost([after])
    assert not second.exceeds(first)
    assert first.exceeds(second) or second.nodes < first.nodes


KEPT = {
    "x - x is NaN where x is infinite": X - X,
    "x / x is NaN at 0": X / X,
    "sqrt(x) sqrt(x) is NaN below 0": ops.sqrt(X) * ops.sqrt(X),
    "log(exp(x)) overflows": ops.log(ops.exp(X)),
    "exp(x) exp(y) overflows elsewhere than exp(x + y)": ops.exp(X) * ops.exp(Y),
    "derivatives stop": ops.stop_gradient(2 * X),
    "what is computed again is for memory": make("again", (X,), (1,), X.shape),
    "a number at each point is cheaper before a product that widens": ops.dot(
        S * ops.sin(S), Parameter((1, 6), WIDE[0].initializer)
    ),
    "small products stay small": (S * R) * X + (S * ops.sin(R)) * Y,
    "infinite constants show where they are made": ops.log(ops.constant(0.0)) * X,
}


@pytest.mark.parametrize("name", KEPT)
def test_what_is_no_rule(name):
    assert rewrite(Graph({"y": KEPT[name]})).outputs["y"] is KEPT[name]


def test_what_has_other_users_is_not_taken_apart():
    """f a + f b is one product cheaper as f (a + b) only when f a and f b are not needed."""
    f, a, b = ops.sin(X), ops.cos(Y), ops.exp(Y)
    outputs = {"sum": f * a + f * b, "first": f * a, "second": f * b}
    assert rewrite(Graph(outputs)).outputs["sum"] is outputs["sum"]
    less = rewrite(Graph({"sum": f * a + f * b})).outputs["sum"]
    assert less is f * (a + b)


def test_a_sum_of_wide_arguments_costs_more_than_narrow_products():
    """a W + b W = (a + b) W writes six numbers for one."""
    out = {"u": ops.dot(X, U[:, None]) + ops.dot(Y, U[:, None])}
    assert simplify(out)["u"] is out["u"]


def test_values_that_are_not_finite_stay_so():
    x = ops.input_points("x", 1)
    u = (x * ops.sin(x) + x * ops.cos(x)) + (x - x) + ops.where(ops.less(x, 0.0), ops.log(x), x)
    values = {"x": np.array([[np.inf], [-np.inf], [np.nan], [0.0], [2.0]])}
    before, after = (
        evaluate([node], values)[0] for node in (u, rewrite(Graph({"u": u})).outputs["u"])
    )
    assert np.array_equal(np.isnan(before), np.isnan(after))
    assert np.isnan(before).sum() == 3


def test_large_constants_are_not_made():
    """A table of what its parts say is not part of a program's text."""
    rows, columns = ops.constant(np.arange(200.0)[:, None]), ops.constant(np.arange(200.0))
    small = ops.constant(np.arange(9.0)[:, None]) * ops.constant(np.arange(9.0))
    found = rewrite(Graph({"large": rows * columns, "small": small})).outputs
    assert found["large"] is rows * columns
    assert found["small"].primitive == "constant"
    assert np.array_equal(evaluate([found["small"]], {})[0], np.outer(np.arange(9), np.arange(9)))


def test_equal_parts_are_computed_once():
    """Interning: equal nodes are one object, also those that passes make equal."""
    a, b = ops.tanh(ops.dot(X, ops.transpose(W))), ops.tanh(ops.dot(X, W, transposed=True))
    assert ops.tanh(X) is ops.tanh(X)
    assert a is not b
    found = rewrite(Graph({"a": a, "b": b})).outputs
    assert found["a"] is found["b"]


def test_dead_code_is_not_there():
    """A graph is what its outputs reach."""
    unused = ops.exp(X) * 2
    out = ops.where(ops.constant(1.0), X * Y, 0.0)
    assert unused not in set(Graph({"y": out}).nodes())
    masked = raw("where", (ops.constant(0.0), unused, out), (), X)
    assert unused in set(Graph({"y": masked}).nodes())
    assert unused not in set(rewrite(Graph({"y": masked})).nodes())


def test_sums_of_thousands_of_terms():
    """No recursion, and no work that grows faster than the sum."""
    terms = [ops.sin((k + 2) * X) for k in range(3000)]
    total = terms[0] * Y
    for term in terms[1:]:
        total = total + term * Y
    found = rewrite(Graph({"y": total})).outputs["y"]
    assert found.primitive == "multiply"
    assert sum(n.primitive == "multiply" for n in topological([found])) == 1


def test_each_pass_names_itself():
    assert [name for name, _ in PASSES] == [
        "simplify by rules",
        "merge products that share a weight",
        "merge sums of contractions",
    ]
    assert all(run.__doc__ for _, run in PASSES)


def test_stages_name_the_passes_that_changed_something():
    assert list(stages(Graph({"y": ops.tanh(X)}))) == []
    ((name, found),) = stages(Graph({"y": X * ops.sin(Y) + X * ops.cos(Y)}))
    assert name == "simplify by rules"
    assert found.outputs["y"] is X * (ops.sin(Y) + ops.cos(Y))


# --- merging ---------------------------------------------------------------------------------

N = 5
ROW = Parameter((1, 6), WIDE[0].initializer)
LAYOUT = Layout.of({"a": WIDE[0], "b": WIDE[1], "row": ROW})
LEAVES = {
    "x": np.random.default_rng(0).normal(size=(N, 6)),
    "y": np.random.default_rng(1).normal(size=(N, 6)),
    **LAYOUT.views(LAYOUT.initialize(np.random.default_rng(2))),
}


def agree(first, second):
    """Equal to rounding, each output at its own size."""
    assert first.keys() == second.keys()
    before = evaluate(first.values(), LEAVES)
    after = evaluate(second.values(), LEAVES)
    for a, b in zip(before, after, strict=True):
        assert np.allclose(a, b, rtol=1e-11, atol=1e-12 * max(1, np.abs(a).max()))


def count(outputs, primitive):
    return sum(node.primitive == primitive for node in topological(outputs.values()))


def test_products_of_one_weight_become_one():
    a, b = ops.sin(X) @ W, ops.cos(X) @ W
    merged = merge_products({"u": ops.tanh(a) * b})
    assert count(merged, "dot") == 1
    assert count(merged, "stack") == 1
    agree({"u": ops.tanh(a) * b}, merged)


def test_products_that_need_each_other_stay_apart():
    out = {"u": ops.tanh(ops.tanh(X @ W) @ W)}
    assert merge_products(out)["u"] is out["u"]
    mixed = {"u": ops.tanh(X @ W) @ W + ops.sin(X) @ W}
    assert count(merge_products(mixed), "dot") == 2  # two of the three are independent
    agree(mixed, merge_products(mixed))


def test_products_wait_for_each_other():
    """The first of two products of one weight could be made early, but its partner needs more."""
    v = WIDE[1].node
    out = {"u": X @ W + ops.tanh(Y @ v) @ W}
    merged = merge_products(out)
    assert count(merged, "dot") == 2
    agree(out, merged)


def test_products_that_wait_in_a_circle():
    """x W -> . V and y V -> . W: either pair could be one product, not both. The chain beside them
    is as long as it takes to wait."""
    v = WIDE[1].node
    chain = ops.exp(X)
    for k in range(3):
        chain = ops.tanh(chain @ ops.scale(k + 2, W))
    out = {"a": ops.tanh(X @ W) @ v, "b": ops.tanh(Y @ v) @ W, "chain": chain}
    merged = merge_products(out)
    assert count(merged, "dot") == 3 + 3
    agree(out, merged)


def test_products_of_different_shapes_stay_apart():
    m = make("input", (), ("m",), Shape(1, (2, 6)))
    out = {"a": ops.dot(m, W), "b": ops.dot(X, W)}
    assert all(merge_products(out)[name] is out[name] for name in out)


def test_narrow_products_are_arithmetic():
    columns = ops.concatenate([ops.column(X, 0), ops.column(Y, 1)])
    w = Parameter((2, 6), WIDE[0].initializer).node
    out = {"u": (columns @ w) * (ops.sin(columns) @ w)}
    assert merge_products(out)["u"] is out["u"]


def test_sums_of_contractions_become_one():
    total = ops.contract(X, ops.sin(X)) + ops.contract(ops.cos(X), X) + ops.contract(X, X)
    merged = merge_sums({"g": total})
    assert count(merged, "contract") == 1
    assert count(merged, "add") == 0
    agree({"g": total}, merged)
    assert cost(merged.values()).uniform_flops < cost([total]).uniform_flops


def test_contractions_with_other_users_stay_apart():
    first, second = ops.contract(X, Y), ops.contract(ops.sin(X), Y)
    out = {"sum": first + second, "first": first}
    assert merge_sums(out)["sum"] is out["sum"]


def test_a_shared_sum_is_not_taken_apart():
    """Otherwise networks with skip connections would be summed again at every layer."""
    shared = ops.sin(X) + ops.cos(X)
    out = {"u": ops.exp(X) + shared, "v": shared * X}
    assert all(merge_sums(out)[name] is node for name, node in out.items())
    a, b = X, ops.sin(X)
    for _ in range(40):
        a, b = b, ops.add(a, b)  # 10^8 terms if written out
    assert merge_sums({"u": b})["u"] is b
    assert rewrite(Graph({"u": b})).outputs["u"] is b


# --- the programs of the gallery -------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_all_programs_of_the_gallery(name):
    """Every program of every block: valid, of the same value after all passes, and no dearer."""
    problem = case(name)
    nodes = [p.node for p in problem.layout.parameters]
    views = problem.layout.views(problem.theta())
    along = problem.layout.views(problem.direction())
    for block, points in zip(problem.blocks, problem.points, strict=True):
        leaves = {**points.named(), **views, "weight": points.scale}
        leaves |= {direction(p.node): v for p, v in along.items()}
        for build in PROGRAMS.values():
            before = build(block.residuals, nodes)
            after = rewrite(before)
            verify(before.outputs.values())
            verify(after.outputs.values())
            assert not cost(after).exceeds(cost(before))
            values = [evaluate(g.outputs.values(), leaves) for g in (before, after)]
            for a, b in zip(*values, strict=True):
                assert np.allclose(a, b, rtol=1e-12, atol=1e-12 * np.abs(a).max())
            again = rewrite(after)
            assert all(again.outputs[k] is node for k, node in after.outputs.items())


def test_tangents_survive_rewriting():
    h = ops.tanh(X @ W + ROW.node)
    out = ops.sum_columns(ops.sin(h @ WIDE[1].node) * h + ops.dot(h, W, transposed=True))
    (slope,) = tangent([out], {p.node: ops.constant(LEAVES[p].tolist()) for p in WIDE})
    agree({"t": slope}, rewrite(Graph({"t": slope})).outputs)


def test_derivatives_of_rewritten_graphs():
    """Rewriting before a transform changes values by rounding alone."""
    h = ops.tanh(2 * (X @ W) + ops.dot(X, W) * U)
    loss = ops.sum_points(ops.sum_columns(0.5 * (h * h) + h * Y * 0.5))
    leaves = [WIDE[0].node, X]
    values = {**LEAVES, U.attributes[0]: np.linspace(-1, 1, 6)}
    found = [
        evaluate(reverse({out: ops.constant([1.0])}, leaves), values)
        for out in (loss, rewrite(Graph({"loss": loss})).outputs["loss"])
    ]
    for a, b in zip(*found, strict=True):
        assert np.allclose(a, b, rtol=1e-12, atol=1e-13)
