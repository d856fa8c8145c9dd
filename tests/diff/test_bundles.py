"""Channels of many variables as bundles, against the same channels one by one and closed forms."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

from pinnsolve.diff import bundles
from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import cost
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Node, topological
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.plan import close
from pinnsolve.diff.residual import PROGRAMS, Approximator, direction, field_channels
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.nets import MLP
from tests.devices.gallery import relative

D = 6
NU = sympy.Symbol("nu")
POINTS = np.random.default_rng(0).uniform(-1, 1, (5, D))


def unit(*axes, dimension=D):
    """The exponents of the derivative by these coordinates."""
    return tuple(axes.count(j) for j in range(dimension))


def laplace(*factors, dimension=D):
    return {unit(j, j, dimension=dimension): sympy.sympify(f) for j, f in enumerate(factors)}


AXES = [{unit(j): 1} for j in range(D)]
OPERATORS = {
    "Laplacian": [laplace(*D * [1])],
    "weights": [laplace(1, -2, 3, 4, 0.5, 6) | {unit(0): 3, unit(4): -1}],
    "heat equation": [{unit(0): 1} | {unit(j, j): -NU for j in range(1, D)}],
    "directions": [
        *({unit(j): 1, unit(j - 1): 2} for j in range(1, D)),
        *AXES[:1],
        laplace(1, 1, 0, 0, 0, 0),
    ],
    "two operators": [laplace(*D * [1]), laplace(1, 1, 1) | {unit(1): 2}, *AXES],
    "gradient": AXES,
}
MIXED = [laplace(*D * [1]) | {unit(0, 1): 1}]  # not a sum of squares along the axes
CHANGING = [{unit(j, j): sympy.Symbol(f"x{j}") for j in range(D)}]  # not the same everywhere
NETWORK = MLP(D, 2, width=4, depth=2)
LAYOUT = Layout.of(NETWORK.named_parameters())


def found(
    operators: list[Any],
    function: Callable[[Node], Node] = NETWORK,
    fewest: int = bundles.FEWEST,
    monkeypatch: pytest.MonkeyPatch | None = None,
) -> list[Node]:
    """All channels of both fields, those of the operators among them."""
    if monkeypatch is not None:
        monkeypatch.setattr(bundles, "FEWEST", fewest)
    x = ops.input_points("x", D)
    symbols = {NU: ops.coefficient(0.3)}
    symbols |= {sympy.Symbol(f"x{j}"): ops.column(x, j) for j in range(D)}
    basis = close(operators, D)
    channels = field_channels(basis, Approximator(("u", "v"), function), x, symbols)
    return [c for field in "uv" for c in channels[field] if c is not None]


def has_bundle(nodes):
    return any(len(node.dims) > 1 and node.points for node in topological(nodes))


def values(nodes, seed=0):
    leaves = {"x": POINTS, **LAYOUT.views(LAYOUT.initialize(np.random.default_rng(seed)))}
    return [np.broadcast_to(value, (5, 1)) for value in evaluate(nodes, leaves)]


@pytest.mark.parametrize("name", OPERATORS)
def test_bundles_are_the_channels_one_by_one(name, monkeypatch):
    together = found(OPERATORS[name])
    singly = found(OPERATORS[name], fewest=D + 1, monkeypatch=monkeypatch)
    assert has_bundle(together)
    assert not has_bundle(singly)
    pairs = zip(values(together), values(singly), strict=True)
    assert max(relative(a, b) for a, b in pairs) <= 1e-13


@pytest.mark.parametrize(
    "operators", [MIXED, CHANGING, [laplace(1, 1, 1, 1)], [{unit(0, 0, 0): 1}]]
)
def test_what_stays_single(operators):
    assert not has_bundle(found(operators))


def test_products_of_two_varying_values_stay_single():
    """A product of a value with a matrix made of another has no form with one more axis."""
    x = ops.input_points("x", D)
    assert has_bundle(found(OPERATORS["Laplacian"], lambda x: NETWORK(x) * ops.column(x, 0)))
    weight = lambda x: ops.outer(ops.column(x, 0), x)  # noqa: E731
    function = lambda x: ops.cut(weight(x), -1, 0, 2)  # noqa: E731
    assert not has_bundle(found(OPERATORS["Laplacian"], function))
    assert x.points == 1


def test_closed_forms():
    """u = sin(a.x), v = (a.x)^2: the operator with weights w and drift b."""
    a = np.linspace(0.2, 1, D)
    w, b = np.array([1, -2, 3, 4, 0.5, 6]), 3 * np.eye(D)[0] - np.eye(D)[4]

    def function(x):
        phase = ops.sum_columns(x * a)
        return ops.concatenate([ops.sin(phase), phase * phase])

    channels = values(found(OPERATORS["weights"], function))
    phase, size = POINTS @ a, w @ a**2
    basis = close(OPERATORS["weights"], D)
    parts = [(q, float(factor)) for q, factor in basis.coordinates(OPERATORS["weights"][0])]
    u, v = (sum(f * channels[q + k][:, 0] for q, f in parts) for k in (0, basis.size))
    assert np.allclose(u, -size * np.sin(phase) + b @ a * np.cos(phase), rtol=1e-13)
    assert np.allclose(v, 2 * size + 2 * b @ a * phase, rtol=1e-13)


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_do_not_grow_with_the_dimension(program):
    def nodes(d):
        net, x = MLP(d, 1, 8, 2), ops.input_points("site0", d)
        basis = close([laplace(*d * [1], dimension=d)], d)
        top = field_channels(basis, Approximator(("u",), net), x, {})["u"][-1]
        assert top is not None
        graph = PROGRAMS[program]([top], [p.node for p in net.parameters()])
        return cost(rewrite(graph)).nodes

    assert nodes(8) == nodes(60)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_of_bundles_is_that_of_single_channels(program, monkeypatch):
    """With coordinates behind a scale, which first layers have too: factors of KFAC are those of
    the products that there would be."""
    outputs = []
    nodes = [p.node for p in NETWORK.parameters()]
    scaled = lambda x: NETWORK(x * np.linspace(1, 2, D) - 0.5)  # noqa: E731
    for fewest in (D, D + 1):
        channels = found(OPERATORS["weights"], scaled, fewest, monkeypatch)
        u, *slopes, top = channels[: len(channels) // 2]
        convection = ops.sum_columns(ops.concatenate(slopes) * np.arange(1.0, len(slopes) + 1))
        graph = PROGRAMS[program]([top + u * convection, channels[-1]], nodes)
        rng = np.random.default_rng(1)
        leaves = {
            "x": POINTS,
            "scale": rng.uniform(1, 2, (5, 2)),
            "weight": rng.normal(size=(5, 2)),
        }
        leaves |= LAYOUT.views(LAYOUT.initialize(rng))
        moved = LAYOUT.views(rng.normal(size=LAYOUT.size))
        leaves |= {direction(p.node): value for p, value in moved.items()}
        found_values = evaluate(graph.outputs.values(), leaves)
        outputs.append(dict(zip(graph.outputs, found_values, strict=True)))
    assert outputs[0].keys() == outputs[1].keys()
    for name, value in outputs[0].items():
        assert relative(value, outputs[1][name]) <= 1e-12, name
