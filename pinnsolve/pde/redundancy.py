"""Do equations on one set of points say the same, or the opposite?

Each residual is a sum of coefficients, functions of the coordinates, times products of derivatives
and unknown numbers. With these products as columns the equations of a set are a matrix at each
point, and its rank says which of them follows from the others (x*A + 2*B from A and B).

Invariant: only what holds at every point looked at is called dependent; where a coefficient has no
value nothing is said.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.conditions import Condition
from pinnsolve.pde.places import Array, Domain, Places, places_of

LONGEST = 4000  # operations of a residual that is taken apart
ROUNDING = 1e-9  # of a singular value of rows of size 1


def check_dependent(conditions: Sequence[Condition], domain: Domain) -> None:
    """Refuse an equation that follows from others on the same set of points, or contradicts them.

    Raises:
        ProblemError: with all that are involved.
    """
    groups: dict[Any, list[Condition]] = {}
    for condition in conditions:
        groups.setdefault(condition.part, []).append(condition)
    for group in groups.values():
        if len(group) > 1 and all(c.residual.count_ops() <= LONGEST for c in group):
            _check_group(group, domain)


def _check_group(group: Sequence[Condition], domain: Domain) -> None:
    places = places_of(group[0], domain)
    parts = [_parts(c.residual, set(places.symbols)) for c in group]
    columns = sorted({rest for part in parts for rest in part} - {sympy.S.One}, key=str)
    rows = []
    for part in parts:
        values = [part.get(rest, sympy.S.Zero) for rest in (*columns, sympy.S.One)]
        row = np.array([places.evaluate(value) for value in values])
        if not np.isfinite(row).all():
            return
        rows.append(row.T / np.maximum(np.abs(row).max(0), 1e-300)[:, None])
        matrices = np.stack(rows, axis=1)  # (points, equations, columns)
        involved = _dependent(matrices[:, :, :-1])
        if involved is not None:
            alike = _dependent(matrices) is not None
            _refuse([group[k] for k in involved], alike, matrices, involved, places)


def _parts(residual: sympy.Expr, coordinates: set[Any]) -> dict[sympy.Expr, sympy.Expr]:
    """Coefficient by product of everything that is no function of the coordinates."""
    found: dict[sympy.Expr, sympy.Expr] = {}
    for term in sympy.Add.make_args(residual.expand()):
        others = term.free_symbols - coordinates
        coefficient, rest = term.as_independent(*others, as_Add=False)
        found[rest] = found.get(rest, sympy.S.Zero) + coefficient
    return found


def _dependent(matrices: Array) -> tuple[int, ...] | None:
    """The rows that the last one is a combination of at every point, and itself; or None."""
    null = []
    for matrix in matrices:
        left, values, _ = np.linalg.svd(matrix)
        rank = int((values > ROUNDING).sum())
        if rank == len(matrix):
            return None
        null.append(np.abs(left[:, rank:]).max(1))
    weight = np.max(null, axis=0)
    return tuple(int(k) for k in np.flatnonzero(weight > 1e-6 * weight.max()))


def _refuse(
    involved: Sequence[Condition],
    alike: bool,
    matrices: Array,
    numbers: Sequence[int],
    places: Places,
) -> None:
    shown = "  and  ".join(condition.source for condition in involved)
    if not alike:
        ranks = [np.linalg.matrix_rank(m[list(numbers)], ROUNDING) for m in matrices]
        where = places.text(int(np.argmax(ranks)))
        raise ProblemError(
            "PS-E012",
            f"{len(involved)} statements contradict each other on the same part: together they say "
            f"that a number is 0 which is not, as at {where}",
            shown,
            "correct one of them, or leave it out",
        )
    if len(involved) == 2:
        raise ProblemError(
            "PS-E013", "the same equation is given twice", shown, "leave one of them out"
        )
    raise ProblemError(
        "PS-E023",
        f"each of these {len(involved)} equations follows from the others",
        shown,
        "leave one of them out, or write what it should say besides",
    )
