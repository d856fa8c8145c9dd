"""From fields to jets: every value of a derivative of a field becomes one opaque symbol.

Invariant: an expression returned by `resolve` contains no field, no derivative and no substitution,
only coordinates, numbers, functions of them, and `Jet`s.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import Field, is_finite_number
from pinnsolve.pde.text import text

Site = tuple[Coordinate | float, ...]


class Jet(sympy.Symbol):
    """The value of a derivative of a field at a site, as an opaque real symbol.

    Attributes:
        field: name of the field.
        orders: order of the derivative along each coordinate of the system.
        site: position of the site in the block that the equation belongs to.

    Two jets are equal if these three and the names of their coordinates are.

    >>> Jet("u", (2, 0), 0, names=("x", "t"))
    u_xx
    """

    __slots__ = ("field", "orders", "site")
    field: str
    orders: tuple[int, ...]
    site: int

    def __new__(
        cls,
        field: str,
        orders: Sequence[int],
        site: int = 0,
        *,
        names: Sequence[str] = (),
        name: str = "",
    ) -> "Jet":
        if not name:
            names = names or [f"d{i}" for i in range(len(orders))]
            along = "".join(n * k for n, k in zip(names, orders, strict=True))
            name = field + (f"_{along}" if along else "") + (f"@{site}" if site else "")
        self = sympy.Symbol.__xnew__(cls, name, real=True)
        self.field, self.orders, self.site = field, tuple(map(int, orders)), int(site)
        return self

    @classmethod
    def class_key(cls) -> Any:
        return sympy.Symbol.class_key()  # printed in the order that plain symbols have

    def _hashable_content(self) -> tuple[Any, ...]:
        # The name as well: sympy caches by equality, and would print another problem's names.
        return (self.name, self.field, self.orders, self.site)

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, str]]:
        return (self.field, self.orders, self.site), {"name": self.name}


@dataclass(frozen=True)
class Resolved:
    """An expression in jets, and the sites that the jets refer to by position.

    The sites are sorted, so the same set of places gives the same tuple.
    """

    expression: sympy.Expr
    sites: tuple[Site, ...]


def resolve(
    expression: sympy.Expr,
    coordinates: Sequence[Coordinate],
    snap: Callable[[Coordinate, float], float] = lambda _, value: value,
) -> Resolved:
    """Replace every occurrence of a field in an expression by a jet.

    Args:
        expression: fields, sympy derivatives and substitutions of any nesting.
        coordinates: the coordinates of the system, which are those of every field.
        snap: maps a literal place to the number kept for it.

    Raises:
        ProblemError: a field is taken at something else than coordinates and numbers, or a
            derivative cannot be carried out.
    """
    names = [c.name for c in coordinates]
    found: dict[Site, int] = {}

    def emit(target: Field, place: Sequence[sympy.Expr], orders: Mapping[int, int]) -> Jet:
        site = tuple(_place(target, a, c, snap) for a, c in zip(place, coordinates, strict=True))
        index = found.setdefault(site, len(found))
        return Jet(target.name, [orders.get(i, 0) for i in range(len(names))], index, names=names)

    raw = _walk(expression, {}, emit)
    sites = tuple(sorted(found, key=_site_key))
    moved = {
        jet: Jet(jet.field, jet.orders, sites.index(site), names=names)
        for site, index in found.items()
        for jet in raw.atoms(Jet)
        if jet.site == index != sites.index(site)
    }
    return Resolved(raw.xreplace(moved) if moved else raw, sites)


Emit = Callable[[Field, Sequence[sympy.Expr], Mapping[int, int]], Jet]


def _walk(node: Any, places: Mapping[Any, Any], emit: Emit) -> Any:
    """Rebuild bottom-up; `places` are the values of the variables bound by enclosing Subs."""
    if isinstance(node, Field):
        return emit(node, [places.get(a, a) for a in node.args], {})
    if isinstance(node, sympy.Derivative):
        target: Any = node.expr
        if isinstance(target, Field) and all(v in target.args for v in node.variables):
            counts: Any = node.variable_count
            orders = {target.args.index(v): int(n) for v, n in counts}
            return emit(target, [places.get(a, a) for a in target.args], orders)
        value = node.doit()
        if value == node:
            raise ProblemError(
                "PS-E003",
                "this derivative cannot be carried out",
                text(node),
                "differentiate fields along their own coordinates, for example u.dx",
            )
        return _walk(value, places, emit)
    if isinstance(node, sympy.Subs):
        variables, point = node.args[1].args, node.args[2].args
        bound = dict(zip(variables, [_walk(p, places, emit) for p in point], strict=True))
        return _walk(node.expr, {**places, **bound}, emit)
    if not node.args:
        return places.get(node, node)
    args = [_walk(a, places, emit) for a in node.args]
    # Rebuilding would evaluate again what the user may have held unevaluated.
    return node if all(a is b for a, b in zip(args, node.args, strict=True)) else node.func(*args)


def _place(
    target: Field, argument: sympy.Expr, coordinate: Coordinate, snap: Callable[..., float]
) -> Coordinate | float:
    if argument == coordinate:
        return coordinate
    if is_finite_number(argument):
        return snap(coordinate, float(argument))
    raise ProblemError(
        "PS-E003",
        f"{target.name} cannot be taken at {coordinate} = {text(argument)}",
        text(target),
        f"write {coordinate} itself or a finite real number there",
    )


def _site_key(site: Site) -> tuple[tuple[bool, float], ...]:
    return tuple((True, 0.0) if isinstance(v, Coordinate) else (False, v) for v in site)
