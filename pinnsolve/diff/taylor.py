"""Taylor sweeps: one pass that carries every derivative a residual needs.

The derivatives carried form a *channel algebra*. Let V be a space of constant-coefficient
differential operators closed under differentiation of their symbols (V contains 1, d_x,
d_t - nu d_xx, say). Then the values (q u)(x), q in V, of a product follow from those of the
factors by the Leibniz rule, q(u v) = sum_ij m^q_ij (q_i u)(q_j v), so they are the coordinates of u
in a commutative, nilpotent algebra. Truncated Taylor series in one or more directions, the forward
Laplacian and dual numbers are the special cases; :mod:`pinnsolve.diff.plan` picks the smallest.

A function of one value z = z_0 + N, N nilpotent, is f(z) = sum_k f^(k)(z_0) N^k / k!
(Griewank and Walther, Evaluating Derivatives, 2008, ch. 13). Along one direction, a differential
equation for f gives the same in O(K^2): :mod:`pinnsolve.diff.series`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node, Operand, make, rebuild, substitute, topological
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.series import compose_series
from pinnsolve.errors import GraphError

Channels = tuple[Node | None, ...]  # None is a channel that is identically zero


@dataclass(frozen=True)
class Algebra:
    """Channels and their product.

    names: one label a channel; channel 0 is the value itself.
    products: per channel q, the terms (i, j, m) of q(u v) = sum m (q_i u)(q_j v).
    order: the largest k with N^k != 0.
    series: whether channel q is the coefficient of t^q in a power series.
    """

    names: tuple[str, ...]
    products: tuple[tuple[tuple[int, int, Operand], ...], ...]
    order: int
    series: bool = False

    @property
    def size(self) -> int:
        return len(self.names)


def power_series(order: int) -> Algebra:
    """Taylor coefficients c_0 .. c_order of a curve: c_k = (d/dt)^k / k!."""
    products = tuple(tuple((i, q - i, 1) for i in range(q + 1)) for q in range(order + 1))
    return Algebra(tuple(f"t^{q}" for q in range(order + 1)), products, order, series=True)


DUAL = Algebra(("value", "tangent"), (((0, 0, 1),), ((0, 1, 1), (1, 0, 1))), 1)


def sweep(
    roots: Sequence[Node], algebra: Algebra, seeds: Mapping[Node, Channels]
) -> list[Channels]:
    """The channels of each root, given those of the seeds; all other leaves are constant."""
    constant = (None,) * (algebra.size - 1)
    known: dict[Node, Channels] = dict(seeds)
    for node in _above(roots, seeds):
        arguments = [known[argument] for argument in node.args]
        if all(channel is None for channels in arguments for channel in channels[1:]):
            known[node] = (node, *constant)
        else:
            known[node] = _rule(node, arguments, algebra)
    return [known[root] for root in roots]


def _above(roots: Sequence[Node], seeds: Mapping[Node, Channels]) -> list[Node]:
    return [node for node in topological(roots) if node not in seeds]


def _rule(node: Node, arguments: list[Channels], algebra: Algebra) -> Channels:
    match PRIMITIVES[node.primitive].kind:
        case "mask":
            return (node, *(None,) * (algebra.size - 1))
        case "elementwise" if algebra.series and algebra.order > 1:
            return compose_series(node, arguments[0])
        case "elementwise":
            return _compose(node, arguments[0], algebra)
        case "linear":
            rest = [_linear(node, [a[q] for a in arguments]) for q in range(1, algebra.size)]
            return (node, *rest)
        case "choice":
            rest = [_choice(node, [a[q] for a in arguments[1:]]) for q in range(1, algebra.size)]
            return (node, *rest)
        case "program":
            return node.attributes[0].taylor(node, arguments, algebra)
        case "bilinear":
            first, second = arguments

            def product(x: Node, y: Node) -> Node:
                if node.primitive != "multiply":
                    x, y = (_whole(node, v, a) for v, a in zip((x, y), node.args, strict=True))
                return ops.apply(node.primitive, node.attributes, (x, y))

            rest = [
                _sum(_terms(first, second, algebra.products[q], product))
                for q in range(1, algebra.size)
            ]
            return (node, *rest)
    raise GraphError(f"{node.primitive} has no Taylor rule")


def _linear(node: Node, arguments: list[Node | None]) -> Node | None:
    if all(argument is None for argument in arguments):
        return None
    if node.primitive == "add":
        total = _sum([argument for argument in arguments if argument is not None])
        assert total is not None
        return ops.widen(total, node.dims)
    if node.primitive == "scale":
        return ops.scale(node.attributes[0], arguments[0])  # type: ignore[arg-type]
    filled = [_whole(node, a, like) for a, like in zip(arguments, node.args, strict=True)]
    return ops.apply(node.primitive, node.attributes, filled)


def _choice(node: Node, arguments: list[Node | None]) -> Node | None:
    if all(argument is None for argument in arguments):
        return None
    first, second = (ops.constant(0.0) if a is None else a for a in arguments)
    return ops.widen(ops.where(node.args[0], first, second), node.dims)


# Operations that go over points need a value at each of them.
OVER_POINTS = {"contract", "outer", "sum_points", "collect", "stack", "part"}


def _whole(node: Node, x: Node | None, like: Node) -> Node:
    """A channel of the argument `like` with the axes, and the points, that the operation needs."""
    x = ops.constant(np.zeros(like.dims)) if x is None else ops.widen(x, like.dims)
    return ops.at_points(x, like) if node.primitive in OVER_POINTS else x


def _sum(terms: list[Node]) -> Node | None:
    total = None
    for term in terms:
        total = term if total is None else ops.add(total, term)
    return total


def _terms(first: Channels, second: Channels, terms, product) -> list[Node]:
    """m * product(first_i, second_j) over the terms; equal pairs of a symmetric product meet."""
    found: dict[Node, Operand] = {}
    for i, j, m in terms:
        x, y = first[i], second[j]
        if x is None or y is None:
            continue
        value = product(x, y)
        if value in found:
            found[value] = ops.add(found[value], m)
        else:
            found[value] = m
    return [ops.multiply(m, value) for value, m in found.items()]


def _compose(node: Node, z: Channels, algebra: Algebra) -> Channels:
    """f(z_0 + N) = f(z_0) + sum_k f^(k)(z_0) N^k / k!."""
    assert z[0] is not None
    nilpotent: Channels = (None, *z[1:])
    totals: list[list[Node]] = [[] for _ in z]
    power = nilpotent
    for k, factor in enumerate(_derivatives(node, algebra.order), start=1):
        if k > 1:
            power = tuple(
                _sum(_terms(nilpotent, power, algebra.products[q], ops.multiply))
                for q in range(algebra.size)
            )
        if factor is None or all(channel is None for channel in power):
            break
        for q, channel in enumerate(power):
            if channel is not None:
                totals[q].append(factor * ops.scale(1 / math.factorial(k), channel))
    return (node, *(_sum(terms) for terms in totals[1:]))


def compose_elementwise(
    node: Node,
    slopes: Callable[[Node], list[Node | None]],
    arguments: Sequence[Channels],
    algebra: Algebra,
) -> Channels:
    """A function of several values, entry by entry, from its first derivatives alone.

    With every argument moving along z_0 + s N, d/ds f = sum_i f_i(z_0 + s N) N_i, so that
    f(z_0 + N) = sum_k D^k f / k! where D g = sum_i g_i N_i acts on expressions in the arguments.
    """
    nilpotent: list[Channels] = [(None, *channels[1:]) for channels in arguments]
    totals: list[list[Node]] = [[] for _ in algebra.names]
    for chosen, factor in _mixed_derivatives(node, slopes, algebra.order).items():
        power = _product_of([nilpotent[i] for i in chosen], algebra)
        times = math.prod(math.factorial(chosen.count(i)) for i in set(chosen))
        for q, channel in enumerate(power):
            if channel is not None:
                totals[q].append(factor * ops.scale(1 / times, channel))
    return (node, *(_sum(total) for total in totals[1:]))


def _mixed_derivatives(
    node: Node, slopes: Callable[[Node], list[Node | None]], order: int
) -> dict[tuple[int, ...], Node]:
    """By multisets of arguments. One argument may depend on another, so leaves stand for them."""
    own = [
        make("input", (), (f"argument {k}",), argument.shape)
        for k, argument in enumerate(node.args)
    ]
    value = rebuild(node, tuple(own))
    found = {(i,): slope for i, slope in enumerate(slopes(value)) if slope is not None}
    latest = found
    for _ in range(1, order):
        latest = {
            (*chosen, i): slope
            for chosen, factor in latest.items()
            for i in range(chosen[-1], len(own))
            if (slope := tangent([factor], {own[i]: ops.constant(1.0)})[0]) is not None
        }
        found = found | latest
    named = {str(k): factor for k, factor in enumerate(found.values())}
    put_back = substitute(named, {**dict(zip(own, node.args, strict=True)), value: node})
    return dict(zip(found, put_back.values(), strict=True))


def _product_of(factors: Sequence[Channels], algebra: Algebra) -> Channels:
    product = factors[0]
    for factor in factors[1:]:
        product = tuple(
            _sum(_terms(product, factor, algebra.products[q], ops.multiply))
            for q in range(algebra.size)
        )
    return product


def _derivatives(node: Node, order: int) -> list[Node | None]:
    """f', f'', ... as expressions in the argument and the value."""
    (x,) = node.args
    if x.primitive == "scale":  # products pull its number out, and x would not be found in them
        stand_in = make("input", (), ("argument",), x.shape)
        value = rebuild(node, (stand_in,))
        found = _derivatives(value, order)
        named = {str(k): f for k, f in enumerate(found) if f is not None}
        put_back = substitute(named, {stand_in: x, value: node})
        return [put_back.get(str(k)) for k in range(len(found))]
    rule = PRIMITIVES[node.primitive].derivative
    assert rule is not None
    found: list[Node | None] = [rule(node.attributes, x, node)]
    while len(found) < order and found[-1] is not None:
        found.append(tangent([found[-1]], {x: ops.constant(1.0)})[0])
    return found


def tangent(roots: Sequence[Node], directions: Mapping[Node, Node]) -> list[Node | None]:
    """Forward mode: derivatives of the roots when each seed moves along its direction."""
    seeds: dict[Node, Channels] = {node: (node, along) for node, along in directions.items()}
    return [channels[1] for channels in sweep(roots, DUAL, seeds)]
