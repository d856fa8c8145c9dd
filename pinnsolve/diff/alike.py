"""Terms of a sum that differ only in their numbers, as a Fourier series has them.

sum_j a_j cos(k_j x) is one term over the rows a and k, and a program of a few operations however
many terms there are.

Invariant: a template with the j-th numbers in place of its slots is the j-th term.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import sympy

FEW = 8  # terms that are as well written one by one


@dataclass(frozen=True)
class Alike:
    """A term over rows of numbers.

    Attributes:
        template: with a symbol for each number, its slots.
        rows: slot -> its number in each term.
    """

    template: Any
    rows: dict[Any, tuple[Any, ...]]


@dataclass
class _Reading:
    """A term being read: the numbers found on the way."""

    functions: Callable[[Any], bool]
    numbers: list[Any] = field(default_factory=list)

    def slot(self, number: Any) -> Any:
        self.numbers.append(number)
        return _slot(len(self.numbers))

    def template(self, node: Any) -> Any:
        """The node with slots; what is no arithmetic and no function stays as it is."""
        if node.is_number:
            return self.slot(node)
        if isinstance(node, sympy.Add | sympy.Mul):
            fixed = [part for part in node.args if part.is_number]
            found = [self.template(part) for part in node.args if not part.is_number]
            return node.func(*found, *([self.slot(node.func(*fixed))] if fixed else []))
        if isinstance(node, sympy.Pow) and node.exp.is_number:
            return sympy.Pow(self.template(node.base), node.exp)
        if self.functions(node):
            return node.func(*map(self.template, node.args))
        return node


@lru_cache(maxsize=64)  # a known part is frozen once for each channel, each set of points, ...
def alike(
    terms: tuple[Any, ...], functions: Callable[[Any], bool]
) -> tuple[tuple[Any, ...], tuple[Alike, ...]]:
    """The terms that are like few others, and the rest by what they have in common.

    Args:
        terms: of a sum.
        functions: whether a node is a function of its arguments alone.

    >>> x = sympy.Symbol("x")
    >>> series = sum(sympy.cos(2 * k * x) / k for k in range(2, 10)) + x
    >>> few, many = alike(series.args, lambda node: node.is_Function)
    >>> few, many[0].template, sorted(map(max, many[0].rows.values()))
    ((x,), #2*cos(#1*x), [1/2, 18])
    """
    groups: dict[Hashable, list[tuple[Any, Sequence[Any]]]] = {}
    for term in terms:
        reading = _Reading(functions)
        groups.setdefault(reading.template(term), []).append((term, reading.numbers))
    few, many = [], []
    for template, members in groups.items():
        if len(members) < FEW:
            few += [term for term, _ in members]
            continue
        rows = zip(*(numbers for _, numbers in members), strict=True)
        many.append(Alike(template, {_slot(k): row for k, row in enumerate(rows, start=1)}))
    return tuple(few), tuple(many)


def _slot(number: int) -> sympy.Symbol:
    return sympy.Symbol(f"#{number}", real=True)
