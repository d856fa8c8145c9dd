"""Random expressions over everything in ps.ops, their derivatives by random mixes of transforms, and
the same at 50 digits by mpmath.

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

import pinnsolve as ps
from pinnsolve import ops
from pinnsolve.diff import (
    checkpoint,
    cond,
    custom,
    derivative,
    grad,
    hessian,
    jacobian,
    jet,
    jvp,
    scan,
    value_and_grad,
    vjp,
    while_loop,
)

DIGITS = 50
LARGEST = 12.0  # of any value inside an expression

# --- operations ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Operation:
    """One operation: `build` of traced numbers, `exact` of mpmath ones, both given `number` too.

    valid: whether it is smooth, and well inside its domain, at these values.
    """

    arity: int
    build: Callable[..., Any]
    exact: Callable[..., Any]
    valid: Callable[..., bool] = lambda *values: True
    numbers: tuple[Any, ...] = (None,)


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def _softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x))


def _phi(x: Any) -> Any:
    return (1 + mp.erf(x / mp.sqrt(2))) / 2


def _norm(*x: Any) -> Any:
    return mp.sqrt(sum(v * v for v in x))


def _apart(x: float, y: float) -> bool:
    return abs(x - y) > 0.1


def _rooted(x: Any, y: Any, z: Any) -> Any:
    """Three steps of a loop."""
    return scan(lambda c, _: (ops.tanh(c) * y + z, c), x, length=3)[0]


def _rooted_exactly(x: Any, y: Any, z: Any) -> Any:
    for _ in range(3):
        x = mp.tanh(x) * y + z
    return x


def _summed(x: Any, y: Any) -> Any:
    """A loop over entries, whose outputs are stacked."""
    return ops.sum(scan(lambda c, k: (c * k, c + k), x, ops.stack([y, x, y]))[1])


def _summed_exactly(x: Any, y: Any) -> Any:
    return (x + y) + (x * y + x) + (x * y * x + y)


def _halved(x: Any, y: Any) -> Any:
    return while_loop(lambda s: ops.absolute(s) > 0.7, lambda s: s * 0.5 + 0.01 * y, x, max_steps=6)


def _halved_exactly(x: Any, y: Any) -> Any:
    for _ in range(6):
        if abs(x) > 0.7:
            x = x / 2 + mpf(0.01) * y
    return x


def _halved_clearly(x: float, y: float) -> bool:
    """No step ends near the threshold."""
    clear = True
    for _ in range(7):
        clear = clear and abs(abs(x) - 0.7) > 0.02
        x = x / 2 + 0.01 * y if abs(x) > 0.7 else x
    return clear


def _determinant(x: Any, y: Any, z: Any) -> Any:
    matrix = ops.reshape(ops.stack([x, y, z, x]), (2, 2))
    square = ops.matmul(matrix, ops.transpose(matrix))
    return square[0, 0] * square[1, 1] - square[0, 1] * square[1, 0]


sine = custom(ps.ops.sin, taylor=lambda y, x: ops.cos(x))
product = custom(lambda x, y: x * y, taylor=lambda r, x, y: (y, x))

OPERATIONS: dict[str, Operation] = {
    # elementary functions
    "tanh": Operation(1, ops.tanh, mp.tanh),
    "sigmoid": Operation(1, ops.sigmoid, _sigmoid),
    "sin": Operation(1, ops.sin, mp.sin),
    "cos": Operation(1, ops.cos, mp.cos),
    "exp": Operation(1, ops.exp, mp.exp, lambda x: x < 2.5),
    "expm1": Operation(1, ops.expm1, mp.expm1, lambda x: x < 2.5),
    "log": Operation(1, ops.log, mp.log, lambda x: x > 0.2),
    "log1p": Operation(1, ops.log1p, mp.log1p, lambda x: x > -0.7),
    "erf": Operation(1, ops.erf, mp.erf),
    "arctan": Operation(1, ops.arctan, mp.atan),
    "softplus": Operation(1, ops.softplus, _softplus),
    "absolute": Operation(1, ops.absolute, abs, lambda x: _apart(x, 0)),
    "sign": Operation(1, lambda x: ops.sign(x) * x, abs, lambda x: _apart(x, 0)),
    "power": Operation(
        1, lambda x, p: x**p, lambda x, p: x ** mpf(p), lambda x, p: x > 0.3,
        (-2.5, -2, -1, -0.5, 0.5, 1.5, 2, 3, 5),
    ),
    "power of a negative": Operation(
        1, lambda x, p: x**p, lambda x, p: x**p, lambda x, p: x < -0.3, (-3, -1, 2, 3, 4)
    ),
    # compositions
    "sqrt": Operation(1, ops.sqrt, mp.sqrt, lambda x: x > 0.3),
    "sinh": Operation(1, ops.sinh, mp.sinh, lambda x: abs(x) < 3),
    "cosh": Operation(1, ops.cosh, mp.cosh, lambda x: abs(x) < 3),
    "tan": Operation(1, ops.tan, mp.tan, lambda x: abs(math.cos(x)) > 0.4),
    "relu": Operation(1, ops.relu, lambda x: x if x > 0 else 0 * x, lambda x: _apart(x, 0)),
    "swish": Operation(1, ops.swish, lambda x: x * _sigmoid(x)),
    "gelu": Operation(1, ops.gelu, lambda x: x * _phi(x), lambda x: x > -4),
    "mish": Operation(1, ops.mish, lambda x: x * mp.tanh(_softplus(x))),
    "clip": Operation(
        1, lambda x: ops.clip(x, -0.4, 0.8), lambda x: min(max(x, mpf(-0.4)), mpf(0.8)),
        lambda x: _apart(x, -0.4) and _apart(x, 0.8),
    ),
    "power of a number": Operation(1, lambda x: 1.7**x, lambda x: mpf(1.7) ** x, lambda x: x < 4),
    # arithmetic
    "add": Operation(2, ops.add, lambda x, y: x + y),
    "subtract": Operation(2, ops.subtract, lambda x, y: x - y),
    "multiply": Operation(2, ops.multiply, lambda x, y: x * y),
    "divide": Operation(2, ops.divide, lambda x, y: x / y, lambda x, y: abs(y) > 0.4),
    "scale": Operation(1, lambda x, c: c * x, lambda x, c: mpf(c) * x, numbers=(-1.5, -1, 0.3, 2)),
    "shift": Operation(1, lambda x, c: x + c, lambda x, c: x + mpf(c), numbers=(-1, 0.7, 2.5)),
    "traced power": Operation(
        2, ops.power, lambda x, y: x**y, lambda x, y: x > 0.3 and abs(y) < 2.5
    ),
    # choices
    "maximum": Operation(2, ops.maximum, max, _apart),
    "minimum": Operation(2, ops.minimum, min, _apart),
    "max": Operation(
        3, lambda *x: ops.max(ops.stack(x)), max,
        lambda x, y, z: _apart(x, y) and _apart(y, z) and _apart(z, x),
    ),
    "where": Operation(
        3, lambda x, y, z: ops.where(x < y, ops.sin(z), z * x),
        lambda x, y, z: mp.sin(z) if x < y else z * x, lambda x, y, z: _apart(x, y),
    ),
    "choice beside a pole": Operation(
        2, lambda x, y: ops.where(x > 0, ops.log(x), y * x),
        lambda x, y: mp.log(x) if x > 0 else y * x, lambda x, y: _apart(x, 0),
    ),
    # parts and sums
    "sum": Operation(3, lambda *x: ops.sum(ops.stack(x)), lambda *x: sum(x)),
    "mean": Operation(2, lambda *x: ops.mean(ops.stack(x)), lambda x, y: (x + y) / 2),
    "norm": Operation(3, lambda *x: ops.norm(ops.stack(x)), _norm, lambda *x: max(map(abs, x)) > 1),
    "logsumexp": Operation(
        3, lambda *x: ops.logsumexp(ops.stack(x)), lambda *x: mp.log(sum(map(mp.exp, x)))
    ),
    "softmax": Operation(
        2, lambda x, y: ops.softmax(ops.stack([x, y]))[1], lambda x, y: _sigmoid(y - x)
    ),
    "inner product": Operation(
        2, lambda x, y: ops.matmul(ops.stack([x, y]), ops.stack([y, ops.exp(-y * y)])),
        lambda x, y: x * y + y * mp.exp(-y * y),
    ),
    "determinant": Operation(
        3, _determinant, lambda x, y, z: (x * x - y * z) ** 2, lambda *x: max(map(abs, x)) < 2
    ),
    "concatenate": Operation(
        2, lambda x, y: ops.concatenate([ops.stack([x, y]), ops.stack([y])])[::2].__getitem__(1) * x,
        lambda x, y: x * y,
    ),
    # programs
    "checkpoint": Operation(
        2, checkpoint(lambda x, y: ops.sin(x) * y), lambda x, y: mp.sin(x) * y
    ),
    "cond": Operation(
        3, lambda x, y, z: cond(x < y, lambda z: ops.tanh(z) * x, lambda z: z * z, z),
        lambda x, y, z: mp.tanh(z) * x if x < y else z * z, lambda x, y, z: _apart(x, y),
    ),
    "loop": Operation(3, _rooted, _rooted_exactly),
    "loop over entries": Operation(2, _summed, _summed_exactly),
    "bounded loop": Operation(2, _halved, _halved_exactly, _halved_clearly),
    "custom": Operation(1, sine, mp.sin),
    "custom of two": Operation(2, product, lambda x, y: x * y),
}  # fmt: skip


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
    """An expression of 1 to 4 variables and one of its derivatives, of total order up to `order`."""
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
