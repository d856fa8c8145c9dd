"""The accuracy of every problem of the gallery: seeds 0, 1 and 2, one core a run.

    python -m benchmarks.accuracy [--only burgers heat] [--seeds 0] [--processes 2]

Each run is a process of its own, as a user would start it, and one JSON file in benchmarks/records;
what has its file, for the same time and the same text of the problem, is not run again: with
`--output` and `--docs` elsewhere, all is. Then the table of docs/accuracy.md and its figures are
written. `--budget` multiplies all times.
"""

from __future__ import annotations

import argparse
import ast
import signal
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.curves import Curve, Panel, draw
from benchmarks.measure import table, text
from benchmarks.runs import ROOT, Job, add_arguments, end, publish_between, records, run_all

SEEDS = (0, 1, 2)
MARGIN = 900.0  # seconds that a run may take beside its training
PANELS = 12  # in one figure

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Row:
    """A line of the table.

    Attributes:
        title: of the problem.
        file: its file in problems/, without suffix.
        seconds: training time.
        first, goal: errors to reach.
        best: the smallest error published, None where none was found.
        source: where it is from, and the hardware.
        fields: those that count, or numbers to be found, of which the worst is compared; all by
            default. The error of a vector of fields is not larger than that of its worst.
    """

    title: str
    file: str
    seconds: float
    first: float
    goal: float
    best: float | None = None
    source: str = ""
    fields: tuple[str, ...] = ()


KIYANI = "Kiyani et al., arXiv 2501.16371, GPU"
WEBB = "Webb et al., arXiv 2607.02194, H100"
DANGEL = "Dangel et al., arXiv 2405.15603, RTX 6000"
GUZMAN = "Guzmán-Cordero et al., arXiv 2505.12149, GPU"
JAXPI = "jaxpi, arXiv 2308.08468, GPU"

RAISSI = "Raissi et al., JCP 378 (2019)"

ROWS = (
    Row("Burgers, nu = 0.01/pi", "burgers", 60, 1e-6, 1e-8, 1.62e-8, f"{KIYANI}, 2,878 s"),
    Row("Allen-Cahn, D = 1e-4, k = 5", "allen_cahn", 60, 1e-5, 5e-7, 9.4e-7, KIYANI),
    Row("Korteweg-de Vries, 0.022^2", "kdv", 240, 1e-5, 1e-8, 8.2e-11, f"{WEBB}, 1,210 s"),
    Row("Kuramoto-Sivashinsky, regular", "kuramoto_sivashinsky", 240, 1e-4, 1e-6),
    Row(
        "Kuramoto-Sivashinsky, chaotic", "kuramoto_sivashinsky_chaotic", 1200, 1e-3, 1e-5, 6.5e-4,
        f"{KIYANI}, 130,222 s",
    ),
    Row(
        "Schrödinger, nonlinear", "schrodinger", 300, 1e-4, 1e-6, 2.0e-3,
        "Raissi et al., JCP 378 (2019)",
    ),
    Row(
        "Helmholtz, (1, 4)", "helmholtz", 30, 1e-7, 1e-9, 2e-9,
        "Jnini et al., arXiv 2604.05230, GPU, 540 s",
    ),
    Row("Helmholtz, (6, 6)", "helmholtz_6_6", 200, 1e-5, 1e-8),
    Row("wave, two frequencies", "wave", 60, 1e-5, 1e-9, 1.2e-15, f"{WEBB}, 635 s"),
    Row("advection, speed 80", "advection", 10, 1e-4, 1e-7, 6.9e-4, JAXPI),
    Row("advection, speed 100", "advection_100", 10, 1e-4, 1e-7),
    Row("Poisson, 2D", "poisson", 20, 1e-8, 1e-10, 6.1e-8, DANGEL),
    Row("Poisson, 5D", "poisson_5d", 60, 1e-6, 1e-9, 3.0e-16, f"{WEBB}, 407 s"),
    Row("Poisson, 10D", "poisson_10d", 60, 1e-4, 1e-6, 6.0e-12, f"{WEBB}, 3,240 s"),
    Row("Poisson, 100D", "poisson_100d", 100, 3e-3, 1e-3, 3.6e-3, GUZMAN),
    Row("heat, 1D", "heat", 15, 1e-8, 1e-10, 2.8e-8, DANGEL),
    Row("heat, 4D", "heat_4d", 30, 1e-5, 5e-7, 1.3e-6, DANGEL),
    Row("Kovasznay flow, Re = 40", "kovasznay", 60, 1e-7, 1e-9),
    Row(
        "Taylor-Green vortex, nu = 0.01", "taylor_green", 200, 1e-6, 1e-8, 2e-2, "MindFlow, Ascend"
    ),
    Row("lid-driven cavity, Re = 100", "cavity", 90, 1e-3, 1e-4, 1.13e-4, f"{WEBB}, 403 s"),
    Row("lid-driven cavity, Re = 400", "cavity_400", 90, 5e-3, 1e-3),
    Row("lid-driven cavity, Re = 1,000", "cavity_1000", 480, 1e-2, 1e-3),
    Row("flow past a cylinder, drag", "cylinder", 60, 1e-2, 2e-3, None, "", ("drag",)),
    Row("Beltrami flow, 3D and time", "beltrami", 200, 1e-4, 1e-6),
    Row("biharmonic plate", "biharmonic", 20, 1e-6, 1e-9),
    Row("elastic plate", "elastic_plate", 20, 1e-5, 1e-7),
    Row("heat, on a ring", "heat_ring", 15, 1e-7, 1e-9),
    Row(
        "Laplace, square without discs", "laplace_discs", 60, 1e-4, 1e-6, 8.2e-3, "PINNacle 2d-C"
    ),
    Row("Poisson, L-shape", "poisson_l_shape", 40, 1e-3, 1e-4),
    Row("disc, flux given", "robin_disc", 15, 1e-6, 1e-9),
    Row("cut rectangle, fluxes given", "flux_csg", 20, 1e-6, 1e-9),
    Row("two materials", "two_materials", 20, 1e-5, 1e-8),
    Row("Poisson, ball without a box", "poisson_ball_minus_box", 40, 1e-4, 1e-6),
    Row("eigenvalue of a disc", "disk_eigenvalue", 20, 1e-6, 1e-8, None, "", ("eigenvalue",)),
    Row("Kovasznay flow, Re = 20 to 100", "kovasznay_parametric", 40, 1e-4, 1e-6),
    Row(
        "inverse Burgers, both coefficients", "inverse_burgers", 20, 1e-4, 1e-6, None, RAISSI,
        ("lambda1", "lambda2"),
    ),
    Row(
        "inverse Burgers, 1 % noise", "inverse_burgers_noise", 20, 1e-2, 3e-3, None, RAISSI,
        ("lambda1", "lambda2"),
    ),
    Row(
        "Lorenz, three coefficients", "lorenz", 20, 1e-4, 1e-7, None, "", ("sigma", "rho", "beta")
    ),
    Row("reaction, rate and diffusivity", "reaction_inverse", 30, 1e-2, 1e-4, None, "", ("k", "D")),
    Row("a diffusivity that varies", "diffusivity", 20, 1e-2, 1e-6, None, "", ("k",)),
)  # fmt: skip


def jobs(
    rows: Sequence[Row],
    budget: float,
    folder: Path,
    problems: Path,
    seeds: Sequence[int] | None = None,
) -> list[Job]:
    """All rows with the first seed, then with the next, so that a table is there early."""
    return [
        _job(row, seed, row.seconds * budget, folder, problems)
        for seed in (SEEDS if seeds is None else seeds)
        for row in rows
    ]


def _job(row: Row, seed: int, seconds: float, folder: Path, problems: Path) -> Job:
    name = f"{row.file}-{seconds:g}s-{seed}"
    path = problems / f"{row.file}.py"
    options = ["--json", "--seed", str(seed), "--seconds", f"{seconds:g}"]
    key = {"problem": row.file, "seed": seed, "allowed": seconds, "text": text_hash(path)}
    command = [str(path), *options, "--output", str(folder.resolve() / name)]
    return Job(name, command, key, 2 * seconds + MARGIN)


def text_hash(path: Path) -> str:
    """Of a problem file and of the problem files that it imports from `problems`; how references
    are computed does not change a run."""
    source = path.read_text()
    names = [
        alias.name
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == "problems"
        for alias in node.names
    ]
    whole = source + "".join(text_hash(path.with_name(f"{name}.py")) for name in sorted(names))
    return sha256(whole.encode()).hexdigest()[:16]


def overview(rows: Sequence[Row], found: Sequence[Record]) -> str:
    """The table, in markdown, of the rows that have records."""
    header = [
        "problem", "error, worst seed", "first target", "goal", "s to first target", "seconds",
        "steps",
        "parameters", "reference (its error)", "best published",
    ]  # fmt: skip
    lines = [
        _line(row, here)
        for row in rows
        if (here := [record for record in found if record["problem"] == row.file])
    ]
    return f"{table(header, lines)}\n\n{_measured_on(found)}"


def _line(row: Row, found: Sequence[Record]) -> list[str]:
    done = [r for r in found if "crash" not in r]
    crashed = ", ".join(f"seed {r['seed']} crashed" for r in found if "crash" in r)
    best = "-" if row.best is None else f"{row.best:.1e} ({row.source})"
    if not done:
        return [row.title, crashed, *[f"{target:.0e}" for target in (row.first, row.goal)],
                *["-"] * 5, best]  # fmt: skip
    fields = {name: max(_value(r["errors"][name]) for r in done) for name in done[0]["errors"]}
    worst = max(merit(r["errors"], row.fields) for r in done)
    few = f"seeds {', '.join(str(r['seed']) for r in done)} only" if len(done) < len(SEEDS) else ""
    told = ", ".join(f"{name} {error:.1e}" for name, error in fields.items())
    times = [reached(row, r["curve"], row.first) for r in done]
    middle = {
        key: statistics.median(r[key] for r in done) for key in ("seconds", "steps", "parameters")
    }
    return [
        row.title,
        "; ".join(filter(None, [told, few, crashed])),
        *(f"{t:.0e} {'met' if worst <= t else 'missed'}" for t in (row.first, row.goal)),
        "-" if None in times else f"{max(t for t in times if t is not None):.0f}",
        text(middle["seconds"], ".0f"),
        *(f"{middle[key]:,.0f}" for key in ("steps", "parameters")),
        f"{done[0]['reference']} ({done[0]['reference_error']:.0e})",
        best,
    ]


def merit(errors: Mapping[str, float | None], fields: Sequence[str] = ()) -> float:
    """The worst error of the fields that count, by default all."""
    return max(_value(errors[name]) for name in fields or errors)


def _value(error: float | None) -> float:
    """Infinite where an error is not finite."""
    return np.inf if error is None or np.isnan(error) else error


def merits(curve: Mapping[str, Any], fields: Sequence[str] = ()) -> list[float]:
    """The same at each time of a curve; infinite where what counts was not measured over time."""
    if not set(fields) <= curve["errors"].keys():
        return [np.inf] * len(curve["seconds"])
    names, columns = curve["errors"].keys(), curve["errors"].values()
    return [
        merit(dict(zip(names, look, strict=True)), fields) for look in zip(*columns, strict=True)
    ]


def reached(row: Row, curve: Mapping[str, Any], target: float) -> float | None:
    """When the error that counts was first at most `target`, of windows in the last one; None when
    it never was."""
    looks = zip(curve["seconds"], curve["window"], merits(curve, row.fields), strict=True)
    last = max(curve["window"])
    return next((s for s, window, error in looks if window == last and error <= target), None)


def _measured_on(found: Sequence[Record]) -> str:
    """Where the numbers are from, all of it."""
    machines = {f"{r['machine']['processor']}, one core a run" for r in found}
    versions = {r["version"] for r in found}
    return f"Measured on {'; '.join(sorted(machines))}. pinnsolve {', '.join(sorted(versions))}."


def panels(rows: Sequence[Row], found: Sequence[Record]) -> list[Panel]:
    """Errors over time of each row with a run: a curve a seed, and what is to be reached."""
    drawn = []
    for row in rows:
        done = [r for r in found if r["problem"] == row.file and "crash" not in r]
        curves = [
            Curve(f"seed {r['seed']}", r["curve"]["seconds"], over_time)
            for r in done
            if np.isfinite(over_time := merits(r["curve"], row.fields)).any()
        ]
        levels = {"first target": row.first, "goal": row.goal}
        if row.best is not None:
            levels["best published"] = row.best
        if curves:
            drawn.append(Panel(row.title, curves, levels))
    return drawn


def publish(rows: Sequence[Row], found: Sequence[Record], docs: Path) -> None:
    """Write table and figures between the markers in accuracy.md."""
    drawn = panels(rows, found)
    figures = {
        f"accuracy-{number}": draw(drawn[start : start + PANELS])
        for number, start in enumerate(range(0, len(drawn), PANELS), 1)
    }
    publish_between(docs / "accuracy.md", "table", overview(rows, found), figures)


def main(arguments: Sequence[str] | None = None, rows: Sequence[Row] = ROWS) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [row.file for row in rows]
    parser.add_argument("--budget", type=float, default=1.0, help="factor on all training times")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, choices=SEEDS, metavar="SEED")
    add_arguments(parser, "accuracy", "accuracy.md")
    parser.add_argument("--problems", type=Path, default=ROOT / "problems", help="folder of files")
    options = parser.parse_args(arguments)
    some = [row for row in rows if row.file in options.only]
    place = options.budget, options.output, options.problems
    chosen, whole = jobs(some, *place, options.seeds), jobs(rows, *place)
    run_all(chosen, options.output, options.processes)
    found = records(whole, options.output)  # those of earlier calls are in the table, too
    print(overview(rows, found))
    publish(rows, found, options.docs)
    end(chosen, options.output)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended; run again to go on"))
    main()
