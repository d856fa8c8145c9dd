"""What each process of `test_msrun` does; rank 0 writes what it has seen to a file."""

import json
import sys
from pathlib import Path

import numpy as np

from pinnsolve.devices.ascend.communication import MindSporeCollective
from pinnsolve.devices.communication import pick_communicator

LONG = 5000


def numbers(rank: int) -> np.ndarray:
    """Of all magnitudes, so that every rounding shows."""
    rng = np.random.default_rng(rank)
    return rng.normal(size=(7, 11)) * 10.0 ** rng.integers(-30, 30, size=(7, 11))


def main(file: str) -> None:
    ranks = pick_communicator()
    assert isinstance(ranks, MindSporeCollective)
    rank = ranks.rank
    total = ranks.allreduce_sum(numbers(rank))
    kept = total.copy()
    scalar = ranks.allreduce_sum(np.array(rank + 0.1))
    message = {"theta": np.arange(LONG) / 3, "rank": rank}
    long = ranks.broadcast(message if rank == 0 else None)
    found = {
        "text": repr(ranks),
        "local": ranks.local_size,
        "sums": total.tolist(),
        "unchanged": (total == kept).all().item(),
        "same on all": len(set(ranks.gather(total.tobytes()))),
        "scalar": scalar.item(),
        "empty": list(ranks.allreduce_sum(np.zeros((0, 3))).shape),
        "short": ranks.broadcast(("of rank", rank)),
        "long": bool(long["rank"] == 0 and (long["theta"] == np.arange(LONG) / 3).all()),
        "gathered": [len(text) for text in ranks.gather("x" * (1 + LONG * rank))],
    }
    ranks.reduction = "float32"
    found["sums in float32"] = ranks.allreduce_sum(numbers(rank)).tolist()
    if rank == 0:
        Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
