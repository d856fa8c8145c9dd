"""Rules: small pure functions that yield other forms of a node, of the same value.

The docstring of a rule is its identity. A rule need not ask whether a form is cheaper: the walker
of :mod:`pinnsolve.diff.rewrite` counts, and takes only what is. Identities hold to rounding, and
where values are not finite: x - x stays, as it is NaN where x is infinite.

``alone(x)`` says whether a value has only one use, so that it disappears with its user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.errors import GraphError

Alone = Callable[[Node], bool]
Rule = Callable[[Node, Alone], Iterator[Node]]
Rules = Mapping[str, tuple[Rule, ...]]  # by primitive

SMALL = 256  # entries of a constant that may be larger than what it is made of


# --- constants -------------------------------------------------------------------------------


def fold_constant(node: Node, alone: Alone) -> Iterator[Node]:
    """f(constants) = a constant, where it is finite and not larger than what it is made of."""
    value = PRIMITIVES[node.primitive].value
    foldable = bool(node.args) and all(a.primitive == "constant" for a in node.args)
    if node.points or not foldable or value is None or node.primitive in KEPT:
        return
    if node.shape.size > max(SMALL, *(a.shape.size for a in node.args)):
        return
    with np.errstate(all="ignore"):
        array = np.asarray(value(node.attributes, *(a.attributes[0].array for a in node.args)))
    if np.isfinite(array).all():
        yield ops.constant(array)


KEPT = {"stop_gradient", "again", "program"}  # their meaning is not their value alone


# --- identities ------------------------------------------------------------------------------


def constructed(node: Node, alone: Alone) -> Iterator[Node]:
    """What the constructor makes of the arguments: x + 0 = x, 1 x = x, a part of parts put side by
    side is a part of one of them, a shape of a shape is a shape."""
    try:
        yield ops.apply(node.primitive, node.attributes, node.args)
    except GraphError:
        return


def chosen(node: Node, alone: Alone) -> Iterator[Node]:
    """where(c, x, x) = x, where(1, x, y) = x, where(c, where(c, x, y), z) = where(c, x, z)."""
    yield ops.where(*node.args)


def axes_twice(node: Node, alone: Alone) -> Iterator[Node]:
    """The axes of (the axes of x in one order) in another = the axes of x in a third."""
    (x,) = node.args
    if x.primitive == "transpose":
        inner, outer = x.attributes[0], node.attributes[0]
        yield ops.transpose(x.args[0], [inner[axis] for axis in outer])


def transposed_weight(node: Node, alone: Alone) -> Iterator[Node]:
    """x (W^T) = x W^T: a flag of the product."""
    x, weight = node.args
    if weight.primitive == "transpose":
        yield ops.dot(x, weight.args[0], transposed=not node.attributes[0])


def transposed_contraction(node: Node, alone: Alone) -> Iterator[Node]:
    """(x^T y)^T = y^T x."""
    (product,) = node.args
    if product.primitive == "contract":
        yield ops.contract(*reversed(product.args))


def neighbours(node: Node, alone: Alone) -> Iterator[Node]:
    """x[a:b] beside x[b:c] = x[a:c]."""
    (axis,) = node.attributes
    parts = [node.args[0]]
    for part in node.args[1:]:
        joined = _joined(parts[-1], part, axis)
        parts[-1:] = [parts[-1], part] if joined is None else [joined]
    if len(parts) < len(node.args):
        yield ops.concatenate(parts, axis)


def _joined(first: Node, second: Node, axis: int) -> Node | None:
    """Two cuts as one, where the second goes on where the first ends."""
    for part in (first, second):
        if part.primitive != "cut" or part.attributes[0] != axis:
            return None
    (_, start, length), (_, following, more) = first.attributes, second.attributes
    if first.args[0] is not second.args[0] or start + length != following:
        return None
    return ops.cut(first.args[0], axis, start, length + more)


def member(node: Node, alone: Alone) -> Iterator[Node]:
    """Block i of a stack = its member i."""
    (x,) = node.args
    if x.primitive == "stack":
        yield x.args[node.attributes[0]]


def sums_twice(node: Node, alone: Alone) -> Iterator[Node]:
    """A sum over axes of a sum over others = the sum over all of them."""
    (x,) = node.args
    if x.primitive == "sum_axes":
        yield ops.sum_axes(x.args[0], [*x.attributes[0], *node.attributes[0]])


def even(node: Node, alone: Alone) -> Iterator[Node]:
    """cos(-x) = cos(x), |-x| = |x|."""
    (x,) = node.args
    if x.primitive == "scale" and x.attributes[0] == -1:
        yield ops.cos(x.args[0]) if node.primitive == "cos" else ops.absolute(x.args[0])


FOLDING: Rules = dict.fromkeys(PRIMITIVES, (fold_constant,))

IDENTITIES: Rules = {
    "add": (constructed,),
    "multiply": (constructed,),
    "scale": (constructed,),
    "reshape": (constructed,),
    "cut": (constructed,),
    "transpose": (constructed, axes_twice, transposed_contraction),
    "spread": (constructed,),
    "collect": (constructed,),
    "sum_axes": (constructed, sums_twice),
    "concatenate": (neighbours,),
    "part": (member,),
    "dot": (transposed_weight,),
    "where": (chosen,),
    "cos": (even,),
    "absolute": (even,),
}
