"""A symmetric matrix spread over processes by panels of columns, and its Cholesky factor.

Panel j, columns j w to (j + 1) w from the diagonal down, belongs to process j modulo their number,
so that all have as much to do to the end. Right-looking Cholesky (Golub and Van Loan, Matrix
Computations, 4.2.6 and 1.6.4): each panel in turn is finished by its process, goes to all of them,
and is taken off the panels that follow. A process receives n^2 / 2 numbers in all and works
n^3 / 3 operations divided by the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from pinnsolve.devices.base import Array
from pinnsolve.devices.communication import AbstractCommunicator

Panel = tuple[int, int]  # first column, and the one after the last


@dataclass(frozen=True, eq=False)
class PanelMatrix:
    """panels: those of this process, by first column, ``(size - first, last - first)``."""

    size: int
    width: int
    communicator: AbstractCommunicator
    panels: dict[int, Array]

    @classmethod
    def of(
        cls,
        size: int,
        width: int,
        communicator: AbstractCommunicator,
        columns: Callable[[Sequence[Panel]], list[Array]],
        memory: float,
    ) -> PanelMatrix:
        """From a function that gives panels, the same on every process, which asks for as many at
        once as fit into so many bytes, or else for those of one process."""
        ranks, kept = communicator.size, {}
        places = _places(size, width)
        owners = [places[rank::ranks] for rank in range(ranks)]
        together = max(1, int(memory * ranks / (4.0 * size**2)))
        for first in range(0, ranks, together):
            batch = range(first, min(first + together, ranks))
            wanted = [panel for owner in batch for panel in owners[owner]]
            found = columns(wanted)
            mine = set(owners[communicator.rank]) if communicator.rank in batch else set()
            kept |= {p[0]: found[k] for k, p in enumerate(wanted) if p in mine}
        return cls(size, width, communicator, kept)

    @property
    def diagonal(self) -> Array:
        """Whole, on every process."""
        own = np.zeros(self.size)
        for first, panel in self.panels.items():
            width = panel.shape[1]
            own[first : first + width] = panel[:width].diagonal()
        return self.communicator.allreduce_sum(own)

    def factor(self, shift: float) -> PanelFactor | None:
        """Of the matrix with the shift on its diagonal; None where that is not positive definite to
        rounding. The matrix stays as it is."""
        left = {first: panel.copy() for first, panel in self.panels.items()}
        for panel in left.values():
            panel[np.diag_indices(panel.shape[1])] += shift
        for first, last in _places(self.size, self.width):
            own = left.get(first)
            if own is not None:
                _finish(own)
            done = self.communicator.spread(
                own, (self.size - first, last - first), first // self.width
            )
            if not np.isfinite(done[: last - first].diagonal()).all():
                return None
            for other, panel in left.items():
                if other > first:
                    below = done[other - first :]
                    panel -= below @ below[: panel.shape[1]].T
        return PanelFactor(self.size, self.width, self.communicator, left)


@dataclass(frozen=True, eq=False)
class PanelFactor:
    """L of L L', spread like the matrix."""

    size: int
    width: int
    communicator: AbstractCommunicator
    panels: dict[int, Array]

    def solve(self, vector: Array) -> Array:
        """The solution of L L' x = vector, whole on every process, and of the same bits whatever
        their number: what each panel takes off the vector is taken off on all, one after the other.
        That is 1 / width of what they have received for the factor."""
        rest = np.array(vector)  # without L times what is known of L'x
        middle = np.zeros(self.size)
        for first, last, panel in self._panels():
            below = None
            if panel is not None:
                own = solve_triangular(
                    panel[: last - first], rest[first:last], lower=True, check_finite=False
                )
                middle[first:last] = own
                below = panel[last - first :] @ own
            if last < self.size:
                shape = (self.size - last,)
                rest[last:] -= self.communicator.spread(below, shape, first // self.width)
        found = np.zeros(self.size)
        for first, last, panel in reversed(list(self._panels())):
            own = None
            if panel is not None:
                right = middle[first:last] - panel[last - first :].T @ found[last:]
                own = solve_triangular(
                    panel[: last - first], right, lower=True, trans=1, check_finite=False
                )
            found[first:last] = self.communicator.spread(own, (last - first,), first // self.width)
        return found

    def _panels(self) -> Iterator[tuple[int, int, Array | None]]:
        for first, last in _places(self.size, self.width):
            yield first, last, self.panels.get(first)


def _places(size: int, width: int) -> list[Panel]:
    return [(first, min(first + width, size)) for first in range(0, size, width)]


def _finish(panel: Array) -> None:
    """The columns of L of a panel from which all before it has been taken off, in place; NaN where
    its square is not positive definite."""
    width = panel.shape[1]
    try:
        square = cholesky(panel[:width], lower=True, check_finite=False)
    except LinAlgError:
        square = np.full((width, width), np.nan)
    panel[:width] = square
    panel[width:] = solve_triangular(square, panel[width:].T, lower=True, check_finite=False).T
