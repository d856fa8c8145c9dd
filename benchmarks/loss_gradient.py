"""Loss and gradient of five equations against JAX and torch: time, memory, share of the machine's
matrix-product rate.

    python -m benchmarks.loss_gradient [--equations Burgers KdV] [--networks 4x50] [--points 20000]
        [--precisions float64 float32] [--libraries jax torch] [--limit 30] [--full] [--json PATH]

The cases are the product of the four lists; without any of them, the default selection. On one core
and one thread, all in turn, medians. Every scheme is checked first: loss and gradient equal ours to
1e-10 in float64, 1e-3 in float32 (against our float64, which takes part, as our mixed precision
does). JAX in blocks tries the block sizes BLOCKS, the fastest takes part. A scheme is left out when
one evaluation is expected to take longer than `--limit` seconds, and the table says so; `--full`
has no limit and takes all cases.

Memory is what an evaluation needs beside parameters and points: JAX's own analysis of temporaries;
of ours arenas, tables and sums; of torch the growth of the resident size at its largest. The rate
counts layer products alone (`Case.flops`), the share is of a large square product timed in turn.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import ours, peers_jax, peers_torch
from benchmarks.cases import EQUATIONS, Case, block_size
from benchmarks.measure import (
    PATIENCE,
    Line,
    Remote,
    SkippedError,
    Worker,
    available,
    difference,
    fastest,
    in_turn,
    line,
    over,
    save,
    show,
    table,
    text,
    workers,
)

NETWORKS = ("3x20", "4x50", "5x100", "6x256")
POINTS = (2540, 20_000, 200_000)
PRECISIONS = ("float64", "float32")
BLOCKS = {"float64": (125, 250, 500), "float32": (250, 500, 1000)}
SLOWEST = 12.0  # times the seconds that the products alone take: what a peer is expected to need
LIMIT = 30.0  # seconds, for one evaluation

# What the default run measures; the peers take part unless said otherwise.
SELECTION = (
    *(Case("Burgers", *net, 20_000, p) for p in PRECISIONS for net in ((3, 20), (4, 50), (5, 100))),
    *(Case(equation, 4, 50, 20_000) for equation in ("KdV", "biharmonic", "Navier-Stokes")),
    Case("Burgers", 3, 20, 2540),
    Case("Poisson", 3, 20, 2540),
    Case("Burgers", 4, 50, 200_000),
    Case("Burgers", 6, 256, 2540),
)  # fmt: skip


class Table:
    """Measures case after case with the workers of the libraries."""

    def __init__(self, processes: Mapping[str, Worker], rounds: int, limit: float) -> None:
        self.processes, self.rounds, self.limit = processes, rounds, limit
        own = processes["pinnsolve"]
        product = own.evaluation(ours.matrix_product, "float64")
        self.rate = ours.product_rate(min(product.seconds() for _ in range(5)))

    def measure(self, case: Case) -> list[Line]:
        """Ours first, then what it is held against."""
        own = self.processes["pinnsolve"]
        for worker in self.processes.values():
            worker.forget()
        alone = case.flops / self.rate * (0.5 if case.precision == "float32" else 1.0)
        if alone > self.limit:
            return [Line.left_out("pinnsolve", f"about {alone:.0f} s for one evaluation")]
        found = [own.evaluation(ours.evaluation, case)]
        if case.precision == "float32":  # the last is what values and times are held against
            found += [own.evaluation(ours.evaluation, case, p) for p in ("mixed", "float64")]
        exact = found[-1]
        left_out: list[Line] = []
        for name, options in self._peers(case).items():
            if SLOWEST * alone > self.limit:
                reason = f"up to {SLOWEST * alone:.0f} s expected for one evaluation"
                left_out.append(Line.left_out(name, reason))
                continue
            try:
                made = _fastest_form(options)
            except SkippedError as reason:
                left_out.append(Line.left_out(name, reason))
                continue
            if made.first <= self.limit:
                found.append(made)
            else:
                reason = f"{made.first:.0f} s for one evaluation"
                left_out.append(Line.left_out(name, reason))
        product = own.evaluation(ours.matrix_product, case.precision)
        seconds = in_turn([*found, product], self.rounds, PATIENCE)
        lines = []
        for entry in found:
            error = difference((exact.loss, exact.gradient), (entry.loss, entry.gradient))
            lines.append(line(entry, error, case.precision, seconds[entry.name]))
        return [*lines, *left_out, Line(product.name, 1e3 * seconds[product.name])]

    def _peers(self, case: Case) -> dict[str, list[Any]]:
        """Names of schemes and the forms of each: functions without arguments."""
        peers: dict[str, list[Any]] = {}
        if jax := self.processes.get("jax"):
            sizes = sorted({block_size(case.points, target) for target in BLOCKS[case.precision]})
            for scheme in peers_jax.SCHEMES:
                for kind, blocks in (("all points", [0]), ("in blocks", sizes)):
                    peers[f"JAX {scheme}, {kind}"] = [
                        (jax, peers_jax.evaluation, case, scheme, block) for block in blocks
                    ]
        if torch := self.processes.get("torch"):
            peers["torch nested reverse, all points"] = [(torch, peers_torch.evaluation, case)]
        return peers


def _fastest_form(forms: Sequence[tuple[Worker, Any, *tuple[Any, ...]]]) -> Remote:
    """Of the forms that can be had; SkippedError of the last when there is none."""
    best: tuple[float, Remote] | None = None
    for number, (worker, *make) in enumerate(forms):
        try:
            made = worker.evaluation(*make)
        except SkippedError:
            if number == len(forms) - 1 and best is None:
                raise
            continue
        seconds = made.first if made.first > 1.0 else min(made.first, made.seconds(2))
        if best is None or seconds < best[0]:
            best = seconds, made
    assert best is not None
    return best[1]


# --- the tables ---------------------------------------------------------------------------------

WHOLE, BLOCKED = ("all points",), ("blocks of",)
AUTODIFF = ("JAX nested", "JAX forward over reverse")


def summary(case: Case, lines: Sequence[Line]) -> dict[str, float | None]:
    """What the tables tell of a case: ratios above 1 say that ours is faster."""
    own, product = lines[0], lines[-1]
    peers = [row for row in lines if row.name.startswith(("JAX", "torch"))]
    whole = [row for row in peers if "all points" in row.name]
    blocked = [row for row in peers if "blocks of" in row.name]
    users = [row for row in whole if row.name.startswith(("torch", "JAX nested"))]
    double = [row for row in lines[1:] if row.name == "pinnsolve, float64"]
    memory = [row.megabytes for row in whole if row.megabytes is not None]
    rate = case.flops / own.milliseconds / 1e6 if own.milliseconds else None
    machine = ours.product_rate(product.milliseconds / 1e3) / 1e9 if product.milliseconds else None
    return {
        "milliseconds": own.milliseconds,
        "torch reverse or JAX nested, whole": over(fastest(users, ""), own),
        "best whole": over(fastest(whole, ""), own),
        "best autodiff in blocks": over(fastest(blocked, *AUTODIFF), own),
        "by hand in blocks": over(fastest(blocked, "by hand"), own),
        "gflops": rate,
        "product gflops": machine,
        "share": rate / machine if rate and machine else None,
        "megabytes": own.megabytes,
        "smallest megabytes, whole": min(memory, default=None),
        "float64 over float32": over(double[0], own) if double else None,
    }


HEADER = (
    "case", "ours, ms", "peers' users", "best whole", "autodiff blocked", "by hand blocked",
    "GFLOP/s", "share of product rate", "MB", "MB, whole", "f64 / f32",
)  # fmt: skip


def overview(cases: Sequence[Mapping[str, Any]]) -> str:
    """A row a case; the columns in the middle are times of peers over ours."""
    rows = []
    for entry in cases:
        s = entry["summary"]
        share = None if s["share"] is None else 100 * s["share"]
        rows.append([
            entry["case"],
            text(s["milliseconds"]),
            text(s["torch reverse or JAX nested, whole"]),
            text(s["best whole"]),
            text(s["best autodiff in blocks"]),
            text(s["by hand in blocks"]),
            text(s["gflops"], ".1f"),
            "-" if share is None else f"{share:.0f} %",
            text(s["megabytes"], ".1f"),
            text(s["smallest megabytes, whole"], ".0f"),
            text(s["float64 over float32"]),
        ])  # fmt: skip
    return table(HEADER, rows)


def selected(options: argparse.Namespace) -> list[Case]:
    """The cases that the command line asks for."""
    o = options
    if not o.full and not any((o.equations, o.networks, o.points, o.precisions)):
        return list(SELECTION)
    cases = []
    for network in o.networks or (NETWORKS if o.full else ["4x50"]):
        depth, width = map(int, network.split("x"))
        rest = itertools.product(
            o.equations or (EQUATIONS if o.full else ["Burgers"]),
            o.points or (POINTS if o.full else [20_000]),
            o.precisions or (PRECISIONS if o.full else ["float64"]),
        )
        cases += [Case(equation, depth, width, points, p) for equation, points, p in rest]
    return cases


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--equations", nargs="+", choices=EQUATIONS)
    parser.add_argument("--networks", nargs="+", metavar="DEPTHxWIDTH")
    parser.add_argument("--points", nargs="+", type=int)
    parser.add_argument("--precisions", nargs="+", choices=PRECISIONS)
    parser.add_argument("--libraries", nargs="*", default=available("jax", "torch"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one evaluation")
    parser.add_argument("--full", action="store_true", help="all cases, no limit")
    parser.add_argument("--json", type=Path, default=Path("outputs/loss_gradient.json"))
    options = parser.parse_args()
    done: list[dict[str, Any]] = []
    with workers("pinnsolve", *options.libraries) as processes:
        measured = Table(processes, options.rounds, float("inf") if options.full else options.limit)
        for case in selected(options):
            lines = measured.measure(case)
            show(case.title, lines)
            done.append({"case": case.title, "lines": lines, "summary": summary(case, lines)})
            save(options.json, done)
    print(f"\n{overview(done)}")


if __name__ == "__main__":
    main()
