"""Pictures of shapes: where they are, the names of their parts, normals and points.

Invariant: nothing global is touched; matplotlib is loaded when a picture is asked for.
"""

from pathlib import Path
from typing import Any

import numpy as np

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import AbstractShape, Part
from pinnsolve.geometry.measures import gauss
from pinnsolve.geometry.numbers import Array
from pinnsolve.geometry.sampling import sample, sobol_stream

# Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.")
INSIDE, POINT = "#EEF2F5", "#8A97A0"
RESOLUTION = 400
NORMALS = 6  # arrows of each part
LISTED = 28  # most parts that the legend names


def plot_domain(
    shape: AbstractShape,
    points: int = 200,
    axes: Any = None,
    path: str | Path | None = None,
    show: bool = False,
) -> Any:
    """Draw a shape: its inside, its parts by colour and name, outward normals, and points.

    Args:
        shape: on the line, in the plane or in space, without parameters.
        points: how many points of the inside are shown; in space also of each part.
        axes: matplotlib axes to draw into; new ones by default. In space they are 3D axes.
        path: where to write the figure, in the format that the suffix names.
        show: open a window (or show in the notebook), by pyplot.

    Returns:
        The axes.

    Raises:
        ProblemError: it is no shape, has more than three dimensions, or depends on a parameter:
            draw `shape.at({parameter: number})`.

    >>> import pinnsolve as ps
    >>> plate = ps.Rectangle((0, 0), (2, 1)) - ps.Disk((1, 0.5), 0.2, name="hole")
    >>> axes = ps.plot_domain(plate)
    >>> [text.get_text() for text in axes.get_legend().get_texts()]
    ['left', 'right', 'bottom', 'top', 'hole']
    """
    _check(shape)
    if axes is None:
        axes = _new_axes(shape.dimension, show)
    inner = sample(shape, points, sobol_stream(shape.dimension, 0)) if points else None
    draw = {1: _on_line, 2: _in_plane, 3: _in_space}[shape.dimension]
    draw(axes, shape, inner, points)
    handles, names = axes.get_legend_handles_labels()
    if names:
        beside = (1.16 if shape.dimension == 3 else 1.02, 1)
        axes.legend(handles[:LISTED], names[:LISTED], loc="upper left", bbox_to_anchor=beside)
    if path is not None:
        axes.figure.savefig(path, dpi=150, bbox_inches="tight")
    if show:
        from matplotlib import pyplot as plt

        plt.show()
    return axes


def _check(shape: Any) -> None:
    if not isinstance(shape, AbstractShape):
        raise ProblemError(
            "PS-E043",
            f"{type(shape).__name__} is not a shape",
            f"plot_domain({shape!r})",
            "draw shapes; a solution has its own method plot()",
        )
    if shape.dimension > 3:
        raise ProblemError(
            "PS-E043",
            f"a shape in {shape.dimension} dimensions cannot be drawn",
            f"plot_domain({shape!r})",
            "draw shapes of up to three dimensions",
        )
    if shape.symbols:
        names = ", ".join(sorted(map(str, shape.symbols)))
        raise ProblemError(
            "PS-E045",
            f"the shape depends on {names}, of which no value is known here",
            f"plot_domain({shape!r})",
            "draw shape.at({parameter: number})",
        )


def _new_axes(dimension: int, show: bool) -> Any:
    projection = "3d" if dimension == 3 else None
    size = (6.4, 1.6) if dimension == 1 else (7.2, 4.8)
    if show:
        from matplotlib import pyplot as plt

        return plt.figure(figsize=size).add_subplot(projection=projection)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    FigureCanvasAgg(figure)
    return figure.add_subplot(projection=projection)


def _style(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "linestyle": STYLES[number // len(COLOURS) % len(STYLES)],
    }


def _on_line(axes: Any, shape: AbstractShape, inner: Array | None, points: int) -> None:
    if inner is not None:
        axes.plot(inner[:, 0], np.zeros(len(inner)), "|", color=POINT)
    arrow = 0.06 * np.ptp(shape.bounds)
    for number, part in enumerate(shape.parts.values()):
        ends, _ = part.quadrature(1)
        normals = part.normals(ends)
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(ends[:, 0], np.zeros(len(ends)), "o", color=colour, label=part.name)
        axes.quiver(
            *(ends[:, 0], 0 * ends[:, 0], arrow * normals[:, 0], 0 * ends[:, 0]),
            angles="xy",
            scale_units="xy",
            scale=1,
            color=colour,
            width=0.004,
        )
    axes.margins(x=0.12)
    axes.set_yticks([])
    axes.set_xlabel("$x_1$")


def _in_plane(axes: Any, shape: AbstractShape, inner: Array | None, points: int) -> None:
    (left, right), (bottom, top) = shape.bounds
    size = np.hypot(right - left, top - bottom)
    grid = np.meshgrid(np.linspace(left, right, RESOLUTION), np.linspace(bottom, top, RESOLUTION))
    away = shape.distance(np.stack(grid, axis=-1).reshape(-1, 2)).reshape(grid[0].shape)
    axes.contourf(*grid, away, levels=[away.min() - 1, 1e-9 * size], colors=[INSIDE])
    if inner is not None:
        axes.plot(*inner.T, ".", color=POINT, markersize=2)
    for number, part in enumerate(shape.parts.values()):
        style = _style(number)
        for k, line in enumerate(_lines(part)):
            axes.plot(*line.T, **style, linewidth=2, label=None if k else part.name)
        places = _evenly(part)
        normals = min(0.06 * size, 0.12 * part.measure) * part.normals(places)
        axes.quiver(
            *places.T,
            *normals.T,
            angles="xy",
            scale_units="xy",
            scale=1,
            width=0.003,
            color=style["color"],
        )
        axes.update_datalim(places + normals)
    axes.set_aspect("equal")
    axes.margins(0.05)
    axes.autoscale_view()
    axes.set_xlabel("$x_1$")
    axes.set_ylabel("$x_2$")


def _lines(part: Part) -> list[Array]:
    """The curves of a part in the plane, each (n, 2)."""
    runs = part.shape.runs or ()
    return [
        piece.place(np.linspace(start, end, 129)[:, None])
        for index, piece in zip(part.indices, part.pieces, strict=True)
        for start, end in runs[index].exact
    ]


def _evenly(part: Part) -> Array:
    """A few points of a part in the plane, spread over it and away from corners."""
    share, _ = gauss(NORMALS)
    way = np.stack([share, np.linspace(0.02, 0.98, NORMALS)], axis=1)
    if len(part.indices) == 1:
        return part.draw(way)
    return part.draw(
        np.stack(np.meshgrid(share[[1, 4]], (np.arange(12) + 0.5) / 12), -1).reshape(-1, 2)
    )


def _in_space(axes: Any, shape: AbstractShape, inner: Array | None, points: int) -> None:
    size = np.linalg.norm(np.diff(shape.bounds)[:, 0])
    if inner is not None:
        axes.plot(*inner.T, ".", color=POINT, markersize=1)
    for number, part in enumerate(shape.parts.values()):
        places = sample(part, max(points, NORMALS), sobol_stream(3, number))
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(*places.T, ".", color=colour, markersize=3, label=part.name)
        normals = part.normals(places[:NORMALS])
        axes.quiver(*places[:NORMALS].T, *normals.T, length=0.1 * size, color=colour, linewidth=1)
    axes.set_aspect("equal")
    axes.set_xlabel("$x_1$")
    axes.set_ylabel("$x_2$")
    axes.set_zlabel("$x_3$")
