import inspect
import pickle

import pytest

from pinnsolve import errors
from pinnsolve.errors import PinnsolveError, ProblemError


def test_one_clause_catches_every_error_of_the_library() -> None:
    classes = [
        c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, Exception)
    ]
    raised = [c for c in classes if not issubclass(c, Warning)]
    assert len(raised) >= 8
    assert all(issubclass(c, PinnsolveError) for c in raised)


def test_a_problem_error_says_what_where_and_how() -> None:
    error = ProblemError("PS-E001", "arguments swapped", "u(t, x)", "write u(x, t)")
    assert str(error) == "[PS-E001] arguments swapped\n  in: u(t, x)\n  fix: write u(x, t)"
    assert (error.code, error.expression, error.fix) == ("PS-E001", "u(t, x)", "write u(x, t)")
    with pytest.raises(ValueError, match="swapped"):
        raise error


def test_a_problem_error_leaves_out_what_it_does_not_know() -> None:
    assert str(ProblemError("PS-E009", "no equation")) == "[PS-E009] no equation"


def test_a_problem_error_crosses_processes() -> None:
    error = ProblemError("PS-E001", "what", "u(t, x)", "fix it")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
