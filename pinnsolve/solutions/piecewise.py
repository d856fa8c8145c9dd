"""Fields in windows of time: each window has a network of its own.

Invariant: at every time one window gives values and derivatives; an end belongs to the window that
ends there. Nothing is known after the last window.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node
from pinnsolve.errors import FileError, SolutionError
from pinnsolve.solutions.field import (
    AbstractEvaluator,
    AbstractTraceable,
    Array,
    Arrays,
    Derivative,
    numbered_arrays,
    parts_of,
)


@dataclass(frozen=True, eq=False)
class Piecewise:
    """Evaluators, one a window.

    Attributes:
        axis: position of the time among the coordinates.
        ends: of the windows, one more than there are pieces.
        pieces: in the order of time.
        whole: whether the last window ends where the problem does. If not, values after it are nan;
            if so, they are an extrapolation, like those outside of any domain.
    """

    axis: int
    ends: tuple[float, ...]
    pieces: tuple[AbstractEvaluator, ...]
    whole: bool = True

    def derivative(self, field: str, orders: tuple[int, ...], points: Array) -> Array:
        """One derivative of one field at points ``(n, d)``, in any order of times: ``(n,)``."""
        times = points[:, self.axis]
        window = np.searchsorted(self.ends[1:-1], times, side="left")
        values = np.empty(len(points))
        for number in np.unique(window):
            inside = window == number
            values[inside] = self.pieces[number].derivative(field, orders, points[inside])
        if not self.whole:
            values[times > self.ends[-1]] = np.nan
        return values

    def nodes(
        self, wanted: Iterable[Derivative], columns: Sequence[Any], like: Node
    ) -> dict[Derivative, Node]:
        """Derivatives as nodes, as those of each window; all windows are in the graph."""
        wanted = list(wanted)
        *before, last = (piece.nodes(wanted, columns, like) for piece in self._traceable())
        time = columns[self.axis]
        if not self.whole:
            over = ops.less(self.ends[-1], time)
            last = {key: ops.where(over, float("nan"), node) for key, node in last.items()}
        for end, piece in zip(self.ends[-2:0:-1], reversed(before), strict=True):
            inside = ops.less_equal(time, end)
            last = {key: ops.where(inside, piece[key], node) for key, node in last.items()}
        return last

    def _traceable(self) -> Iterator[AbstractTraceable]:
        for piece in self.pieces:
            if not isinstance(piece, AbstractTraceable):
                raise SolutionError("the fields of this solution are no graph")
            yield piece

    def at(self, fixed: Mapping[int, float], dimension: int) -> Piecewise:
        """The fields where some coordinates are fixed, by position, but not the time."""
        pieces = tuple(piece.at(fixed, dimension) for piece in self.pieces)
        axis = self.axis - sum(place < self.axis for place in fixed)
        return Piecewise(axis, self.ends, pieces, self.whole)

    def to_data(self) -> tuple[dict[str, Any], Arrays]:
        """A header that JSON can hold, and the parameters by number of the window and name."""
        headers, arrays = zip(*(piece.to_data() for piece in self.pieces), strict=True)
        header = {
            "axis": self.axis,
            "ends": list(self.ends),
            "whole": self.whole,
            "pieces": list(headers),
        }
        return header, numbered_arrays(arrays)

    @staticmethod
    def from_data(
        header: Mapping[str, Any],
        arrays: Mapping[str, Array],
        piece: Callable[[Any, Arrays], AbstractEvaluator],
    ) -> Piecewise:
        """The inverse of `to_data`; `piece` is that of one window. FileError for other data."""
        try:
            parts = parts_of(arrays, len(header["pieces"]))
            pieces = [piece(h, part) for h, part in zip(header["pieces"], parts, strict=True)]
            ends = tuple(map(float, header["ends"]))
            axis, whole = int(header["axis"]), bool(header["whole"])
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise FileError(f"the windows in the file are damaged: {error}") from error
        if len(ends) != len(pieces) + 1:
            raise FileError(f"the file has {len(ends)} ends for {len(pieces)} windows")
        return Piecewise(axis, ends, tuple(pieces), whole)
