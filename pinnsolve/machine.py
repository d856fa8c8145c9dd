"""What a machine and its network can do, in the numbers that the cost model needs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor
from threadpoolctl import threadpool_limits

from pinnsolve.devices.communication import AbstractCommunicator

# Rates of kernels over those of numpy beside, which `python -m benchmarks.cost_model` fits.
PRODUCTS, ELEMENTS = 1.0, 0.25
TURN = 0.02  # seconds that a measurement lasts at least
COLUMNS, TILE = 64, 512  # of a layer, and rows that it works on at once
SQUARE = 1000  # parameters of the matrix that Cholesky is timed with


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
    dispatch: float = 1e-4
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
        square = np.eye(SQUARE) + 1e-3 * rng.normal(size=(SQUARE, SQUARE))
        square = square @ square.T
        with threadpool_limits(1, user_api="blas"):
            product = fastest(lambda: np.matmul(rows, weights, out=out))
            addition = fastest(lambda: np.multiply(rows, rows, out=out))
            factor = fastest(lambda: cho_factor(square, lower=True, check_finite=False))
            sweep = fastest(lambda: long.dot(long))
        found = cls(
            products=PRODUCTS * 2.0 * TILE * COLUMNS**2 / product,
            elements=ELEMENTS * 8.0 * TILE * COLUMNS / addition,
            updates=SQUARE**3 / 3.0 / factor,
            streaming=2.0 * 8.0 * long.size / sweep / 2.0,
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


def fastest(action: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of one call, the best of some rounds."""
    action()
    start = time.perf_counter()
    action()
    count = max(1, int(TURN / max(time.perf_counter() - start, 1e-7)))
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(count):
            action()
        best = min(best, (time.perf_counter() - start) / count)
    return best


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
