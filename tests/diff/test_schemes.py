"""What estimates cost, and the comparison of schemes."""

import tracemalloc

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve import ops
from pinnsolve.diff.cost import cost
from pinnsolve.diff.estimators import (
    directional,
    random_directions,
    stochastic_laplacian,
)
from pinnsolve.diff.graph import Shape, make, show, topological
from pinnsolve.diff.schemes import block_schemes, compare_schemes
from pinnsolve.diff.trace import trace
from tests.devices.gallery import case
from tests.diff.estimated import hidden, network

KINDS = ("rademacher", "gaussian", "sampled")
DRAWS = 2000
SIGMA = 4  # standard errors that a mean may be off; beyond, once in 16,000 draws


# --- what it costs ---------------------------------------------------------------------------


def graph_of(transformed, dimension, count):
    """The operator at a point as a node, and the directions that it takes."""
    x = make("input", (), ("x",), Shape(1, (dimension,)))
    directions = make("input", (), ("directions",), Shape(0, (count, dimension)))
    return transformed(x, directions)


def estimate_of(dimension, count, width=16):
    net = network(dimension, width, depth=3)
    return graph_of(stochastic_laplacian(lambda x: net(x)[0]), dimension, count)


def test_work_and_memory_of_an_estimate_do_not_grow_with_the_dimension():
    """Behind the first layer's product with the point itself, which is 2 d m operations."""
    costs = {d: cost([estimate_of(d, 16)]) for d in (10, 100, 1000)}
    assert len({c.nodes for c in costs.values()}) == 1
    assert len({c.live_per_point for c in costs.values()}) == 1
    assert len({c.live_uniform for c in costs.values()}) == 1
    assert len({c.flops_per_point - 2 * d * 16 for d, c in costs.items()}) == 1


def test_an_exact_laplacian_grows_linearly_with_the_dimension():
    found = {}
    for d in (10, 100, 1000):
        net = network(d, 16, depth=3)
        found[d] = cost([graph_of(directional(lambda x, net=net: net(x)[0], 2), d, d)])
    assert len({c.nodes for c in found.values()}) == 1
    for name in ("flops_per_point", "live_per_point"):
        small, middle, large = (getattr(c, name) for c in found.values())
        assert (large - middle) == pytest.approx(10 * (middle - small), rel=1e-12)


def test_graphs_do_not_grow_with_the_number_of_directions():
    sizes = {count: len(topological([estimate_of(10, count)])) for count in (1, 2, 64)}
    assert sizes[2] == sizes[64]


def rows_through_hidden_layer(transformed, count=6):
    net = network(4, width=8, depth=3)
    weight = net.parameters()[2].node
    value = graph_of(transformed(lambda x: net(x)[0]), 4, count)
    products = [n for n in topological([value]) if n.primitive == "dot" and n.args[1] is weight]
    return sum(n.shape.rows for n in products)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_channels_of_a_collapsed_sweep(order):
    """1 + (K - 1) R + 1 rows go through each hidden weight, and not 1 + K R; the value itself is
    counted too, as activations need it."""
    rows = rows_through_hidden_layer(lambda f: directional(f, order))
    assert rows == 1 + (order - 1) * 6 + 1


def test_sums_collapse_below_what_rounds():
    """A layer in single precision takes the sum over directions, not every direction."""
    first, second = np.ones((4, 8)), np.full((8, 8), 0.5)
    layer = lambda x: ops.dot(ops.single(ops.tanh(ops.dot(x, first))), second)  # noqa: E731
    value = graph_of(directional(layer, 2), 4, 6)
    rows = [n.shape.rows for n in topological([value]) if n.primitive == "dot" and n.columns == 8]
    assert sorted(rows) == [1, 1, 6]  # the point, its sum behind the layer, six directions before


def test_drawing_anew_keeps_the_graph():
    """The graph holds no number of the directions, so it is the same text for any."""
    _, f, _ = hidden(4)
    texts = set()
    for seed in range(2):
        directions = random_directions("gaussian", 3, 4, seed)
        traced = trace(stochastic_laplacian(f), (np.ones(4), directions))
        text = show({"estimate": traced.outputs[0]})
        for k, node in enumerate(traced.inputs):
            text = text.replace(f"{node.attributes[0]}\n", f"argument {'xv'[k]}\n")
        texts.add(text)
    assert len(texts) == 1
    assert "argument v" in texts.pop()


def test_a_thousand_dimensions():
    """A loss and its gradient by weights at 20 points of 1,000 coordinates, with directions of
    1,000: right, and in less memory than the Hessian at one point."""
    dimension, count = 1000, 8
    net, f, curvature = hidden(dimension, width=16)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, dimension))
    directions = random_directions("sampled", count, dimension, rng)
    estimate = stochastic_laplacian(f)

    def loss(x, directions):
        return ops.mean(ps.diff.vmap(estimate, (0, None))(x, directions) ** 2)

    run = ps.diff.value_and_grad(loss, weights=net.parameters())
    run(x, directions)
    tracemalloc.start()
    value, gradient = run(x, directions)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    exact = [curvature(p, directions) for p in x]
    assert float(value) == pytest.approx(np.mean(np.square(exact)), rel=1e-12)
    assert [g.shape for g in gradient] == [p.shape for p in net.parameters()]
    assert peak < 8 * dimension**2 / 2

    every = directional(f, 2)(x[0], np.eye(dimension))
    assert float(every) == pytest.approx(dimension * curvature(x[0], np.eye(dimension)), rel=1e-12)


# --- schemes ---------------------------------------------------------------------------------


def table_of(dimension, operator="laplacian", **options):
    net = network(dimension, width=16, depth=2)
    return compare_schemes(lambda x: net(x)[0], dimension, operator, **options)


def test_schemes_for_the_laplacian():
    table = table_of(100, probes=16)
    assert {row.name: (row.channels, row.exact) for row in table.rows} == {
        "closure channels": (102, True),
        "directional jets": (201, True),
        "collapsed sums": (102, True),
        "Hutchinson, 16 probes": (18, False),
        "sampled dimensions, 16 probes": (18, False),
    }
    by_name = {row.name: row for row in table.rows}
    whole, collapsed = by_name["directional jets"], by_name["collapsed sums"]
    assert whole.operations > 1.8 * collapsed.operations
    assert collapsed.operations > 4 * by_name["Hutchinson, 16 probes"].operations
    assert collapsed.memory > 4 * by_name["Hutchinson, 16 probes"].memory


def test_an_estimate_is_chosen_only_where_memory_asks_for_it():
    table = table_of(100)
    exact = [row for row in table.rows if row.exact]
    assert table.chosen.operations == min(row.operations for row in exact)
    least = min(row.memory for row in exact)
    assert table_of(100, budget=least).chosen.exact
    assert table_of(100, budget=least - 1).chosen.name == "Hutchinson, 16 probes"
    assert table_of(4, budget=1).chosen.exact  # 16 probes of 4 dimensions: nothing to estimate


@pytest.mark.parametrize(
    ("dimension", "channels"), [(2, (9, 17, 14)), (3, (14, 37, 29)), (9, (325, 245))]
)
def test_schemes_for_the_bilaplacian(dimension, channels):
    """The closure is 1 + 2 d + d (d + 1)/2 + 1, where the planner finds it in no time."""
    table = table_of(dimension, "biharmonic", probes=4)
    assert tuple(row.channels for row in table.rows) == (*channels, 14)
    exact = [row for row in table.rows if row.exact]
    assert table.chosen is min(exact, key=lambda row: row.operations)
    assert table.chosen.name == ("closure channels" if dimension < 5 else "collapsed sums")


def test_schemes_are_printed_as_a_table():
    lines = str(table_of(100)).splitlines()
    assert lines[0].split() == ["scheme", "channels", "operations/point", "bytes/point"]
    assert len(lines) == 6
    assert [line for line in lines if line.endswith("<- chosen")] == [lines[1]]
    assert lines[4].split()[:4] == ["Hutchinson,", "16", "probes", "18"]
    assert lines[4].endswith("unbiased")


@pytest.mark.parametrize(
    ("name", "channels"),
    [
        ("burgers", (3, 4, 4, 4)),
        ("heat", (3, 4, 4, 4)),
        ("kdv", (4, 5, 5, 5)),
        ("poisson", (4, 5, 5, 4)),
        ("wave", (4, 5, 5, 4)),
        ("taylor_green", (4, 6, 6, 5)),
        ("biharmonic", (9, 13, 17, 14)),
    ],
)
def test_schemes_of_a_block(name, channels):
    """Closure, singly, jets along directions, collapsed: counted by hand. Burgers: u, u_x and
    u_t - nu u_xx; with u_t and u_xx apart; x to order 2 and t to order 1."""
    given = case(name)
    table = block_schemes(given.plans[0], given.model.groups)
    assert tuple(row.channels for row in table.rows) == channels
    assert table.chosen.channels == sum(b.size for row in given.plans[0].bases for b in row if b)
    assert "closure channels" in str(table)
    assert "bytes" not in str(table)
