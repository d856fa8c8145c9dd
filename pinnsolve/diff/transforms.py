"""Transforms: functions of arrays to functions of arrays, nested in any order.

Each traces its function, works on the graph and gives arrays back where it was given arrays, nodes
where it was given nodes. Arguments and results are arrays, numbers, nodes, or nested tuples, lists
and dicts of them; ``argnums`` counts positional arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.taylor import Algebra, Channels, power_series, sweep, tangent
from pinnsolve.diff.trace import Traced, is_number, trace
from pinnsolve.diff.trees import leaves, refill, require_same_form
from pinnsolve.errors import GraphError

Function = Callable[..., Any]
Argnums = int | Sequence[int]
Weights = Sequence[Parameter] | Mapping[str, Parameter] | Parameter


def _name(function: Function) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _selected(arguments: Sequence[Any], argnums: Argnums) -> Any:
    """The arguments to differentiate by: one, or a tuple of them."""
    count = len(arguments)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not numbers or not all(isinstance(k, int) and -count <= k < count for k in numbers):
        raise GraphError(f"argnums {argnums!r} for a function of {count} argument(s)")
    return arguments[argnums] if isinstance(argnums, int) else tuple(arguments[k] for k in numbers)


def _inputs_of(traced: Traced, arguments: Sequence[Any], argnums: Argnums) -> list[Node]:
    """The leaves of the selected arguments."""
    filled = refill(tuple(arguments), traced.inputs)
    return leaves(_selected(filled, argnums))


def shaped(found: Node | None, dims: tuple[int, ...], like: Node) -> Node:
    """A derivative with these axes, at the points of `like`; None is zero."""
    value = ops.constant(np.zeros(dims)) if found is None else ops.widen(found, dims)
    return ops.at_points(value, like)


def _pulled_back(
    outputs: Sequence[Node], cotangents: Sequence[Node], by: Sequence[Node]
) -> list[Node]:
    """Gradients by some leaves; an output that occurs twice counts twice. Outputs at points have a
    gradient by a parameter at each of them."""
    total: dict[Node, Node] = {}
    for output, cotangent in zip(outputs, cotangents, strict=True):
        total[output] = total[output] + cotangent if output in total else cotangent
    pointwise = next((output for output in outputs if output.points), None)
    rows = pointwise is not None and not all(x.points for x in by)
    found = reverse(total, by, per_point=rows)
    return [
        shaped(g, x.dims, pointwise if pointwise is not None and rows else x)
        for g, x in zip(found, by, strict=True)
    ]


def _ones(outputs: Sequence[Node]) -> list[Node]:
    return [ops.constant(np.ones(node.dims)) for node in outputs]


def grad(function: Function, argnums: Argnums = 0) -> Function:
    """The gradient by one argument, or by several, shaped like them.

    An output that is not a number is summed over its entries, and several outputs are summed
    (as MindSpore does): grad(sin) of an array is cos of it.

    Raises:
        GraphError: argnums names no argument, or the function returns something else than values.

    >>> import pinnsolve as ps
    >>> float(ps.diff.grad(lambda x: ps.ops.sin(x) + x**2)(1.0))
    2.5403023058681398
    """

    base, order = _unnested(function, argnums)

    def gradient(*arguments: Any) -> Any:
        x = _selected(arguments, argnums)
        found = _repeated(base, arguments, argnums, order + 1) if order and is_number(x) else None
        if found is not None:
            return found
        traced = trace(function, arguments)
        by = _inputs_of(traced, arguments, argnums)
        nodes = _pulled_back(traced.outputs, _ones(traced.outputs), by)
        return refill(x, traced.result(nodes))

    gradient.nested_grad = (gradient, base, argnums, order + 1)  # type: ignore[attr-defined]
    return _renamed(gradient, "grad", function)


def _unnested(function: Function, argnums: Argnums) -> tuple[Function, int]:
    """f and k, where the function is grad, k times, of f by the same argument."""
    itself, base, by, order = getattr(function, "nested_grad", (None, function, argnums, 0))
    return (base, order) if itself is function and by == argnums else (function, 0)


def _repeated(function: Function, arguments: Sequence[Any], argnums: Argnums, order: int) -> Any:
    """grad of grad of ... by one number: a power series, not a nest that grows with each level.
    None where that is impossible, because an operation has a rule for reverse derivatives only."""
    traced = trace(function, arguments)
    (x,) = _inputs_of(traced, arguments, argnums)
    seeds = {x: (x, ops.constant(1.0), *(None,) * (order - 1))}
    try:
        found = sweep(traced.outputs, power_series(order), seeds)
    except GraphError:
        return None
    total = ops.constant(0.0)
    for output, channels in zip(traced.outputs, found, strict=True):
        last = shaped(channels[order], output.dims, output)
        total = total + ops.scale(math.factorial(order), ops.sum_entries(last))
    return traced.result([total])[0]


def value_and_grad(
    function: Function,
    argnums: Argnums | None = None,
    weights: Weights | None = None,
    has_aux: bool = False,
) -> Function:
    """The result and its gradients: ``(result, gradients)``.

    Args:
        argnums: arguments to differentiate by; 0 when neither argnums nor weights are given.
        weights: parameters to differentiate by, as a sequence, a dict or a single one, such as
            ``net.trainable_parameters()``. They are taken at their values.
        has_aux: the function returns ``(value, *more)``: only the value is differentiated, the
            rest passes through. Without it several outputs are summed, as MindSpore does.

    Gradients are ``(by arguments, by weights)`` when both are given, else the one asked for.

    >>> import pinnsolve as ps
    >>> value, slope = ps.diff.value_and_grad(lambda x: x**3)(2.0)
    >>> float(value), float(slope)
    (8.0, 12.0)
    """
    by_arguments = 0 if argnums is None and weights is None else argnums

    def value_and_gradient(*arguments: Any) -> Any:
        traced = trace(function, arguments)
        by = [] if by_arguments is None else _inputs_of(traced, arguments, by_arguments)
        parameters = [] if weights is None else _parameters(weights)
        count = _count_differentiated(traced, has_aux, function)
        outputs = traced.outputs[:count]
        found = _pulled_back(outputs, _ones(outputs), [*by, *(p.node for p in parameters)])
        result = traced.result([*traced.outputs, *found])
        value = refill(traced.form, result[: len(traced.outputs)])
        first = result[len(traced.outputs) : len(traced.outputs) + len(by)]
        second = result[len(traced.outputs) + len(by) :]
        gradients = []
        if by_arguments is not None:
            gradients.append(refill(_selected(arguments, by_arguments), first))
        if weights is not None:
            gradients.append(_like_weights(weights, second))
        return value, gradients[0] if len(gradients) == 1 else tuple(gradients)

    return _renamed(value_and_gradient, "value_and_grad", function)


def _parameters(weights: Weights) -> list[Parameter]:
    found = [weights] if isinstance(weights, Parameter) else leaves(weights)
    for parameter in found:
        if not isinstance(parameter, Parameter):
            raise GraphError(
                f"weights must be Parameters, got {type(parameter).__name__}; "
                "write weights=net.trainable_parameters()"
            )
    return found


def _like_weights(weights: Weights, values: Sequence[Any]) -> Any:
    if isinstance(weights, Parameter):
        return values[0]
    if isinstance(weights, Mapping):
        return dict(zip(weights, values, strict=True))
    return tuple(values)


def _count_differentiated(traced: Traced, has_aux: bool, function: Function) -> int:
    """How many outputs the value has, which come first."""
    if not has_aux:
        return len(traced.outputs)
    if not isinstance(traced.form, tuple) or not traced.form:
        raise GraphError(f"with has_aux, {_name(function)} must return a tuple (value, ...)")
    return len(leaves(traced.form[0]))


def _tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def jvp(function: Function, primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The result at `primals`, and its derivative along `tangents`: ``(result, J v)``.

    Both are tuples of arguments, or single ones.

    >>> import pinnsolve as ps
    >>> value, slope = ps.diff.jvp(ps.ops.exp, 0.0, 2.0)
    >>> float(slope)
    2.0
    """
    arguments, directions = _tuple(primals), _tuple(tangents)
    require_same_form(arguments, directions, "primals and tangents")
    traced = trace(lambda given, along: (function(*given), along), (arguments, directions))
    half = len(traced.inputs) // 2
    outputs = traced.outputs[: len(traced.outputs) - half]
    along = dict(zip(traced.inputs[:half], traced.outputs[len(outputs) :], strict=True))
    for node, direction in along.items():
        if node.dims != direction.dims:
            raise GraphError(
                f"a tangent of shape {direction.shape} for an argument of shape {node.shape}"
            )
    found = [shaped(t, y.dims, y) for t, y in zip(tangent(outputs, along), outputs, strict=True)]
    result = traced.result([*outputs, *found])
    form = traced.form[0]
    return refill(form, result[: len(outputs)]), refill(form, result[len(outputs) :])


def vjp(function: Function, *primals: Any) -> tuple[Any, Function]:
    """The result, and the function that pulls a cotangent of the result back to the arguments:
    ``(result, w -> J' w)``, one gradient an argument, in a tuple.

    >>> import pinnsolve as ps
    >>> value, pull = ps.diff.vjp(ps.ops.sin, 0.0)
    >>> float(pull(3.0)[0])
    3.0
    """
    traced = trace(function, primals)
    value = refill(traced.form, traced.result(traced.outputs))

    def pull(cotangents: Any) -> Any:
        require_same_form(traced.form, cotangents, "the result and its cotangent")
        values = leaves(cotangents)
        given = [ops.as_node(value) for value in values]
        for node, output in zip(given, traced.outputs, strict=True):
            if node.dims != output.dims:
                raise GraphError(
                    f"a cotangent of shape {node.shape} for a result of shape {output.shape}"
                )
        found = _pulled_back(traced.outputs, given, traced.inputs)
        return refill(primals, traced.result(found))

    return value, pull


def _one_hot(node: Node, k: int) -> Node:
    unit = np.zeros(node.shape.size)
    unit[k] = 1.0
    return ops.constant(unit.reshape(node.dims))


def jacobian(function: Function, argnums: Argnums = 0, mode: str = "auto") -> Function:
    """The Jacobian by one argument, of shape ``result.shape + argument.shape``.

    Args:
        argnums: one argument, or several: then a tuple, one Jacobian each.
        mode: "forward" (one direction an entry of the arguments), "reverse" (one sweep an entry of
            the result) or "auto", whichever is less work.

    A nested result or argument gives the nesting of the result, and inside that of the argument.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> ps.diff.jacobian(lambda x: x * x[0])(np.array([1.0, 2.0]))
    array([[2., 0.],
           [2., 1.]])
    """
    if mode not in ("auto", "forward", "reverse"):
        raise GraphError(f"mode must be auto, forward or reverse, not {mode!r}")

    def matrix(*arguments: Any) -> Any:
        traced = trace(function, arguments)
        by = _inputs_of(traced, arguments, argnums)
        sizes = [sum(node.shape.size for node in nodes) for nodes in (by, traced.outputs)]
        forward = mode == "forward" or (mode == "auto" and sizes[0] <= sizes[1])
        blocks = (_forward_blocks if forward else _reverse_blocks)(traced.outputs, by)
        flat = traced.result([block for row in blocks for block in row])
        chosen = _selected(arguments, argnums)
        rows = [refill(chosen, flat[k * len(by) : (k + 1) * len(by)]) for k in range(len(blocks))]
        return refill(traced.form, rows)

    return _renamed(matrix, "jacobian", function)


def _forward_blocks(outputs: Sequence[Node], by: Sequence[Node]) -> list[list[Node]]:
    """One sweep that carries a tangent for every entry of the arguments."""
    entries = [(node, k) for node in by for k in range(node.shape.size)]
    seeds: dict[Node, Channels] = {}
    for node in by:
        along = [_one_hot(node, k) if node is other else None for other, k in entries]
        seeds[node] = (node, *along)
    found = sweep(outputs, _tangents(len(entries)), seeds)
    rows = []
    for output, channels in zip(outputs, found, strict=True):
        columns = [shaped(channel, output.dims, output) for channel in channels[1:]]
        row, start = [], 0
        for node in by:
            part = columns[start : start + node.shape.size]
            row.append(ops.reshape(ops.stack_values(part, -1), (*output.dims, *node.dims)))
            start += node.shape.size
        rows.append(row)
    return rows


def _tangents(count: int) -> Algebra:
    """First derivatives in several directions: products of two of them vanish."""
    names = ("value", *(f"d{k}" for k in range(count)))
    products = (((0, 0, 1),), *(((0, k, 1), (k, 0, 1)) for k in range(1, count + 1)))
    return Algebra(names, products, 1)


def _reverse_blocks(outputs: Sequence[Node], by: Sequence[Node]) -> list[list[Node]]:
    rows = []
    for output in outputs:
        found = [
            _pulled_back([output], [_one_hot(output, k)], by) for k in range(output.shape.size)
        ]
        rows.append(
            [
                ops.reshape(ops.stack_values(column), (*output.dims, *node.dims))
                for column, node in zip(zip(*found, strict=True), by, strict=True)
            ]
        )
    return rows


def hessian(function: Function, argnums: int = 0) -> Function:
    """Second derivatives by one argument, of shape ``result + argument + argument``: forward over
    reverse for a number, forward over forward where the result is larger.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> ps.diff.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 3.0]))
    array([[6., 2.],
           [2., 0.]])
    """
    return _renamed(jacobian(jacobian(function, argnums), argnums, "forward"), "hessian", function)


def hvp(function: Function, primals: Any, tangents: Any) -> Any:
    """The Hessian of a number times a vector, without the Hessian: forward over reverse.

    `primals` and `tangents` are tuples of arguments, or single ones, and so is the result.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> x, v = np.array([1.0, 3.0]), np.array([0.0, 1.0])
    >>> ps.diff.hvp(lambda x: x[0] ** 2 * x[1], x, v)
    array([2., 0.])
    """
    arguments = _tuple(primals)
    gradient = grad(function, tuple(range(len(arguments))))
    _, product = jvp(gradient, arguments, _tuple(tangents))
    return product if isinstance(primals, (tuple, list)) else product[0]


def _renamed(transformed: Function, prefix: str, function: Function) -> Function:
    transformed.__name__ = f"{prefix}({_name(function)})"
    transformed.__qualname__ = transformed.__name__
    return transformed
