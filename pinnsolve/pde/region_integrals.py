"""Integrals over shapes and parts of boundaries, in equations and conditions.

`integral(u, over=disc)` is a number, or a function of the time; `integral(u.dn, over=disc.circle)`
is a flux. In normal form each is a sum over the points of a rule, which are the same for all points
of the equation.

Invariant: the integrand of a `RegionQuadrature` has a variable in place of each coordinate of its
region, and of each component of the normal.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import AbstractShape, Disk, Normal, Part
from pinnsolve.pde.coordinates import Coordinate
from pinnsolve.pde.fields import Field
from pinnsolve.pde.integrals import MOST, Nodes, Quadrature, Variable, refused
from pinnsolve.pde.numeric import evaluate
from pinnsolve.pde.parts import Region, Where, axes_of, region_name

Array = NDArray[np.float64]

POINTS = 512  # of a rule in a shape
BOUNDARY = 128  # and of one on a part


class Over(sympy.Expr):
    """An integral over a region; made by `integral`."""

    is_commutative = True
    is_real = True
    is_number = False  # type: ignore[assignment]

    @property
    def integrand(self) -> Any:
        return self.args[0]

    @property
    def region(self) -> Region:
        where: Any = self.args[1]
        return where.region

    @property
    def nodes(self) -> int:
        return int(self.args[2])  # type: ignore[arg-type]

    @property
    def coordinates(self) -> tuple[Any, ...]:
        """Those that the region lives in."""
        symbols: Any = self.args[3]
        return symbols.args

    @property
    def free_symbols(self) -> set[Any]:
        """Those of the integrand that the region does not have."""
        symbols = self.integrand.free_symbols - set(self.coordinates)
        return {s for s in symbols if not isinstance(s, Normal)}

    def _sympystr(self, printer: Any) -> str:
        return f"integral({printer._print(self.integrand)}, over={region_name(self.region)})"


class RegionQuadrature(Quadrature):
    """The sum of a rule over a region: args are the integrand, the variables, the place, the number
    of points."""

    def __new__(cls, integrand: Any, variables: Any, where: Any, nodes: Any) -> Any:
        integrand = sympy.sympify(integrand)
        if integrand.is_zero:
            return sympy.S.Zero
        return sympy.Expr.__new__(cls, integrand, variables, where, sympy.Integer(nodes))

    @property
    def variables(self) -> tuple[Variable, ...]:
        """Of the coordinates of the region, then of the components of the normal, if it has one."""
        symbols: Any = self.args[1]
        return symbols.args

    @property
    def variable(self) -> Any:
        return self.variables[0]

    @property
    def region(self) -> Region:
        where: Any = self.args[2]
        return where.region

    @property
    def low(self) -> Any:
        return sympy.S.Zero

    @property
    def high(self) -> Any:
        return sympy.S.One

    @property
    def nodes(self) -> int:
        """The number of points, which the region rounds."""
        return len(self.rule()[1])

    def rule(self) -> tuple[Array, Array]:
        """Values of the variables (n, k) and weights (n,)."""
        return rule_of(self.region, int(self.args[3]))  # type: ignore[arg-type]

    def written_out(self, integrand: Any) -> Any:
        """Its value, or where that depends on other things the sum of a shorter rule."""
        alone = integrand.free_symbols <= set(self.variables)
        points, weights = self.rule() if alone else rule_of(self.region, 64)
        if alone:
            columns = dict(zip(map(str, self.variables), points.T, strict=True))
            return sympy.Float(float(evaluate(integrand, columns) @ weights))
        moves = [dict(zip(self.variables, map(sympy.Float, p), strict=True)) for p in points]
        terms = [sympy.Float(w) * integrand.subs(m) for w, m in zip(weights, moves, strict=True)]
        return sympy.Add(*terms)

    def as_written(self, integrand: Any) -> Any:
        """The integral as the user writes it."""
        names = [v.name.rstrip("'") for v in self.variables]
        own = [Normal(int(n[2:]) - 1) if n.startswith("n_") else Coordinate(n) for n in names]
        plain = integrand.xreplace(dict(zip(self.variables, own, strict=True)))
        return Over(plain, self.args[2], self.args[3], sympy.Tuple(*own[: self.region.dimension]))

    def _eval_derivative(self, s: Any) -> Any:
        return RegionQuadrature(self.integrand.diff(s), *self.args[1:])

    def _sympystr(self, printer: Any) -> str:
        return f"Integral({printer._print(self.integrand)}, {region_name(self.region)})"

    def refined(self, factor: int) -> Any:
        count = min(MOST * MOST, factor * int(self.args[3]))  # type: ignore[arg-type]
        return RegionQuadrature(self.integrand, self.args[1], self.args[2], count)


def integral(
    expression: Any, *limits: Any, over: Region | None = None, nodes: int | None = None
) -> sympy.Expr:
    """An integral for equations and conditions: `sympy.Integral`, with a number of nodes if wanted.

    Args:
        expression: of fields, their derivatives, coordinates.
        limits: (variable, low, high), the first one innermost. The variable is a coordinate of the
            field, or another one made by `coordinates`, at which the field is then taken: `u(s)`.
        over: instead of limits a shape, or a part of a boundary, on which `u.dn` and the normal may
            occur; coordinates that it does not have stay free.
        nodes: of Gauss's rule; by default 24 for one variable, 12 each for two. In a shape the
            number of points, 512 by default, on a part 128.

    Raises:
        ProblemError: limits that are no triples, both limits and a region, or a number of nodes
            that is not from 2 to 512 (in a region to 262,144).

    >>> import pinnsolve as ps
    >>> from sympy import Eq
    >>> x, s = ps.coordinates("x s")
    >>> u = ps.field("u", x)
    >>> memory = Eq(u.dx + ps.integral((x - s) * u(s), (s, 0, x)), 0)
    >>> print(ps.Problem(memory, Eq(u(0), 1), domain={x: (0, 5)}))
    u.dx + Integral((-s + x)*u(s), (s, 0, x)) = 0
    u(0) = 1
    0 <= x <= 5
    """
    shown = f"integral({expression}, {', '.join(map(str, limits))})"
    most = MOST if over is None else MOST * MOST
    if nodes is not None and (
        isinstance(nodes, bool) or not isinstance(nodes, int) or not 2 <= nodes <= most
    ):
        raise ProblemError(
            "PS-E050",
            f"the number of nodes is not a whole number from 2 to {most}",
            f"{shown[:-1]}, nodes={nodes!r})",
            "leave nodes out, or write for example nodes=40",
        )
    if over is not None:
        return _over(expression, limits, over, nodes)
    if not limits or any(not isinstance(t, tuple | list | sympy.Tuple) for t in limits):
        raise refused("an integral has no limits", shown)
    made = sympy.Integral(sympy.sympify(expression, strict=True), *map(tuple, limits))
    return made if nodes is None else Nodes(made, sympy.Integer(nodes))


def _over(expression: Any, limits: Any, over: Any, nodes: int | None) -> sympy.Expr:
    stated, shown = sympy.sympify(expression, strict=True), f"integral({expression}, over={over})"
    if limits or not isinstance(over, AbstractShape | Part):
        raise ProblemError(
            "PS-E050",
            "an integral over a region has limits too" if limits else f"{over} is no region",
            shown,
            "write over=shape or over=shape.part alone, or limits alone",
        )
    if not stated.has(Field):
        raise ProblemError(
            "PS-E050",
            "an integral over a region contains no field",
            shown,
            "write its value, for example that of shape.measure",
        )
    own = _coordinates(stated, over, shown)
    return Over(stated, Where(over), sympy.Integer(nodes or 0), sympy.Tuple(*own))


def without_fluxes(equation: Any) -> Any:
    """An equation with a symbol for each integral over a part, which has a normal of its own."""
    found = [o for o in equation.atoms(Over) if isinstance(o.region, Part)]
    return equation.xreplace({o: sympy.Dummy() for o in found})


def region_quadrature(node: Over, places: Mapping[Any, Any], walk: Any) -> Any:
    """The normal form of an integral over a region; see `integrals.quadrature`."""
    depth = 1 + max((v.depth for v in places.values() if isinstance(v, Variable)), default=0)
    own = {c: Variable(c.name, depth) for c in node.coordinates}
    if isinstance(node.region, Part):
        own |= {Normal(k): Variable(f"n_{k + 1}", depth) for k in range(len(own))}
    integrand = walk(node.integrand, {**places, **own})
    count = node.nodes or (BOUNDARY if isinstance(node.region, Part) else POINTS)
    made = RegionQuadrature(integrand, sympy.Tuple(*own.values()), node.args[1], count)
    known = integrand.free_symbols <= set(own.values())
    return made.written_out(integrand) if known and integrand != 0 else made


def _coordinates(stated: Any, over: Region, shown: str) -> tuple[Any, ...]:
    """The coordinates of the fields that a region lives in."""
    first = min(stated.atoms(Field), key=str)
    found = tuple(first.coordinates[k] for k in axes_of(over, first.coordinates))
    if len(found) < over.dimension:
        raise ProblemError(
            "PS-E050",
            f"{region_name(over)} has {over.dimension} dimensions, {first.name} depends on "
            f"{len(found)} coordinates of space",
            shown,
            "integrate over a shape of the dimension of the space of the field",
        )
    return found


@cache
def rule_of(region: Region, count: int) -> tuple[Array, Array]:
    """Points, on a part with the normals beside them, (n, k), and weights (n,)."""
    from pinnsolve.pde.integration import rule  # which reads expressions itself

    if isinstance(region, Disk):
        return _disc(region, count)
    points, weights = rule(region, count)
    if isinstance(region, Part):
        points = np.column_stack([points, region.normals(points)])
    return points, weights


def _disc(disc: Disk, count: int) -> tuple[Array, Array]:
    """Gauss's rule along the radius, as many points again around as suit it: exact for polynomials
    (A. Stroud, Approximate Calculation of Multiple Integrals, 1971, 2.7)."""
    rings = max(2, round(np.sqrt(count / 4)))
    x, w = np.polynomial.legendre.leggauss(rings)
    radii, angles = np.sqrt((1 + x) / 2), 2 * np.pi * (np.arange(4 * rings) + 0.5) / (4 * rings)
    radius, centre = float(disc.radius), np.array(disc.centre, float)
    ring = np.column_stack([np.cos(angles), np.sin(angles)])
    points = (centre + radius * radii[:, None, None] * ring).reshape(-1, 2)
    weights = np.repeat(np.pi * radius**2 * w / 2 / len(angles), len(angles))
    return points, weights
