"""Rewrites keep every value and never raise the cost; the cost model counts what it says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import FUNCTION, Cost, cost
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Graph, topological
from pinnsolve.diff.parameters import Layout, Parameter
from pinnsolve.diff.residual import PROGRAMS, direction
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.rewrite import PASSES, merge_products, merge_sums, rewrite
from pinnsolve.diff.taylor import tangent
from pinnsolve.diff.verify import verify
from tests.devices.gallery import NAMES, case

N = 5
X = ops.input_points("x", 6)
WEIGHTS = [Parameter((6, 6), lambda rng, shape: rng.normal(size=shape) / 3) for _ in range(2)]
NARROW = Parameter((6, 2), WEIGHTS[0].initializer)
ROW = Parameter((1, 6), WEIGHTS[0].initializer)
LAYOUT = Layout.of({"a": WEIGHTS[0], "b": WEIGHTS[1], "narrow": NARROW, "row": ROW})
LEAVES = {
    "x": np.random.default_rng(0).normal(size=(N, 6)),
    "y": np.random.default_rng(1).normal(size=(N, 6)),
    **LAYOUT.views(LAYOUT.initialize(np.random.default_rng(2))),
}
FUNCTIONS = (ops.tanh, ops.sin, ops.sigmoid, ops.exp)


def random_graph(choices):
    """Layers that share weights, sums that share terms, contractions: what passes look for."""
    pool = [X, ops.input_points("y", 6), X + ROW.node]
    for kind, a, b in choices:
        first, second = pool[a % len(pool)], pool[b % len(pool)]
        if kind < 4:
            pool.append(ops.dot(first, WEIGHTS[kind % 2].node, transposed=kind > 1))
        elif kind < 6:
            pool.append(first + second)
        elif kind == 6:
            pool.append(first * second)
        else:
            pool.append(ops.tanh(FUNCTIONS[kind % 4](first)))
    return ops.sum_columns(ops.dot(pool[-1], NARROW)) + ops.sum_columns(pool[len(pool) // 2])


CHOICES = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 30), st.integers(0, 30)), max_size=14
)


def programs(out):
    """Value, gradient, rows of the Jacobian: the shapes that graphs take in use."""
    nodes = [p.node for p in LAYOUT.parameters]
    loss = ops.sum_points(out * out)
    named = {"value": out, "loss": loss}
    named |= {
        f"g{k}": g for k, g in enumerate(reverse({loss: ops.constant(1.0)}, nodes)) if g is not None
    }
    rows = reverse({out: ops.column(X, 0)}, nodes, per_point=True)
    return Graph(named | {f"r{k}": g for k, g in enumerate(rows) if g is not None})


def agree(first, second):
    """Equal to rounding, each output at its own size."""
    assert first.keys() == second.keys()
    before = evaluate(first.values(), LEAVES)
    after = evaluate(second.values(), LEAVES)
    for a, b in zip(before, after, strict=True):
        if np.isfinite(a).all():
            assert np.allclose(a, b, rtol=1e-11, atol=1e-12 * max(1, np.abs(a).max()))


@pytest.mark.parametrize("name", [name for name, _ in PASSES])
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(choices=CHOICES)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_pass_keeps_values_and_does_not_raise_the_cost(name, choices):
    graph = programs(random_graph(choices))
    verify(graph.outputs.values())
    rewritten = Graph(dict(PASSES)[name](graph.outputs))
    verify(rewritten.outputs.values())
    agree(graph.outputs, rewritten.outputs)
    assert not cost(rewritten).exceeds(cost(graph))


def test_each_pass_names_itself():
    assert [name for name, _ in PASSES] == [
        "merge products that share a weight",
        "merge sums of contractions",
    ]


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


def test_products_of_one_weight_become_one():
    w = WEIGHTS[0].node
    a, b = ops.sin(X) @ w, ops.cos(X) @ w
    merged = merge_products({"u": ops.tanh(a) * b})
    kinds = [node.primitive for node in topological(merged.values())]
    assert kinds.count("dot") == 1
    assert kinds.count("stack") == 1
    agree({"u": ops.tanh(a) * b}, merged)


def test_products_that_need_each_other_stay_apart():
    w = WEIGHTS[0].node
    out = {"u": ops.tanh(ops.tanh(X @ w) @ w)}
    assert merge_products(out) == out
    mixed = {"u": ops.tanh(X @ w) @ w + ops.sin(X) @ w}
    kinds = [node.primitive for node in topological(merge_products(mixed).values())]
    assert kinds.count("dot") == 2  # two of the three are independent
    agree(mixed, merge_products(mixed))


def test_narrow_products_are_arithmetic():
    columns = ops.concatenate([ops.column(X, 0), ops.column(X, 1)])
    w = Parameter((2, 6), WEIGHTS[0].initializer).node
    out = {"u": (columns @ w) * (ops.sin(columns) @ w)}
    assert merge_products(out) == out


def test_sums_of_contractions_become_one():
    total = ops.contract(X, ops.sin(X)) + ops.contract(ops.cos(X), X) + ops.contract(X, X)
    merged = merge_sums({"g": total})
    kinds = [node.primitive for node in topological(merged.values())]
    assert kinds.count("contract") == 1
    assert kinds.count("add") == 0
    agree({"g": total}, merged)
    assert cost(merged.values()).uniform_flops < cost([total]).uniform_flops


def test_a_shared_sum_is_not_taken_apart():
    """Otherwise networks with skip connections would be summed again at every layer."""
    shared = ops.sin(X) + ops.cos(X)
    out = {"u": ops.exp(X) + shared, "v": shared * X}
    assert merge_sums(out) == out
    a, b = X, ops.sin(X)
    for _ in range(40):
        a, b = b, ops.add(a, b)  # 10^8 terms if written out
    assert merge_sums({"u": b}) == {"u": b}


def test_rewriting_twice_changes_nothing():
    problem = case("burgers")
    nodes = [p.node for p in problem.layout.parameters]
    once = rewrite(PROGRAMS["gradient"](problem.blocks[0].residuals, nodes))
    assert rewrite(once).outputs == once.outputs


# --- the cost model ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "flops", "numbers"),
    [
        (X, 0, 0),
        (X + X * X, 12, 12),
        (3 * X, 6, 6),
        (ops.tanh(X), 6 * FUNCTION, 6),
        (X**3, 12, 6),
        (X**-1, 6, 6),
        (X**0.5, 6 * FUNCTION, 6),
        (ops.dot(X, NARROW), 2 * 6 * 2, 2),
        (ops.sum_columns(X), 5, 1),
        (ops.sum_points(X), 6, 6),
        (ops.contract(X, X), 2 * 36, 36),
        (ops.outer(X, X), 36, 36),
        (ops.concatenate([ops.column(X, 1), ops.column(X, 0)]), 0, 0),
        (ops.stack([X, 2 * X]) @ WEIGHTS[0].node, 6 + 2 * 6 * 6 * 2, 6 + 12),
    ],
)
def test_operations_at_a_point(node, flops, numbers):
    found = cost([node])
    assert (found.flops_per_point, found.uniform_flops) == (flops, 0)
    assert found.bytes_per_point == 8 * numbers or node.points == 0


def test_operations_done_once():
    w = WEIGHTS[0].node
    found = cost(Graph({"u": X @ (2 * w + ops.dot(w, w))}))
    assert found.uniform_flops == 36 + 36 + 2 * 6 * 36
    assert found.flops_per_point == 2 * 36
    assert found.nodes == 6
    assert cost([X @ w], itemsize=4).bytes_per_point == 24


def test_comparing_costs():
    small = Cost(10, 100, 5, 80)
    assert not Cost(12, 100, 5, 80).exceeds(small)
    assert Cost(10, 101, 0, 0).exceeds(small)
    assert Cost(10, 0, 6, 0).exceeds(small)
    assert Cost(10, 0, 0, 81).exceeds(small)


def test_tangents_survive_rewriting():
    out = random_graph([(0, 0, 0), (0, 1, 0), (8, 3, 0), (6, 4, 5), (2, 7, 0), (5, 7, 8)])
    (slope,) = tangent([out], {p.node: ops.constant(LEAVES[p].tolist()) for p in WEIGHTS})
    agree({"t": slope}, rewrite(Graph({"t": slope})).outputs)
