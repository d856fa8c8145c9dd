"""A run in progress as a file, so that a killed run resumes exactly.

Invariant: steps after a resume are those of a run that was never interrupted, to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pinnsolve.errors import FileError
from pinnsolve.optim import to_arrays
from pinnsolve.optim.base import AbstractOptimizer
from pinnsolve.sampling.points import Collocation, Sample
from pinnsolve.sampling.weighting import Weighting
from pinnsolve.solutions.history import History
from pinnsolve.training.judge import Best, Verdict

KIND = "checkpoint"


@dataclass(frozen=True)
class Run:
    """Everything that the next step depends on, and what has been seen.

    state: of the optimizer. sample: the points in use, drawn as number `draws` at step `drawn_at`
    with `density`, which was raised last after `grown_at` seconds. weighting: what the state was
    rebased to last.
    """

    state: Any
    sample: Sample
    weighting: Weighting
    step: int = 0
    draws: int = 0
    drawn_at: int = 0
    density: float = 1.0
    grown_at: float = 0.0
    seconds: float = 0.0
    history: History = field(default_factory=History)
    verdict: Verdict | None = None

    @property
    def fell_at(self) -> float:
        """Seconds at which the held-out residual, with as many points, has last fallen."""
        if self.verdict is None:
            return self.history[-1].seconds
        return max(self.verdict.lowest.record.seconds, self.grown_at)

    @property
    def idle(self) -> float:
        """Seconds since then."""
        return self.history[-1].seconds - self.fell_at

    @property
    def idle_looks(self) -> int:
        """Looks since then."""
        since = self.fell_at
        return sum(record.seconds > since for record in self.history)


def save_run(path: str | Path, run: Run, identity: dict[str, Any]) -> None:
    """Write a run, whole or not at all. `identity` says which run it is."""
    from pinnsolve.solutions.file import write_file

    assert run.verdict is not None
    looks = run.verdict.lowest, run.verdict.kept
    header = {
        "kind": KIND,
        "identity": identity,
        "numbers": [run.step, run.draws, run.drawn_at, run.density, run.grown_at, run.seconds],
        "looks": [run.history.records.index(look.record) for look in looks],
    }
    arrays = {f"state/{name}": value for name, value in to_arrays(run.state).items()}
    arrays |= {f"free/{k}": free for k, free in enumerate(run.sample.free)}
    arrays |= {f"weights/{name}": value for name, value in run.weighting.to_arrays().items()}
    arrays |= {f"history/{name}": value for name, value in run.history.to_arrays().items()}
    arrays |= {f"looks/{k}": look.theta for k, look in enumerate(looks)}
    write_file(path, header, arrays)


def saved_threads(path: str | Path | None) -> int | None:
    """For how many threads the run of a file was chosen; None where there is no such run."""
    from pinnsolve.solutions.file import read_file

    if path is None or not Path(path).exists():
        return None
    return read_file(path)[0].get("identity", {}).get("threads")


def load_run(
    path: str | Path,
    optimizer: AbstractOptimizer[Any],
    collocation: Collocation,
    identity: dict[str, Any],
) -> Run:
    """Read a run.

    Raises:
        FileError: the file is damaged, no checkpoint, or of another run, with the difference.
    """
    from pinnsolve.solutions.file import read_file

    header, arrays = read_file(path)
    if header.get("kind") != KIND:
        raise FileError(f"{path} is not a checkpoint of a run; give another name")
    for name, value in identity.items():
        if header["identity"].get(name) != value:
            raise FileError(
                f"{path} is the checkpoint of another run: {name} is "
                f"{header['identity'].get(name)} there and {value} here; "
                "delete it to start anew, or give another name"
            )

    def under(prefix: str) -> dict[str, Any]:
        return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

    step, draws, drawn_at, density, grown_at, seconds = header["numbers"]
    history = History.from_arrays(under("history/"))
    free = [arrays[f"free/{k}"] for k in range(len(collocation.system.blocks))]
    run = Run(
        optimizer.restore(under("state/")),
        collocation.at(free),
        Weighting.from_arrays(under("weights/")),
        step,
        draws,
        drawn_at,
        density,
        grown_at,
        seconds,
        history,
    )
    lowest, kept = (
        Best(np.array(arrays[f"looks/{k}"]), history[place])
        for k, place in enumerate(header["looks"])
    )
    return replace(run, verdict=Verdict(lowest, kept))
