"""Precisions of the CPU device: of values at points, and of their sums over points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Precision:
    """values: of everything at points, and of what enters it. sums: over points."""

    values: np.dtype
    sums: np.dtype


_DOUBLE, _SINGLE = np.dtype(np.float64), np.dtype(np.float32)

PRECISIONS = {
    "float64": Precision(_DOUBLE, _DOUBLE),
    "float32": Precision(_SINGLE, _SINGLE),
    "mixed": Precision(_SINGLE, _DOUBLE),
}
