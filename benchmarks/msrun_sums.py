"""Sums over processes of msrun: what float64 costs beside float32, and what pairs of float32 gain.

msrun --worker_num=2 --local_worker_num=2 --master_port=8118 --join=True --log_dir=/tmp/msrun \
    benchmarks/msrun_sums.py

"pair" sends each number as the sum of two float32, reduced one after the other: the library rounds
the sum of the large halves, so nothing is gained where it matters.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pinnsolve.devices.ascend.communication import MindSporeCollective

Array = np.ndarray[Any, np.dtype[Any]]
SIZES = (5_000, 50_000, 500_000)
REPEATS = 20


def main() -> None:
    exact, single = MindSporeCollective("float64"), MindSporeCollective("float32")

    def pair(values: Array) -> Array:
        large = values.astype(np.float32).astype(float)
        return single.allreduce_sum(large) + single.allreduce_sum(values - large)

    ways: dict[str, Callable[[Array], Array]] = {
        "float64, gathered": exact.allreduce_sum,
        "float32, reduced": single.allreduce_sum,
        "pair of float32": pair,
    }
    for size in SIZES:
        parts = [np.random.default_rng(rank).normal(size=size) for rank in range(exact.size)]
        known, own = sum(parts), parts[exact.rank]
        for name, way in ways.items():
            error = float(np.max(np.abs(way(own) - known)))
            seconds = []
            for _ in range(REPEATS):
                start = time.perf_counter()
                way(own)
                seconds.append(time.perf_counter() - start)
            if exact.rank == 0:
                took = f"{1e3 * np.median(seconds):8.2f} ms"
                print(f"{size:>8} numbers, {name:<18}{took}, error {error:.0e}", flush=True)


if __name__ == "__main__":
    main()
