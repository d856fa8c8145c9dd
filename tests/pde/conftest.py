"""Well-posed problems: none may be refused, all must normalize and survive a file."""

from collections.abc import Callable
from typing import Any

import pytest

from pinnsolve.pde.problem import Problem
from tests.pde.well_posed import BUILDERS


@pytest.fixture(params=list(BUILDERS))
def problem(request: pytest.FixtureRequest) -> Problem:
    """Every well-posed problem in turn."""
    return BUILDERS[request.param]()


@pytest.fixture
def build() -> dict[str, Callable[[], Any]]:
    """The problems by name."""
    return BUILDERS
