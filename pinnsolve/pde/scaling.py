"""The sizes of fields and equations, from the numbers of a problem: what makes it dimensionless.

With half the interval of each coordinate as its length L and U_f as the size of field f, a
derivative of order k has the size U_f / L^k, and every term of an equation has a size. Fields take
theirs from what is given: values and slopes on sides, measured values, sources, each balanced by
the largest term with the field; what nothing is given for is balanced by known terms, as a pressure
by the inertia of the flow. The size of an equation is that of its largest term.

A network stands for field / U_f, and the rows of the loss are residuals over their sizes.
Invariant: where all of them are moderate both are left as they are, so that well-scaled problems
are solved with the numbers that they are written in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

from pinnsolve.pde.ansatz import Ansatz, about
from pinnsolve.pde.conditions import classify, classify_observed
from pinnsolve.pde.dimensionless import dimensionless
from pinnsolve.pde.jets import Jet
from pinnsolve.pde.observations import Observations
from pinnsolve.pde.places import Places, places_of
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.system import System, labels, noise_unit, observed_labels
from pinnsolve.pde.unknowns import Unknown

FIELDS = (1e-3, 1e3)  # sizes of fields that a network has no trouble with
RESIDUALS = (1e-4, 1e4)  # sizes of equations that balance with the conditions
LONGEST = 2000  # operations of a residual that is multiplied out
DIMENSIONS = 4  # above it, sources are not differentiated
ROUNDS = 20


@dataclass(frozen=True)
class Term:
    """coefficient * rest, where the coefficient is its largest value, and rest is made of jets and
    unknown numbers."""

    coefficient: float
    rest: sympy.Expr

    @property
    def fields(self) -> frozenset[str]:
        return frozenset(jet.field for jet in self.rest.atoms(Jet))

    def size(self, sizes: Mapping[str, float], lengths: Sequence[float]) -> float:
        """Its size, with 1 for fields without one; NaN where it has none."""
        at: dict[Any, Any] = {
            jet: sympy.Float(
                sizes.get(jet.field, 1.0) / np.prod(np.power(lengths, jet.orders), dtype=float)
            )
            for jet in self.rest.atoms(Jet)
        }
        at |= {unknown: sympy.Float(unknown.guess) for unknown in self.rest.atoms(Unknown)}
        value = sympy.N(self.rest.xreplace(at))
        if not value.is_number or not value.is_real:
            return float("nan")
        return self.coefficient * abs(float(value))


@dataclass(frozen=True)
class Statement:
    """A residual as a sum of terms.

    Attributes:
        name: that of the residual.
        terms: one for all that is known, and one for each product of jets.
        waves: |d source / dx| / |source| along each coordinate, 0 where there is no source: an
            oscillating source is balanced at its own length.
    """

    name: str
    terms: tuple[Term, ...]
    waves: tuple[float, ...]

    def size(self, sizes: Mapping[str, float], lengths: Sequence[float]) -> float:
        """The size of the largest term; 1 where there is none."""
        return _largest(t.size(sizes, lengths) for t in self.terms) or 1.0


@dataclass(frozen=True)
class Scaling:
    """Lengths of coordinates, sizes of fields and equations; `print` shows them.

    Attributes:
        problem: what they are of.
        lengths: half the interval of each coordinate, by its name.
        fields: the size of each field.
        residuals: the size of each equation, condition and kind of data, by its name.
        applied: whether `solve` divides by them: some are far from 1.
        measured: the size of all residuals in units of their noise, which stay what they are to
            each other.

    >>> import pinnsolve as ps
    >>> x = ps.coordinates("x")[0]
    >>> u = ps.field("u", x)
    >>> bar = ps.Problem(2e11 * u.dxx + 200, u(0), u(100), domain={x: (0, 100)})
    >>> print(bar.nondimensionalize())
    x: 50
    u: 2.5e-06
    200000000000.0*u.dxx + 200: 200
    u(0): 2.5e-06
    u(100): 2.5e-06
    """

    problem: Problem
    lengths: Mapping[str, float]
    fields: Mapping[str, float]
    residuals: Mapping[str, float]
    applied: bool
    measured: float = 1.0

    @property
    def text(self) -> str:
        """One line: the sizes that are not 1."""
        rows = (*self.fields.items(), *self.residuals.items())
        return ", ".join(f"{name} {size:.2g}" for name, size in rows) if self.applied else ""

    def of(self, system: System) -> System:
        """The system with the sizes of its residuals, where they are applied."""
        if not self.applied:
            return system
        return replace(
            system,
            blocks=tuple(
                replace(
                    block,
                    residuals=tuple(
                        replace(
                            r,
                            size=self.residuals.get(r.name, 1.0)
                            if r.unit is None
                            else self.measured,
                        )
                        for r in block.residuals
                    ),
                )
                for block in system.blocks
            ),
        )

    def to(self, problem: Problem) -> Scaling:
        """The same sizes of fields for another problem with these fields, such as a part of it."""
        return replace(scaling_of(problem, self.fields), applied=self.applied)

    def scaled(self) -> Problem:
        """The problem in dimensionless coordinates x / length and fields u / size, every equation
        over its size.

        Raises:
            ProblemError: it has a shape, observations or unknown numbers, which are not scaled.
        """
        return dimensionless(self)

    def __str__(self) -> str:
        rows = (*self.lengths.items(), *self.fields.items(), *self.residuals.items())
        return "\n".join(f"{name}: {size:.3g}" for name, size in rows)

    def __repr__(self) -> str:
        return f"<Scaling: {', '.join(str(self).splitlines()[: 1 + len(self.fields)])}>"


def scaling_of(problem: Problem, fields: Mapping[str, float] | None = None) -> Scaling:
    """The sizes of a problem; those of fields unless they are known."""
    lengths = [(high - low) / 2 for low, high in problem.intervals]
    statements = tuple(_statements(problem))
    sizes = {n: _short(v) for n, v in (fields or _sizes(problem, statements, lengths)).items()}
    residuals = {s.name: _short(s.size(sizes, lengths)) for s in statements}
    moderate = all(FIELDS[0] <= size <= FIELDS[1] for size in sizes.values()) and all(
        RESIDUALS[0] <= size <= RESIDUALS[1] for size in residuals.values()
    )
    names = (c.name for c in problem.coordinates)
    named = dict(zip(names, lengths, strict=True))
    return Scaling(problem, named, sizes, residuals, not moderate, _measured(problem, residuals))


def _measured(problem: Problem, residuals: Mapping[str, float]) -> float:
    """The size of residuals in units of the smallest noise: that of the least accurate values."""
    names = iter(observed_labels(problem))
    shares, unit = [1.0], noise_unit(problem)
    for given in problem.observations:
        columns = [next(names) for _ in given.expressions]
        if given.noise is not None and unit is not None:
            noise = np.mean(given.noise**-2.0, axis=0) ** -0.5
            sizes = [residuals[name] for name in columns]
            shares += [unit * size / n for size, n in zip(sizes, noise, strict=True)]
    return float(min(shares[1:] or shares))


def sized(forms: Sequence[Ansatz], sizes: Mapping[str, float]) -> tuple[Ansatz, ...]:
    """Forms whose networks are multiplied by the sizes of their fields, each field with one."""
    known = {form.field: form for form in forms}
    known |= {name: about(name, sympy.S.Zero, 1.0) for name in sizes if name not in known}
    return tuple(
        _sized(form, sizes[name]) if name in sizes else form for name, form in known.items()
    )


def _sized(form: Ansatz, size: float) -> Ansatz:
    if not form.exponential:
        return replace(form, factor=size * form.factor)
    # The network is that of the logarithm; what conditions give has its size already.
    return form if form.conditions else replace(form, lift=form.lift + sympy.log(sympy.Float(size)))


# --- sizes ------------------------------------------------------------------------------------


def _sizes(
    problem: Problem, statements: Sequence[Statement], lengths: Sequence[float]
) -> dict[str, float]:
    """The size of each field."""
    sizes: dict[str, float] = {}
    for name in (field.name for field in problem.fields):
        # Of what is given for a field alone, the largest counts.
        alone = [s for s in statements if all(t.fields <= {name} for t in s.terms)]
        found = [_balanced(s, [name], {}, lengths) for s in alone]
        if (size := _largest(found)) > 0:
            sizes[name] = size
    for _ in range(ROUNDS):
        left = [field.name for field in problem.fields if field.name not in sizes]
        found = {
            name: _largest(
                _balanced(s, [name], sizes, lengths)
                for s in statements
                if {name} == frozenset().union(*(t.fields for t in s.terms)) - sizes.keys()
            )
            for name in left
        }
        if not any(found.values()):
            # Fields that only occur together are taken to be of one size.
            groups = [
                (frozenset().union(*(t.fields for t in s.terms)) - sizes.keys(), s)
                for s in statements
            ]
            found = {
                name: _largest(
                    _balanced(s, sorted(group), sizes, lengths)
                    for group, s in groups
                    if name in group
                )
                for name in left
            }
        sizes |= {name: size for name, size in found.items() if size > 0}
        if not any(found.values()):
            break
    return {field.name: sizes.get(field.name, 1.0) for field in problem.fields}


def _balanced(
    statement: Statement,
    names: Sequence[str],
    sizes: Mapping[str, float],
    lengths: Sequence[float],
) -> float:
    """The size of fields at which the first of their terms is as large as all that is known; 0
    where nothing is."""
    unknown = [t for t in statement.terms if t.fields & set(names)]
    known = _largest(t.size(sizes, lengths) for t in statement.terms if not t.fields & set(names))
    if not known:
        return 0.0
    found = []
    short = [
        min(length, 1 / k) if k else length
        for length, k in zip(lengths, statement.waves, strict=True)
    ]
    for term in unknown:
        one, two = (term.size({**sizes, **dict.fromkeys(names, s)}, short) for s in (1.0, 2.0))
        power = np.log2(two / one) if one > 0 and two > 0 else 0.0
        if power > 0.1:
            found.append((known / one) ** (1 / power))
    return float(min(found, default=0.0))


def _short(size: float) -> float:
    """Two digits are enough."""
    return float(f"{size:.1e}")


def _largest(values: Iterable[float]) -> float:
    return float(max((v for v in values if np.isfinite(v)), default=0.0))


# --- terms ------------------------------------------------------------------------------------


def _statements(problem: Problem) -> Iterable[Statement]:
    coordinates, intervals = problem.coordinates, problem.intervals
    for name, equation in zip(labels(problem), problem.equations, strict=True):
        condition = classify(equation, coordinates, intervals)
        places = places_of(condition, problem.domain, problem.shape)
        yield _statement(name, condition.residual, places, coordinates)
    names = iter(observed_labels(problem))
    for given in problem.observations:
        places = _observed(given, problem)
        for condition in classify_observed(given, coordinates, intervals):
            yield _statement(next(names), condition.residual, places, coordinates)


def _observed(given: Observations, problem: Problem) -> Places:
    """Places and columns, with 1 as the noise: sizes are those of what is measured."""
    values = np.hstack([given.values, np.ones_like(given.data[:, given.values.shape[1] :])])
    symbols = tuple(c for c in problem.coordinates if c in given.coordinates)
    order = [given.coordinates.index(c) for c in symbols]
    return Places((*symbols, *given.columns), np.hstack([given.points[:, order], values]))


def _statement(
    name: str, residual: sympy.Expr, places: Places, coordinates: Sequence[Any]
) -> Statement:
    if residual.count_ops() <= LONGEST:
        residual = residual.expand()  # pyright: ignore[reportAssignmentType]
    parts: dict[Any, list[Any]] = {}
    for term in sympy.Add.make_args(residual):
        others = term.free_symbols - set(places.symbols)
        coefficient, rest = term.as_independent(*others, as_Add=False)
        parts.setdefault(rest, []).append(coefficient)
    sums: dict[Any, Any] = {rest: sympy.Add(*found) for rest, found in parts.items()}
    sizes = {rest: _size(coefficient, places) for rest, coefficient in sums.items()}
    terms = tuple(Term(size, rest) for rest, size in sizes.items() if size > 0)
    source, waves = sums.get(sympy.S.One), [0.0] * len(coordinates)
    if source is not None and sizes[sympy.S.One] > 0 and len(coordinates) <= DIMENSIONS:
        waves = [
            _size(source.diff(c), places) / sizes[sympy.S.One] if source.has(c) else 0.0
            for c in coordinates
        ]
    return Statement(name, terms, tuple(waves))


def _size(coefficient: Any, places: Places) -> float:
    """The largest absolute value; 0 where it has none."""
    if coefficient.is_number:
        value = complex(coefficient)
        return abs(value) if np.isfinite(abs(value)) else 0.0
    values = np.abs(places.evaluate(coefficient))
    return float(values[np.isfinite(values)].max(initial=0.0))
