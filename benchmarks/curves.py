"""Small multiples of errors over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLUMNS = 4
# Okabe and Ito's colours, told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
STYLES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Curve:
    """Errors at times; `ending` is a mark at the last point, such as "x" where a run failed."""

    label: str
    seconds: Sequence[float]
    errors: Sequence[float]
    ending: str = ""


@dataclass(frozen=True)
class Panel:
    """Curves in one pair of axes, and levels to compare with: label -> error."""

    title: str
    curves: Sequence[Curve]
    levels: dict[str, float]


def draw(
    panels: Sequence[Panel],
    columns: int = COLUMNS,
    width: float = 3.4,
    logarithmic: bool = False,
) -> Figure:
    """One plot a panel; curves of one label look the same in all, and one legend tells them.

    Errors are on a logarithmic axis, and times too where `logarithmic`.
    """
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(width * columns, 0.8 * width * rows + 0.5), layout="constrained")
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    labels = list(dict.fromkeys(curve.label for panel in panels for curve in panel.curves))
    levels = list(dict.fromkeys(name for panel in panels for name in panel.levels))
    handles = {}
    for panel, ax in zip(panels, axes, strict=False):
        handles |= _draw_panel(ax, panel, labels, levels)
        if logarithmic:
            ax.set_xscale("log", nonpositive="mask")
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=6, fontsize=8,
        frameon=False,
    )  # fmt: skip
    return figure


def _draw_panel(ax: Axes, panel: Panel, labels: list[str], levels: list[str]) -> dict[str, object]:
    """Draw, and give label -> what stands for it in a legend."""
    handles: dict[str, object] = {}
    for curve in panel.curves:
        index = labels.index(curve.label)
        seconds, errors = np.array(curve.seconds), np.array(curve.errors, dtype=float)
        shown = np.isfinite(errors) & (errors > 0)
        (handles[curve.label],) = ax.plot(
            seconds[shown], errors[shown], STYLES[index // len(COLOURS) % len(STYLES)],
            color=COLOURS[index % len(COLOURS)], linewidth=1.2,
        )  # fmt: skip
        if curve.ending and shown.any():
            ax.plot(
                seconds[shown][-1], errors[shown][-1], curve.ending,
                color=COLOURS[index % len(COLOURS)], markersize=7,
            )  # fmt: skip
    for name, value in panel.levels.items():
        style = STYLES[1:][levels.index(name) % 3]
        handles[name] = ax.axhline(value, color="grey", linestyle=style, linewidth=0.9)
    ax.set_yscale("log")
    ax.set_title(panel.title, fontsize=9)
    ax.set_xlabel("seconds of training", fontsize=8)
    ax.set_ylabel("relative L2 error", fontsize=8)
    ax.tick_params(labelsize=7)
    ax.grid(alpha=0.3)
    ax.spines[["top", "right"]].set_visible(False)
    return handles
