"""One damped Gauss-Newton step of the Burgers residual: J'J, J'r, Cholesky factor and solve.

    python -m benchmarks.gauss_newton [--networks 3x20 3x36] [--points 20000] [--threads 1 2]
        [--libraries jax] [--rounds 5] [--json PATH]

JAX makes rows of the Jacobian by vmap(grad) of the residual at a point, with derivatives along
coordinates by nested forward mode and by hand; all rows at once, and in a scan over blocks of
points that adds up J'J, as an expert would write it; the fastest size of block takes part.
Everything runs in turn, medians. Checked first, each to 1e-10 of its largest entry: J'J times a
vector, J'r, and the step.

The share is the time of one symmetric rank update of J alone (dsyrk of a matrix of that size that
lies in memory, by as many threads) over the time of the whole step. Memory is what a step needs
beside points and parameters, J'J included: JAX's own analysis of temporaries; of ours what Python's
tracemalloc sees at its largest, and the arenas of the kernels.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import ours, peers_jax
from benchmarks.cases import Case, block_size, residuals
from benchmarks.measure import (
    MEMORY_LIMIT,
    Array,
    Evaluation,
    Line,
    Remote,
    SkippedError,
    Worker,
    available,
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

NETWORKS = ("3x20", "3x36")  # 921 and 2,809 parameters
BLOCKS = (250, 1000, 2500)
SCHEMES = ("nested forward", "by hand")
DAMPING = 0.1  # in units of the mean diagonal entry of J'J; the step is then known to 1e-10
PATIENCE = 300.0


# --- ours -----------------------------------------------------------------------------------------


def evaluation(case: Case, threads: int) -> Evaluation:
    """The step by our kernels, in a session, as a solve runs it."""
    from pinnsolve.optim.linear import ShiftedMatrix

    start = time.perf_counter()
    bound: Any = ours.bound(case, threads)
    theta = case.data()[0].astype(float)

    def call() -> tuple[Array, Array, float, Array]:
        with bound.executable.session():
            system = bound.normal_equations(theta)
            matrix = ShiftedMatrix(system.matrix)
            factor = matrix.factor(DAMPING * matrix.diagonal.mean())
            assert factor is not None
            return system.matrix, system.vector, system.loss, -factor.solve(system.vector)

    def result() -> tuple[float, Array]:
        system = bound.normal_equations(theta)
        return system.loss, parts(system.matrix, system.vector, call()[3])

    call()
    seconds = time.perf_counter() - start
    tracemalloc.start()
    call()
    memory = tracemalloc.get_traced_memory()[1] + sum(arena.nbytes for arena in bound.arenas)
    tracemalloc.stop()
    return Evaluation("pinnsolve", call, result, seconds, memory=float(memory))


def rank_update(case: Case, threads: int) -> Evaluation:
    """The symmetric rank update of a matrix of the size of J, with BLAS on so many threads."""
    from pinnsolve.devices.cpu.blas import rank_update as update

    rows = np.random.default_rng(0).normal(size=(parameters(case), case.points))
    total = np.zeros((len(rows), len(rows)))

    def call() -> None:
        with threadpool_limits(threads, user_api="blas"):
            update(total, rows, keep=0.0)

    return Evaluation("rank update alone", call, lambda: (1.0, np.ones(3)))


def parameters(case: Case) -> int:
    return sum(int(np.prod(shape)) for shape in case.shapes)


def parts(matrix: Array, vector: Array, step: Array) -> Array:
    """What is compared of a step."""
    direction = np.random.default_rng(1).normal(size=len(vector))
    return np.concatenate([matrix @ direction, vector, step])


def difference(one: Remote, other: Remote) -> float:
    """The largest of the loss and of each part, relative to its largest entry."""
    errors = [abs(other.loss - one.loss) / abs(one.loss)]
    for a, b in zip(np.split(one.gradient, 3), np.split(other.gradient, 3), strict=True):
        errors.append(float(np.abs(a - b).max() / np.abs(a).max()))
    return max(errors)


# --- JAX ------------------------------------------------------------------------------------------


def peer(case: Case, scheme: str, block: int) -> Evaluation:
    """The step by JAX, ``block`` points at a time (0: all at once)."""
    jax = peers_jax.load()
    jnp = jax.numpy
    theta, x = case.data()
    row = partial(_residual, jax, case, scheme)

    def equations(theta: Any, x: Any) -> tuple[Any, Any, Any]:
        """J'J, J'r and r'r of some points, each row of J by one reverse sweep."""
        r, jacobian = jax.vmap(jax.value_and_grad(row), (None, 0))(theta, x)
        return jacobian.T @ jacobian, jacobian.T @ r, r @ r

    def step(theta: Any, x: Any) -> tuple[Any, Any, Any, Any]:
        if block:
            size = theta.size
            zero = jnp.zeros((size, size)), jnp.zeros(size), jnp.zeros(())

            def add(total: Any, points: Any) -> Any:
                return jax.tree.map(jnp.add, total, equations(theta, points)), None

            (matrix, vector, loss), _ = jax.lax.scan(add, zero, x.reshape(-1, block, 2))
        else:
            matrix, vector, loss = equations(theta, x)
        shift = DAMPING * jnp.mean(jnp.diagonal(matrix))
        factor = jax.scipy.linalg.cho_factor(matrix + shift * jnp.eye(theta.size))
        return matrix, vector, loss, -jax.scipy.linalg.cho_solve(factor, vector)

    start = time.perf_counter()
    compiled = jax.jit(step).lower(theta, x).compile()
    seconds = time.perf_counter() - start
    about = compiled.memory_analysis()
    memory = about.temp_size_in_bytes + about.output_size_in_bytes
    if memory > MEMORY_LIMIT:
        raise SkippedError(f"needs {memory / 1e9:.1f} GB")
    arguments = jax.device_put((theta, x))

    def call() -> Any:
        return jax.block_until_ready(compiled(*arguments))

    def result() -> tuple[float, Array]:
        matrix, vector, loss, move = map(np.asarray, call())
        return float(loss), parts(matrix, vector, move)

    form = f"blocks of {block}" if block else "all points"
    return Evaluation(f"JAX {scheme}, {form}", call, result, seconds, float(memory))


def _residual(jax: Any, case: Case, scheme: str, theta: Any, point: Any) -> Any:
    """One row of r: the residual at a point, scaled so that r'r is the mean square."""
    centre, factor = (np.array(value) for value in case.affine)
    layers, x = case.split(theta), point[None]
    if scheme == "by hand":
        y = (x - centre) * factor
        found = peers_jax.by_hand(jax, case.equation, layers, y, factor, False)
    else:
        function = lambda z: peers_jax.perceptron(jax, layers, (z - centre) * factor)  # noqa: E731
        found = peers_jax.SCHEMES[scheme](jax, case.equation, function, x)
    (row,) = residuals(case.equation, jax.numpy.sin, x, *found)
    return row[0] / case.points**0.5


# --- the table ------------------------------------------------------------------------------------


def measure(case: Case, processes: Mapping[str, Worker], threads: int, rounds: int) -> list[Line]:
    """Ours first, the schemes of JAX, the rank update last."""
    for worker in processes.values():
        worker.forget()
    own = processes["pinnsolve"]
    found = [own.evaluation(evaluation, case, threads)]
    if jax := processes.get("jax"):
        sizes = sorted({block_size(case.points, target) for target in BLOCKS})
        for scheme in SCHEMES:
            found.append(jax.evaluation(peer, case, scheme, 0))
            blocked = [jax.evaluation(peer, case, scheme, size) for size in sizes]
            found.append(min(blocked, key=lambda entry: entry.seconds()))
    alone = own.evaluation(rank_update, case, threads)
    seconds = in_turn([*found, alone], rounds, PATIENCE)
    lines = [
        line(entry, difference(found[0], entry), "float64", seconds[entry.name]) for entry in found
    ]
    return [*lines, Line(alone.name, 1e3 * seconds[alone.name])]


def summary(case: Case, threads: int, lines: Sequence[Line]) -> dict[str, float | None]:
    """What the table tells of a case."""
    own, alone = lines[0], lines[-1]
    flops = case.points * parameters(case) * (parameters(case) + 1.0)
    return {
        "parameters": parameters(case),
        "threads": threads,
        "milliseconds": own.milliseconds,
        "share of the rank update": over(alone, own),
        "rank update gflops": flops / alone.milliseconds / 1e6 if alone.milliseconds else None,
        "best of JAX over ours": over(fastest(lines[1:-1], ""), own),
        "megabytes": own.megabytes,
    }


def overview(cases: Sequence[Mapping[str, Any]]) -> str:
    """A row a case and number of threads."""
    rows = []
    for s in (entry["summary"] for entry in cases):
        share = s["share of the rank update"]
        rows.append([
            f"{s['parameters']:,}",
            text(s["threads"], "d"),
            text(s["milliseconds"], ".0f"),
            text(s["rank update gflops"], ".1f"),
            text(None if share is None else 100 * share, ".0f"),
            text(s["best of JAX over ours"]),
            text(s["megabytes"], ".0f"),
        ])  # fmt: skip
    header = ("parameters", "threads", "ms", "rank update, GFLOP/s", "share of it, %",
              "best of JAX / ours", "MB")  # fmt: skip
    return table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--networks", nargs="+", default=NETWORKS, metavar="DEPTHxWIDTH")
    parser.add_argument("--points", type=int, default=20_000)
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--libraries", nargs="*", default=available("jax"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, default=Path("outputs/gauss_newton.json"))
    options = parser.parse_args()
    done: list[dict[str, Any]] = []
    for threads in options.threads:
        with workers("pinnsolve", *options.libraries, threads=threads) as processes:
            for network in options.networks:
                depth, width = map(int, network.split("x"))
                case = Case("Burgers", depth, width, options.points)
                lines = measure(case, processes, threads, options.rounds)
                title = f"{case.title}, {parameters(case):,} parameters, {threads} threads"
                show(title, lines)
                about = summary(case, threads, lines)
                done.append({"case": title, "lines": lines, "summary": about})
                save(options.json, done)
    print(f"\n{overview(done)}")


if __name__ == "__main__":
    main()
