"""Trained fields as functions, without the problem that they solve."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.export import graph_from_data, graph_to_data, stored_parameter
from pinnsolve.diff.graph import Node, Operand, substitute
from pinnsolve.diff.parameters import Array, Layout
from pinnsolve.diff.plan import close, monomial
from pinnsolve.diff.residual import Approximator, field_channels
from pinnsolve.errors import FileError
from pinnsolve.pipeline import Model

CHUNK = 20_000  # points evaluated at once

Derivative = tuple[str, tuple[int, ...]]  # field and orders


@dataclass(frozen=True, eq=False)
class FieldEvaluator:
    """Trained fields as functions: graphs of the fields and the values of their parameters."""

    graphs: Mapping[tuple[str, ...], Node]
    layout: Layout
    theta: Array

    @staticmethod
    def of(model: Model, dimension: int, theta: Array) -> FieldEvaluator:
        points = ops.input_points("site0", dimension)
        graphs = {a.fields: a.function(points) for a in model.approximators}
        return FieldEvaluator(graphs, model.layout, theta)

    def derivative(self, field: str, orders: tuple[int, ...], points: Array) -> Array:
        """One derivative of one field at points ``(n, d)``: ``(n,)``."""
        value = self._graphs([(field, orders)])[field, tuple(orders)]
        if value is None:
            return np.zeros(len(points))
        leaves: dict[Any, Array] = dict(self.layout.views(self.theta))
        chunks = [points[k : k + CHUNK] for k in range(0, len(points), CHUNK)]
        values = [evaluate([value], {**leaves, "site0": chunk})[0] for chunk in chunks]
        return np.concatenate(
            [np.broadcast_to(v[:, 0], len(c)) for v, c in zip(values, chunks, strict=True)]
        )

    def at(self, fixed: Mapping[int, float], dimension: int) -> FieldEvaluator:
        """The fields where some of the coordinates are fixed, by position, as functions of the
        others; `dimension` is the number of all coordinates."""
        free = [axis for axis in range(dimension) if axis not in fixed]
        points = ops.input_points("site0", len(free))
        like = ops.ones(points)
        columns = [
            ops.constant(float(fixed[axis])) * like
            if axis in fixed
            else ops.column(points, free.index(axis))
            for axis in range(dimension)
        ]
        place = {ops.input_points("site0", dimension): ops.concatenate(columns)}
        graphs = {
            fields: substitute({"value": node}, place)["value"]
            for fields, node in self.graphs.items()
        }
        return FieldEvaluator(graphs, self.layout, self.theta)

    def node(self, field: str, orders: tuple[int, ...], columns: Sequence[Operand]) -> Node:
        """The same as a node ``(n, 1)``, its parameters constant, from nodes of the coordinates of
        which one at least is at points."""
        like = next(c for c in columns if isinstance(c, Node) and c.points)
        return self.nodes([(field, orders)], columns, like)[field, tuple(orders)]

    def nodes(
        self, wanted: Iterable[Derivative], columns: Sequence[Operand], like: Node
    ) -> dict[Derivative, Node]:
        """Derivatives as nodes ``(n, 1)``, those of one network from one sweep.

        Args:
            wanted: field and orders of each.
            columns: a node or a number for each coordinate.
            like: a node with the points, of which the columns may have none.
        """
        graphs = self._graphs(wanted)
        place = ops.concatenate(
            [c if isinstance(c, Node) and c.points else c * ops.ones(like) for c in columns]
        )
        fixed: dict[Node, Node] = {ops.input_points("site0", len(columns)): place}
        fixed |= {p.node: ops.constant(v) for p, v in self.layout.views(self.theta).items()}
        known = {str(k): graph for k, graph in enumerate(graphs.values()) if graph is not None}
        found = substitute(known, fixed)
        zero = ops.scale(0.0, like)
        return {key: found.get(str(k), zero) for k, key in enumerate(graphs)}

    def _graphs(self, wanted: Iterable[Derivative]) -> dict[Derivative, Node | None]:
        """Derivatives of fields at ``site0``; None where one is zero whatever the parameters."""
        groups: dict[tuple[str, ...], list[Derivative]] = {}
        for field, orders in wanted:
            group = next(fields for fields in self.graphs if field in fields)
            groups.setdefault(group, []).append((field, tuple(orders)))
        return {k: v for group, of in groups.items() for k, v in self._sweep(group, of).items()}

    def _sweep(
        self, group: tuple[str, ...], wanted: Sequence[Derivative]
    ) -> dict[Derivative, Node | None]:
        """Derivatives of the fields of one network."""
        output = self.graphs[group]
        found: dict[Derivative, Node | None] = {
            (field, orders): ops.column(output, group.index(field))
            for field, orders in wanted
            if not any(orders)
        }
        slopes = [(field, orders) for field, orders in wanted if any(orders)]
        if slopes:
            dimension = len(slopes[0][1])
            x = ops.input_points("site0", dimension)
            basis = close([monomial(orders) for _, orders in slopes], dimension)
            channels = field_channels(basis, Approximator(group, lambda _: output), x, {})
            found |= {(f, o): channels[f][basis.pivots.index(o)] for f, o in slopes}
        return found

    def to_data(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """A header that JSON can hold, and the parameters by name."""
        names = dict(zip(self.layout.parameters, self.layout.names, strict=True))
        header = {
            "parameters": list(self.layout.names),
            "groups": [
                {"fields": list(fields), "graph": graph_to_data(node, names)}
                for fields, node in self.graphs.items()
            ],
        }
        views = self.layout.views(self.theta)
        return header, {names[p]: np.array(value) for p, value in views.items()}

    @staticmethod
    def from_data(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> FieldEvaluator:
        """The inverse of `to_data`; FileError for data that is not a valid network."""
        try:
            parameters = {name: stored_parameter(arrays[name]) for name in header["parameters"]}
            graphs = {
                tuple(group["fields"]): graph_from_data(group["graph"], parameters)
                for group in header["groups"]
            }
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"the network in the file is damaged: {error}") from error
        layout = Layout.of(parameters)
        theta = np.concatenate([np.ravel(arrays[name]) for name in layout.names])
        return FieldEvaluator(graphs, layout, theta)
