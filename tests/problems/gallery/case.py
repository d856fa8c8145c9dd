"""What the gallery is made of: a declaration, and a solution for the place of the network."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pinnsolve as ps


@dataclass(frozen=True)
class Case:
    """A problem of a peer's gallery.

    Attributes:
        source: where it is from.
        declare: the declaration.
        solution: by name of the field an expression, a function of nodes or numbers.
        kind: "exact" for a closed form; "computed" for numbers of an independent method;
            "manufactured" where the peer has a mesh solution alone: the data are then replaced by
            those of the solution.
        bound: on the defects relative to the largest term, the error of the solution.
        unknowns: values of the numbers to be found.
    """

    source: str
    declare: Callable[[], ps.Problem]
    solution: Callable[[], Mapping[str, Any]]
    kind: str
    bound: float
    unknowns: Mapping[str, float] = field(default_factory=dict)


CASES: dict[str, Case] = {}


def case(
    source: str, solution: Any, kind: str = "exact", bound: float = 1e-11, **unknowns: float
) -> Any:
    """Put a declaration into the gallery under the name of its function."""

    def put(declare: Callable[[], ps.Problem]) -> Callable[[], ps.Problem]:
        given = solution if callable(solution) else lambda: solution
        CASES[declare.__name__] = Case(source, declare, given, kind, bound, unknowns)
        return declare

    return put
