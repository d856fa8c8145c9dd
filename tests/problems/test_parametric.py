"""Parametric problems: the known solution in place of the networks, for all values at once."""

import sympy

from problems import kovasznay, kovasznay_parametric
from tests.substitution import substitute


def test_the_known_flow_solves_the_problem_for_every_reynolds_number() -> None:
    problem = kovasznay_parametric.problem()
    exact = kovasznay_parametric.reference().exact
    defects = substitute(problem, dict(exact))
    assert defects
    assert max(defect.relative for defect in defects) < 1e-12


def test_at_a_value_it_is_the_problem_of_that_reynolds_number() -> None:
    (number,) = kovasznay_parametric.problem().parameters
    at = kovasznay_parametric.problem().at({number: 40})
    for mine, other in zip(at.equations, kovasznay.problem().equations, strict=True):
        if isinstance(mine, sympy.Eq):
            assert sympy.simplify(mine.lhs - mine.rhs - other.lhs + other.rhs) == 0
