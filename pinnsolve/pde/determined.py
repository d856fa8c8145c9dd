"""What is to be found besides the solution: is there anything that determines it?

Numbers (`unknown`) and fields without an equation of their own, such as a coefficient. The counts
err on the side of acceptance, as those of `wellposed` do: what a count cannot tell is told by the
standard errors.
"""

from collections.abc import Sequence
from itertools import combinations

from pinnsolve.errors import ProblemError
from pinnsolve.pde import wellposed
from pinnsolve.pde.agreement import Domain
from pinnsolve.pde.conditions import Condition
from pinnsolve.pde.fields import Field
from pinnsolve.pde.text import text
from pinnsolve.pde.unknowns import Unknown


def check_unknowns(
    unknowns: Sequence[Unknown],
    conditions: Sequence[Condition],
    fields: Sequence[Field],
    domain: Domain,
    data: Sequence[Condition],
    ended: Sequence[int],
    noise_is_known: bool,
) -> None:
    """Refuse unknown numbers that nothing could determine.

    Without data or a prior, numbers need conditions that the fields could do without: one at least,
    and one each where all conditions are numbers, in problems with a single coordinate.

    Raises:
        ProblemError: an unknown drops out of the equations, is a factor of whole equations only, or
            every condition is needed by the fields; a prior is given and the observations have no
            noise.
    """
    if not unknowns:
        return
    for unknown in unknowns:
        acts = [c for c in (*conditions, *data) if c.residual.has(unknown)]
        if all((c.residual / unknown).expand().has(unknown) is False for c in acts):
            what = "is but a factor of the whole equation" if acts else "drops out of the equations"
            raise ProblemError(
                "PS-E020",
                f"the unknown {unknown} {what}, so it can have any value",
                acts[0].source if acts else unknown.name,
                "leave it out, or write it where it changes the solution",
            )
    for unknown in unknowns:
        if unknown.prior is not None and data and not noise_is_known:
            raise ProblemError(
                "PS-E073",
                f"{unknown} has a prior, and the observations have no noise to weigh it against",
                f"prior=({unknown.mean:g}, {unknown.deviation:g})",
                "give the noise of the observations: observations(..., noise=...)",
            )
    free = [u for u in unknowns if u.prior is None]
    if data or not free:
        return
    alone = sum(c.is_space or c.is_time for c, _ in domain) == 1
    for removed in combinations(conditions, len(free) if alone else 1):
        try:
            wellposed.check_counts(
                [c for c in conditions if c not in removed], fields, domain, ended
            )
        except ProblemError:
            continue
        return
    raise ProblemError(
        "PS-E020",
        f"nothing determines the unknown {', '.join(map(str, free))}: the fields need every "
        "condition themselves",
        next(text(c.equation) for c in conditions if c.residual.has(*unknowns)),
        "add what is known besides, such as u(0.5, 1) = 0.3 or observations of a field",
    )


def check_fields(
    conditions: Sequence[Condition],
    fields: Sequence[Field],
    domain: Domain,
    data: Sequence[Condition],
    ended: Sequence[int],
) -> None:
    """Refuse fields that nothing could determine.

    A field needs an equation of its own, or observations: each field has to go with one of the
    equations and measured expressions that contain it, no two with the same. A field of fewer
    coordinates than an equation that contains it, such as a source f(t) in u_t = u_xx + f, is
    determined by less: observations of anything, or a condition over its coordinates that the
    other fields could do without.

    Args:
        conditions: equations and conditions.
        fields, domain: of the problem.
        data: what is observed.
        ended: the positions of the coordinates whose ends need conditions.

    Raises:
        ProblemError: with a field that is left over.
    """
    ruling = wellposed.ruling(conditions, fields)
    if len(ruling) >= len(fields):
        return
    interior = [c for c in conditions if c.kind == "equation"]
    measured = {c.jets: c for c in data}.values()
    narrow = [f for f in fields if any(_is_narrow(f, c) for c in (*interior, *measured))]
    whole = [f for f in fields if f not in narrow]
    left = _unmatched(whole, [*ruling, *measured])
    if not left and (data or _have_spare(narrow, conditions, fields, domain, ended)):
        return
    lost = (left or narrow)[-1]
    if not data and left:
        wellposed.check_count(conditions, fields)
    names = ", ".join(f.name for f in fields)
    seen = sorted(set().union(*(c.fields for c in measured)))
    told = f" and observations of {', '.join(seen)}" if data else ""
    raise ProblemError(
        "PS-E074",
        f"nothing determines the field {lost.name}: {names} are {len(fields)} fields with "
        f"{len(interior)} equation{'s' * (len(interior) > 1)}{told}"
        + ("" if data else ", and the others need every condition themselves"),
        next((c.source for c in interior if lost.name in c.fields), text(lost)),
        f"give {lost.name} an equation, add observations that depend on it, or replace it by an "
        "expression",
    )


def _is_narrow(field: Field, condition: Condition) -> bool:
    return field.name in condition.fields and set(field.coordinates) < set(condition.free)


def _unmatched(fields: Sequence[Field], conditions: Sequence[Condition]) -> list[Field]:
    """The fields that are left where as many as possible go with a condition of their own that
    contains them (augmenting paths); of those that could be left, later ones."""
    owner: dict[int, Field] = {}

    def place(field: Field, tried: set[int]) -> bool:
        for k, condition in enumerate(conditions):
            if k in tried or field.name not in condition.fields:
                continue
            tried.add(k)
            if k not in owner or place(owner[k], tried):
                owner[k] = field
                return True
        return False

    return [field for field in fields if not place(field, set())]


def _have_spare(
    narrow: Sequence[Field],
    conditions: Sequence[Condition],
    fields: Sequence[Field],
    domain: Domain,
    ended: Sequence[int],
) -> bool:
    """Whether there is a condition over the coordinates of each of these fields without which the
    others are determined still."""
    ruling = wellposed.ruling(conditions, fields)
    bare = _unmatched([*(f for f in fields if f not in narrow), *narrow], ruling)
    others = [f for f in fields if f not in bare]

    def is_spare(condition: Condition) -> bool:
        rest = [c for c in conditions if c is not condition]
        try:
            wellposed.check_sides(rest, others, domain, ended)
        except ProblemError:
            return False
        return True

    return all(
        any(
            condition.kind != "equation"
            and set(field.coordinates) <= set(condition.free)
            and is_spare(condition)
            for condition in conditions
        )
        for field in bare
    )
