"""Transforms of higher order: Taylor coefficients, Laplacians and their like, maps over points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node
from pinnsolve.diff.taylor import Channels, power_series, sweep
from pinnsolve.diff.trace import (
    dims_of,
    is_mapped,
    is_symbolic,
    placeholder,
    resolve,
    trace,
    tracing,
)
from pinnsolve.diff.transforms import jacobian, shaped
from pinnsolve.diff.trees import leaves, map_leaves, refill, require_same_form
from pinnsolve.errors import GraphError

Function = Callable[..., Any]


def jet(
    function: Function, primals: Sequence[Any], series: Sequence[Sequence[Any]]
) -> tuple[Any, list[Any]]:
    """The value and the derivatives of a function along a curve, to any order, in one sweep.

    Args:
        primals: the arguments x_i, arrays or nestings of them.
        series: for each argument its derivatives along the curve, [x', x'', ...]; all of one
            length, the order K.

    Returns:
        ``(y, [y', y'', ..., y^(K)])``, each with the nesting of the result. O(K^2) work.

    Raises:
        GraphError: series of different lengths, or a term formed unlike its argument.

    >>> import pinnsolve as ps
    >>> y, derivatives = ps.diff.jet(ps.ops.exp, [0.0], [[1.0, 0.0, 0.0]])
    >>> [float(d) for d in derivatives]
    [1.0, 1.0, 1.0]
    """
    orders = {len(terms) for terms in series}
    if len(orders) != 1 or len(series) != len(primals) or orders == {0}:
        raise GraphError(
            f"jet needs one series for each of {len(primals)} argument(s), all of one length, got "
            f"lengths {[len(terms) for terms in series]}"
        )
    (order,) = orders
    arguments = (tuple(primals), tuple(tuple(terms) for terms in series))
    for primal, terms in zip(*arguments, strict=True):
        for term in terms:
            require_same_form(primal, term, "an argument of jet and each term of its series")
    traced = trace(lambda given, terms: (function(*given), terms), arguments)
    count = len(leaves(arguments[0]))
    outputs = traced.outputs[: len(traced.outputs) - count * order]
    along = refill(arguments[1], traced.outputs[len(outputs) :])
    seeds: dict[Node, Channels] = {}
    for argument, terms, given in zip(
        refill(arguments[0], traced.inputs[:count]), along, arguments[1], strict=True
    ):
        columns = zip(*map(leaves, terms), strict=True), zip(*map(leaves, given), strict=True)
        for x, own, values in zip(leaves(argument), *columns, strict=True):
            seeds[x] = (x, *map(_coefficient, range(1, order + 1), own, values, [x] * order))
    found = sweep(outputs, power_series(order), seeds)
    nodes = list(outputs)
    for k in range(1, order + 1):
        for channels, output in zip(found, outputs, strict=True):
            coefficient = channels[k]
            term = None if coefficient is None else ops.scale(math.factorial(k), coefficient)
            nodes.append(shaped(term, output.dims, output))
    result = traced.result(nodes)
    form, size = traced.form[0], len(outputs)
    return refill(form, result[:size]), [
        refill(form, result[k * size : (k + 1) * size]) for k in range(1, order + 1)
    ]


def _coefficient(k: int, term: Node, value: Any, x: Node) -> Node | None:
    """The coefficient of t^k of an argument from its derivative; None when that is known as 0."""
    if term.dims != x.dims:
        raise GraphError(f"a term of shape {term.shape} for an argument of shape {x.shape}")
    zero = not is_symbolic(value) and not np.any(value)
    return None if zero else ops.scale(1 / math.factorial(k), term)


def derivative(function: Function, primals: Any, order: int = 1) -> tuple[Any, Any]:
    """``(value, derivative)``: the derivative of this order when every argument moves at unit
    speed, which is f^(order) of a function of one number, or entry by entry of an array.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> ps.diff.derivative(ps.ops.sin, np.zeros(2), order=3)
    (array([0., 0.]), array([-1., -1.]))
    """
    arguments = tuple(primals) if isinstance(primals, (tuple, list)) else (primals,)
    if order < 0:
        raise GraphError(f"a derivative of order {order}")
    if order == 0:
        traced = trace(function, arguments)
        value = refill(traced.form, traced.result(traced.outputs))
        return value, value
    still = map_leaves(lambda x: np.zeros(dims_of(x)), arguments)
    speed = map_leaves(lambda x: np.ones(dims_of(x)), arguments)
    series = [[v, *[zero] * (order - 1)] for v, zero in zip(speed, still, strict=True)]
    value, found = jet(function, arguments, series)
    return value, found[-1]


def laplacian(function: Function) -> Function:
    """x -> sum_i d^2 f / dx_i^2, for an array x of any shape; the forward Laplacian: one sweep of
    d + 2 channels (Li et al. 2023, arXiv 2307.08214).

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> float(ps.diff.laplacian(lambda x: ps.ops.sum(x**3))(np.array([1.0, 2.0])))
    18.0
    """
    from pinnsolve.diff.forward_laplacian import laplacian_nodes

    def applied(x: Any) -> Any:
        traced = trace(function, (x,))
        if len(traced.inputs) != 1:
            raise GraphError("laplacian needs a function of one array, not of a nesting of them")
        (node,) = traced.inputs
        return refill(traced.form, traced.result(laplacian_nodes(traced.outputs, node)))

    return applied


def divergence(function: Function) -> Function:
    """x -> sum_i d f_i / dx_i, for a function of d numbers with d values, an array or a tuple of
    components.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> float(ps.diff.divergence(lambda x: x * x)(np.array([1.0, 2.0])))
    6.0
    """

    def applied(x: Any) -> Any:
        j = _square_jacobian(function, x, "divergence")
        total = j[0, 0]
        for i in range(1, len(j)):
            total = total + j[i, i]
        return total

    return applied


def curl(function: Function) -> Function:
    """The curl of a field of two components (a number) or three (a vector).

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> float(ps.diff.curl(lambda x: ps.ops.stack([-x[1], x[0]]))(np.array([0.5, 2.0])))
    2.0
    """

    def applied(x: Any) -> Any:
        j = _square_jacobian(function, x, "curl")
        match dims_of(j)[0]:
            case 2:
                return j[1, 0] - j[0, 1]
            case 3:
                parts = [j[2, 1] - j[1, 2], j[0, 2] - j[2, 0], j[1, 0] - j[0, 1]]
                return np.stack(parts) if isinstance(j, np.ndarray) else ops.stack_values(parts)
        raise GraphError(f"curl of a field of {dims_of(j)[0]} components; it has 2 or 3")

    return applied


def _square_jacobian(function: Function, x: Any, what: str) -> Any:
    def field(x: Any) -> Any:
        components = function(x)
        return ops.stack_values(components) if isinstance(components, (tuple, list)) else components

    matrix = jacobian(field)(x)
    dims = dims_of(matrix)
    if len(dims) != 2 or dims[0] != dims[1]:
        raise GraphError(
            f"{what} needs a function of d numbers with d values; its Jacobian has shape {dims}"
        )
    return matrix


def vmap(function: Function, in_axes: int | Sequence[int | None] | None = 0) -> Function:
    """A function of one point made a function of many: arguments get a leading axis, over which
    it runs all at once, and so do results. Derivatives that it takes are those of one point, by
    parameters too. A map inside a map runs one entry after the other.

    Args:
        in_axes: 0 for arguments whose first axis is mapped, None for those that are the same for
            all points; one for all arguments or one each.

    Raises:
        GraphError: no argument is mapped, or their first axes differ.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> ps.diff.vmap(lambda x: x[0] * x[1])(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([ 2., 12.])
    """

    def mapped(*arguments: Any) -> Any:
        axes = (
            [in_axes] * len(arguments) if in_axes is None or isinstance(in_axes, int) else in_axes
        )
        if len(axes) != len(arguments) or any(axis not in (0, None) for axis in axes):
            raise GraphError(f"in_axes {in_axes} for {len(arguments)} argument(s); 0 or None each")
        values = leaves(tuple(arguments))
        over = [
            axis == 0
            for argument, axis in zip(arguments, axes, strict=True)
            for _ in leaves(argument)
        ]
        _check_lengths(values, over)
        inputs = [placeholder(value) for value in values]
        if is_mapped() or any(node.points for node in inputs):
            result = _unrolled(function, arguments, inputs, over)
        else:
            rows = [ops.spread(x) if o else x for x, o in zip(inputs, over, strict=True)]
            with tracing(mapped=True):
                result = function(*refill(tuple(arguments), rows))
            like = next(row for row, o in zip(rows, over, strict=True) if o)
            outputs = [ops.at_points(ops.as_node(value), like) for value in leaves(result)]
            result = refill(result, [ops.collect(value) for value in outputs])
        found = resolve(
            [ops.as_node(value) for value in leaves(result)], dict(zip(inputs, values, strict=True))
        )
        return refill(result, found)

    return mapped


def _check_lengths(values: Sequence[Any], over: Sequence[bool]) -> None:
    dims = [dims_of(value) for value, o in zip(values, over, strict=True) if o]
    if not dims or () in dims or len({d[0] for d in dims}) > 1:
        raise GraphError(f"vmap over the first axes of arguments of shapes {dims or 'none'}")


def _unrolled(
    function: Function, arguments: Sequence[Any], inputs: Sequence[Node], over: Sequence[bool]
) -> Any:
    """A map inside a map: one entry after the other, as there is one axis of points only."""
    length = next(x.dims[0] for x, o in zip(inputs, over, strict=True) if o)
    results = []
    for k in range(length):
        entries = [x[k] if o else x for x, o in zip(inputs, over, strict=True)]
        with tracing():
            results.append(function(*refill(tuple(arguments), entries)))
    columns = zip(*(leaves(result) for result in results), strict=True)
    return refill(results[0], [ops.stack_values(list(column)) for column in columns])
