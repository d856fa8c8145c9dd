"""Functions of one coordinate with given values and slopes at the ends of its interval."""

from collections.abc import Mapping

import sympy

FADING = 4  # what is left at the end is exp(-4^m)


def hermite(
    x: sympy.Symbol, counts: Mapping[sympy.Expr, int], end: sympy.Expr, order: int
) -> sympy.Expr:
    """The polynomial of least degree of which derivative `order` at `end` is 1, and all others of
    orders below counts[e] at each e are 0.

    >>> hermite(sympy.Symbol("x"), {sympy.S(0): 1, sympy.S(2): 1}, sympy.S(2), 0)
    x/2
    """
    unknown = sympy.symbols(f"a:{sum(counts.values())}")
    polynomial = sum((a * x**k for k, a in enumerate(unknown)), start=sympy.S.Zero)
    equations = [
        polynomial.diff(x, k).subs(x, e) - int((e, k) == (end, order))
        for e, count in counts.items()
        for k in range(count)
    ]
    return sympy.sympify(polynomial.subs(sympy.solve(equations, unknown)))


def distance(x: sympy.Symbol, counts: Mapping[sympy.Expr, int]) -> sympy.Expr:
    """A polynomial with a zero of order counts[e] at each end e, and 1 as its largest value between
    the two.

    >>> distance(sympy.Symbol("x"), {sympy.S(0): 1, sympy.S(2): 1})
    x*(2 - x)
    """
    low, high = counts
    m, n = counts[low], counts[high]
    scale = sympy.Rational((m + n) ** (m + n), m**m * n**n) / (high - low) ** (m + n)
    return scale * (x - low) ** m * (high - x) ** n


def fading(x: sympy.Symbol, counts: Mapping[sympy.Expr, int]) -> sympy.Expr:
    """1 up to terms of the order that is given at the one end with data, and small at the other."""
    low, high = counts
    way = (x - low if counts[low] else high - x) / (high - low)
    return sympy.exp(-((FADING * way) ** max(counts.values())))
