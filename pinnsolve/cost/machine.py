"""What a machine and its network can do, in the numbers that the cost model needs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from threadpoolctl import threadpool_limits

from pinnsolve.devices.communication import AbstractCommunicator

# Rates of kernels over that of a product of the size of a layer, as `python -m
# benchmarks.cost_model` fitted them; see docs/scale.md.
PRODUCTS, ELEMENTS = 0.56, 0.36
TURN, LONG = 0.001, 0.12  # seconds of a round, and of all rounds of a measurement
COLUMNS, TILE = 64, 512  # of a layer, and rows that it works on at once
PARAMETERS, ROWS = 800, 400  # of the Jacobian whose product with itself is timed


@dataclass(frozen=True)
class Machine:
    """Rates of one core in double precision, and of one link between two processes.

    The network of the default is assumed, not measured: a common one between machines. Between
    processes of one machine a message takes less.

    Attributes:
        products: operations a second in products of layers.
        elements: operations a second in everything else at points.
        updates: operations a second in J'J and in its Cholesky factor.
        streaming: bytes a second from memory.
        dispatch: seconds that an evaluation takes however few points there are.
        step: seconds that python takes between the evaluations of a step.
        latency: seconds of a message between two processes.
        bandwidth: bytes a second of a long one.
        name: for the report.

    >>> import pinnsolve as ps
    >>> cluster = ps.Machine(products=5e10, latency=2e-6, bandwidth=1.2e10, name="our cluster")
    """

    products: float = 1.9e10
    elements: float = 7e9
    updates: float = 1.6e10
    streaming: float = 1e10
    dispatch: float = 3e-5
    step: float = 3e-4
    latency: float = 5e-6
    bandwidth: float = 5e9
    name: str = "assumed"

    @classmethod
    def measured(cls, communicator: AbstractCommunicator | None = None) -> Machine:
        """Of one core here, in half a second; and of the network, where a communicator of several
        processes is given: all of them call it.

        >>> Machine.measured().products > 1e8
        True
        """
        rng = np.random.default_rng(0)
        rows, weights = rng.normal(size=(TILE, COLUMNS)), rng.normal(size=(COLUMNS, COLUMNS))
        out, long = np.empty_like(rows), rng.normal(size=4_000_000)
        jacobian = rng.normal(size=(PARAMETERS, ROWS))
        with threadpool_limits(1, user_api="blas"):
            product = fastest(lambda: np.matmul(rows, weights, out=out))
            update = fastest(lambda: jacobian @ jacobian.T)  # by symmetric rank update
            sweep = fastest(lambda: long.dot(long))
        rate = 2.0 * TILE * COLUMNS**2 / product
        found = cls(
            products=PRODUCTS * rate,
            elements=ELEMENTS * rate,
            updates=PARAMETERS**2 * ROWS / update,
            streaming=8.0 * long.size / sweep,
            name="one core measured here, network assumed",
        )
        if communicator is None or communicator.size == 1:
            return found
        latency, bandwidth = measured_network(communicator)
        name = f"one core and {communicator.size} processes measured here"
        return replace(found, latency=latency, bandwidth=bandwidth, name=name)


def measured_network(communicator: AbstractCommunicator) -> tuple[float, float]:
    """Latency and bandwidth, from sums of a few numbers and of many."""
    rounds = 2.0 * np.log2(communicator.size)
    few, many = np.zeros(1), np.zeros(1_000_000)
    short = _agreed(communicator, fastest_together(communicator, few))
    long = _agreed(communicator, fastest_together(communicator, many))
    share = (communicator.size - 1) / communicator.size
    return short / rounds, 2.0 * share * many.nbytes / max(long - short, 1e-9)


def fastest(action: Callable[[], object]) -> float:
    """Seconds of one call, of the best of many short rounds: some of them meet nobody else even on
    a busy machine."""
    action()
    start = time.perf_counter()
    action()
    count = max(1, int(TURN / max(time.perf_counter() - start, 1e-7)))
    best, end = np.inf, time.perf_counter() + LONG
    while (begun := time.perf_counter()) < end or best == np.inf:
        for _ in range(count):
            action()
        best = min(best, (time.perf_counter() - begun) / count)
    return float(best)


def fastest_together(
    communicator: AbstractCommunicator, array: np.ndarray, rounds: int = 20
) -> float:
    """Seconds of one sum over all processes, which all take part in as often."""
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        communicator.allreduce_sum(array)
        best = min(best, time.perf_counter() - start)
    return best


def _agreed(communicator: AbstractCommunicator, seconds: float) -> float:
    """The slowest of all."""
    return max(communicator.gather(seconds))
