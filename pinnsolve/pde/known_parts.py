"""Fields around something known: u = known part + network.

A network is smooth. Where it is known how a solution fails to be smooth, as at a corner or a jump
of the data, that part is written down, and the network is left with the rest (the singular function
method: Fix, Gulati and Wakoff, J. Comput. Phys. 13 (1973) 209-228).
"""

from collections.abc import Mapping
from typing import Any

from pinnsolve.errors import ProblemError
from pinnsolve.pde.ansatz import Ansatz, about
from pinnsolve.pde.fields import Field
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.symbolic import as_expression
from pinnsolve.pde.text import text


def known_parts(problem: Problem, given: Mapping[Any, Any]) -> tuple[Ansatz, ...]:
    """field = expression + network, for each field that is given.

    Args:
        given: field, or its name -> an expression of its coordinates.

    Raises:
        ProblemError: no field of the problem, or a symbol that is no coordinate of it.

    >>> import sympy
    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u = ps.field("u", x, y)
    >>> plate = ps.Problem(ps.laplace(u), *ps.on_boundary(u - x), domain={x: (0, 1), y: (0, 1)})
    >>> print(*known_parts(plate, {u: sympy.sqrt(x**2 + y**2)}))
    u = sqrt(x**2 + y**2) + 1.0*N
    """
    fields = {f.name: f for f in problem.fields}
    forms = []
    for key, value in given.items():
        name = key.name if isinstance(key, Field) else str(key)
        known = as_expression(value, "PS-E072", f"the known part of {name}", _shown(name, value))
        if name not in fields:
            raise ProblemError(
                "PS-E072",
                f"a known part is given for {name}, which is no field of the problem",
                _shown(name, known),
                f"its fields are {', '.join(fields)}",
            )
        coordinates = fields[name].coordinates
        strangers = sorted(map(str, known.free_symbols - set(coordinates)))
        if strangers or known.has(Field):
            what = f"the unknown symbol {strangers[0]}" if strangers else "a field"
            raise ProblemError(
                "PS-E072",
                f"the known part of {name} contains {what}",
                _shown(name, known),
                f"use numbers and the coordinates {', '.join(map(str, coordinates))}",
            )
        forms.append(about(name, known, 1.0))
    return tuple(forms)


def _shown(name: str, known: Any) -> str:
    return f"around={{{name}: {text(known)}}}"
