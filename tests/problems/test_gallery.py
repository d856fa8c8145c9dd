"""Problems of other libraries' galleries: short declarations, and solutions that satisfy them."""

import ast
import inspect
import warnings
from pathlib import Path

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


def lines_of(name: str) -> int:
    """The lines of a declaration, with those of all that it takes from its module but imports."""
    source = Path(inspect.getfile(CASES[name].declare)).read_text()
    parts: dict[str, ast.stmt] = {}
    for node in ast.parse(source).body:
        for inner in ast.walk(node):
            if isinstance(inner, ast.FunctionDef) and inner is node:
                parts[inner.name] = node
            elif isinstance(node, ast.Assign) and isinstance(inner, ast.Name):
                parts |= {inner.id: node} if isinstance(inner.ctx, ast.Store) else {}
    taken, left = set(), [name]
    while left:
        node = parts[left.pop()]
        if node not in taken:
            taken.add(node)
            body = node.body if isinstance(node, ast.FunctionDef) else [node]
            used = {n.id for part in body for n in ast.walk(part) if isinstance(n, ast.Name)}
            local = {
                n.id
                for part in (body if isinstance(node, ast.FunctionDef) else [])
                for n in ast.walk(part)
                if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
            }
            left += [n for n in used - local if n in parts]
    text = source.splitlines()
    rows = {k for node in taken for k in range(node.lineno, (node.end_lineno or 0) + 1)}
    return sum(bool(text[k - 1].strip()) for k in rows)


@pytest.mark.parametrize("name", CASES)
def test_the_declaration_is_short(name: str) -> None:
    assert lines_of(name) <= LINES


def test_the_page_names_every_problem() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gallery.md").read_text()
    for name, case in CASES.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        assert case.source in row
        assert f"| {case.kind} |" in row
        assert f"| {lines_of(name)} |" in row


def test_the_gallery_is_whole() -> None:
    assert len(CASES) >= 40
    assert sum(case.source.startswith("PINNacle") for case in CASES.values()) == 22
