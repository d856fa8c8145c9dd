"""Solutions that the literature knows, put into ready-made equations by sympy alone."""

from typing import Any

import numpy as np
import sympy


def defects(equations: Any, exact: dict[Any, Any], box: dict[Any, Any], count: int = 24) -> Any:
    """The largest defect of each equation over its largest term, at random places of a box."""
    rng = np.random.default_rng(1)
    places = [rng.uniform(*map(float, interval), count) for interval in box.values()]
    found = []
    for equation in equations:
        terms = [t.subs(exact).doit() for t in sympy.Add.make_args(sympy.expand(equation))]
        call = sympy.lambdify(list(box), terms, ["scipy", "numpy"], cse=True)
        values = np.array([value + np.zeros(count) for value in call(*places)])
        found.append(np.abs(values.sum(0)).max() / (np.abs(values).max() or 1.0))
    return np.array(found)


def solves(
    equations: Any, exact: dict[Any, Any], box: dict[Any, Any], bound: float = 1e-11
) -> None:
    """Every equation holds to rounding, and says something about its fields."""
    found = defects(equations, exact, box)
    assert len(found) == len(equations) > 0
    assert found.max() < bound, found
