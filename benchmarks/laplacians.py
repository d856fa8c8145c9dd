"""The Laplacian in 2, 10, 100 and 1,000 dimensions and the biharmonic operator in 2 and 5 against
JAX: loss and gradient of the mean square of Delta u, or Delta^2 u.

    python -m benchmarks.laplacians [--cases "Laplacian 10"] [--json outputs/laplacians.json]

JAX computes them in the ways in use: nested forward sweeps along every axis, forward over reverse
along every axis, the trace of `jax.hessian`, and for the biharmonic operator Taylor series along
directions that add up to it. u is a tanh network of 4 layers of 50, everything is float64 on one
core. Both sides must agree to 1e-10 before they are timed. Programs that need more than 120 s to
compile or 8 GB to run are left out, and the line says so.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sympy

import pinnsolve as ps
from benchmarks import peers_jax
from benchmarks.measure import Evaluation, Line, compare, one_core, ratio, save, show, table, text
from benchmarks.ours import generated
from pinnsolve.devices.base import ResidualBlock
from pinnsolve.diff import functions as ops
from pinnsolve.diff.forward_laplacian import laplacian_node
from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.plan import Exponent, close
from pinnsolve.diff.residual import Approximator, field_channels

WIDTH, DEPTH = 50, 4

Function = Callable[[Any], Any]


@dataclass(frozen=True)
class Case:
    """An operator (1: Laplacian, 2: biharmonic), its dimension and the points; blocks are those
    that JAX evaluates at once (0: all). They shrink as a point fans out into more directions."""

    power: int
    dimension: int
    points: int
    blocks: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"{'Laplacian' if self.power == 1 else 'biharmonic'} {self.dimension}"


CASES = (
    Case(1, 2, 2000, (0, 250, 500)),
    Case(1, 10, 2000, (0, 50, 250)),
    Case(1, 100, 500, (0, 5, 250)),
    Case(1, 1000, 100, (0, 1, 10)),
    Case(2, 2, 2000, (0, 250, 500)),
    Case(2, 5, 500, (0, 50, 250)),
)

# --- ours: residuals as nodes, (n, 1) ---------------------------------------------------------


def laplacian(network: ps.MLP, dimension: int) -> ResidualBlock:
    """The engine's Laplacian of a function: all first derivatives in one value."""
    points = ops.input_points("site0", dimension)
    return ResidualBlock((laplacian_node(network, points),))


def biharmonic(network: ps.MLP, dimension: int) -> ResidualBlock:
    """The operator as problems use it: one of the channels of the smallest closed set."""
    points = ops.input_points("site0", dimension)
    axes = range(dimension)
    operator: dict[Exponent, sympy.Expr] = {}
    for pair in itertools.product(axes, axes):
        exponent = tuple(2 * pair.count(axis) for axis in axes)
        operator[exponent] = operator.get(exponent, sympy.S.Zero) + 1
    basis = close([operator], dimension)
    channels = field_channels(basis, Approximator(("u",), network), points, {})["u"]
    total: Node = ops.constant(0.0)
    for q, factor in basis.coordinates(operator):
        channel = channels[q]
        if channel is not None:
            total = total + float(factor) * channel
    return ResidualBlock((total,))


OURS = {1: laplacian, 2: biharmonic}

# --- JAX: functions of one point (d,) ----------------------------------------------------------


def along(jax: Any, second: Callable[[Function, Any, Any], Any], u: Function) -> Function:
    """The sum over the axes e of second(u, x, e)."""

    def laplacian(x: Any) -> Any:
        axes = jax.numpy.eye(x.shape[0])
        return jax.numpy.sum(jax.vmap(lambda e: second(u, x, e))(axes))

    return laplacian


def nested(jax: Any, u: Function) -> Function:
    """e . d/dx of e . du/dx: forward over forward."""

    def second(u: Function, x: Any, e: Any) -> Any:
        return jax.jvp(lambda y: jax.jvp(u, (y,), (e,))[1], (x,), (e,))[1]

    return along(jax, second, u)


def forward_over_reverse(jax: Any, u: Function) -> Function:
    """e . (H e) with H e the derivative of the gradient along e."""

    def second(u: Function, x: Any, e: Any) -> Any:
        return jax.numpy.vdot(e, jax.jvp(jax.grad(u), (x,), (e,))[1])

    return along(jax, second, u)


def trace(jax: Any, u: Function) -> Function:
    return lambda x: jax.numpy.trace(jax.hessian(u)(x))


def jet(jax: Any, u: Function) -> Function:
    """Delta^2 = 1/6 sum_{i<j} [D^4(e_i + e_j) + D^4(e_i - e_j)] + (4 - d)/3 sum_i D^4(e_i), with
    D^4(v) the fourth derivative along v."""

    def biharmonic(x: Any) -> Any:
        dimension = x.shape[0]
        axes = np.eye(dimension)
        pairs = [(axes[i], axes[j]) for i, j in itertools.combinations(range(dimension), 2)]
        directions = np.array([*axes, *(a + b for a, b in pairs), *(a - b for a, b in pairs)])
        weights = np.array([(4 - dimension) / 3] * dimension + [1 / 6] * (2 * len(pairs)))

        def fourth(v: Any) -> Any:
            zero = jax.numpy.zeros_like(v)
            return jax.experimental.jet.jet(u, (x,), ((v, zero, zero, zero),))[1][3]

        return weights @ jax.vmap(fourth)(directions)

    return biharmonic


def schemes(jax: Any, power: int) -> dict[str, Callable[[Function], Function]]:
    """Names to transforms of u into the operator applied to u."""
    laplacians = {
        "nested jvp": partial(nested, jax),
        "forward over reverse": partial(forward_over_reverse, jax),
        "trace of hessian": partial(trace, jax),
    }
    if power == 1:
        return laplacians
    twice = {name: partial(_twice, scheme) for name, scheme in laplacians.items()}
    return {**twice, "jet along directions": partial(jet, jax)}


def _twice(scheme: Callable[[Function], Function], u: Function) -> Function:
    return scheme(scheme(u))


# --- the comparison ---------------------------------------------------------------------------


def measure(jax: Any, case: Case, repeats: int) -> list[Line]:
    network = ps.MLP(case.dimension, 1, width=WIDTH, depth=DEPTH)
    layout = Layout.of(network.named_parameters())
    rng = np.random.default_rng(0)
    theta, x = layout.initialize(rng), rng.uniform(-1, 1, (case.points, case.dimension))
    u = peers_jax.flat_perceptron(jax, [p.shape for p in layout.parameters])
    peers: dict[str, Callable[[], Evaluation]] = {}
    for scheme, transform in schemes(jax, case.power).items():

        def loss(theta: Any, x: Any, transform: Any = transform) -> Any:
            operator = transform(lambda point: u(theta, point)[0])
            return jax.numpy.mean(jax.vmap(operator)(x) ** 2)

        for block in case.blocks:
            name = f"JAX {scheme}, {f'blocks of {block}' if block else 'all points'}"
            peers[name] = partial(peers_jax.peer, jax, name, loss, theta, x, block)
    build = partial(OURS[case.power], network, case.dimension)
    return compare(generated(build, layout, theta, x), peers, repeats)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    names = [case.name for case in CASES]
    parser.add_argument("--cases", nargs="+", choices=names, default=names)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", type=Path, default=Path("outputs/laplacians.json"))
    options = parser.parse_args()
    one_core()
    jax = peers_jax.load()
    done = []
    for case in CASES:
        if case.name in options.cases:
            lines = measure(jax, case, options.repeats)
            show(f"{case.name}, {case.points} points", lines)
            done.append({"case": case.name, "points": case.points, "lines": lines})
    save(options.json, done)
    rows = [[e["case"], text(e["lines"][0].milliseconds), text(ratio(e["lines"]))] for e in done]
    print(f"\n{table(('operator, dimension', 'ours, ms', 'fastest of JAX / ours'), rows)}")


if __name__ == "__main__":
    main()
