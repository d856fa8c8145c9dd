"""Supports: where a cotangent can be other than zero.

A choice passes no cotangent to what it did not choose, and a part none to the rest of a value.
Further down, that zero meets slopes and values that may be infinite just there, which is often why
there is a choice, and 0 * inf is NaN. So the reverse sweep keeps, beside each cotangent on its way
to such an operation, a mask that is not 0 where the cotangent can be, and forms products inside
it only. (JAX asks its users to write every such choice twice.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node

SINGULAR = {"log", "log1p", "exp", "expm1", "program"}


def fragile(order: Iterable[Node]) -> set[Node]:
    """Nodes whose value, or a slope on the way to it, may be infinite where all leaves are finite;
    arguments come first in the order."""
    found: set[Node] = set()
    for node in order:
        if _is_singular(node) or any(argument in found for argument in node.args):
            found.add(node)
    return found


def _is_singular(node: Node) -> bool:
    if node.primitive == "power":
        exponent = node.attributes[0]
        return exponent < 0 or not float(exponent).is_integer()
    if node.primitive == "constant":
        return not np.isfinite(node.attributes[0].array).all()
    return node.primitive in SINGULAR


def within(support: Node | None, value: Node) -> Node:
    """The value inside the support, zero elsewhere; None is everywhere."""
    return value if support is None else ops.where(support, value, 0.0)


def halves(condition: Node, support: Node | None) -> tuple[Node, Node]:
    """The supports of what is chosen where the condition is not 0, and of what is where it is."""
    whole = ops.constant(1.0) if support is None else support
    first = ops.where(condition, whole, 0.0)
    if support is None and condition.primitive in ("less", "less_equal", "equal"):
        first = condition
    return first, ops.where(condition, 0.0, whole)


def support_of(cotangent: Node) -> Node | None:
    """The support of what comes straight from a choice."""
    if cotangent.primitive == "where":
        condition, first, second = cotangent.args
        inside, outside = halves(condition, None)
        if ops.is_zeros(second):
            return inside
        if ops.is_zeros(first):
            return outside
    return None


def product(cotangent: Node, factor: Node, support: Node | None) -> Node:
    """cotangent * factor, and 0 outside the support, whatever the factor is there.

    What comes straight from a choice is multiplied inside it in any case, which costs nothing:
    where(c, a, 0) * f = where(c, a * f, 0).
    """
    own = support_of(cotangent)
    if own is None:
        return within(support, cotangent * factor)
    condition, first, second = cotangent.args
    if ops.is_zeros(second):
        inside = ops.where(condition, first * factor, 0.0)
    else:
        inside = ops.where(condition, 0.0, second * factor)
    return inside if support is own else within(support, inside)


def shares_within(cotangent: Node, shares: Sequence[Node | None]) -> list[Node | None]:
    """Shares of a cotangent, zero where all of it is zero for certain."""
    support = support_of(cotangent)
    if support is None:
        return list(shares)
    entries = ops.reshape(ops.widen(support, cotangent.dims), (-1,))
    anywhere = ops.reshape(ops.sum_columns(entries), ())
    return [None if share is None else within(anywhere, share) for share in shares]
