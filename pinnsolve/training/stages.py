"""Runs that follow each other: what each is given.

Invariant: shares depend on the records of earlier runs, which a resumed run has from its file, and
never on the clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from pinnsolve.errors import PinnsolveError
from pinnsolve.solutions.history import Record


def window_shares(windows: int | Sequence[float]) -> tuple[float, ...]:
    """The share of each window, of seconds and of steps: the same for a number of windows, or else
    as given.

    Raises PinnsolveError for what is neither.

    >>> window_shares(3), window_shares([5, 2, 1])
    ((1.0, 1.0, 1.0), (5.0, 2.0, 1.0))
    """
    if isinstance(windows, int) and not isinstance(windows, bool) and windows >= 1:
        return (1.0,) * windows
    shares: Any = windows  # whatever was written
    given = isinstance(shares, list | tuple | np.ndarray) and len(shares) > 0
    if given and all(isinstance(share, Real) and 0 < float(share) < np.inf for share in shares):
        return tuple(float(share) for share in shares)
    raise PinnsolveError(
        "windows must be a whole number of at least 1, or a positive share of the seconds for each "
        f"window, such as [3, 2, 1], not {windows!r}"
    )


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
