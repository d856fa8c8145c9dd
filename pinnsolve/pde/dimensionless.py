"""A problem written anew in dimensionless coordinates and fields, by the sizes of its `Scaling`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.conditions import difference
from pinnsolve.pde.fields import Field
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.system import labels

if TYPE_CHECKING:
    from pinnsolve.pde.scaling import Scaling

LONGEST = 2000  # operations of a residual that is multiplied out


def dimensionless(scaling: Scaling) -> Problem:
    """See `Scaling.scaled`."""
    problem = scaling.problem
    if problem.shape is not None or problem.observations or problem.unknowns:
        raise ProblemError(
            "PS-E026",
            "only problems in boxes without observations and unknown numbers are written anew",
            repr(problem),
            "solve the problem itself: solve() scales it",
        )
    at = {c: sympy.Float(scaling.lengths[c.name]) for c in problem.coordinates}
    equations = []
    for name, equation in zip(labels(problem), problem.equations, strict=True):
        inner = getattr(equation, "equation", equation)
        size = sympy.Float(scaling.residuals[name])
        residual = _rescaled(difference(inner), at, scaling.fields) / size
        residual = residual.expand() if residual.count_ops() <= LONGEST else residual
        equations.append(equation.func(residual) if inner is not equation else residual)
    exact = (
        None
        if problem.exact is None
        else {
            name: value.xreplace({c: c * length for c, length in at.items()})
            * sympy.Float(1 / scaling.fields[name])
            for name, value in problem.exact.items()
        }
    )
    domain = {
        c: (low / scaling.lengths[c.name], high / scaling.lengths[c.name])
        for c, (low, high) in problem.domain
    }
    return Problem(*equations, domain=domain, exact=exact)


def _rescaled(node: Any, at: Mapping[Any, Any], sizes: Mapping[str, float]) -> Any:
    """An expression in terms of coordinates over their lengths and fields over their sizes."""
    if isinstance(node, sympy.Subs):
        variables, place = node.args[1].args, node.args[2].args
        names: dict[Any, Any] = dict(zip(variables, place, strict=True))
        point = [p / at[v] if v in at else p for v, p in names.items()]
        scaled = _rescaled(node.expr, at, sizes)
        factor, rest = scaled.as_independent(*scaled.atoms(Field), as_Add=False)
        return factor * sympy.Subs(rest, tuple(names), tuple(point))
    if isinstance(node, sympy.Derivative) and isinstance(node.expr, Field):
        counts: Any = node.variable_count
        factor = sizes[node.expr.name] / sympy.Mul(*(at[v] ** n for v, n in counts))
        place = [a / at[c] if a.is_number else a for a, c in _arguments(node.expr)]
        return factor * node.func(node.expr.func(*place), *counts)
    if isinstance(node, Field):
        place = [a / at[c] if a.is_number else a for a, c in _arguments(node)]
        return sizes[node.name] * node.func(*place)
    if node in at:
        return node * at[node]
    if not node.args:
        return node
    return node.func(*(_rescaled(a, at, sizes) for a in node.args))


def _arguments(field: Field) -> list[tuple[Any, Any]]:
    return list(zip(field.args, field.coordinates, strict=True))
