"""Functions of arrays compiled by MindSpore: jit, programs inside graphs, and what is refused."""

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.devices.ascend import AscendDevice
from pinnsolve.devices.ascend.final import LONGEST, finished, known_apart
from pinnsolve.diff import functions as nodes
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Graph
from pinnsolve.diff.trees import leaves
from pinnsolve.errors import DeviceError
from tests.diff.operations import OPERATIONS

DOUBLE = AscendDevice("ascend:cpu", "float64")


def everything(x, y, z):
    """All operations that a person can write, of one, two and three numbers."""
    return [
        operation.build(*(x, y, z)[: operation.arity], *([] if number is None else [number]))
        for name, operation in OPERATIONS.items()
        if "custom" not in name and "negative" not in name
        for number in operation.numbers
    ]


def compare(function, *values):
    found = ps.jit(function, device=DOUBLE)(*values)
    expected = ps.jit(function, device="reference")(*values)
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        assert np.allclose(one, other, rtol=1e-13, atol=1e-14)


def test_every_operation():
    """All of ps.ops in one function."""
    compare(everything, 1.1, 0.6, 0.8)


@pytest.mark.slow
def test_the_derivative_of_every_operation():
    compare(lambda *x: ps.diff.jvp(everything, x, (0.3, -0.7, 0.2)), 1.1, 0.6, 0.8)


def test_a_map_over_points_and_its_gradient():
    """A network at the rows of an array: values at points inside, none outside."""
    net = ps.MLP(2, 1, width=5, depth=2).initialize(0)
    rows = np.random.default_rng(1).uniform(-1, 1, (7, 2))

    def loss(rows):
        slopes = ps.diff.vmap(ps.diff.grad(lambda x: ps.ops.sum(net(x))))(rows)
        return ps.ops.mean(ps.ops.norm(slopes, axis=1) * ps.ops.sum(rows, axis=1))

    function = ps.diff.value_and_grad(loss, weights=net.parameters())
    compare(function, rows)


def test_by_name_it_is_single_precision():
    compiled = ps.jit(lambda x: ps.ops.exp(x) / 3, device="ascend:cpu")
    assert float(compiled(1.0)) == float(np.float32(compiled(1.0)))
    assert float(compiled(1.0)) == pytest.approx(np.e / 3, rel=1e-6)
    assert compiled.profile(1.0, repeats=1).compile > 0


# --- programs inside graphs --------------------------------------------------------------------


def final(function, *arguments):
    compiled = ps.jit(function, device="reference")
    return finished(Graph(dict(enumerate(compiled.variant(*arguments).outputs))))


def test_loops_inside_loops_are_written_out():
    def inner(x):
        return ps.diff.scan(lambda c, _: (c * x, None), 1.0, length=2)[0]

    graph = final(lambda x: ps.diff.scan(lambda c, _: (inner(c) + x, None), x, length=3)[0], 0.5)
    assert not [node for node in graph.nodes() if node.primitive == "program"]


def test_a_python_function_is_refused_with_its_place():
    twice = ps.diff.custom(lambda x: 2 * x)
    with pytest.raises(
        DeviceError, match=r"(?s)'<lambda>' \(defined at .*functions.py:\d+\).*numpy"
    ):
        final(twice, 1.0)


def test_a_loop_of_unknown_length_is_refused_with_its_place():
    with pytest.raises(DeviceError, match=r"(?s)while_loop at .*functions.py:\d+ .*max_steps=N"):
        final(lambda x: ps.diff.while_loop(lambda s: s > 1, lambda s: s / 2, x), 5.0)


def test_a_loop_that_would_fill_pages_is_refused():
    with pytest.raises(DeviceError, match=f"(?s)a scan of {LONGEST} steps.*fewer steps"):
        final(lambda x: ps.diff.scan(lambda c, _: (c * x, None), x, length=LONGEST)[0], 0.5)


# --- what points alone fix ---------------------------------------------------------------------


def test_what_points_fix_is_no_part_of_the_program():
    """A source of a hundred terms is one input; what is scaled stays, as scales change."""
    x, scale = nodes.input_points("site0", 2), nodes.input_points("scale", 1)
    source = nodes.column(x, 1)
    for k in range(100):
        source = source + nodes.sin(k * nodes.column(x, 0))
    weight = ps.diff.Parameter((2, 1), ps.nets.constant(1.0))
    rows = scale * (nodes.tanh(x @ weight.node) + source)
    graph, known = known_apart(Graph({"rows": rows, "sum": nodes.sum_points(source)}))
    assert list(known.values()) == [source]
    assert len(graph.nodes()) < 12
    values = {"site0": np.ones((3, 2)), "scale": np.ones((3, 1)), weight: np.ones((2, 1))}
    (given,) = evaluate(known.values(), values)
    whole = evaluate([rows, nodes.sum_points(source)], values)
    apart = evaluate(graph.outputs.values(), {**values, "known 0": given})
    for one, other in zip(apart, whole, strict=True):
        assert np.allclose(one, other, rtol=1e-15)
