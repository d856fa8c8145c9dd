"""Cells: networks as functions from arrays to arrays, with named parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np

from pinnsolve.diff.graph import Node
from pinnsolve.diff.parameters import Array, Parameter, Precision, initialize
from pinnsolve.diff.trace import call
from pinnsolve.errors import NetworkError


class Cell:
    """Base of layers and networks. A subclass sets parameters and cells as attributes and writes
    ``construct`` with :mod:`pinnsolve.ops`; there is nothing else to write.

    Called on arrays ``(n, inputs)``, whose rows are points, it gives an array; called on traced
    values it gives a traced value, so a cell can stand inside any function that is differentiated,
    and inside any other cell.

    >>> import numpy as np, pinnsolve as ps
    >>> class Bump(ps.nets.Cell):
    ...     def __init__(self):
    ...         self.sharpness = ps.nets.Parameter((), ps.nets.constant(2.0))
    ...
    ...     def construct(self, x):
    ...         return ps.ops.exp(-(self.sharpness * x * x))
    >>> bump = Bump()
    >>> bump
    Bump, 1 parameter
    >>> bump(np.array([[0.0], [1.0]])).round(4).tolist()
    [[1.0], [0.1353]]
    """

    # What random cells go by; set on a whole tree by set_train and redraw.
    training = False
    draw = 0
    place = 0

    def construct(self, *inputs: Any, **_: Any) -> Any:
        """The value ``(n, outputs)`` from the input ``(n, inputs)``, or from several inputs."""
        raise NotImplementedError(f"{type(self).__name__} needs a method construct(self, x)")

    def __call__(self, *inputs: Any) -> Any:
        if not any(isinstance(x, Node) and x.points and not x.shape.count for x in inputs):
            # Here, because the order of the tree is the one that `initialize` draws in. A program
            # compiled for any number of points is given values by whoever runs it.
            initialize(self.parameters())
        return call(self.construct, *inputs)

    # --- what is inside --------------------------------------------------------------------------

    def children(self) -> Iterator[tuple[str, Cell | Parameter]]:
        """Cells and parameters held directly, also in lists, tuples and dicts, in order of
        assignment."""
        for name, value in vars(self).items():
            yield from _found(name, value)

    def walk(self) -> Iterator[tuple[str, Cell | Parameter]]:
        """This cell and all cells and parameters inside, each once, under the path that leads to it
        first; depth first."""
        return self._walk("", set())

    def _walk(self, path: str, seen: set[int]) -> Iterator[tuple[str, Cell | Parameter]]:
        seen.add(id(self))
        yield path, self
        for name, child in self.children():
            if id(child) in seen:
                continue
            inner = f"{path}.{name}" if path else name
            if isinstance(child, Cell):
                yield from child._walk(inner, seen)
            else:
                seen.add(id(child))
                yield inner, child

    def named_parameters(self) -> dict[str, Parameter]:
        """Every parameter once, under the path that leads to it first."""
        return {path: part for path, part in self.walk() if isinstance(part, Parameter)}

    def parameters(self) -> list[Parameter]:
        """Every parameter once."""
        return list(self.named_parameters().values())

    def trainable_parameters(self) -> list[Parameter]:
        """Those that are not frozen."""
        return [parameter for parameter in self.parameters() if parameter.requires_grad]

    # --- how it behaves --------------------------------------------------------------------------

    def set_train(self, mode: bool = True) -> Self:
        """Whether cells that act in training only (Dropout) act, here and in all cells inside."""
        for place, (_, part) in enumerate(self.walk()):
            if isinstance(part, Cell):
                part.training, part.place = mode, place
        return self

    def redraw(self) -> Self:
        """Random cells (Dropout) inside draw anew, each its own numbers, the next time they are
        traced."""
        for place, (_, part) in enumerate(self.walk()):
            if isinstance(part, Cell):
                part.draw, part.place = part.draw + 1, place
        return self

    def freeze(self) -> Self:
        """No parameter inside is trained from now on. ``net.branch.freeze()`` freezes a part."""
        return self._set_trainable(False)

    def unfreeze(self) -> Self:
        """All parameters inside are trained from now on."""
        return self._set_trainable(True)

    def _set_trainable(self, mode: bool) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad = mode
        return self

    def set_dtype(self, dtype: Precision) -> Self:
        """Store the values of all parameters in "float64" or "float32".

        Raises:
            NetworkError: another precision.
        """
        for parameter in self.parameters():
            parameter.dtype = dtype
        return self

    # --- values ----------------------------------------------------------------------------------

    def initialize(self, seed: int = 0) -> Self:
        """Draw the values of all parameters, in order, from one seed. Frozen ones keep theirs."""
        rng = np.random.default_rng(seed)
        for parameter in self.parameters():
            if parameter.requires_grad or parameter.value is None:
                parameter.value = parameter.initializer(rng, parameter.shape)
        return self

    def values(self) -> dict[str, Array]:
        """The value of every parameter by name, drawn from seed 0 where there is none yet."""
        named = self.named_parameters()
        initialize(named.values())
        return {name: np.array(parameter.value) for name, parameter in named.items()}

    def set_values(self, values: Mapping[str, Any]) -> Self:
        """Set every parameter by name. Frozen ones may be left out and keep their values, so that
        what was trained, ``solution.weights``, can be put back.

        Raises:
            NetworkError: a name is missing or unknown, or a shape differs; nothing is changed then.
        """
        named = self.named_parameters()
        missing = [name for name in named.keys() - values.keys() if named[name].requires_grad]
        wrong = [f"{name} is missing" for name in missing]
        wrong += [f"there is no {name}" for name in values.keys() - named.keys()]
        wrong += [
            f"{name} has shape {named[name].shape}, not {np.shape(value)}"
            for name, value in values.items()
            if name in named and np.shape(value) != named[name].shape
        ]
        if wrong:
            raise NetworkError(f"values of another network: {'; '.join(sorted(wrong))}")
        for name, value in values.items():
            named[name].value = value
        return self

    # --- text ------------------------------------------------------------------------------------

    @property
    def label(self) -> str:
        """A few words for reports."""
        return type(self).__name__

    def __repr__(self) -> str:
        return "\n".join(self._lines((self,)))

    def _lines(self, owners: tuple[Cell, ...]) -> Iterator[str]:
        yield f"{self.label}{counted(self.parameters())}"
        for name, child in self.children():
            if isinstance(child, Cell) and child not in owners:
                first, *rest = child._lines((*owners, child))
                yield f"  {name}: {first}"
                yield from (f"  {line}" for line in rest)


def counted(parameters: Iterable[Parameter]) -> str:
    """``, 17 parameters (5 frozen)``, or nothing where there are none."""
    sizes = [(parameter.size, parameter.requires_grad) for parameter in parameters]
    total = sum(size for size, _ in sizes)
    frozen = sum(size for size, trained in sizes if not trained)
    if total == 0:
        return ""
    return f", {total} parameter{'s' * (total > 1)}" + f" ({frozen} frozen)" * bool(frozen)


def _found(name: str, value: Any) -> Iterator[tuple[str, Cell | Parameter]]:
    if isinstance(value, Cell | Parameter):
        yield name, value
    elif isinstance(value, list | tuple):
        for k, entry in enumerate(value):
            yield from _found(f"{name}.{k}", entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _found(f"{name}.{key}", entry)


def check_sizes(**sizes: int) -> None:
    """NetworkError unless all are positive whole numbers."""
    text = ", ".join(f"{name}={size!r}" for name, size in sizes.items())
    if not all(isinstance(size, Integral) for size in sizes.values()):
        raise NetworkError(f"sizes must be whole numbers: {text}")
    if min(sizes.values()) < 1:
        raise NetworkError(f"sizes must be positive: {text}")
