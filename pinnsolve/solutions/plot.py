"""Pictures of a solution: the fields, their errors, the convergence, the training points.

Invariant: nothing global is touched. Figures are made without pyplot, so that drawing works without
a display and leaves no figure open, unless `show` asks for a window.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import CenteredNorm, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

from pinnsolve.errors import SolutionError
from pinnsolve.pde.numeric import evaluate
from pinnsolve.solutions.comparison import Comparison, arguments_of, inside, where_known

if TYPE_CHECKING:
    from pinnsolve.solutions.solution import Solution

Array = NDArray[np.float64]
Panel = Callable[[Axes], None]

# Okabe and Ito's colours, told apart by colour-blind readers too; black is kept for totals.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442")
STYLES = ("-", "--", ":", "-.")
SIGNED_MAP, UNSIGNED_MAP, ERROR_MAP = "RdBu_r", "viridis", "magma"
RESOLUTION = 201  # points along each side of a field's picture
SCATTERED = 4000  # most points of one set that are drawn
PROFILES = 5
FEW = 3  # coordinates held at one number that a title names one by one
LABEL_WIDTH = 34


def plot(
    solution: "Solution",
    reference: object = None,
    axes: Any = None,
    path: str | Path | None = None,
    show: bool = False,
) -> NDArray[Any]:
    """Draw a solution: one row for each field, and a row for the training.

    A field has its values and, beside them, the error where a reference is known, else profiles
    (for one coordinate: the first derivative). Fields of more than two coordinates are cut: at the
    final time and in the middle of the third coordinate and further ones. Errors at scattered
    points are drawn where they are, or on the cut where the reference has a formula, `exact`.

    Args:
        solution: what to draw.
        reference: as for `Solution.error`; the problem's exact solution by default.
        axes: matplotlib axes to draw into, one for each panel in the order of the result; fewer
            axes draw the first panels only.
        path: where to write the figure, in the format that the suffix names.
        show: open a window (or show in the notebook), by pyplot.

    Returns:
        Array of matplotlib axes, (number of fields + 1, 2); the given ones where axes are given.

    Raises:
        SolutionError: a reference that does not fit, or more axes than panels.
    """
    panels = _panels(solution, reference)
    rows = len(panels) // 2
    if axes is None:
        axes = _figure(rows, show).subplots(rows, 2, squeeze=False)
    axes = np.asarray(axes, dtype=object)
    if axes.size > len(panels):
        raise SolutionError(f"{axes.size} axes given, but there are {len(panels)} panels to draw")
    for panel, ax in zip(panels, axes.flat, strict=False):
        panel(ax)
    if path is not None:
        axes.flat[0].figure.savefig(path, dpi=150)
    if show:
        import matplotlib.pyplot as plt

        plt.show()
    return axes


def _figure(rows: int, show: bool) -> Figure:
    size = (11.0, 3.7 * rows)
    if show:
        import matplotlib.pyplot as plt

        return plt.figure(figsize=size, layout="constrained")
    return Figure(figsize=size, layout="constrained")


def _panels(solution: "Solution", reference: object) -> list[Panel]:
    known = reference is not None or solution.problem.exact is not None
    compared = solution.compare(reference) if known else {}
    formulas = getattr(reference, "exact", None) or solution.problem.exact or {}
    panels: list[Panel] = []
    for name in solution.fields:
        cut = _cut(solution, name)
        panels.append(lambda ax, cut=cut: _draw_field(ax, cut))
        if name in compared:
            error = _error_on_cut(cut, compared[name], formulas.get(name))
            whole = compared[name].error
            panels.append(lambda ax, cut=cut, e=error, w=whole: _draw_error(ax, cut, *e, w))
        else:
            panels.append(lambda ax, cut=cut: _draw_profiles(ax, cut))
    panels.append(lambda ax: _draw_convergence(ax, solution))
    panels.append(lambda ax: _draw_points(ax, solution))
    return panels


@dataclass(frozen=True, eq=False)
class Cut:
    """A field on a grid of the one or two coordinates that are drawn, the others fixed.

    Attributes:
        name: of the field.
        axes: the coordinates drawn, horizontal first -> their points (n,).
        fixed: the other coordinates -> where they are held.
        values: (n,) or (horizontal, vertical).
        aspect: "equal" where lengths are compared with lengths, else "auto".
        evaluate: values of the field, by name of each coordinate.
    """

    name: str
    axes: dict[str, Array]
    fixed: dict[str, float]
    values: Array
    aspect: Literal["auto", "equal"]
    evaluate: Callable[..., Array]

    @property
    def places(self) -> dict[str, Array]:
        """All coordinates on the grid, by name."""
        grid = np.meshgrid(*self.axes.values(), indexing="ij")
        held = {name: np.full(grid[0].shape, value) for name, value in self.fixed.items()}
        return dict(zip(self.axes, grid, strict=True)) | held

    @property
    def title(self) -> str:
        return f"{self.name} at {_held(self.fixed)}" if self.fixed else self.name


def _cut(solution: "Solution", name: str) -> Cut:
    arguments = arguments_of(solution.problem)[name]
    intervals = {c.name: interval for c, interval in solution.problem.domain}
    time = solution.problem.time
    numbers = {number.name: number.middle for number in solution.problem.parameters}
    drawn = _drawn(arguments, time, numbers)
    middle = {a: sum(interval) / 2 for a, interval in intervals.items()} | numbers
    fixed = {
        a: intervals[a][1] if time is not None and a == time.name else middle[a]
        for a in arguments
        if a not in drawn
    }
    axes = {a: np.linspace(*intervals[a], RESOLUTION) for a in drawn}
    field = solution[name]
    space = [a for a in drawn if (time is None or a != time.name) and a not in numbers]
    aspect = _aspect(space, intervals)
    empty = Cut(name, axes, fixed, np.empty(0), aspect, field)
    known = inside(solution.problem, name, empty.places)
    return replace(empty, values=where_known(known, empty.places, lambda at: field(**at)))


def _held(fixed: Mapping[str, float]) -> str:
    """Where coordinates are held; many at the same number by the first and the last."""
    by_value: dict[float, list[str]] = {}
    for name, value in fixed.items():
        by_value.setdefault(value, []).append(name)
    groups = [
        f"{names[0]}, ..., {names[-1]} = {value:.4g}"
        if len(names) > FEW
        else ", ".join(f"{name} = {value:.4g}" for name in names)
        for value, names in by_value.items()
    ]
    return ", ".join(groups)


def _drawn(names: tuple[str, ...], time: Any, numbers: Collection[str]) -> list[str]:
    """The one or two coordinates to draw, horizontal first.

    As papers have it: time to the right and space upwards, or the first two of space. A parameter,
    one of `numbers`, only beside a single coordinate.
    """
    times = [name for name in names if time is not None and name == time.name]
    space = [name for name in names if name not in times and name not in numbers]
    if len(space) > 1:
        return space[:2]
    return [*times, *space, *(name for name in names if name in numbers)][:2]


def _aspect(
    space: list[str], intervals: Mapping[str, tuple[float, float]]
) -> Literal["auto", "equal"]:
    lengths = [intervals[name][1] - intervals[name][0] for name in space]
    # A long channel would be a thin line.
    return "equal" if len(space) == 2 and max(lengths) <= 2.5 * min(lengths) else "auto"


def _draw_field(ax: Axes, cut: Cut) -> None:
    ax.set_title(cut.title)
    if cut.values.ndim == 1:
        ((horizontal, points),) = cut.axes.items()
        ax.plot(points, cut.values, color=COLOURS[0])
        ax.set_xlabel(horizontal)
        ax.set_ylabel(cut.name)
        ax.grid(alpha=0.3)
        return
    signed = np.nanmin(cut.values) < 0 < np.nanmax(cut.values)
    norm = CenteredNorm() if signed else Normalize()
    _draw_map(ax, cut.axes, cut.values, SIGNED_MAP if signed else UNSIGNED_MAP, norm)
    ax.set_aspect(cut.aspect)


def _draw_map(
    ax: Axes, axes: Mapping[str, Array], values: Array, colours: str, norm: Normalize
) -> None:
    (horizontal, x), (vertical, y) = axes.items()
    # Shading between points would spread the holes of a domain.
    shading = "nearest" if np.isnan(values).any() else "gouraud"
    shown = np.ma.masked_invalid(values.T)
    mesh = ax.pcolormesh(x, y, shown, cmap=colours, norm=norm, shading=shading, rasterized=True)
    _colour_bar(ax, mesh)
    ax.set_xlabel(horizontal)
    ax.set_ylabel(vertical)


def _colour_bar(ax: Axes, mapped: ScalarMappable) -> None:
    figure = ax.get_figure()
    if figure is not None:
        figure.colorbar(mapped, ax=ax)


def _draw_error(
    ax: Axes,
    cut: Cut,
    fixed: Mapping[str, float],
    axes: Mapping[str, Array],
    error: Array,
    whole: float,
) -> None:
    place = f", {_held(fixed)}" if fixed else ""
    ax.set_title(f"|error of {cut.name}|{place} (relative L2 {whole:.1e})")
    if len(axes) == 1:
        ((horizontal, points),) = axes.items()
        ax.plot(points, error, ".", color=COLOURS[1], markersize=3)
        ax.set_xlabel(horizontal)
        ax.grid(alpha=0.3)
    elif error.ndim == 2:
        _draw_map(ax, axes, error, ERROR_MAP, Normalize(vmin=0))
        ax.set_aspect(cut.aspect)
    else:
        (horizontal, x), (vertical, y) = axes.items()
        dots = ax.scatter(x, y, 4, error, cmap=ERROR_MAP, norm=Normalize(vmin=0), rasterized=True)
        _colour_bar(ax, dots)
        ax.set_xlabel(horizontal)
        ax.set_ylabel(vertical)


def _error_on_cut(
    cut: Cut, comparison: Comparison, formula: Any
) -> tuple[dict[str, float], dict[str, Array], Array]:
    """Where the error is cut, the coordinates drawn, and |error| there.

    On a grid the cut is the grid plane nearest to that of the field. Scattered points are all kept,
    but with a formula the cut is that of the field.
    """
    error = np.abs(comparison.computed - comparison.expected)
    axes = _grid_axes(comparison)
    if axes is None and formula is not None:
        exact = where_known(~np.isnan(cut.values), cut.places, lambda at: evaluate(formula, at))
        return cut.fixed, cut.axes, np.abs(cut.values - exact)
    if axes is None:
        flat = {a: np.broadcast_to(comparison.coordinates[a], error.shape) for a in cut.axes}
        return {}, {a: points.ravel() for a, points in flat.items()}, error.ravel()
    names = list(axes)
    fixed: dict[str, float] = {}
    for name in [n for n in names if n not in cut.axes]:
        # A reference may have axes that the field does not depend on; any plane will do there.
        wanted = cut.fixed.get(name, float(axes[name][0]))
        index = int(np.argmin(np.abs(axes[name] - wanted)))
        error = np.take(error, index, axis=names.index(name))
        names.remove(name)
        if name in cut.fixed:
            fixed[name] = float(axes[name][index])
    drawn = {name: axes[name] for name in cut.axes}
    return fixed, drawn, np.transpose(error, [names.index(name) for name in drawn])


def _grid_axes(comparison: Comparison) -> dict[str, Array] | None:
    """The points along each coordinate where they make a grid, else None."""
    coordinates, shape = comparison.coordinates, comparison.expected.shape
    if len(shape) != len(coordinates):
        return None
    axes = {}
    for axis, (name, array) in enumerate(coordinates.items()):
        full = np.broadcast_to(array, shape)
        axes[name] = np.moveaxis(full, axis, 0).reshape(shape[axis], -1)[:, 0]
        along = axes[name].reshape([-1 if a == axis else 1 for a in range(len(shape))])
        if not np.array_equal(full, np.broadcast_to(along, shape)):
            return None
    return axes


def _draw_profiles(ax: Axes, cut: Cut) -> None:
    """Lines along the last coordinate drawn, at a few places of the first."""
    names = list(cut.axes)
    if len(names) == 1:
        (name,) = names
        ax.set_title(f"d{cut.name}/d{name}")
        ax.plot(cut.axes[name], getattr(cut.evaluate, f"d{name}")(cut.axes[name]), color=COLOURS[0])
    else:
        name, across = names[1], names[0]
        ax.set_title(f"profiles of {cut.title}")
        places = np.linspace(0, RESOLUTION - 1, PROFILES, dtype=int)
        for index, colour in zip(places, COLOURS, strict=False):
            label = f"{across} = {cut.axes[across][index]:.3g}"
            ax.plot(cut.axes[name], cut.values[index], color=colour, label=label)
        ax.legend(fontsize="small")
        ax.set_ylabel(cut.name)
    ax.set_xlabel(name)
    ax.grid(alpha=0.3)


def _draw_convergence(ax: Axes, solution: "Solution") -> None:
    history = solution.history
    seconds = history.column("seconds")
    ax.set_title("convergence")
    ax.set_xlabel("seconds of training")
    if any(record.loss > 0 for record in history):
        ax.set_yscale("log", nonpositive="mask")
    ax.plot(seconds, history.column("loss"), color="black", linewidth=1.6, label="loss")
    for index, losses in enumerate(history.losses.T):
        # Colours repeat after seven equations; the line style then tells them apart.
        style = STYLES[index // len(COLOURS) % len(STYLES)]
        label = _label(solution.residual_names[index])
        colour = COLOURS[index % len(COLOURS)]
        ax.plot(seconds, losses, style, color=colour, linewidth=1.0, label=label)
    held_out = history.column("held_out")
    measured = np.isfinite(held_out)
    if measured.any():
        marked = {"color": "black", "linestyle": ":", "marker": ".", "linewidth": 1.0}
        ax.plot(seconds[measured], held_out[measured], label="held-out residual (rms)", **marked)
    for index, (name, errors) in enumerate(history.errors.items()):
        colour = COLOURS[index % len(COLOURS)]
        ax.plot(seconds, errors, color=colour, linewidth=2.2, label=_label(f"error of {name}"))
    for earlier, later in zip(history.records, history.records[1:], strict=False):
        if earlier.stage != later.stage:
            ax.axvline(later.seconds, color="grey", linewidth=0.8)
            ax.annotate(
                later.stage, (later.seconds, 1.0), (2, -2), xycoords=("data", "axes fraction"),
                textcoords="offset points", rotation=90, va="top", fontsize="x-small", color="grey",
            )  # fmt: skip
    ax.grid(alpha=0.3)
    _legend_below(ax)


def _draw_points(ax: Axes, solution: "Solution") -> None:
    coordinates = solution.coordinates
    numbers = [number.name for number in solution.problem.parameters]
    drawn = _drawn(coordinates, solution.problem.time, numbers)
    ax.set_title("training points" + (", projected" if len(drawn) < len(coordinates) else ""))
    for index, (label, points) in enumerate(solution.points.items()):
        kept = points[:: max(1, -(-len(points) // SCATTERED))]
        x = kept[:, coordinates.index(drawn[0])]
        # With one coordinate every set gets a line of its own.
        y = np.full(len(x), index) if len(drawn) == 1 else kept[:, coordinates.index(drawn[1])]
        size = 4 if len(points) > 200 else 14
        colour = COLOURS[index % len(COLOURS)]
        ax.scatter(
            x, y, size, color=colour, linewidths=0, label=_label(label), rasterized=True,
            zorder=2 + index, clip_on=False,
        )  # fmt: skip
    ax.set_xlabel(drawn[0])
    if len(drawn) == 1:
        ax.set_yticks([])
        ax.set_ylim(-1.0, len(solution.points))
    else:
        ax.set_ylabel(drawn[1])
    if solution.points:
        _legend_below(ax)


def _legend_below(ax: Axes) -> None:
    # Outside, since equations have long names and many lines leave no free corner.
    ax.legend(
        fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False,
        markerscale=1.5,
    )  # fmt: skip


def _label(text: str) -> str:
    """Text that matplotlib shows as it is: short, no mathematics, not hidden."""
    short = text if len(text) <= LABEL_WIDTH else text[: LABEL_WIDTH - 1] + "…"
    return short.replace("$", r"\$").lstrip("_") or "?"
