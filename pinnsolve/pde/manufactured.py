"""Manufactured solutions: what a problem must say so that given expressions solve it.

Invariant: equations that the expressions satisfy already are left as they are written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy

from pinnsolve.errors import ProblemError, SolutionError
from pinnsolve.pde.conditions import difference
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import Field
from pinnsolve.pde.jets import put_in
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.observations import Observations
from pinnsolve.pde.symbolic import as_expression
from pinnsolve.pde.text import text
from pinnsolve.pde.unknowns import Unknown

Domain = Sequence[tuple[Coordinate, tuple[float, float]]]
ROUNDING = 1e-12


def split(
    given: Mapping[Any, Any], fields: Sequence[Field], unknowns: Sequence[Unknown]
) -> tuple[dict[str, sympy.Expr], dict[Unknown, sympy.Expr]]:
    """Expressions by name of the field, and values of the unknown numbers.

    Raises:
        ProblemError: a field or an unknown number is missing, or something else is given.
    """
    shown = f"manufactured({{{', '.join(f'{k}: {text(v)}' for k, v in given.items())}}})"
    names = {f.name: f for f in fields} | {u.name: u for u in unknowns}
    keys = {k.name if isinstance(k, Field | Unknown) else k: v for k, v in given.items()}
    strangers = [key for key in keys if key not in names]
    missing = [name for name in names if name not in keys]
    if strangers or missing:
        raise ProblemError(
            "PS-E061",
            f"{strangers[0]} is neither a field nor an unknown number of the problem"
            if strangers
            else f"manufactured() is not given {missing[0]}",
            shown,
            f"give an expression for each of {', '.join(names)}",
        )
    values = {
        names[k]: as_expression(v, "PS-E061", f"what is given for {k}", shown)
        for k, v in keys.items()
    }
    numbers = {k: v for k, v in values.items() if isinstance(k, Unknown)}
    return {k.name: v for k, v in values.items() if isinstance(k, Field)}, numbers


def solved_by(
    item: Any, exact: Mapping[str, sympy.Expr], numbers: Mapping[Any, Any], domain: Domain
) -> Any:
    """An equation with the source or datum that expressions need to satisfy it.

    Args:
        item: an `Eq`, an expression meaning "= 0", or a condition that has one as `equation`.
        exact: an expression of the coordinates by name of the field.
        numbers: values of the unknown numbers.
        domain: the interval of each coordinate.
    """
    inner = getattr(item, "equation", None)
    if inner is not None:
        solved = solved_by(inner, exact, numbers, domain)
        return item.func(*(solved if part is inner else part for part in item.args))
    terms = [put_in(t, exact).xreplace(numbers) for t in sympy.Add.make_args(difference(item))]
    defect = sympy.Add(*terms)
    if defect.has(sympy.Integral):
        defect = defect.doit()
    if _vanishes(terms, defect, domain):
        return item
    defect = min((defect, defect.expand()), key=sympy.count_ops)
    left, right = item.args if isinstance(item, sympy.Eq) else (item, 0)
    return sympy.Eq(left, right + defect, evaluate=False)


def observed(
    given: Observations, exact: Mapping[str, sympy.Expr], numbers: Mapping[Any, Any]
) -> Observations:
    """The values that expressions have where something else was measured, without noise."""
    places = {c.name: column for c, column in zip(given.coordinates, given.points.T, strict=True)}
    columns = [evaluate(put_in(e, exact).xreplace(numbers), places) for e in given.expressions]
    return replace(given, values=np.column_stack(columns))


def _vanishes(terms: Sequence[sympy.Expr], defect: sympy.Expr, domain: Domain) -> bool:
    """Whether terms cancel everywhere, for which that they do at a few places is taken."""
    if defect.is_zero:
        return True
    rng = np.random.default_rng(0)
    places = {c.name: rng.uniform(low, high, 16) for c, (low, high) in domain}
    try:
        size = max(np.abs(evaluate(term, places)).max() for term in terms)
        return bool(np.abs(evaluate(defect, places)).max() <= ROUNDING * size)
    except SolutionError:  # a symbol of another kind, or no finite value
        return defect.expand() == 0
