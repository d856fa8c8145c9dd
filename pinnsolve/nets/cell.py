"""Cells: networks as functions from nodes to nodes, with named parameters."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Parameter


class Cell:
    """Base of layers and networks. A subclass sets parameters and cells as attributes and writes
    ``construct(x)`` with :mod:`pinnsolve.ops`.

    >>> import pinnsolve as ps
    >>> class Bump(ps.nets.Cell):
    ...     def __init__(self):
    ...         self.width = ps.nets.Parameter((1, 1), ps.nets.constant(1.0))
    ...
    ...     def construct(self, x):
    ...         return ps.ops.exp(-ps.ops.multiply(self.width, x * x))
    >>> Bump().named_parameters()
    {'width': Parameter(shape=(1, 1), ...)}
    """

    def construct(self, x: Node) -> Node:
        """The value ``(n, outputs)`` from the input ``(n, inputs)``."""
        raise NotImplementedError(f"{type(self).__name__} needs a method construct(self, x)")

    def __call__(self, x: Node) -> Node:
        return self.construct(x)

    def children(self) -> Iterator[tuple[str, Cell | Parameter]]:
        """Cells and parameters held directly, in order of assignment."""
        for name, value in vars(self).items():
            if isinstance(value, Cell | Parameter):
                yield name, value
            elif isinstance(value, list | tuple):
                yield from (
                    (f"{name}.{k}", entry)
                    for k, entry in enumerate(value)
                    if isinstance(entry, Cell | Parameter)
                )

    def named_parameters(self) -> dict[str, Parameter]:
        """Every parameter once, under the path that leads to it first."""
        found: dict[str, Parameter] = {}
        for name, child in self.children():
            inner = {"": child} if isinstance(child, Parameter) else child.named_parameters()
            for path, parameter in inner.items():
                if parameter not in found.values():
                    found[f"{name}.{path}" if path else name] = parameter
        return found

    def parameters(self) -> list[Parameter]:
        return list(self.named_parameters().values())

    @property
    def label(self) -> str:
        """A few words for reports."""
        return type(self).__name__

    def __repr__(self) -> str:
        count = sum(int(np.prod(p.shape)) for p in self.parameters())
        inside = "".join(
            "\n  " + f"{name}: {child!r}".replace("\n", "\n  ")
            for name, child in self.children()
            if isinstance(child, Cell)
        )
        return f"{self.label}, {count} parameters{inside}"
