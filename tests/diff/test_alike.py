"""Sums of many terms that differ in their numbers, as graphs."""

import numpy as np
import pytest
import sympy
from sympy import cos, exp, sin, sqrt

from pinnsolve.diff import functions as ops
from pinnsolve.diff.cost import cost
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.freeze import freeze

X, T, A = sympy.symbols("x t a")
PLACES = np.random.default_rng(0).uniform(0.1, 1, (6, 2))


def series(terms: int):
    return sum(cos(k * X) * exp(-sympy.Float(0.3) * k**2 * T) / k**2 for k in range(2, terms + 2))


def frozen(expression):
    points = ops.input_points("p", 2)
    columns = {X: ops.column(points, 0), T: ops.column(points, 1)}
    return freeze(expression, {**columns, A: ops.coefficient(0.3)})


def values(node):
    return evaluate([node], {"p": PLACES})[0]


SUMS = {
    "a series": series(30),
    "with other terms": series(12) + X * T + sin(X) + 3,
    "two series": series(12) + sum(k * sqrt(X + k) for k in range(1, 20)),
    "a series in a product": X * (1 + series(9)) ** 2,
    "numbers in many places": sum(
        sympy.Float(0.7 + k) * X**2 / (k + T) + (X - k) ** 3 * sympy.pi for k in range(20)
    ),
    "signs": sum((-1) ** k * sin((3 - k) * X + k) for k in range(15)),
    "powers that differ": sum(X**k for k in range(12)),
    "equal numbers": sum(2 * cos(k * X) for k in range(2, 14)),
}


@pytest.mark.parametrize("expression", SUMS.values(), ids=SUMS)
def test_a_sum_has_the_values_of_its_terms(expression) -> None:
    exact = sympy.lambdify((X, T), expression)(*PLACES.T)
    assert values(frozen(expression))[:, 0] == pytest.approx(exact, rel=1e-13)


def test_a_series_takes_as_many_operations_as_one_term() -> None:
    def operations(expression):
        return cost([frozen(expression)]).nodes

    assert operations(series(200)) == operations(series(10)) < 20
    assert operations(series(5)) > 25


def test_a_number_beside_the_points_may_occur() -> None:
    expression = sympy.Add(*(cos(A * k * X) for k in range(2, 14)))
    exact = sympy.lambdify(X, expression.subs(A, 0.3))(PLACES[:, 0])
    assert values(frozen(expression))[:, 0] == pytest.approx(exact, rel=1e-13)


def test_a_sum_of_numbers_alone_stays_one() -> None:
    expression = sympy.Add(*(cos(k * A) for k in range(2, 14)))
    node = frozen(expression)
    assert node.dims == ()
    assert evaluate([node], {})[0] == pytest.approx(
        sum(np.cos(0.3 * k) for k in range(2, 14)), rel=1e-13
    )
