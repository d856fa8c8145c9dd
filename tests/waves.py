"""A solution made without training: sums of plane waves, whose derivatives are known by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Eq, cos, pi, sin

from pinnsolve.pde.boundary import on_boundary
from pinnsolve.pde.coordinates import coordinates, parameter
from pinnsolve.pde.fields import field
from pinnsolve.pde.problem import Problem
from pinnsolve.solutions.history import History, Record
from pinnsolve.solutions.solution import Solution


@dataclass(frozen=True, eq=False)
class Waves:
    """u(x) = sum_k amplitude_k sin(wave_k . x + phase_k) for each field.

    Attributes:
        fields: names.
        terms: one array for each field, rows (amplitude, phase, wave...).
    """

    fields: tuple[str, ...]
    terms: tuple[NDArray[np.float64], ...]

    def derivative(
        self, field: str, orders: tuple[int, ...], points: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        terms = self.terms[self.fields.index(field)]
        amplitude, phase, wave = terms[:, 0], terms[:, 1], terms[:, 2:]
        # Every derivative turns the phase by a quarter and multiplies by the wave number.
        factor = amplitude * np.prod(wave ** np.array(orders), axis=1)
        return np.sin(points @ wave.T + phase + sum(orders) * np.pi / 2) @ factor

    def at(self, fixed: Mapping[int, float], dimension: int) -> "Waves":
        axes, values = list(fixed), np.array(list(fixed.values()))
        terms = []
        for rows in self.terms:
            amplitude, phase, wave = rows[:, :1], rows[:, 1], rows[:, 2:]
            moved = phase + wave[:, axes] @ values
            terms.append(np.hstack([amplitude, moved[:, None], np.delete(wave, axes, axis=1)]))
        return Waves(self.fields, tuple(terms))

    def to_data(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        arrays = {f"terms/{name}": t for name, t in zip(self.fields, self.terms, strict=True)}
        return {"fields": list(self.fields)}, arrays

    @classmethod
    def from_data(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> "Waves":
        names = tuple(header["fields"])
        return cls(names, tuple(arrays[f"terms/{name}"] for name in names))


def training(equations: int) -> History:
    """A made-up history: two stages, losses that fall, held-out residuals now and then."""
    records = []
    for step in range(60):
        losses = tuple(10.0 ** (-step / 8 - k) for k in range(equations))
        stage = "Adam" if step < 20 else "LevenbergMarquardt"
        held_out = sum(losses) ** 0.5 if step % 10 == 0 else None
        damping = 0.1 if stage != "Adam" else None
        records.append(Record(step, 0.1 * step, sum(losses), losses, held_out, stage, damping))
    return History(tuple(records))


def solved(problem: Problem, waves: Waves, names: tuple[str, ...], points: dict) -> Solution:
    """A `Solution` whose bookkeeping is made up."""
    return Solution(
        problem=problem,
        evaluator=waves,
        history=training(len(names)),
        residual_names=names,
        points=points,
        held_out={name: 10.0 ** -(k + 3) for k, name in enumerate(names)},
        seconds=5.9,
        compile_seconds=0.7,
        network="2-20-20-1, tanh",
        network_size=501,
        steps=59,
        optimizer="Adam >> LevenbergMarquardt",
        stop_reason="loss small enough",
        seed=3,
        details={"device": "cpu"},
    )


def string(error: float = 0.0, exact: bool = True) -> Solution:
    """A vibrating string, sin(pi x) cos(pi t), off by a relative `error`."""
    x, t = coordinates("x t")
    u = field("u", x, t)
    formula = sin(pi * x) * cos(pi * t)
    problem = Problem(
        Eq(u.dtt, u.dxx),
        Eq(u(x, 0), sin(pi * x)),
        u.dt(x, 0),
        u(0, t),
        u(1, t),
        domain={x: (0, 1), t: (0, 1)},
        exact={u: formula} if exact else None,
    )
    half = (1 + error) / 2
    waves = Waves(("u",), (np.array([[half, 0, np.pi, np.pi], [half, 0, np.pi, -np.pi]]),))
    rng = np.random.default_rng(0)
    inside = rng.uniform(size=(1000, 2))
    edges = np.column_stack([np.repeat([0.0, 1.0], 50), rng.uniform(size=100)])
    start = np.column_stack([rng.uniform(size=100), np.zeros(100)])
    names = ("u.dtt = u.dxx", "u(x, 0) = sin(pi*x)", "u.dt(x, 0)", "u(0, t)", "u(1, t)")
    points = {"u.dtt = u.dxx": inside, "u(x, 0) = sin(pi*x)": start, "u(0, t)": edges}
    return solved(problem, waves, names, points)


def curve() -> Solution:
    """One coordinate: u'' = -4 u, u = sin(2 x)."""
    (x,) = coordinates("x")
    u = field("u", x)
    problem = Problem(u.dxx + 4 * u, u(0), Eq(u.dx(0), 2), domain={x: (0, 3)})
    waves = Waves(("u",), (np.array([[1.0, 0.0, 2.0]]),))
    places = np.linspace(0.01, 2.99, 40)[:, None]
    names = ("u.dxx + 4*u", "u(0)", "u.dx(0) = 2")
    return solved(problem, waves, names, {names[0]: places, names[1]: np.zeros((1, 1))})


def drums() -> Solution:
    """Two fields of three coordinates, u = sin(x) sin(y) cos(c t), v = -3 u, c^2 = 2."""
    x, y, t = coordinates("x y t")
    u, v = field("u", x, y, t), field("v", x, y, t)
    shape = sin(x) * sin(y)
    walls = [f(*at) for f in (u, v) for at in [(0, y, t), (pi, y, t), (x, 0, t), (x, pi, t)]]
    problem = Problem(
        Eq(u.dtt, u.dxx + u.dyy),
        Eq(v.dtt, v.dxx + v.dyy),
        *walls,
        *[Eq(u(x, y, 0), shape), Eq(v(x, y, 0), -3 * shape), u.dt(x, y, 0), v.dt(x, y, 0)],
        domain={x: (0, pi), y: (0, pi), t: (0, 1)},
        exact={u: shape * cos(sympy.sqrt(2) * t), v: -3 * shape * cos(sympy.sqrt(2) * t)},
    )
    # sin x sin y cos ct = sum of cos(+-x -+ y +- ct) / 4; a cosine is a sine a quarter ahead.
    c, quarter = np.sqrt(2.0), np.pi / 2
    signs = [(1, -1, 1), (1, -1, -1), (1, 1, 1), (1, 1, -1)]
    rows = np.array([[-0.25 * b * a, quarter, a, b, s * c] for a, b, s in signs])
    scaled = rows * np.array([-3.0, 1, 1, 1, 1])
    names = tuple(map(str, range(len(problem.equations))))
    inside = np.random.default_rng(1).uniform(size=(500, 3)) * [np.pi, np.pi, 1]
    return solved(problem, Waves(("u", "v"), (rows, scaled)), names, {"waves": inside})


def cube(error: float = 0.0) -> Solution:
    """A wave through six dimensions, sin(x1 + ... + x6 + t), off by a relative `error`."""
    *x, t = coordinates("x1 x2 x3 x4 x5 x6 t")
    u = field("u", *x, t)
    formula = sin(sum(x) + t)
    problem = Problem(
        Eq(6 * u.dt, u.dx1 + u.dx2 + u.dx3 + u.dx4 + u.dx5 + u.dx6),
        on_boundary(Eq(u, formula)),
        Eq(u(*x, 0), sin(sum(x))),
        domain=dict.fromkeys((*x, t), (0, 1)),
    )
    waves = Waves(("u",), (np.array([[1 + error, 0.0, *[1.0] * 7]]),))
    names = ("6*u.dt = ...", "u(x, 0)", "u on the boundary")
    return solved(problem, waves, names, {names[0]: np.random.default_rng(0).uniform(size=(9, 7))})


def shifted(error: float = 0.0) -> Solution:
    """A travelling wave for every phase, sin(x - t + p), off by a relative `error`."""
    x, t = coordinates("x t")
    u, p = field("u", x, t), parameter("p", 1, 4, scale="log")
    problem = Problem(
        Eq(u.dt, -u.dx),
        Eq(u(x, 0), sin(x + p)),
        Eq(u(0, t), sin(p - t)),
        domain={x: (0, 2), t: (0, 3)},
        exact={u: sin(x - t + p)},
    )
    waves = Waves(("u",), (np.array([[1 + error, 0.0, 1.0, -1.0, 1.0]]),))
    places = np.random.default_rng(0).uniform([0, 0, 1], [2, 3, 4], size=(50, 3))
    return solved(problem, waves, ("u.dt = -u.dx",), {"u.dt = -u.dx": places})
