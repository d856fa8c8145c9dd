"""Random expressions over everything in ps.ops, their derivatives by random mixes of transforms,
and the same at 50 digits by mpmath.

A derivative is right when it is as good as its own condition allows. That is measured, not guessed:
every operation of the expression is disturbed by a relative 1e-20, in many digits, and what this
does to the derivative is what one rounding error at each operation could do.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from mpmath import mp, mpf

from pinnsolve.diff import (
    checkpoint,
    derivative,
    grad,
    hessian,
    jacobian,
    jet,
    jvp,
    value_and_grad,
    vjp,
)
from tests.diff.operations import OPERATIONS

DIGITS = 50
LARGEST = 12.0  # of any value inside an expression

# --- expressions -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Expression:
    """An operation on expressions; without a name, the variable with this number."""

    name: str
    args: tuple[Expression, ...]
    number: Any
    value: float

    def __repr__(self) -> str:
        if not self.name:
            return f"x{self.number}"
        inside = [*map(repr, self.args), *([] if self.number is None else [repr(self.number)])]
        return f"{self.name}({', '.join(inside)})"

    def names(self) -> set[str]:
        return {self.name}.union(*(a.names() for a in self.args)) - {""}

    def run(self, rule: str, variables: Sequence[Any], noise: Noise | None = None) -> Any:
        """The value from values of the variables: rule is "build" or "exact"."""
        known: dict[Expression, Any] = {}

        def visit(e: Expression) -> Any:
            if e not in known:
                args = [visit(a) for a in e.args]
                options = [] if e.number is None else [e.number]
                known[e] = (
                    getattr(OPERATIONS[e.name], rule)(*args, *options)
                    if e.name
                    else variables[e.number]
                )
                if noise is not None:
                    known[e] *= noise(e, args)
            return known[e]

        return visit(self)

    def __call__(self, *variables: Any) -> Any:
        return self.run("build", variables)


class Noise:
    """A factor 1 + SIZE * s for each operation, where s is 1 or -1, always the same for it.

    smooth: s is a function of the arguments instead, so that an operation and its derivatives are
    disturbed by different amounts.
    """

    SIZE = mpf(10) ** -20

    def __init__(self, seed: int, smooth: bool) -> None:
        self.seed, self.smooth = seed, smooth
        self.phases: dict[Expression, int] = {}

    def __call__(self, e: Expression, arguments: Sequence[Any]) -> Any:
        phase = self.phases.setdefault(e, 2 * len(self.phases) + self.seed)
        if self.smooth:
            return 1 + self.SIZE * mp.sin(sum(arguments) + phase)
        return 1 + self.SIZE * (1 if math.sin(phase) > 0 else -1)


@dataclass(frozen=True)
class Case:
    """A partial derivative of an expression at a point, and the transforms to find it with."""

    expression: Expression
    point: tuple[float, ...]
    steps: tuple[tuple[str, int, int], ...]  # transform, variable, order; the innermost first

    @property
    def orders(self) -> tuple[int, ...]:
        return tuple(
            sum(order for _, j, order in self.steps if j == i) for i in range(len(self.point))
        )

    def function(self) -> Callable[..., Any]:
        f: Callable[..., Any] = self.expression
        for transform, variable, order in self.steps:
            f = TRANSFORMS[transform][0](f, variable, order)
        return f

    def exactly(self, noise: Noise | None = None) -> Any:
        """Central differences: steps of 1e-26 leave 50 digits, when there are enough at work."""
        orders = self.orders
        with mp.workdps(DIGITS + 5 + 26 * sum(orders)):
            h = mpf(10) ** -26
            total = mpf(0)
            for js in itertools.product(*(range(k + 1) for k in orders)):
                weight = math.prod(
                    (-1) ** j * math.comb(k, j) for j, k in zip(js, orders, strict=True)
                )
                moved = [
                    mpf(x) + (mpf(k) / 2 - j) * h
                    for x, j, k in zip(self.point, js, orders, strict=True)
                ]
                total += weight * self.expression.run("exact", moved, noise)
            return total / h ** sum(orders)

    def scale(self, exact: Any, smooth: bool = False) -> float:
        """What a relative error is measured by: the derivative, or what rounding does to it."""
        moved = max(abs(self.exactly(Noise(seed, smooth)) - exact) for seed in range(2))
        return float(max(abs(exact), moved / Noise.SIZE))


def simplest(name: str, steps: tuple[tuple[str, int, int], ...]) -> Case:
    """An operation of sums and a product of two variables, at the first point that fits."""
    operation = OPERATIONS[name]
    number = operation.numbers[-1]
    options = [] if number is None else [number]
    for x, y in itertools.product((0.7, -0.6, 1.2, -1.3), (0.5, 0.9, -0.8)):
        variables = [Expression("", (), k, v) for k, v in enumerate((x, y))]
        args = (
            Expression("multiply", (variables[0], variables[1]), None, x * y),
            Expression("subtract", (variables[0], variables[1]), None, x - y),
            Expression("add", (variables[1], variables[0]), None, x + y),
        )[: operation.arity]
        if operation.valid(*(a.value for a in args), *options):
            return Case(Expression(name, args, number, math.nan), (x, y), steps)
    raise AssertionError(f"no point fits {name}")


# --- transforms ------------------------------------------------------------------------------


def _repeat(once: Callable[[Any, int], Any]) -> Callable[[Any, int, int], Any]:
    def transform(f: Any, i: int, order: int) -> Any:
        for _ in range(order):
            f = once(f, i)
        return f

    return transform


def _unit(count: int, i: int) -> tuple[float, ...]:
    return tuple(float(j == i) for j in range(count))


def _jet(f: Any, i: int, order: int) -> Any:
    def along(*x: Any) -> Any:
        series = [[speed, *[0.0] * (order - 1)] for speed in _unit(len(x), i)]
        return jet(f, x, series)[1][-1]

    return along


def _derivative(f: Any, i: int, order: int) -> Any:
    return lambda *x: derivative(lambda t: f(*x[:i], t, *x[i + 1 :]), x[i], order)[1]


# A transform of functions, and the highest order that one application of it is asked for.
TRANSFORMS: dict[str, tuple[Callable[[Any, int, int], Any], int]] = {
    "grad": (_repeat(grad), 6),
    "value_and_grad": (_repeat(lambda f, i: lambda *x: value_and_grad(f, i)(*x)[1]), 2),
    "jvp": (_repeat(lambda f, i: lambda *x: jvp(f, x, _unit(len(x), i))[1]), 3),
    "vjp": (_repeat(lambda f, i: lambda *x: vjp(f, *x)[1](1.0)[i]), 2),
    "forward": (_repeat(lambda f, i: jacobian(f, i, "forward")), 3),
    "reverse": (_repeat(lambda f, i: jacobian(f, i, "reverse")), 2),
    "hessian": (lambda f, i, order: hessian(f, i) if order == 2 else grad(f, i), 2),
    "jet": (_jet, 6),
    "derivative": (_derivative, 6),
    "checkpoint": (lambda f, i, order: _jet(checkpoint(f), i, order), 6),
}


# --- what hypothesis draws -------------------------------------------------------------------


@st.composite
def cases(draw: Any, order: int = 6) -> Case:
    """An expression of 1 to 4 variables and one of its derivatives, of order up to `order`."""
    count = draw(st.integers(1, 4))
    point = tuple(draw(st.integers(-15, 15)) / 10 + 0.037 * (k + 1) for k in range(count))
    found = [Expression("", (), k, x) for k, x in enumerate(point)]
    for _ in range(draw(st.integers(2, 8))):
        found.append(_grown(draw, found))
    steps = []
    left = draw(st.integers(1, order))
    while left:
        transform = draw(st.sampled_from(sorted(TRANSFORMS)))
        k = draw(st.integers(1, min(left, TRANSFORMS[transform][1])))
        steps.append((transform, draw(st.integers(0, count - 1)), k))
        left -= k
    return Case(found[-1], point, tuple(steps))


def _grown(draw: Any, found: Sequence[Expression]) -> Expression:
    """One more operation, on the last expression and others."""
    arity = draw(st.integers(1, 3))
    args = [found[-1], *(draw(st.sampled_from(found)) for _ in range(arity - 1))]
    at = draw(st.integers(0, arity - 1))
    args[0], args[at] = args[at], args[0]
    values = [a.value for a in args]
    fitting: dict[str, list[Expression]] = {}
    for name, operation in OPERATIONS.items():
        for number in operation.numbers if operation.arity == arity else ():
            options = [] if number is None else [number]
            if operation.valid(*values, *options):
                value = float(operation.exact(*map(mpf, values), *options))
                if abs(value) < LARGEST:
                    e = Expression(name, tuple(args), number, value)
                    fitting.setdefault(name, []).append(e)
    return draw(st.sampled_from(fitting[draw(st.sampled_from(sorted(fitting)))]))
