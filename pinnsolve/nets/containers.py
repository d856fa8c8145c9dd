"""Cells made of cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pinnsolve.nets.cell import Cell


class SequentialCell(Cell):
    """Cells, or functions of one value such as ``ops.tanh``, one after the other: what one gives,
    the next one takes.

    >>> import pinnsolve as ps
    >>> net = ps.nets.SequentialCell(ps.nets.PeriodicEmbedding([0]), ps.MLP(3, 1, 8, 2))
    >>> net
    periodic in 0 > MLP 3-8-8-1, tanh, 113 parameters
      cells.0: periodic in 0
      cells.1: MLP 3-8-8-1, tanh, 113 parameters
        cells.0: Dense 3-8, tanh, 32 parameters
        cells.1: Dense 8-8, tanh, 72 parameters
        cells.2: Dense 8-1, 9 parameters
    """

    def __init__(self, *cells: Callable[[Any], Any]) -> None:
        self.cells = cells

    @property
    def label(self) -> str:
        return " > ".join(name_of(cell) for cell in self.cells)

    def construct(self, x: Any) -> Any:
        for cell in self.cells:
            x = cell(x)
        return x


class CellList(Cell):
    """A list of cells for a ``construct`` that runs through them; it computes nothing by itself.

    A plain list does as well; this one takes ``freeze``, ``set_train`` and its own line in a
    ``repr``.

    >>> import pinnsolve as ps
    >>> layers = ps.nets.CellList([ps.nets.Dense(2, 4)])
    >>> layers.append(ps.nets.Dense(4, 1))
    >>> len(layers), layers[1]
    (2, Dense 4-1, 5 parameters)
    >>> list(layers.named_parameters())
    ['0.weight', '0.bias', '1.weight', '1.bias']
    """

    def __init__(self, cells: Iterable[Cell] = ()) -> None:
        self.entries = list(cells)

    def children(self) -> Iterator[tuple[str, Cell]]:
        yield from ((str(k), cell) for k, cell in enumerate(self.entries))

    def append(self, cell: Cell) -> None:
        self.entries.append(cell)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.entries)

    def __getitem__(self, index: int) -> Cell:
        return self.entries[index]

    def construct(self, *inputs: Any, **_: Any) -> Any:
        raise NotImplementedError("a CellList is not called; call the cells in it")


def name_of(function: object) -> str:
    """The label of a cell or a request for one, else the name of a function."""
    name = getattr(function, "__name__", type(function).__name__)
    return str(getattr(function, "label", name))
