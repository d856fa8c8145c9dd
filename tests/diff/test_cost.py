"""The cost model counts what it says, derivatives do not swell, and recomputation saves memory."""

import numpy as np
import pytest
from hypothesis import given, settings

from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import FUNCTION, Cost, cost, live_bytes, schedule
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Graph, Shape, make
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.plan import close
from pinnsolve.diff.recompute import recompute
from pinnsolve.diff.residual import PROGRAMS, Approximator, field_channels
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.diff.verify import verify
from pinnsolve.nets import MLP
from tests.diff.random_graphs import GRAPHS, VALUES

X = ops.input_points("x", 6)
M = make("input", (), ("m",), Shape(1, (2, 3)))
WEIGHT, NARROW = (Parameter((6, n), lambda rng, shape: rng.normal(size=shape)) for n in (6, 2))


# --- work ------------------------------------------------------------------------------------


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
        (ops.sum_axes(M, (0, 1)), 5, 1),
        (ops.sum_points(X), 6, 6),
        (ops.contract(X, X), 2 * 36, 36),
        (ops.contract(M, M), 2 * 2 * 9, 9),
        (ops.outer(X, X), 36, 36),
        (ops.where(ops.less(X, 0.0), X, 0.0), 12, 12),
        (ops.sum_blocks(ops.stack([X, 2 * X])), 12, 12),
        (ops.concatenate([ops.column(X, 1), ops.column(X, 0)]), 0, 0),
        (ops.transpose(ops.reshape(X, (2, 3))), 0, 0),
        (ops.stack([X, 2 * X]) @ WEIGHT.node, 6 + 2 * 6 * 6 * 2, 6 + 12),
    ],
)
def test_operations_at_a_point(node, flops, numbers):
    found = cost([node])
    assert (found.flops_per_point, found.uniform_flops) == (flops, 0)
    assert found.bytes_per_point == 8 * numbers or node.points == 0


def test_operations_done_once():
    w = WEIGHT.node
    found = cost(Graph({"u": X @ (2 * w + ops.dot(w, w))}))
    assert found.uniform_flops == 36 + 36 + 2 * 6 * 36
    assert found.flops_per_point == 2 * 36
    assert found.nodes == 6
    assert cost([X @ w], itemsize=4).bytes_per_point == 24


def test_a_loop_costs_its_body_as_often_as_it_runs():
    from pinnsolve.diff import scan

    def steps(length):
        return cost([scan(lambda c, _: (ops.tanh(c) * c, None), X, length=length)[0]])

    assert steps(10).flops_per_point == 10 * (6 * FUNCTION + 6)
    assert steps(10).nodes == steps(20).nodes


def test_an_operation_of_the_user_costs_a_function_an_entry():
    from pinnsolve.diff import custom

    found = cost([custom(np.tanh, vjp=lambda w, y, x: w * (1 - y * y))(X)])
    assert found.flops_per_point == 6 * FUNCTION


def test_comparing_costs():
    """For any number of points, one or more."""
    small = Cost(10, 100, 5, 80)
    assert not Cost(12, 100, 5, 80, live_per_point=800).exceeds(small)
    assert Cost(10, 101, 0, 0).exceeds(small)
    assert Cost(10, 100, 6, 0).exceeds(small)
    assert Cost(10, 0, 0, 81).exceeds(small)
    assert not Cost(10, 99, 6, 80).exceeds(small)  # one operation once, not at each point
    assert Cost(10, 99, 7, 80).exceeds(small)  # dearer at one point


# --- live memory -----------------------------------------------------------------------------


def live(*nodes):
    found = cost(list(nodes))
    return found.live_per_point, found.live_uniform


def test_values_die_with_their_last_use():
    a, b = ops.sin(X), ops.cos(X)
    assert live(X) == (0, 0)
    assert live(a) == (48, 0)
    assert live(ops.exp(ops.exp(ops.exp(a)))) == (96, 0)  # an argument and a value, not four
    assert live(a * b) == (144, 0)
    assert live(a, b) == (96, 0)
    assert live(ops.sum_points(a)) == (48, 48)


def test_views_keep_what_they_look_at():
    a = ops.sin(X)
    assert live(ops.column(a, 0)) == (48, 0)
    assert live(ops.exp(ops.column(a, 0)) + ops.exp(ops.column(a, 1))) == (48 + 2 * 8, 0)
    assert live(ops.stack([a, ops.cos(X)])) == (96, 0)


def test_a_sum_over_points_does_not_wait():
    """Values that are only added up go one after the other, whatever the order of the outputs."""
    terms = [ops.sin(k * X) for k in range(2, 12)]
    total = ops.exp(X)
    for term in terms:
        total = total + term
    sums = [ops.contract(term, term) for term in terms]
    assert live(*sums)[0] == 2 * 48
    assert live(total, *sums)[0] == 3 * 48


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(GRAPHS)
def test_a_schedule_is_an_order(found):
    roots = list(found.outputs.values())
    order = schedule(roots)
    place = {node: k for k, node in enumerate(order)}
    assert len(place) == len(order)
    assert set(order) == set(found.nodes())
    assert all(place[a] < place[node] for node in order for a in node.args)
    assert live_bytes(roots)[-1] >= (0, 0)


# --- swell -----------------------------------------------------------------------------------


def top_channel(dimension, operator, width, depth, activation=ops.tanh):
    net = MLP(dimension, 1, width, depth, activation)
    x = ops.input_points("site0", dimension)
    basis = close([operator], dimension)
    found = field_channels(basis, Approximator(("u",), net), x, {})["u"][-1]
    return found, [p.node for p in net.parameters()]


def program_cost(name, *arguments, finish=lambda graph: graph):
    residual, nodes = top_channel(*arguments)
    return cost(finish(PROGRAMS[name]([residual], nodes)))


COUNTS = ("nodes", "flops_per_point", "bytes_per_point")


def layer_costs(name, order, activation, finish):
    """What one more layer costs, for each of the counts."""
    two, four = (
        program_cost(name, 1, {(order,): 1}, 8, depth, activation, finish=finish)
        for depth in (2, 4)
    )
    return np.array([(getattr(four, c) - getattr(two, c)) / 2 for c in COUNTS])


@pytest.mark.parametrize("finish", [lambda graph: graph, rewrite], ids=["built", "rewritten"])
@pytest.mark.parametrize("name", ["residuals", "gradient"])
@pytest.mark.parametrize("activation", [ops.tanh, ops.swish, ops.softplus])
def test_a_derivative_of_order_k_costs_k_squared_a_layer(activation, name, finish):
    """Second differences over the order do not grow; what doubles with the order multiplies them
    by four at every step."""
    costs = [layer_costs(name, order, activation, finish) for order in (2, 4, 6, 8)]
    first, last = np.diff(costs, 2, axis=0)
    assert (first > 0).all()
    assert (last <= 1.1 * first).all()


@pytest.mark.parametrize("name", PROGRAMS)
def test_cost_is_linear_in_depth(name):
    """Every layer costs the same, in networks of 4 layers and of 40, before and after rewriting."""
    for finish in (lambda graph: graph, rewrite):
        found = [
            program_cost(name, 2, {(2, 0): 1, (0, 2): 1}, 8, depth, finish=finish)
            for depth in (4, 6, 8, 40)
        ]
        for count in COUNTS:
            four, six, eight, forty = (getattr(c, count) for c in found)
            assert six - four == eight - six, count
            assert forty - eight == 16 * (eight - six), count


@pytest.mark.parametrize("name", ["residuals", "gradient"])
def test_a_laplacian_is_linear_in_the_dimension(name):
    """d + 2 channels: one more dimension costs the same, however many there are."""
    for finish in (lambda graph: graph, rewrite):
        found = []
        for d in (5, 10, 15, 20):
            operator = {tuple(2 * (i == j) for i in range(d)): 1 for j in range(d)}
            found.append(program_cost(name, d, operator, 16, 3, finish=finish))
        for count in COUNTS:
            steps = np.diff([getattr(c, count) for c in found])
            assert steps.max() <= 1.05 * steps.min(), count


# --- recomputation ---------------------------------------------------------------------------


def gradient(depth):
    residual, nodes = top_channel(2, {(2, 0): 1, (0, 1): 1}, 16, depth)
    return rewrite(PROGRAMS["gradient"]([residual], nodes))


@pytest.mark.parametrize(
    ("limit", "factor"),
    [(1.05, 1.8), (1.35, 3), (1.5, 4)],
)
def test_recomputation_cuts_live_memory(limit, factor):
    """The gradient of a residual of 16 layers. What is arithmetic on kept values is nearly free;
    one more forward sweep, a third of the work, cuts memory by far more."""
    before = gradient(16)
    after = recompute(before, limit)
    verify(after.outputs.values())
    assert cost(before).live_per_point >= factor * cost(after).live_per_point
    assert cost(after).flops_per_point <= limit * cost(before).flops_per_point


def test_memory_grows_with_the_root_of_the_depth():
    """Four times the layers: four times the memory when all values are kept."""
    few, many = gradient(6), gradient(24)
    kept = [cost(graph).live_per_point for graph in (few, many)]
    recomputed = [cost(recompute(graph, 1.6)).live_per_point for graph in (few, many)]
    assert kept[1] >= 3.5 * kept[0]
    assert recomputed[1] <= 2.5 * recomputed[0]


def test_recomputed_values_are_the_same():
    before = gradient(6)
    after = recompute(before, 1.5)
    assert any(n.primitive == "again" for n in after.nodes())
    rng = np.random.default_rng(0)
    leaves = {"site0": rng.normal(size=(7, 2)), "scale": np.ones((7, 1))}
    leaves |= {
        n.attributes[0]: rng.normal(size=n.dims) / 4
        for n in before.nodes()
        if n.primitive == "parameter"
    }
    values = [evaluate(g.outputs.values(), leaves) for g in (before, after)]
    assert all(np.array_equal(a, b) for a, b in zip(*values, strict=True))


@settings(max_examples=50, deadline=None, derandomize=True, database=None)
@given(GRAPHS)
def test_recomputation_of_random_graphs(found):
    after = recompute(found, 2.0)
    verify(after.outputs.values())
    assert cost(after).live_per_point <= cost(found).live_per_point
    assert cost(after).flops_per_point <= 2 * cost(found).flops_per_point
    values = [evaluate(g.outputs.values(), VALUES) for g in (found, after)]
    for a, b in zip(*values, strict=True):
        assert np.array_equal(a, b, equal_nan=True)
