"""Rules of linearity: sums and products seen whole, in whatever order they were written.

A *term* is a number times factors. Numbers and small factors are gathered where they are smallest,
common factors are taken out, and what is linear is applied once, to a sum. Values change by
rounding alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node, make
from pinnsolve.diff.rules import Alone, Rules

Term = tuple[float, tuple[Node, ...]]


# --- reading ---------------------------------------------------------------------------------


def term_of(node: Node, alone: Alone) -> Term:
    """The number and the factors of a product; a product with other users is one factor."""
    number, factors = 1.0, []
    stack = [(node, True)]
    while stack:
        x, own = stack.pop()
        if _is_scaled(x):
            number *= x.attributes[0]
            stack.append((x.args[0], own and alone(x.args[0])))
        elif x.primitive == "multiply" and own:
            stack += [(argument, alone(argument)) for argument in reversed(x.args)]
        else:
            factors.append(x)
    return number, tuple(factors)


def _is_scaled(x: Node) -> bool:
    return x.primitive == "scale" and x.attributes[0] != 0  # 0 x is 0 even where x is infinite


def terms_of(node: Node, alone: Alone) -> list[Term]:
    """The terms of a sum, in order; a sum with other users, or of smaller values, is one term."""
    found = []
    stack = [(1.0, node, True)]
    while stack:
        number, x, own = stack.pop()
        if _is_scaled(x):
            argument = x.args[0]
            stack.append((number * x.attributes[0], argument, own and alone(argument)))
        elif x.primitive == "add" and x.shape == node.shape and own:
            stack += [(number, argument, alone(argument)) for argument in reversed(x.args)]
        else:
            more, factors = term_of(x, alone) if own else (1.0, (x,))
            found.append((number * more, factors))
    return found


# --- writing ---------------------------------------------------------------------------------


def _extent(x: Node) -> tuple[int, int]:
    """Smaller values first: what is the same for all points, then short rows."""
    return x.points, x.shape.size


def product(number: float, factors: Sequence[Node]) -> Node:
    """Factors from the smallest to the largest; the number goes to the first if it is smaller than
    the product."""
    if not factors:
        return ops.constant(number)
    first, *rest = sorted(factors, key=_extent)
    if rest and _extent(first) < _extent(rest[-1]):
        first, number = ops.scale(number, first), 1.0
    for factor in rest:
        first = _times(first, factor)
    return ops.scale(number, first)


def _times(x: Node, y: Node) -> Node:
    """x * y with numbers left where they are; multiply would move them to the product."""
    if x.primitive != "scale" and y.primitive != "scale":
        return ops.multiply(x, y)
    first, second = ops.align("multiply", x, y)
    shape = ops.broadcast_shape(first.shape, second.shape, "multiply")
    return make("multiply", (first, second), (), shape)


def add_up(terms: Iterable[Term]) -> Node:
    """Smaller terms first, so that their sum is added to larger ones once."""
    total, *rest = sorted((product(*term) for term in terms), key=_extent)
    for term in rest:
        total = ops.add(total, term)
    return total


def _join(
    terms: Sequence[Term], keys: Sequence[Hashable], join: Callable[[Any, list[Term]], Term]
) -> list[Term] | None:
    """Terms of one key joined, where the first of them stood; terms without a key (None) stay.
    None when there is nothing to join."""
    groups: dict[Hashable, list[Term]] = {}
    for k, (term, key) in enumerate(zip(terms, keys, strict=True)):
        groups.setdefault((None, k) if key is None else key, []).append(term)
    if len(groups) == len(terms):
        return None
    return [join(key, group) if len(group) > 1 else group[0] for key, group in groups.items()]


# --- sums ------------------------------------------------------------------------------------


def collected(node: Node, alone: Alone) -> Iterator[Node]:
    """Each way to join terms of a sum; then the sum with smaller terms, and factors, first:
    (x + u) + v = x + (u + v), where u and v are smaller than x."""
    terms = terms_of(node, alone)
    for join in (equal_terms, common_weight, common_choice, common_factor, common_number):
        joined = join(terms)
        if joined:
            yield add_up(joined)
    if _extents(factor for _, factors in terms for factor in factors) > 1:
        yield add_up(terms)


def _extents(nodes: Iterable[Node]) -> int:
    """How many sizes there are among them."""
    return len({_extent(node) for node in nodes})


Joined = list[Term] | None


def equal_terms(terms: Sequence[Term]) -> Joined:
    """a x + b x = (a + b) x. Terms that cancel stay: x - x is NaN where x is not finite."""
    keys = [tuple(sorted(map(id, factors))) for _, factors in terms]
    totals: dict[Hashable, float] = {}
    for (number, _), key in zip(terms, keys, strict=True):
        totals[key] = totals.get(key, 0.0) + number
    kept = [key if totals[key] else None for key in keys]
    return _join(terms, kept, lambda key, group: (totals[key], group[0][1]))


def common_factor(terms: Sequence[Term]) -> Joined:
    """f a + f b = f (a + b), for every factor that products of the sum share: channels collapse.

    Each product is given to that factor of it which most products have.
    """
    products = [factors for _, factors in terms if len(factors) > 1]
    count = Counter(f for factors in products for f in set(factors))
    best = [max(f, key=lambda x: count[x]) if len(f) > 1 else None for _, f in terms]
    return _join(terms, best, _without)


def _without(factor: Node, terms: Sequence[Term]) -> Term:
    """A sum of products as the factor times a sum."""
    rest = []
    for number, factors in terms:
        at = factors.index(factor)
        rest.append((number, factors[:at] + factors[at + 1 :]))
    number, inner = _common_number(common_factor(rest) or rest)
    return number, (factor, add_up(inner))


def _common_number(terms: Sequence[Term]) -> tuple[float, Sequence[Term]]:
    """The number that all terms have, and what is left of them; 1 where they differ."""
    number = terms[0][0]
    if any(other != number for other, _ in terms):
        return 1.0, terms
    return number, [(1.0, factors) for _, factors in terms]


def common_number(terms: Sequence[Term]) -> Joined:
    """a x + a y = a (x + y), where a is a number that no smaller factor can take."""
    keys = [a if a != 1 and _extents(factors) == 1 else None for a, factors in terms]
    return _join(terms, keys, lambda a, group: (a, (add_up((1.0, f) for _, f in group),)))


def common_weight(terms: Sequence[Term]) -> Joined:
    """a W + b W = (a + b) W."""

    def key(x: Node) -> Hashable:
        return (x.args[1], x.attributes, x.args[0].shape) if x.primitive == "dot" else None

    def join(key: Any, group: list[Term]) -> Term:
        weight, attributes, _ = key
        return 1.0, (ops.dot(_sum_of_arguments(group, 0), weight, *attributes),)

    return _join(terms, _keys(terms, key), join)


def common_choice(terms: Sequence[Term]) -> Joined:
    """where(c, a, b) + where(c, x, y) = where(c, a + x, b + y)."""

    def key(x: Node) -> Hashable:
        return x.args[0] if x.primitive == "where" else None

    def join(condition: Any, group: list[Term]) -> Term:
        branches = (_sum_of_arguments(group, k) for k in (1, 2))
        return 1.0, (ops.where(condition, *branches),)

    return _join(terms, _keys(terms, key), join)


def _keys(terms: Sequence[Term], key: Callable[[Node], Hashable]) -> list[Hashable]:
    """The key of each term of one factor."""
    return [key(factors[0]) if len(factors) == 1 else None for _, factors in terms]


def _sum_of_arguments(terms: Sequence[Term], k: int) -> Node:
    return add_up((number, (factors[0].args[k],)) for number, factors in terms)


# --- products --------------------------------------------------------------------------------


def smaller_factors_first(node: Node, alone: Alone) -> Iterator[Node]:
    """a ((u x) v) = ((a u) v) x, where a is a number, and u and v are smaller than x."""
    number, factors = term_of(node, alone)
    if _extents(factors) > 1 and len(factors) + (number != 1) > 2:
        yield product(number, factors)


def out_of_sum_over_points(node: Node, alone: Alone) -> Iterator[Node]:
    """sum_n (c x_n) = c sum_n x_n, where c is the same for all points."""
    for number, fixed, varying in _split(node.args[0], alone, lambda c: c.points == 0):
        yield product(number, [*fixed, ops.sum_points(varying)])


def out_of_sum_over_blocks(node: Node, alone: Alone) -> Iterator[Node]:
    """sum_s (c x_s) = c sum_s x_s, where c is the same for all blocks."""
    for number, fixed, varying in _split(node.args[0], alone, lambda c: c.points <= 1):
        yield product(number, [*fixed, ops.sum_blocks(varying)])


def out_of_sum_over_axes(node: Node, alone: Alone) -> Iterator[Node]:
    """sum_j (c x_j) = c sum_j x_j, where c does not depend on j."""
    (axes,) = node.attributes

    def is_fixed(c: Node) -> bool:
        return all(-axis > len(c.dims) or c.dims[axis] == 1 for axis in axes)

    for number, fixed, varying in _split(node.args[0], alone, is_fixed):
        yield product(number, [*fixed, ops.sum_axes(varying, axes)])


def out_of_product(node: Node, alone: Alone) -> Iterator[Node]:
    """(c x) W = c (x W), where c is one number, at each point or for all."""
    x, weight = node.args
    for number, fixed, varying in _split(x, alone, lambda c: c.dims[-1:] in ((), (1,))):
        yield product(number, [*fixed, ops.dot(varying, weight, *node.attributes)])


def _split(
    x: Node, alone: Alone, is_fixed: Callable[[Node], bool]
) -> Iterator[tuple[float, list[Node], Node]]:
    """The number and the fixed factors of a product, and the product of the others; nothing where
    either is missing."""
    if not alone(x):
        return
    number, factors = term_of(x, alone)
    fixed = [factor for factor in factors if is_fixed(factor)]
    varying = [factor for factor in factors if not is_fixed(factor)]
    if varying and (fixed or number != 1):
        yield number, fixed, product(1.0, varying)


LINEARITY: Rules = {
    "multiply": (smaller_factors_first,),
    "scale": (smaller_factors_first,),
    "sum_points": (out_of_sum_over_points,),
    "sum_blocks": (out_of_sum_over_blocks,),
    "sum_axes": (out_of_sum_over_axes,),
    "dot": (out_of_product,),
}
COLLECTING: Rules = {"add": (collected,)}
