"""Power series of elementary functions, with O(K) products for each coefficient.

Every elementary y = f(x) satisfies y' = g x' with g = f'(x) written in x and y. Along a curve
x(t) = sum x_k t^k this gives

    k y_k = sum_{j=1}^{k} j x_j g_{k-j},

and the coefficients of g follow in the same way from those of x and the lower ones of y. Powers
have a shorter rule, x y' = p y x'. (Griewank and Walther, Evaluating Derivatives, 2008, 13.2.)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node, make, rebuild, substitute
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.errors import GraphError

Coefficients = Sequence[Node | None]  # None is zero


def compose_series(node: Node, argument: Coefficients) -> tuple[Node | None, ...]:
    """The coefficients of an elementwise node, given those of its argument."""
    (x,) = node.args
    if x.primitive == "scale":  # products pull its number out, and x would not be found in g
        stand_in = make("input", (), ("argument",), x.shape)
        value = rebuild(node, (stand_in,))
        found = _compose(value, stand_in, argument)
        named = {str(k): c for k, c in enumerate(found) if c is not None}
        put_back = substitute(named, {stand_in: x, value: node})
        return tuple(put_back.get(str(k)) for k in range(len(found)))
    return _compose(node, x, argument)


def _compose(node: Node, x: Node, argument: Coefficients) -> tuple[Node | None, ...]:
    series = _Series(x, argument)
    return (node, *(series.coefficient(node, k) for k in range(1, len(argument))))


class _Series:
    """Coefficients of expressions in x, found from the bottom up as they are asked for."""

    def __init__(self, x: Node, argument: Coefficients) -> None:
        self.known: dict[tuple[Node, int], Node | None] = {
            (x, k): c for k, c in enumerate(argument) if k
        }

    def coefficient(self, node: Node, k: int) -> Node | None:
        if k == 0:
            return node
        if (node, k) not in self.known:
            self.known[node, k] = self._rule(node, k)
        return self.known[node, k]

    def _rule(self, node: Node, k: int) -> Node | None:
        kind = PRIMITIVES[node.primitive].kind
        if kind in ("leaf", "mask"):
            return None
        if kind == "elementwise":
            return self._elementwise(node, k)
        match node.primitive:
            case "add":
                return _sum(self.coefficient(argument, k) for argument in node.args)
            case "scale":
                argument = self.coefficient(node.args[0], k)
                return None if argument is None else ops.scale(node.attributes[0], argument)
            case "multiply":
                return self._product(node.args[0], node.args[1], k)
        raise GraphError(f"{node.primitive} has no place in the derivative of a function")

    def _elementwise(self, node: Node, k: int) -> Node | None:
        (x,) = node.args
        if node.primitive == "power":
            return self._power(node, x, k)
        rule = PRIMITIVES[node.primitive].derivative
        assert rule is not None
        slope = rule(node.attributes, x, node)
        terms = []
        for j in range(1, k + 1):
            a, b = self.coefficient(x, j), self.coefficient(slope, k - j)
            if a is not None and b is not None:
                terms.append(ops.scale(j / k, a * b))
        return _sum(terms)

    def _power(self, node: Node, x: Node, k: int) -> Node | None:
        exponent, vanishing = node.attributes
        whole = float(exponent).is_integer()
        if whole and exponent > 0 and not vanishing:
            return self._product(ops.power(x, exponent - 1), x, k)
        rooted = vanishing or not whole
        reciprocal = (ops.vanishing_power if rooted else ops.power)(x, -1.0)
        terms = []
        for j in range(1, k + 1):
            a, b = self.coefficient(x, j), self.coefficient(node, k - j)
            factor = (exponent * j - (k - j)) / k
            if a is not None and b is not None and factor:
                terms.append(ops.scale(factor, a * b))
        total = _sum(terms)
        return None if total is None else total * reciprocal

    def _product(self, x: Node, y: Node, k: int) -> Node | None:
        """sum_i x_i y_{k-i}; equal products of a square meet."""
        found: dict[Node, int] = {}
        for i in range(k + 1):
            a, b = self.coefficient(x, i), self.coefficient(y, k - i)
            if a is not None and b is not None:
                term = a * b
                found[term] = found.get(term, 0) + 1
        return _sum(ops.scale(times, term) for term, times in found.items())


def _sum(terms: Iterable[Node | None]) -> Node | None:
    total: Node | None = None
    for term in terms:
        if term is not None:
            total = term if total is None else total + term
    return total
