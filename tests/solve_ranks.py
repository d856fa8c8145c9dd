"""What each rank of `test_ranks` does: the parts that are asked for, one after the other, in the
folder it is started in. Rank 0 prints what all have seen, a line of JSON for each part."""

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import pinnsolve as ps
from pinnsolve.command_line import run
from pinnsolve.devices.communication import MPI
from pinnsolve.devices.cpu import jit
from pinnsolve.errors import FileError
from pinnsolve.training import agreement, loop
from pinnsolve.training.agreement import digest
from problems.references import Reference
from tests.heat import HEAT, t, u, x

NETWORK = ps.MLP(2, 1, width=8, depth=1)
SETTINGS: dict[str, Any] = {"network": NETWORK, "device": "reference", "progress": False}
EXACT = {**SETTINGS, "device": "cpu", "reproducible": True}
LONG = {**SETTINGS, "optimizer": ps.Adam(steps=None)}
ranks = MPI()


def theta(solution: ps.Solution) -> list[float]:
    return np.concatenate([np.ravel(w) for w in solution.weights.values()]).tolist()


def told(solution: ps.Solution) -> dict[str, Any]:
    """What rank 0 has found, and whether all have the same."""
    history = [[r.step, r.seconds, r.held_out] for r in solution.history]
    seen = digest(np.array(theta(solution)), np.array(history, float))
    return {
        "theta": theta(solution),
        "steps": solution.steps,
        "reason": solution.stop_reason,
        "ranks": solution.details["ranks"],
        "same": len(set(ranks.gather(seen))) == 1,
    }


def numbers(rank: int, count: int) -> np.ndarray:
    return np.random.default_rng(rank).normal(size=(count + rank, 3)) * 10.0**rank


def exchange() -> dict[str, Any]:
    """Arrays of several sizes, the large ones of which MPI sends without pickling them."""
    everyone, right = range(ranks.size), []
    for count in (0, 2, 9999, 9999 * (ranks.rank % 2)):  # the last: large on some ranks only
        gathered = ranks.gather(np.asfortranarray(numbers(ranks.rank, count)))
        counts = ranks.gather(count)
        expected = [numbers(k, counts[k]) for k in everyone]
        right += [np.array_equal(a, b) for a, b in zip(gathered, expected, strict=True)]
    total = ranks.allreduce_sum(numbers(ranks.rank, 5)[:5].T)
    right += [np.allclose(total, sum(numbers(k, 5)[:5] for k in everyone).T, rtol=1e-15)]
    right += [len({digest(one) for one in ranks.gather(total)}) == 1, total.shape == (3, 5)]
    right += [
        ranks.broadcast({"of": ranks.rank}) == {"of": 0},
        ranks.gather(ranks.rank) == [*everyone],
    ]
    return {"right": ranks.gather(all(right))}


def command_line() -> dict[str, Any]:
    """As a problem file does it: on the CPU device, with nothing in the cache."""
    compiled, compile_module = [], jit._compile
    jit._compile = lambda module: compiled.append(module) or compile_module(module)
    solution = run(
        lambda: HEAT,
        reference,
        arguments=["--output", "out"],
        network=NETWORK,
        steps=8,
    )
    jit._compile = compile_module
    return told(solution) | {"compiled": ranks.gather(len(compiled))}


def reference() -> Any:
    axes = {"x": np.linspace(0, 1, 9), "t": np.linspace(0, 1, 7)}
    X, T = np.meshgrid(*axes.values(), indexing="ij")
    values = {"u": np.exp(-0.1 * np.pi**2 * T) * np.sin(np.pi * X)}
    return Reference(axes, values, 1e-16, "a formula")


def declared() -> dict[str, Any]:
    """A problem that is probably not what was meant, as all ranks declare it."""
    problem = ps.Problem(u.dt + u.dx, u(x, 0), u(0, t), u(1, t), domain={x: (0, 1), t: (0, 1)})
    return {"verdicts": ranks.gather(problem.check()["PS-W003"].verdict)}


def interrupted() -> dict[str, Any]:
    """Ctrl-C reaches one rank only, and at a step."""
    if ranks.rank == ranks.size - 1:
        at_step(5, lambda: os.kill(os.getpid(), signal.SIGINT))
    return told(HEAT.solve(**LONG, seconds=60))


def called_back() -> dict[str, Any]:
    """Somebody ends the run in a callback, which rank 0 alone has."""
    steps: list[int] = []

    def callback(record: Any) -> None:
        steps.append(record.step)
        if record.step >= 100:
            raise KeyboardInterrupt

    solution = HEAT.solve(**LONG, seconds=60, callback=callback)
    return told(solution) | {"called": ranks.gather(len(steps))}


def clocks() -> dict[str, Any]:
    """Clocks of ranks go at different rates."""
    clock = loop.Training._clock
    loop.Training._clock = lambda self: clock(self) * (1 + 9 * ranks.rank)
    solution = HEAT.solve(**LONG, seconds=0.4)
    loop.Training._clock = clock
    return told(solution)


def rounding() -> dict[str, Any]:
    """One rank rounds differently."""
    step = ps.Adam.step

    def rounded(self: Any, objective: Any, state: Any) -> Any:
        state = step(self, objective, state)
        state.theta[0] *= 1 + 1e-15 * ranks.rank
        return state

    ps.Adam.step = rounded
    solution = HEAT.solve(**LONG, steps=250)
    ps.Adam.step = step
    return told(solution)


def windows() -> dict[str, Any]:
    solution = HEAT.solve(**SETTINGS, steps=20, windows=2, checkpoint="windows.h5")
    files = sorted(path.name for path in Path().glob("windows*"))
    return told(solution) | {"files": files}


def checkpoint() -> dict[str, Any]:
    return told(HEAT.solve(**SETTINGS, steps=int(sys.argv[2]), checkpoint="run.h5"))


def resumed() -> dict[str, Any]:
    """Ten steps more than `checkpoint`, in one run and from the file, which stays as it is."""
    steps = int(sys.argv[2]) + 10
    whole = told(HEAT.solve(**SETTINGS, steps=steps))
    if ranks.rank == 0:
        shutil.copy("run.h5", "copy.h5")
    again = told(HEAT.solve(**SETTINGS, steps=steps, checkpoint="copy.h5"))
    return again | {"whole": whole["theta"]}


def dying() -> dict[str, Any]:
    """A run that is saved after every step goes on from a checkpoint, and a rank dies."""
    loop.CHECKPOINT_SECONDS, loop.CHECKPOINT_SHARE = 0.0, np.inf
    if ranks.rank == 1:
        at_step(7, lambda: os.kill(os.getpid(), signal.SIGKILL))
    return told(HEAT.solve(**SETTINGS, steps=1000, checkpoint="run.h5"))


def exact() -> dict[str, Any]:
    """Of a run whose bits do not depend on ranks, up to as many steps as are asked for."""
    return told(HEAT.solve(**EXACT, steps=int(sys.argv[2]), checkpoint="exact.h5"))


def dying_exact() -> dict[str, Any]:
    """The same goes on, is saved after every step, and a rank dies."""
    loop.CHECKPOINT_SECONDS, loop.CHECKPOINT_SHARE = 0.0, np.inf
    if ranks.rank == 1:
        at_step(7, lambda: os.kill(os.getpid(), signal.SIGKILL))
    return told(HEAT.solve(**EXACT, steps=1000, checkpoint="exact.h5"))


def fails() -> dict[str, Any]:
    """An error in training on one rank, where the others wait for it."""

    def fail() -> None:
        raise ValueError("this rank has had enough")

    if ranks.rank == 1:
        at_step(3, fail)
    return told(HEAT.solve(**LONG, steps=1000))


def refused() -> dict[str, Any]:
    """An error that all have."""
    return told(HEAT.solve(**LONG, steps=-1))


def unreadable() -> dict[str, Any]:
    """A file that is no checkpoint, which rank 0 alone reads."""
    try:
        HEAT.solve(**LONG, checkpoint=__file__)
    except FileError as error:
        return {"errors": ranks.gather(str(error))}
    return {}


def at_step(number: int, action: Any) -> None:
    """Act at one of the steps of this rank."""
    clock, steps = agreement.Agreement.clock, iter(range(1, 10**9))

    def acting(self: Any, seconds: float) -> float:
        if next(steps) == number:
            action()
        return clock(self, seconds)

    agreement.Agreement.clock = acting


if __name__ == "__main__":
    for part in sys.argv[1].split(","):
        found = globals()[part]()
        if ranks.rank == 0:
            sys.stdout.write("\n" + json.dumps({part: found}) + "\n")
            sys.stdout.flush()
