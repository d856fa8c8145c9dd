"""A problem as a notebook shows it: its statements, a sketch of the domain, the table of checks.

Invariant: the sketch is text (SVG) made of points and lines, so that no library for figures is
loaded; what the user wrote is escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from pinnsolve.geometry import AbstractShape
from pinnsolve.pde.conditions import classify
from pinnsolve.pde.parts import OnPart, axes_of

if TYPE_CHECKING:
    from pinnsolve.pde.problem import Problem

WIDTH, HEIGHT, MARGIN = 220, 160, 42
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
)  # told apart by all
POINTS = 150  # of each part of a boundary


def problem_html(problem: Problem) -> str:
    """Statements in LaTeX beside the sketch, and the checks below, folded away where all passed."""
    table = problem.check()
    folded = "" if table.passed else " open"
    state = "all checks passed" if table.passed else "checks with warnings"
    return (
        "<div style='display:flex;gap:2em;align-items:center;flex-wrap:wrap'>"
        f"<div>{escape(problem._repr_latex_(), quote=False)}</div>{domain_svg(problem)}</div>"
        f"<details{folded}><summary>{state}</summary>{table._repr_html_()}</details>"
    )


def domain_svg(problem: Problem) -> str:
    """The domain in its first two coordinates: a shape by the parts of its boundary, a box by its
    sides; those with conditions are coloured, and say which when pointed at."""
    axes = [k for k, c in enumerate(problem.coordinates) if c.is_space or c.is_time][:2]
    shape = problem.shape
    if shape is not None and shape.dimension == 2 and not shape.symbols:
        axes = list(axes_of(shape, problem.coordinates))
        drawn = _parts(problem, shape, axes)
    else:
        drawn = _sides(problem, axes)
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH + 2 * MARGIN}' "
        f"height='{HEIGHT + 2 * MARGIN}' font-family='sans-serif' font-size='12'>"
        + "".join(drawn + _labels(problem, axes))
        + "</svg>"
    )


def _parts(problem: Problem, shape: AbstractShape, axes: list[int]) -> list[str]:
    said: dict[str, list[str]] = {name: [] for name in shape.parts}
    for item in problem.equations:
        if isinstance(item, OnPart):
            for name in getattr(item.where, "names", ()):
                said.setdefault(name, []).append(str(item))
    rng, drawn = np.random.default_rng(0), []
    for number, (name, part) in enumerate(shape.parts.items()):
        points = part.draw(rng.random((POINTS, shape.dimension)))
        points = points[~np.isnan(points).any(axis=1)]
        colour = COLOURS[number % len(COLOURS)]
        dots = "".join(
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='1.5'/>"
            for x, y in _pixels(problem, axes, points)
        )
        title = escape(name + "".join(f"\n{line}" for line in said[name]))
        drawn.append(f"<g fill='{colour}'><title>{title}</title>{dots}</g>")
        drawn.append(
            f"<text x='{MARGIN + 62 * (number % 4)}' y='{14 + 13 * (number // 4)}' "
            f"fill='{colour}'>{escape(name)}</text>"
        )
    return drawn


def _sides(problem: Problem, axes: list[int]) -> list[str]:
    conditions = [classify(e, problem.coordinates, problem.intervals) for e in problem.equations]
    corners = [problem.intervals[k] for k in axes]
    drawn = []
    for place, axis in enumerate(axes):
        for end in problem.intervals[axis]:
            here = [c.source for c in conditions if c.fixes(axis, end)]
            others = corners[1 - place] if len(axes) > 1 else (0.0, 1.0)
            ends = [[end, v] if place == 0 else [v, end] for v in others]
            (a, b), (c, d) = _pixels(problem, axes, np.array(ends, dtype=float))
            style = f"stroke='{COLOURS[0]}' stroke-width='4'" if here else "stroke='#888'"
            title = escape("\n".join(here) or "no condition")
            drawn.append(
                f"<line x1='{a:.0f}' y1='{b:.0f}' x2='{c:.0f}' y2='{d:.0f}' {style}>"
                f"<title>{title}</title></line>"
            )
    return drawn


def _labels(problem: Problem, axes: list[int]) -> list[str]:
    low, high = problem.intervals[axes[0]]
    bottom, name = MARGIN + HEIGHT + 18, escape(problem.coordinates[axes[0]].name)
    labels = [(MARGIN, bottom, f"{low:g}"), (MARGIN + WIDTH, bottom, f"{high:g}")]
    labels.append((MARGIN + WIDTH // 2, bottom, name))
    if len(axes) > 1:
        low, high = problem.intervals[axes[1]]
        name = escape(problem.coordinates[axes[1]].name)
        left = MARGIN - 20
        labels += [(left, MARGIN + HEIGHT, f"{low:g}"), (left, MARGIN + 8, f"{high:g}")]
        labels.append((left, MARGIN + HEIGHT // 2, name))
    return [f"<text x='{x}' y='{y}' text-anchor='middle'>{label}</text>" for x, y, label in labels]


def _pixels(problem: Problem, axes: list[int], points: np.ndarray) -> np.ndarray:
    """Points (n, 2) of the domain in the picture; of a line the second number is from 0 to 1."""
    ends = [problem.intervals[k] for k in axes] + [(0.0, 1.0)] * (2 - len(axes))
    low, high = np.array(ends, dtype=float).T
    unit = (points - low) / (high - low)
    return np.column_stack([MARGIN + WIDTH * unit[:, 0], MARGIN + HEIGHT * (1 - unit[:, 1])])
