"""Residual graphs: the System, a Plan and approximators become nodes, and those become programs.

A block's points enter as ``site0``, ``site1``, ... (physical coordinates, ``(n, d)``), what is
known there as ``data`` (measured values, normals: its columns, ``(n, c)``), its row scales as
``scale`` ``(n, m)``: row i of residual j is multiplied by it, so that the loss is the plain sum of
squares of all rows and padding has scale 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.bundles import bundled_channels
from pinnsolve.diff.freeze import freeze
from pinnsolve.diff.graph import Graph, Node, Operand, make, rebuild, topological
from pinnsolve.diff.integral import integral_nodes
from pinnsolve.diff.plan import Basis, BlockPlan
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.taylor import Algebra, power_series, sweep, tangent
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.system import Block, Jet, System


@dataclass(frozen=True)
class Approximator:
    """Fields, and the function of the coordinates ``(n, d) -> (n, fields)`` in their place."""

    fields: tuple[str, ...]
    function: Callable[[Node], Node]


def residual_nodes(
    system: System,
    block: Block,
    plan: BlockPlan,
    approximators: Sequence[Approximator],
    unknowns: Mapping[Any, Node] | None = None,
) -> list[Node]:
    """Each residual of the block at its points, ``(n, 1)``, in the units of the equations; the
    numbers to be found have the values `unknowns`."""
    sites = [ops.input_points(f"site{s}", system.dimension) for s in range(len(block.sites))]
    symbols: dict[Any, Node] = _coordinate_nodes(system, block, sites) | dict(unknowns or {})
    symbols |= _data_nodes(block)
    channels: dict[tuple[str, int], tuple[Basis, list[Node | None]]] = {}
    for s, row in enumerate(plan.bases):
        for basis, approximator in zip(row, approximators, strict=True):
            if basis is not None:
                values = field_channels(basis, approximator, sites[s], symbols)
                for field, columns in values.items():
                    channels[field, s] = (basis, columns)
    residuals = []
    for planned in plan.residuals:
        for jet in planned.expression.atoms(Jet):
            if jet.site < 0:
                continue
            basis, columns = channels[jet.field, jet.site]
            value = columns[basis.pivots.index(tuple(jet.orders))]
            symbols[jet] = ops.constant(0.0) if value is None else value
        symbols |= integral_nodes(
            [planned.expression, *(c for p in planned.linear for c in p.operator.values())],
            approximators,
            symbols,
            sites[0],
            field_channels,
        )
        total = freeze(planned.expression, symbols)
        for part in planned.linear:
            basis, columns = channels[part.field, part.site]
            for q, factor in basis.coordinates(part.operator):
                channel = columns[q]
                if channel is not None:
                    total = total + freeze(factor, symbols) * channel
        residuals.append(total if total.points else total * ops.ones(sites[0]))
    return residuals


def _coordinate_nodes(system: System, block: Block, sites: Sequence[Node]) -> dict[Any, Node]:
    """Each free coordinate as a column of the first site where it is free."""
    return {
        coordinate: ops.column(node, j)
        for site, node in reversed(list(zip(block.sites, sites, strict=True)))
        for j, coordinate in enumerate(system.coordinates)
        if isinstance(site[j], Coordinate)
    }


def _data_nodes(block: Block) -> dict[Any, Node]:
    """The columns of what is known at the points."""
    if not block.columns:
        return {}
    data = ops.input_points("data", len(block.columns))
    return {c: ops.column(data, j) for j, c in enumerate(block.columns)}


def field_channels(
    basis: Basis, approximator: Approximator, points: Node, symbols: dict[Any, Node]
) -> dict[str, list[Node | None]]:
    """Per field, the value of every channel of the basis at the points."""

    def coefficient(value: Any) -> Operand:
        return freeze(value, symbols)

    output = approximator.function(points)
    seeds = tuple(_seed(operator, coefficient) for operator in basis.operators[1:])
    result = bundled_channels(basis, output, points, seeds, coefficient)
    if result is None:
        (result,) = sweep([output], _algebra(basis, coefficient), {points: (points, *seeds)})
    # A power series carries derivatives divided by factorials.
    factors = [math.factorial(q) if basis.is_series else 1 for q in range(basis.size)]
    return {
        field: [
            None if value is None else ops.scale(factor, ops.column(value, j))
            for factor, value in zip(factors, result, strict=True)
        ]
        for j, field in enumerate(approximator.fields)
    }


def _algebra(basis: Basis, coefficient: Callable[[Any], Operand]) -> Algebra:
    if basis.is_series:
        return power_series(basis.order)
    products = tuple(
        tuple((i, j, coefficient(m)) for i, j, m in terms) for terms in basis.products()
    )
    return Algebra(tuple(map(str, basis.pivots)), products, basis.order)


def _seed(operator, coefficient) -> Node | None:
    """The operator applied to the coordinates themselves: its first-order coefficients."""
    dimension = len(next(iter(operator)))
    units = [tuple(int(i == j) for i in range(dimension)) for j in range(dimension)]
    values = [coefficient(operator.get(unit, 0)) for unit in units]
    numbers = [ops.number_of(value) for value in values]
    if all(number == 0 for number in numbers):
        return None
    if all(number is not None for number in numbers):
        return ops.constant(numbers)
    # Coordinates are columns (n, 1) and numbers have no axis: one row a point of all of them.
    nodes = [value if isinstance(value, Node) else ops.constant(value) for value in values]
    return ops.concatenate([ops.reshape(node, (1,)) for node in nodes])


# --- the programs that a device compiles -----------------------------------------------------


def direction(parameter: Node) -> Node:
    """The leaf that carries a direction in the space of a parameter."""
    return make("direction", (), parameter.attributes, parameter.shape)


def _scaled(residuals: Sequence[Node]) -> list[Node]:
    scales = ops.input_points("scale", len(residuals))
    return [ops.column(scales, j) * r for j, r in enumerate(residuals)]


def residual_program(residuals: Sequence[Node], parameters: Sequence[Node]) -> Graph:
    """Outputs ``row j``: scaled residual j, ``(n, 1)``."""
    return Graph({f"row {j}": r for j, r in enumerate(_scaled(residuals))})


def gradient_program(residuals: Sequence[Node], parameters: Sequence[Node]) -> Graph:
    """Outputs ``loss``, the sum of squares, and ``gradient k`` by parameter, shaped like it."""
    rows = _scaled(residuals)
    squares = [ops.sum_points(r * r) for r in rows]
    loss = squares[0]
    for square in squares[1:]:
        loss = loss + square
    return Graph({"loss": loss, **_by_parameter({r: 2 * r for r in rows}, parameters)})


def transposed_program(residuals: Sequence[Node], parameters: Sequence[Node]) -> Graph:
    """J^T w for point data ``weight`` ``(n, m)``; outputs ``gradient k``."""
    weights = ops.input_points("weight", len(residuals))
    rows = _scaled(residuals)
    return Graph(_by_parameter({r: ops.column(weights, j) for j, r in enumerate(rows)}, parameters))


def _by_parameter(cotangents: dict[Node, Node], parameters: Sequence[Node]) -> dict[str, Node]:
    found = reverse(cotangents, parameters)
    return {f"gradient {k}": g for k, g in enumerate(found) if g is not None}


def tangent_program(residuals: Sequence[Node], parameters: Sequence[Node]) -> Graph:
    """J v for the directions v of the parameters; outputs ``row j``."""
    rows = tangent(_scaled(residuals), {p: direction(p) for p in parameters})
    zero = ops.input_points("scale", len(residuals))
    return Graph(
        {f"row {j}": 0 * ops.column(zero, j) if r is None else r for j, r in enumerate(rows)}
    )


def jacobian_program(residuals: Sequence[Node], parameters: Sequence[Node]) -> Graph:
    """Outputs ``row j`` and ``jacobian j k``: per point, d row j / d parameter k, flattened."""
    outputs: dict[str, Node] = {}
    for j, row in enumerate(_scaled(residuals)):
        outputs[f"row {j}"] = row
        for k, g in enumerate(reverse({row: ops.constant(1.0)}, parameters, per_point=True)):
            if g is not None:
                outputs[f"jacobian {j} {k}"] = ops.reshape(g, (-1,))
    return Graph(outputs)


def kronecker_program(residuals: Sequence[Node], parameters: Sequence[Node]) -> Graph:
    """Outputs ``left k``, ``right k`` and ``terms k`` by parameter: the factors that
    :class:`pinnsolve.devices.base.KroneckerFactors` tells of."""
    rows, sites = _sites(_scaled(residuals), parameters)
    scales = ops.input_points("scale", len(rows))
    outputs: dict[str, Node] = {}
    for j, row in enumerate(rows):
        mask = ops.where(ops.column(scales, j), 1.0, 0.0)  # 0 for a row that is but padding
        slopes = reverse({row: ops.constant(1.0)}, list(sites), per_point=True)
        for (site, k), slope in zip(sites.items(), slopes, strict=True):
            for name, value in _factors(site, slope, mask) if slope is not None else ():
                known = outputs.get(f"{name} {k}")
                outputs[f"{name} {k}"] = value if known is None else known + value
    return Graph(outputs)


def _sites(rows: Sequence[Node], parameters: Sequence[Node]) -> tuple[list[Node], dict[Node, int]]:
    """The rows with a copy of each parameter wherever it is not the weight of a product, by a
    diagonal matrix too; those products and copies with the numbers of their parameters."""
    numbers = {parameter: k for k, parameter in enumerate(parameters)}
    copies = {p: make("again", (p,), (0,), p.shape) for p in parameters}
    sites = {copy: numbers[p] for p, copy in copies.items()}
    new: dict[Node, Node] = {}
    for node in topological(rows):
        args = [copies.get(argument, new[argument]) for argument in node.args]
        weighs = node.primitive == "dot" or _is_diagonal(node)
        if weighs:
            args[1] = new[node.args[1]]
        new[node] = rebuild(node, tuple(args))
        if weighs and args[1] in numbers:
            sites[new[node]] = numbers[args[1]]
    return [new[row] for row in rows], sites


def _is_diagonal(node: Node) -> bool:
    """diag(d) W, which is d W row by row, with a constant d."""
    if node.primitive != "multiply" or node.points:
        return False
    d = node.args[0]
    return d.primitive == "constant" and d.dims == (node.shape.rows, 1)


def _factors(site: Node, slope: Node, mask: Node) -> list[tuple[str, Node]]:
    """What a site with the slope of one row by it, at each point, adds to the factors."""
    slope, count = ops.at_points(slope, mask), ops.sum_points(mask)
    if site.primitive != "dot":  # as if it were a product with the identity
        slope = ops.reshape(slope, (-1, slope.columns if slope.dims else 1))
        terms = slope.shape.rows
        d = site.args[0].attributes[0].array[:, 0] if _is_diagonal(site) else np.ones(terms)
        inputs = count * ops.constant(np.diag(d * d))
    else:
        x = ops.at_points(site.args[0], mask)
        inputs, terms = ops.contract(ops.reshape(mask, (1,) * len(x.dims)) * x, x), x.shape.rows
    outputs = ops.contract(slope, slope)
    transposed = site.primitive == "dot" and site.attributes[0]  # x W^T
    left, right = (outputs, inputs) if transposed else (inputs, outputs)
    return [("left", left), ("right", right), ("terms", ops.scale(terms, count))]


PROGRAMS = {
    "residuals": residual_program,
    "gradient": gradient_program,
    "transposed": transposed_program,
    "tangent": tangent_program,
    "jacobian": jacobian_program,
    "kronecker": kronecker_program,
}

__all__ = ["PROGRAMS", "Approximator", "direction", "field_channels", "residual_nodes"]
