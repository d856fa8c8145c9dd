"""Runs that follow each other: what each is given.

Invariant: shares depend on the records of earlier runs, which a resumed run has from its file, and
never on the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pinnsolve.solutions.history import Record


def share_seconds(limit: float | None, taken: Sequence[Record], part: float) -> float | None:
    """The part of the seconds that `taken`, the last records of earlier runs, have left."""
    if limit is None:
        return None
    rest = part * (limit - sum(record.seconds for record in taken))
    return max(float(f"{rest:.3g}"), 1e-3)


def share_steps(limit: int | None, taken: Sequence[Record], part: float) -> int | None:
    """The same of the steps, one at least."""
    if limit is None:
        return None
    return max(round(part * (limit - sum(record.step for record in taken))), 1)


def numbered(path: str | Path | None, number: int) -> Path | None:
    """The file of a run: run.h5 becomes run-1.h5, run-2.h5, ..."""
    return None if path is None else Path(path).with_stem(f"{Path(path).stem}-{number + 1}")
