"""What each process of `test_msrun` does; rank 0 writes what it has seen to a file."""

import json
import sys
from pathlib import Path

import numpy as np

import pinnsolve as ps
from pinnsolve.devices.ascend.communication import MindSporeCollective
from pinnsolve.devices.communication import pick_communicator
from pinnsolve.optim import AbstractOptimizer

LONG, STEPS = 5000, 10


def numbers(rank: int) -> np.ndarray:
    """Of all magnitudes, so that every rounding shows."""
    rng = np.random.default_rng(rank)
    return rng.normal(size=(7, 11)) * 10.0 ** rng.integers(-30, 30, size=(7, 11))


def solved(optimizer: AbstractOptimizer) -> np.ndarray:
    """Values of a field after some steps, the points shared by the processes there are."""
    x, t = ps.coordinates("x t")
    u = ps.field("u", x, t)
    start, ends = u(x, 0) - x * (1 - x), (u(0, t), u(1, t))
    heat = ps.Problem(u.dt - u.dxx / 10, start, *ends, domain={x: (0, 1), t: (0, 1)})
    solution = heat.solve(
        network=ps.MLP(2, 1, width=6, depth=2),
        points=ps.Points(interior=101, boundary=17, redraw=0),  # which no two processes halve
        optimizer=optimizer,
        steps=STEPS,
        seconds=None,
        progress=False,
        exact="never",
    )
    return solution.u(np.linspace(0, 1, 5)[:, None], np.linspace(0, 1, 5))


def main(file: str) -> None:
    ranks = pick_communicator()
    assert isinstance(ranks, MindSporeCollective)
    rank = ranks.rank
    total = ranks.allreduce_sum(numbers(rank))
    kept = total.copy()
    scalar = ranks.allreduce_sum(np.array(rank + 0.1))
    message = {"theta": np.arange(LONG) / 3, "rank": rank}
    long = ranks.broadcast(message if rank == 0 else None)
    assert long is not None
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
    spread = [ranks.spread(numbers(7) if rank == r else None, (7, 11), r) for r in (0, 1)]
    found["spread"] = bool((spread[0] == numbers(7)).all() and (spread[1] == numbers(7)).all())
    again = MindSporeCollective("float32")
    found["sums in float32"] = again.allreduce_sum(numbers(rank)).tolist()
    found["by Adam on MindSpore"] = solved(
        ps.Adam(schedule=ps.Constant(0.01)).on("ascend:cpu", "float32")
    ).tolist()
    found["by second order"] = solved(ps.LevenbergMarquardt()).tolist()
    if rank == 0:
        Path(file).write_text(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
