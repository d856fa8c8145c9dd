"""The forward Laplacian: a second-order operator of a function of many variables in one sweep.

Along a curve x + t v a function has Taylor coefficients c_0, c_1, c_2, and c_2 enters every rule
linearly: for y = f(z) elementwise,

    c_1(y) = f'(z) c_1(z),    c_2(y) = f'(z) c_2(z) + f''(z)/2 c_1(z)^2.

So of S directions v_s only three things need be carried: the value, the bundle G of the S tangents
c_1, and one sum L = 2 sum_s w_s c_2,s,

    G' = f'(z) G,             L' = f'(z) L + f''(z) sum_s w_s G_s^2,

which is sum_s w_s (v_s . grad)^2, with S + 2 channels (Li et al. 2023, arXiv 2307.08214). A
first-order part b . grad is where L starts: L(x) = b. The bundle is one value with one more axis,
so neither the graph nor a program made of it grows with S, and memory is linear in S.

Unit vectors make an identity matrix of the first bundle; products with it are not computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.batch import each_row, sum_over
from pinnsolve.diff.graph import Node, make, rebuild, topological
from pinnsolve.diff.leaves import is_identity
from pinnsolve.diff.taylor import power_series, sweep
from pinnsolve.errors import GraphError

Directions = Any  # (S, *x.dims): an array or a node, the same for all points


def laplacian_node(
    function: Callable[[Node], Node],
    x: Node,
    directions: Directions = None,
    weights: Any = None,
    drift: Any = None,
) -> Node:
    """sum_s w_s (v_s . grad)^2 u + b . grad u of a function u at x, shaped like its value.

    Args:
        x: points ``(n, d)``, or a value of any shape.
        directions: v, ``(S, d)``; the unit vectors by default, for the Laplacian.
        weights: w, ``(S,)``, of any sign; 1 by default.
        drift: b, ``(d,)``; 0 by default.

    Raises:
        GraphError: directions, weights or a drift of another shape.

    >>> import pinnsolve as ps
    >>> from pinnsolve.diff.evaluate import evaluate
    >>> x = ops.input_points("x", 3)
    >>> node = laplacian_node(lambda x: ops.sum_columns(x**4), x)
    >>> evaluate([node], {"x": np.array([[1.0, 2.0, 3.0]])})[0]
    array([[168.]])
    """
    return laplacian_nodes([function(x)], x, directions, weights, drift)[0]


def laplacian_nodes(
    outputs: Sequence[Node],
    x: Node,
    directions: Directions = None,
    weights: Any = None,
    drift: Any = None,
) -> list[Node]:
    """The operator of :func:`laplacian_node` of several outputs, in one sweep."""
    rows = _rows(x, directions)
    factors = ops.constant(1.0) if weights is None else ops.as_node(weights)
    if factors.dims not in ((), rows.dims[:1]):
        raise GraphError(f"weights of shape {factors.shape} for {rows.dims[0]} directions")
    v = make("input", (), ("direction",), rows.shape._replace(dims=x.dims))
    start = None if drift is None else make("input", (), ("start",), v.shape)
    found = [c[2] for c in sweep(outputs, power_series(2), {x: (x, v, start)})]
    present = [top for top in found if top is not None]
    begin = {} if start is None else {start: ops.scale(0.5, _like(x, drift))}
    sums = iter(sum_over({v: rows}, present, factors, sums=begin) if present else ())
    result = []
    for output, top in zip(outputs, found, strict=True):
        node = ops.constant(0.0) if top is None else ops.scale(2.0, next(sums))
        node = ops.widen(node, output.dims)
        result.append(node if node.points else ops.at_points(node, output))
    return without_identity(result)


def gradient_nodes(outputs: Sequence[Node], x: Node, directions: Directions = None) -> list[Node]:
    """Derivatives of outputs along all directions (by all entries of x by default) in one sweep,
    ``(S, *dims)``: the bundle that the operator of :func:`laplacian_nodes` carries, at no cost
    beside it.

    >>> from pinnsolve.diff.evaluate import evaluate
    >>> x = ops.input_points("x", 3)
    >>> (node,) = gradient_nodes([ops.sum_columns(x**2)], x)
    >>> evaluate([ops.reshape(node, (3,))], {"x": np.array([[1.0, 2.0, 3.0]])})[0]
    array([[2., 4., 6.]])
    """
    rows = _rows(x, directions)
    v = make("input", (), ("direction",), rows.shape._replace(dims=x.dims))
    found = [c[1] for c in sweep(outputs, power_series(2), {x: (x, v, None)})]
    present = [channel for channel in found if channel is not None]
    bundles = iter(each_row({v: rows}, present) if present else ())
    result = []
    for output, channel in zip(outputs, found, strict=True):
        dims = (rows.dims[0], *output.dims)
        bundle = ops.constant(np.zeros(dims)) if channel is None else next(bundles)
        bundle = ops.widen(bundle, dims)
        result.append(bundle if bundle.points else ops.at_points(bundle, output))
    return without_identity(result)


def _rows(x: Node, directions: Directions) -> Node:
    if directions is None:
        size = x.shape.size
        return ops.constant(np.eye(size).reshape(size, *x.dims))
    rows = ops.as_node(directions)
    if rows.points or rows.dims[1:] != x.dims or not rows.dims:
        raise GraphError(
            f"directions of shape {rows.shape} for a value of shape {x.shape}; they are the same "
            "for all points and have one more axis, the first"
        )
    return rows


def _like(x: Node, drift: Any) -> Node:
    along = ops.as_node(drift)
    if along.dims != x.dims:
        raise GraphError(f"a drift of shape {along.shape} for a value of shape {x.shape}")
    return along


# --- the identity matrix ---------------------------------------------------------------------


def without_identity(nodes: Sequence[Node]) -> list[Node]:
    """Nodes in which products with an identity matrix are not computed: diag(y) W = y[:, None] W,
    and the sums of diag(y) over an axis are y."""
    diagonal: dict[Node, Node] = {}  # of nodes that are diagonal matrices
    new: dict[Node, Node] = {}
    for node in topological(nodes):
        found = _diagonal(node, diagonal, new)
        if found is not None and node.dims == 2 * found.dims:
            diagonal[node] = found
            found = None
        elif any(argument in diagonal for argument in node.args):
            found = _of_diagonal(node, diagonal, new)
        new[node] = rebuild(node, tuple(new[a] for a in node.args)) if found is None else found
    return [new[node] for node in nodes]


def _diagonal(node: Node, diagonal: dict[Node, Node], new: dict[Node, Node]) -> Node | None:
    """The diagonal ``(d,)`` of a node that is a diagonal matrix."""
    if is_identity(node):
        return ops.constant(np.ones(node.columns))
    held = [diagonal.get(argument) for argument in node.args]
    match node.primitive, held:
        case "scale", [Node() as y]:
            return ops.scale(node.attributes[0], y)
        case "add" | "multiply", [Node() as y, Node() as z]:
            return y + z if node.primitive == "add" else y * z
        case "multiply", [Node() as y, None] | [None, Node() as y]:
            other = node.args[held[0] is not None]
            if other.shape.rows == 1 and other.dims:
                return y * ops.reshape(new[other], (other.columns,))
            return y * new[other] if not other.dims else None
    return None


def _of_diagonal(node: Node, diagonal: dict[Node, Node], new: dict[Node, Node]) -> Node | None:
    """Products and sums of a diagonal matrix."""
    y = diagonal.get(node.args[0])
    if y is None:
        return None
    match node.primitive, node.attributes:
        case "dot", (transposed,):
            weight = new[node.args[1]]
            weight = ops.transpose(weight) if transposed else weight
            return ops.reshape(y, (-1, 1)) * weight
        case "sum_axes", ((-1,) | (-2,),):
            return ops.reshape(y, node.dims)
        case "sum_axes", _:
            return ops.reshape(ops.sum_columns(y), node.dims)
    return None
