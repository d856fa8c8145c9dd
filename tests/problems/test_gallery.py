"""Problems of other libraries' galleries: short declarations, and solutions that satisfy them."""

import inspect
import warnings

import pytest

from pinnsolve.errors import ProblemWarning
from tests.problems.gallery import deepxde, others, pinnacle
from tests.problems.gallery.case import CASES
from tests.substitution import substitute

LINES = 25
MODULES = (pinnacle, deepxde, others)


@pytest.mark.parametrize("name", CASES)
def test_the_solution_in_place_of_the_network_leaves_no_residual(name: str) -> None:
    case = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)  # corners, as the peers state them
        problem = case.declare()
        solution = case.solution()
        if case.kind == "manufactured":
            problem = problem.manufactured(solution)
        defects = substitute(problem, solution, case.unknowns)
    assert len(defects) >= len(problem.equations)
    for defect in defects:
        assert defect.relative <= case.bound, defect


@pytest.mark.parametrize("name", CASES)
def test_the_declaration_is_short(name: str) -> None:
    source, _ = inspect.getsourcelines(CASES[name].declare)
    body = [line for line in source if line.strip() and not line.startswith("@case")]
    assert len(body) <= LINES


def test_the_gallery_is_whole() -> None:
    assert len(CASES) >= 40
    assert sum(case.source.startswith("PINNacle") for case in CASES.values()) >= 19
