"""The figure of the tables: how many times faster than each peer, and errors over time.

    python -m benchmarks.figure [--folder outputs]

Reads loss_gradient.json and time_to_error.json of the folder, what there is, and writes
benchmarks.png there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

PEERS = {  # keys of a case's summary
    "torch reverse or JAX nested, whole": "#b2182b",
    "best whole": "#ef8a62",
    "best autodiff in blocks": "#67a9cf",
    "by hand in blocks": "#2166ac",
}
COLOURS = {"pinnsolve": "black", "deepxde-pytorch": "#b2182b", "deepxde-jax": "#2166ac"}


def draw(cases: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]) -> Figure:
    """Ratios as bars on the left, one set a case; to the right one plot of errors a problem."""
    compared = [case for case in cases if any(case["summary"][name] for name in PEERS)]
    problems = list(dict.fromkeys(run["problem"] for run in runs))
    columns = bool(compared) + bool(problems)
    height = max(2.0 + 0.55 * len(compared), 2.6 * len(problems), 3.0)
    figure = plt.figure(figsize=(7.5 * max(columns, 1), height), layout="constrained")
    parts = list(figure.subfigures(1, max(columns, 1), squeeze=False)[0])
    if compared:
        ratios(parts.pop(0).subplots(), compared)
    if problems:
        for problem, axes in zip(
            problems, parts[0].subplots(len(problems), squeeze=False)[:, 0], strict=True
        ):
            errors(axes, problem, [run for run in runs if run["problem"] == problem])
    return figure


def ratios(axes: Axes, cases: Sequence[Mapping[str, Any]]) -> None:
    """Time of the peer over ours; right of the line ours is faster."""
    places = np.arange(len(cases))[::-1]
    thickness = 0.8 / len(PEERS)
    for number, (name, colour) in enumerate(PEERS.items()):
        values = np.array([case["summary"][name] or np.nan for case in cases])
        offset = (len(PEERS) / 2 - number - 0.5) * thickness
        bars = axes.barh(
            places + offset, values - 1, 0.9 * thickness, left=1, color=colour, label=name
        )
        labels = ["" if np.isnan(value) else f"{value:.1f}" for value in values]
        axes.bar_label(bars, labels, padding=2, fontsize=7)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.margins(x=0.1, y=0.01)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(ScalarFormatter())
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(places, [case["case"].replace(" points", "") for case in cases], fontsize=8)
    axes.set_xlabel("loss and gradient, one thread: time of the peer / time of pinnsolve")
    figure_legend = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 2}
    axes.legend(fontsize=8, frameon=False, **figure_legend)
    axes.spines[["top", "right"]].set_visible(False)


def errors(axes: Axes, problem: str, runs: Sequence[Mapping[str, Any]]) -> None:
    """Relative L2 errors over seconds."""
    for run in runs:
        if run["curve"]:
            seconds, error, _ = zip(*run["curve"], strict=True)
            axes.loglog(seconds, error, color=COLOURS[run["solver"]], label=run["solver"])
    axes.set(title=problem, ylabel="relative L2 error", xlabel="seconds")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def read(path: Path) -> list[dict[str, Any]]:
    return json.loads(path.read_text())["cases"] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("outputs"))
    folder = parser.parse_args().folder
    figure = draw(read(folder / "loss_gradient.json"), read(folder / "time_to_error.json"))
    figure.savefig(folder / "benchmarks.png", dpi=150)
    print(folder / "benchmarks.png")


if __name__ == "__main__":
    main()
