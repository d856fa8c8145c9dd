"""The normal form of a problem: scalar residuals in jets, grouped by where they hold.

Invariant: residuals of one `Block` hold over the same free coordinates and touch the same sites;
every jet's `site` is a position in the `sites` of its block. All values are in the user's units:
the map of the coordinates to [-1, 1] is the first layer of the network; `System.scaling` shows it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy

from pinnsolve.geometry import AbstractShape, Normal, Part
from pinnsolve.pde.boundary import OnBoundary
from pinnsolve.pde.conditions import Condition, Interval, classify, classify_observed
from pinnsolve.pde.coordinates import Coordinate, is_log
from pinnsolve.pde.functions import Column, with_columns
from pinnsolve.pde.homes import homes_of
from pinnsolve.pde.jets import Jet, Site
from pinnsolve.pde.observations import Observations
from pinnsolve.pde.parts import OnPart, Region, axes_of, region_name
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.text import text
from pinnsolve.pde.unknowns import Unknown

__all__ = ["Block", "Jet", "Residual", "System", "is_linear", "labels", "normalize"]

_LABEL = 40  # characters of a label, so that reports have columns


@dataclass(frozen=True)
class Residual:
    """One scalar equation, `expression` = 0.

    Attributes:
        name: a short label, unique in the system.
        source: the equation in the user's notation.
        expression: left minus right, in coordinates and jets.
        kind: "equation", "initial", "boundary", "periodic", "integral", "point", "data" or "prior".
        unit: for data in units of their noise, the smallest noise of the problem: what a residual
            of 1 is at least in the units of what is measured. For a prior the same for the mean of
            as many observations as there are of each kind, since its row is one. None for others.
        size: what its terms are like, if that is far from 1: a row of the loss is over it.
    """

    name: str
    source: str
    expression: sympy.Expr
    kind: str
    unit: float | None = None
    size: float = 1.0


@dataclass(frozen=True)
class Block:
    """Residuals that hold on the same set of points.

    Attributes:
        free: the coordinates over which points are drawn; none where the points are given.
        sites: the places that the residuals touch for each point of the set; for each coordinate of
            the system the coordinate itself where it is free, its fixed value, or None where no
            field in the residuals depends on it.
        residuals: the equations.
        sides: positions of the coordinates at one of whose ends each point lies, if the set is the
            whole boundary: all coordinates vary over it.
        given: observations, whose points are the set and whose columns occur in the residuals.
        where: the part of a boundary, or the shape, that the set is; None for what fills the
            domain or lies on a plane through it.
        columns: symbols of the residuals for numbers that are known at each point, such as the
            components of the normal; `pinnsolve.pde.columns` has their values.
    """

    free: tuple[Coordinate, ...]
    sites: tuple[Site, ...]
    residuals: tuple[Residual, ...]
    sides: tuple[int, ...] = ()
    given: Observations | None = None
    where: Region | None = None
    columns: tuple[sympy.Symbol, ...] = ()

    @property
    def dimension(self) -> int:
        """That of the set of points; of what fills the domain, the number of coordinates."""
        return len(self.free) - (bool(self.sides) or isinstance(self.where, Part))


@dataclass(frozen=True)
class System:
    """A problem in normal form.

    Attributes:
        coordinates: of all fields, in the order of their arguments, then the parameters.
        intervals: (low, high) of each coordinate.
        fields: names, in the order of first use.
        arguments: of each field, in their order: the positions of what it depends on.
        blocks: the residuals; those in the interior first, those of data and of priors last.
        unknowns: numbers that occur in the residuals and are to be found.
        exact: conditions that hold by construction of what stands for the fields, so that no loss
            contains them.
        shape: that of the domain in its first space coordinates; None for a box, all of whose
            points are in the domain.
        positive: the fields that are positive by construction.
        homes: the fields that live in a part of the domain only, and the shape that it is.
    """

    coordinates: tuple[Coordinate, ...]
    intervals: tuple[Interval, ...]
    fields: tuple[str, ...]
    arguments: tuple[tuple[int, ...], ...]
    blocks: tuple[Block, ...]
    unknowns: tuple[Unknown, ...] = ()
    exact: tuple[Block, ...] = ()
    shape: AbstractShape | None = None
    positive: tuple[str, ...] = ()
    homes: tuple[tuple[str, AbstractShape], ...] = ()

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.coordinates)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The fields, those together that depend on the same coordinates and live in one place."""
        found: dict[Any, tuple[str, ...]] = {}
        for field, axes in zip(self.fields, self.arguments, strict=True):
            key = (axes, self.home(field))
            found[key] = (*found.get(key, ()), field)
        return tuple(found.values())

    def home(self, field: str) -> AbstractShape | None:
        """The shape that a field lives in; None for the whole domain."""
        return dict(self.homes).get(field)

    def ranges(self, fields: Sequence[str]) -> tuple[Interval, ...]:
        """The least interval along each coordinate that is known to hold where fields live."""
        homes = [home for field in fields if (home := self.home(field)) is not None]
        found = list(self.intervals)
        if len(homes) == len(fields):
            for place, axis in enumerate(axes_of(homes[0], self.coordinates)):
                lows, highs = zip(*(home.bounds[place] for home in homes), strict=True)
                found[axis] = (min(lows), max(highs))
        return tuple(found)

    def inputs(self, field: str) -> tuple[int, ...]:
        """The positions of the coordinates that a field depends on."""
        return self.arguments[self.fields.index(field)]

    @property
    def residuals(self) -> tuple[Residual, ...]:
        """The residuals of all blocks in order."""
        return tuple(residual for block in self.blocks for residual in block.residuals)

    @property
    def conditions(self) -> tuple[Residual, ...]:
        """The residuals that are neither equations nor data nor priors."""
        known = ("equation", "data", "prior")
        return tuple(r for r in self.residuals if r.kind not in known)

    @property
    def starts(self) -> bool:
        """Whether there is an initial condition, which may hold by construction."""
        blocks = (*self.blocks, *self.exact)
        return any(r.kind == "initial" for block in blocks for r in block.residuals)

    @property
    def fills_box(self) -> bool:
        """Whether the equations hold in all of the box that the intervals make."""
        filling = [b for b in self.blocks if b.dimension == self.dimension]
        return self.shape is None and all(b.where is None for b in filling)

    @property
    def scaling(self) -> str:
        """How each coordinate is mapped to [-1, 1], one line each."""
        return "\n".join(
            f"{c}: [{low:g}, {high:g}] -> [-1, 1], "
            + ("logarithmically" if is_log(c) else f"factor {2 / (high - low):g}")
            for c, (low, high) in zip(self.coordinates, self.intervals, strict=True)
        )

    def __str__(self) -> str:
        lines = [self.scaling]
        for block in (*self.blocks, *self.exact):
            places = ", ".join(f"({', '.join(map(_show, site))})" for site in block.sites)
            where = " on the boundary" * bool(block.sides)
            where += "" if block.where is None else f" on {region_name(block.where)}"
            where += ", exactly" * (block in self.exact)
            where += "" if block.given is None else f", {len(block.given.points)} points"
            lines.append(f"at {places}{where}")
            lines += [f"  {r.kind:9} {r.expression} = 0" for r in block.residuals]
        return "\n".join(lines)


def normalize(problem: Problem) -> System:
    """Bring a problem into normal form.

    >>> from pinnsolve.pde.coordinates import coordinates
    >>> from pinnsolve.pde.fields import field
    >>> x, t = coordinates("x t")
    >>> u = field("u", x, t)
    >>> heat = Problem(u.dt - u.dxx, u(x, 0), u(0, t), u(1, t), domain={x: (0, 1), t: (0, 2)})
    >>> print(normalize(heat))
    x: [0, 1] -> [-1, 1], factor 2
    t: [0, 2] -> [-1, 1], factor 1
    at (x, t)
      equation  u_t - u_xx = 0
    at (x, 0)
      initial   u = 0
    at (0, t)
      boundary  u = 0
    at (1, t)
      boundary  u = 0
    """
    parts = [classify(e, problem.coordinates, problem.intervals) for e in problem.equations]
    places: dict[Any, list[Residual]] = {}
    for label, part in sorted(_labelled(parts), key=lambda item: item[1].kind != "equation"):
        residual = Residual(label, part.source, with_columns(part.residual), part.kind)
        places.setdefault(part.part, []).append(residual)
    free = {part.part: part.free for part in parts}
    blocks = tuple(
        Block(free[place], place[0], tuple(group), place[1], None, place[2], _columns(group))
        for place, group in places.items()
    )
    blocks += _observed(problem) + _priors(problem)
    order = problem.coordinates.index
    arguments = problem.arguments
    return System(
        problem.coordinates,
        problem.intervals,
        tuple(arguments),
        tuple(tuple(map(order, arguments[name])) for name in arguments),
        blocks,
        problem.unknowns,
        shape=problem.shape,
        positive=tuple(f.name for f in problem.fields if f.exponential),
        homes=tuple((name, home) for name, home in homes_of(problem).items() if home is not None),
    )


def labels(problem: Problem) -> tuple[str, ...]:
    """The name of the residual of each equation of the problem, in the order of the equations."""
    parts = [classify(e, problem.coordinates, problem.intervals) for e in problem.equations]
    return tuple(label for label, _ in _labelled(parts))


def observed_labels(problem: Problem) -> tuple[str, ...]:
    """The name of the residual of each kind of measurement, in the order of the observations."""
    return tuple(_distinct([label for given in problem.observations for label in given.labels]))


def _observed(problem: Problem) -> tuple[Block, ...]:
    """One block for each set of observations."""
    unit = noise_unit(problem)
    names, blocks = list(observed_labels(problem)), []
    for given in problem.observations:
        parts = classify_observed(given, problem.coordinates, problem.intervals)
        residuals = tuple(
            Residual(
                names.pop(0),
                label,
                with_columns(part.residual),
                "data",
                None if given.noise is None else unit,
            )
            for label, part in zip(given.labels, parts, strict=True)
        )
        site = tuple(c if c in given.coordinates else None for c in problem.coordinates)
        blocks.append(
            Block(
                (), (site,), residuals, given=given, columns=(*given.columns, *_columns(residuals))
            )
        )
    return tuple(blocks)


def _columns(residuals: Sequence[Residual]) -> tuple[sympy.Symbol, ...]:
    """The symbols of residuals that stand for numbers known at each point."""
    found: set[Any] = set()
    for residual in residuals:
        symbols = residual.expression.free_symbols
        found |= {a for a in symbols if isinstance(a, Normal | Column)}
    return tuple(sorted(found, key=str))


def noise_unit(problem: Problem) -> float | None:
    """The smallest noise of the problem."""
    known = [given.noise for given in problem.observations if given.noise is not None]
    # Of each kind of measurement the typical noise: accurate ones count, as in the fit.
    return min((float(np.mean(n**-2.0, axis=0).max() ** -0.5) for n in known), default=None)


def _priors(problem: Problem) -> tuple[Block, ...]:
    """What is known of numbers beforehand: a block of one point, wherever that is.

    An observation in units of its noise has the weight unit^2 / n, with n of its kind. A prior is
    one more, so that the sum of all is that of maximum likelihood.
    """
    counts = [len(o.points) for o in problem.observations if o.noise is not None]
    unit = (noise_unit(problem) or 1.0) / float(np.mean(counts or [1])) ** 0.5
    residuals = tuple(
        Residual(f"prior of {u}", f"{u} = {u.mean:g} +- {u.deviation:g}", u.prior, "prior", unit)
        for u in problem.unknowns
        if u.prior is not None
    )
    centre = tuple((low + high) / 2 for low, high in problem.intervals)
    return (Block((), (centre,), residuals),) if residuals else ()


def is_linear(system: System) -> bool:
    """Whether every residual is linear in the fields and their derivatives."""
    for residual in system.residuals:
        jets = list(residual.expression.atoms(Jet))
        if any(residual.expression.diff(jet).has(*jets) for jet in jets):
            return False
    return True


def _labelled(parts: list[Condition]) -> list[tuple[str, Condition]]:
    return list(zip(_distinct([_label(part) for part in parts]), parts, strict=True))


def _distinct(labels: list[str]) -> list[str]:
    """Labels that occur more than once with a number each."""
    repeated = Counter(labels)
    seen: Counter[str] = Counter()
    result = []
    for label in labels:
        seen[label] += 1
        result.append(f"{label} #{seen[label]}" if repeated[label] > 1 else label)
    return result


def _label(part: Condition) -> str:
    """A condition by its left side, if that says where it holds; an equation by all of it."""
    full = part.source
    if isinstance(part.equation, sympy.Eq) and part.kind in ("initial", "boundary", "point"):
        full = text(part.equation.lhs)
    if isinstance(part.equation, OnBoundary | OnPart) and part.kind != "equation":
        inner = part.equation.equation
        place = "the boundary" if part.where is None else region_name(part.where)
        full = f"{text(inner.lhs if isinstance(inner, sympy.Eq) else inner)} on {place}"
    return full if len(full) <= _LABEL else full[: _LABEL - 3].rstrip() + "..."


def _show(value: Coordinate | float | None) -> str:
    if value is None:
        return "any"
    return value.name if isinstance(value, Coordinate) else f"{value:g}"
