"""pinnsolve's side of the comparisons, and the rate of a matrix product to hold it against."""

from __future__ import annotations

import importlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import pinnsolve as ps
from benchmarks.cases import EQUATIONS, Case
from benchmarks.measure import Array, Evaluation
from pinnsolve.devices.base import AbstractObjective, BlockPoints, ResidualBlock
from pinnsolve.devices.cpu import CpuDevice
from pinnsolve.diff.cost import cost
from pinnsolve.diff.parameters import Layout
from pinnsolve.diff.residual import PROGRAMS
from pinnsolve.diff.rewrite import rewrite
from pinnsolve.pde.system import normalize
from pinnsolve.pipeline import build, plan, represent

SIDE = 1024  # of the matrices that are multiplied


def equation_block(case: Case) -> tuple[ResidualBlock, Layout]:
    """The residuals of the equation alone; AssertionError when it is not what the case says."""
    about = EQUATIONS[case.equation]
    system = normalize(importlib.import_module(f"problems.{about.module}").problem())
    model = represent(system, ps.MLP(2, about.outputs, width=case.width, depth=case.depth))
    plans = plan(system, model)
    channels = plans[0].bases[0][0]
    assert channels is not None
    assert channels.size == about.channels, f"{case.equation} carries {channels.size} channels"
    assert [p.shape for p in model.layout.parameters] == case.shapes
    return build(system, plans, model)[0], model.layout


def bound(case: Case, threads: int = 1) -> AbstractObjective:
    """The case, bound to its points: the loss is the mean square."""
    threadpool_limits(1)  # of BLAS; threads of ours are not BLAS's
    block, layout = equation_block(case)
    executable = CpuDevice(threads, case.precision).compile([block], layout)
    return executable.bind([_points(block, case.data()[1].astype(float))])


def _points(block: ResidualBlock, x: Array) -> BlockPoints:
    """Points with the scale that makes the loss a mean."""
    return BlockPoints((x,), np.full((len(x), len(block.residuals)), len(x) ** -0.5))


def evaluation(case: Case, precision: str = "") -> Evaluation:
    """A case by our kernels, in another precision than its own if one is given."""
    precision = precision or case.precision
    block, layout = equation_block(case)
    theta, x = (values.astype(float) for values in case.data())
    made = generated(lambda: block, layout, theta, x, precision)
    return replace(made, name=f"pinnsolve, {precision}", nodes=0)


def generated(
    residual: Callable[[], ResidualBlock],
    layout: Layout,
    theta: Array,
    x: Array,
    precision: str = "float64",
) -> Evaluation:
    """Loss and gradient of mean squares by our kernels on one thread, compiled with an empty cache;
    the time to build the residuals counts as compiling."""
    threadpool_limits(1)
    with empty_cache():
        start = time.perf_counter()
        block = residual()
        objective: Any = CpuDevice(1, precision).compile([block], layout).bind([_points(block, x)])
        objective.loss_gradient(theta)
        seconds = time.perf_counter() - start
    program = PROGRAMS["gradient"](block.residuals, [p.node for p in layout.parameters])
    nodes = cost(rewrite(program)).nodes

    def call() -> tuple[float, Array]:
        return objective.loss_gradient(theta)

    return Evaluation("pinnsolve", call, call, seconds, working_memory(objective), nodes)


@contextmanager
def empty_cache() -> Iterator[None]:
    """Compiled code goes to a folder that is empty and goes away."""
    before = os.environ.get("PINNSOLVE_CACHE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PINNSOLVE_CACHE"] = folder
        try:
            yield
        finally:
            del os.environ["PINNSOLVE_CACHE"]
            if before is not None:
                os.environ["PINNSOLVE_CACHE"] = before


def working_memory(objective: Any) -> float:
    """Bytes of arenas, tables and sums: all that an evaluation needs beside points and
    parameters."""
    memory = sum(arena.nbytes for arena in objective.arenas)
    for kernel in objective.bound["gradient"]:
        sums = kernel.kernel.sum_size * kernel.data.itemsize * len(objective.arenas)
        memory += kernel.uniform.nbytes + kernel.table.nbytes + sums
    return float(memory)


def matrix_product(precision: str) -> Evaluation:
    """A large square product, by which the machine's rate is measured; its value means nothing."""
    threadpool_limits(1)
    rng = np.random.default_rng(0)
    left, right = (rng.normal(size=(SIDE, SIDE)).astype(precision) for _ in range(2))
    out = np.empty_like(left)

    def call() -> Array:
        return np.matmul(left, right, out=out)

    return Evaluation(f"matrix product, {precision}", call, lambda: (1.0, np.ones(1)))


def product_rate(seconds: float) -> float:
    """Flops a second of the product above."""
    return 2.0 * SIDE**3 / seconds
