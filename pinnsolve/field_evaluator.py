"""Trained fields as functions, without the problem that they solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        value = self._graph(field, orders)
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
        value = self._graph(field, orders)
        like = next(c for c in columns if isinstance(c, Node) and c.points)
        if value is None:
            return ops.scale(0.0, like)
        # A coordinate that is fixed is the same at all points.
        place = ops.concatenate([c * ops.ones(like) for c in columns])
        fixed: dict[Node, Node] = {ops.input_points("site0", len(orders)): place}
        fixed |= {p.node: ops.constant(v) for p, v in self.layout.views(self.theta).items()}
        return substitute({"value": value}, fixed)["value"]

    def _graph(self, field: str, orders: tuple[int, ...]) -> Node | None:
        """A derivative of a field at ``site0``; None where it is zero whatever the parameters."""
        group = next(fields for fields in self.graphs if field in fields)
        output = self.graphs[group]
        if not any(orders):
            return ops.column(output, group.index(field))
        x = ops.input_points("site0", len(orders))
        basis = close([monomial(orders)], len(orders))
        approximator = Approximator(group, lambda _: output)
        channels = field_channels(basis, approximator, x, {})
        return channels[field][basis.pivots.index(tuple(orders))]

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
