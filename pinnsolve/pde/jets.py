"""From fields to jets: every value of a derivative of a field becomes one opaque symbol.

Invariant: an expression returned by `resolve` contains no field, no derivative and no substitution,
only coordinates, numbers, functions of them, and `Jet`s.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import Coordinate, Parameter
from pinnsolve.pde.fields import Field, NormalDerivative, is_finite_number
from pinnsolve.pde.integrals import Nodes, Variable, quadrature, restored
from pinnsolve.pde.region_integrals import Over, region_quadrature
from pinnsolve.pde.text import text

Site = tuple[Coordinate | float | None, ...]  # None along what no field there depends on


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


class InnerJet(Jet):
    """A jet under an integral sign: `place` has, for each coordinate, the coordinate, its fixed
    value, or a variable of integration. Its `site` is -1, none of those of a block.

    >>> InnerJet("u", (0, 1), (Variable("s", 1), 0.5), names=("x", "t"))
    u_t(s', 0.5)
    """

    __slots__ = ("place",)
    place: tuple[Any, ...]

    def __new__(
        cls,
        field: str,
        orders: Sequence[int],
        place: Any,
        *,
        names: Sequence[str] = (),
        name: str = "",
    ) -> "InnerJet":
        if not name:
            shown = ", ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in place)
            name = f"{Jet(field, orders, names=names).name}({shown})"
        self: Any = super().__new__(cls, field, orders, -1, name=name)
        self.place = tuple(place)
        return self

    @property
    def depth(self) -> int:
        """That of the innermost integral whose variable occurs."""
        return max(v.depth for v in self.place if isinstance(v, Variable))

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), self.place)

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, str]]:
        return (self.field, self.orders, self.place), {"name": self.name}


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
        coordinates: the coordinates of the system; a field may depend on some of them only, but
            does on every parameter.
        snap: maps a literal place to the number kept for it.

    Raises:
        ProblemError: a field is taken at something else than coordinates and numbers, or a
            derivative cannot be carried out.
    """
    names = [c.name for c in coordinates]
    found: dict[Site, int] = {}

    def emit(target: Field, place: Sequence[sympy.Expr], orders: Mapping[Any, int]) -> Jet:
        own = dict(zip(target.coordinates, place, strict=True))
        site = tuple(
            _place(target, own[c], c, snap)
            if c in own
            else (c if isinstance(c, Parameter) else None)
            for c in coordinates
        )
        order = [orders.get(c, 0) for c in coordinates]
        if any(isinstance(value, Variable) for value in site):
            return InnerJet(target.name, order, site, names=names)
        index = found.setdefault(site, len(found))
        return Jet(target.name, order, index, names=names)

    raw = _walk(expression, {}, emit)
    full = _completed(list(found), coordinates, raw.free_symbols)
    sites = tuple(sorted(set(full), key=_site_key))
    moved = {
        jet: Jet(jet.field, jet.orders, place, names=names)
        for jet in raw.atoms(Jet)
        if jet.site >= 0 and (place := sites.index(full[jet.site])) != jet.site
    }
    return Resolved(raw.xreplace(moved) if moved else raw, sites)


def is_fixed(value: object) -> bool:
    """Whether a place is fixed along a coordinate, of which it is the value in a `Site`."""
    return isinstance(value, float)


def _completed(
    sites: Sequence[Site], coordinates: Sequence[Coordinate], explicit: Collection[Any]
) -> list[Site]:
    """Sites of fields with fewer coordinates as sites of the others: any place will do along what a
    field does not depend on. None is left where that is so for all, unless the coordinate occurs
    outside of fields."""
    whole, ordered = [], sorted(sites, key=_site_key)
    for place in sites:
        site = place
        for other in ordered:
            site = _joined(site, other) if _fits(site, other) else site
        for other in reversed(ordered):
            site = _joined(site, other)
        pairs = zip(site, coordinates, strict=True)
        whole.append(tuple(c if v is None and c in explicit else v for v, c in pairs))
    return whole


def _joined(site: Site, other: Site) -> Site:
    """A site with what it lacks from another one."""
    return tuple(b if a is None else a for a, b in zip(site, other, strict=True))


def _fits(site: Site, other: Site) -> bool:
    """Whether two sites are the same along all that both have a place on."""
    return all(a is None or b is None or a == b for a, b in zip(site, other, strict=True))


def put_in(expression: Any, values: Mapping[str, sympy.Expr]) -> Any:
    """An expression with a given one, of the coordinates, in the place of each field.

    Args:
        expression: fields, derivatives and substitutions of any nesting.
        values: by name of the field.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> put_in(u.dt + u.dx(0, t), {"u": x**2 * t})
    x**2
    """

    def emit(target: Field, place: Sequence[sympy.Expr], orders: Mapping[Any, int]) -> sympy.Expr:
        value = sympy.sympify(values[target.name])
        for coordinate, order in orders.items():
            value = value.diff(coordinate, order)
        moved = dict(zip(target.coordinates, place, strict=True))
        return value.subs({c: v for c, v in moved.items() if c != v})

    return restored(_walk(expression, {}, emit))


Emit = Callable[[Field, Sequence[sympy.Expr], Mapping[Any, int]], sympy.Expr]


def _walk(node: Any, places: Mapping[Any, Any], emit: Emit) -> Any:
    """Rebuild bottom-up; `places` are the values of the variables bound by enclosing Subs."""
    if isinstance(node, Field):
        return emit(node, [places.get(a, a) for a in node.args], {})
    if isinstance(node, sympy.Derivative):
        target: Any = node.expr
        if isinstance(target, Field) and all(v in target.args for v in node.variables):
            counts: Any = node.variable_count
            orders = {target.coordinates[target.args.index(v)]: int(n) for v, n in counts}
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
    if isinstance(node, NormalDerivative):
        return _walk(node.expanded, places, emit)
    if isinstance(node, sympy.Subs):
        variables, point = node.args[1].args, node.args[2].args
        bound = dict(zip(variables, [_walk(p, places, emit) for p in point], strict=True))
        return _walk(node.expr, {**places, **bound}, emit)
    if isinstance(node, Over):
        return region_quadrature(node, places, lambda e, at: _walk(e, at, emit))
    if isinstance(node, sympy.Integral | Nodes):
        inner, nodes = (node.inner, node.nodes) if isinstance(node, Nodes) else (node, 0)
        return quadrature(inner, places, lambda e, at: _walk(e, at, emit), nodes)
    if not node.args:
        return places.get(node, node)
    args = [_walk(a, places, emit) for a in node.args]
    # Rebuilding would evaluate again what the user may have held unevaluated.
    return node if all(a is b for a, b in zip(args, node.args, strict=True)) else node.func(*args)


def _place(
    target: Field, argument: sympy.Expr, coordinate: Coordinate, snap: Callable[..., float]
) -> Any:
    if argument == coordinate:
        return coordinate
    if is_finite_number(argument):
        return snap(coordinate, float(argument))
    if isinstance(argument, Variable):
        return argument
    raise ProblemError(
        "PS-E003",
        f"{target.name} cannot be taken at {coordinate} = {text(argument)}",
        text(target),
        f"write {coordinate} itself or a finite real number there, or integrate over what stands "
        f"there: Integral({text(target)}, ({text(argument)}, low, high))",
    )


def _site_key(site: Site) -> tuple[tuple[int, float], ...]:
    """Places that are fixed first, then free ones, then those without any."""
    return tuple(
        (0, v) if isinstance(v, float) else (1 + (not isinstance(v, Coordinate)), 0.0) for v in site
    )
