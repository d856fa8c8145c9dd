"""Loss and gradient of the square of d^k u / dx^k against JAX: nested jvp and jet, k = 1 .. 8.

    python -m benchmarks.derivative_orders [--orders 1 2 3] [--json outputs/orders.json]

u is a tanh network of 4 layers of 50, the points are 2,000, everything is float64 on one core. Both
sides must agree to 1e-10 before they are timed. Programs of JAX that need more than 120 s to
compile or 8 GB to run are left out, and the line says so.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import pinnsolve as ps
from benchmarks import peers_jax
from benchmarks.measure import (
    Evaluation,
    Line,
    SkippedError,
    compare,
    fastest,
    one_core,
    ratio,
    save,
    show,
    table,
    text,
)
from benchmarks.ours import generated
from benchmarks.peers_jax import COMPILE_LIMIT
from pinnsolve.devices.base import ResidualBlock
from pinnsolve.pde.system import normalize
from pinnsolve.pipeline import Model, build, plan, represent

WIDTH, DEPTH, POINTS = 50, 4, 2000
BLOCKS = (0, 250, 500)  # points that JAX evaluates at once; 0: all

Function = Callable[[Any], Any]


def statement(order: int) -> ps.Problem:
    """d^k u / dx^k = 0 with k values at the left end, which make it a well-posed problem."""
    (x,) = ps.coordinates("x")
    u = ps.field("u", x)
    values = [getattr(u, "d" + "x" * k)(-1) for k in range(1, order)]
    return ps.Problem(getattr(u, "d" + "x" * order), u(-1), *values, domain={x: (-1, 1)})


def network() -> ps.MLP:
    return ps.MLP(1, 1, width=WIDTH, depth=DEPTH)


def residual(order: int, cell: ps.MLP) -> ResidualBlock:
    """The equation's block; the conditions are left out."""
    system = normalize(statement(order))
    model: Model = represent(system, cell)
    return build(system, plan(system, model), model)[0]


def nested(jax: Any, u: Function, order: int) -> Function:
    """The k-th derivative by k forward sweeps, each over the one before."""
    for _ in range(order):
        u = partial(_slope, jax, u)
    return u


def _slope(jax: Any, u: Function, x: Any) -> Any:
    return jax.jvp(u, (x,), (jax.numpy.ones_like(x),))[1]


def jet(jax: Any, u: Function, order: int) -> Function:
    """The k-th derivative by one sweep of Taylor series."""

    def derivative(x: Any) -> Any:
        series = [jax.numpy.ones_like(x)] + [jax.numpy.zeros_like(x)] * (order - 1)
        return jax.experimental.jet.jet(u, (x,), (series,))[1][-1]

    return derivative


SCHEMES = {"nested jvp": nested, "jet": jet}


class Patience:
    """Says when a scheme has become too slow to compile: a form of it was, or it is bound to be,
    as each order takes as many times longer as the one before did, or more."""

    def __init__(self) -> None:
        self.seconds: dict[str, dict[int, float]] = {}

    def ask(self, scheme: str, order: int, make: Callable[[], Evaluation]) -> Evaluation:
        past = self.seconds.setdefault(scheme, {})
        now, last, before = (past.get(order - k, 0.0) for k in range(3))
        expected = max(now, last, last**2 / before if before else 0.0)
        if expected > COMPILE_LIMIT:
            raise SkippedError(f"expected to compile for {expected:.0f} s")
        start = time.perf_counter()
        try:
            return make()
        finally:  # also where it was given up
            past[order] = max(now, time.perf_counter() - start)


def case(jax: Any, order: int, repeats: int, patience: Patience) -> list[Line]:
    cell = network()
    layout = represent(normalize(statement(order)), cell).layout
    rng = np.random.default_rng(0)
    theta, x = layout.initialize(rng), rng.uniform(-1, 1, (POINTS, 1))
    u = peers_jax.flat_perceptron(jax, [p.shape for p in layout.parameters])
    peers: dict[str, Callable[[], Evaluation]] = {}
    for scheme, derivative in SCHEMES.items():

        def loss(theta: Any, x: Any, derivative: Any = derivative) -> Any:
            return jax.numpy.mean(derivative(jax, partial(u, theta), order)(x) ** 2)

        for block in BLOCKS:
            name = f"JAX {scheme}, {f'blocks of {block}' if block else 'all points'}"
            make = partial(peers_jax.peer, jax, name, loss, theta, x, block)
            peers[name] = partial(patience.ask, scheme, order, make)
    ours = generated(partial(residual, order, cell), layout, theta, x)
    return compare(ours, peers, repeats)


def summary(cases: list[dict[str, Any]]) -> str:
    """The table: per order ours and the faster form of each scheme."""
    rows = []
    for entry in cases:
        lines = entry["lines"]
        best = [lines[0], *(fastest(lines, scheme) for scheme in SCHEMES)]
        rows.append([
            str(entry["order"]),
            *(text(row and row.milliseconds) for row in best),
            text(ratio(lines)),
            *(text(row and row.nodes, "d") for row in best),
            *(text(row and row.compile_seconds, ".1f") for row in best),
        ])  # fmt: skip
    sides = ("ours", "jvp", "jet")
    header = ["k", *(f"{s}, ms" for s in sides), "ratio", *(f"{s}, nodes" for s in sides)]
    return table([*header, *(f"{s}, s to compile" for s in sides)], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--orders", type=int, nargs="+", default=list(range(1, 9)))
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--json", type=Path, default=Path("outputs/derivative_orders.json"))
    options = parser.parse_args()
    one_core()
    jax = peers_jax.load()
    patience = Patience()
    cases: list[dict[str, Any]] = []
    for order in options.orders:
        lines = case(jax, order, options.repeats, patience)
        show(f"d^{order} u / dx^{order}, {POINTS} points", lines)
        cases.append({"order": order, "lines": lines})
    print(summary(cases))
    save(options.json, cases)


if __name__ == "__main__":
    main()
