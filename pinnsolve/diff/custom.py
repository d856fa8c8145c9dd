"""User operations: a numpy function with derivative rules of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.graph import Node, caller, make
from pinnsolve.diff.primitives import Array
from pinnsolve.diff.program import AbstractProgram, Body, Shares
from pinnsolve.diff.support import product, shares_within
from pinnsolve.diff.taylor import Algebra, Channels, compose_elementwise
from pinnsolve.diff.trace import is_symbolic
from pinnsolve.errors import GraphError

Rule = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Custom(AbstractProgram):
    """A numpy function and its rules."""

    function: Callable[..., Any]
    taylor_rule: Rule | None
    vjp_rule: Rule | None
    shape_rule: Callable[..., tuple[int, ...]] | None
    name: str
    where: str

    @property
    def bodies(self) -> tuple[Body, ...]:
        return ()

    def dims(self, *dims: tuple[int, ...]) -> tuple[int, ...]:
        """The axes of the result."""
        return tuple(self.shape_rule(*dims)) if self.shape_rule else np.broadcast_shapes(*dims)

    def value(self, *arrays: Array) -> Array:
        result = np.asarray(self.function(*arrays))
        expected = np.broadcast_shapes(*(a.shape for a in arrays))
        if (
            not self.shape_rule
        ):  # with one, it tells the axes at one point, which are not known here
            self.require(result, expected)
        return result

    def require(self, result: Array, dims: tuple[int, ...]) -> None:
        if result.shape != dims:
            raise GraphError(
                f"{self.where} returned an array of shape {result.shape}, not {dims}: write "
                f"custom({self.name}, shape=...), a function of the shapes of the arguments"
            )

    def slopes(self, node: Node) -> list[Node | None]:
        """The derivative by each argument, entry by entry."""
        if self.taylor_rule is None:
            raise GraphError(
                f"{self.where} has no rule for forward derivatives (jvp, jet, Taylor sweeps of "
                f"residuals): write custom({self.name}, taylor=...), a function of (result, "
                "*arguments) that returns the derivative by each argument"
            )
        found = self.taylor_rule(node, *node.args)
        slopes = list(found) if isinstance(found, (tuple, list)) else [found]
        if len(slopes) != len(node.args):
            raise GraphError(
                f"the taylor rule of {self.where} returned {len(slopes)} derivative(s) for "
                f"{len(node.args)} argument(s)"
            )
        return [None if slope is None else ops.as_node(slope) for slope in slopes]

    def taylor(self, node: Node, arguments: Sequence[Channels], algebra: Algebra) -> Channels:
        return compose_elementwise(node, self.slopes, arguments, algebra)

    def reverse(self, node: Node, cotangent: Node, per_point: bool) -> Shares:
        if self.vjp_rule is None:
            if self.taylor_rule is None:
                raise GraphError(
                    f"{self.where} has no rule for reverse derivatives (grad, vjp): write "
                    f"custom({self.name}, vjp=...), a function of (cotangent, result, *arguments) "
                    "that returns a share for each argument, or taylor=... if it works entry by "
                    "entry"
                )
            return [None if s is None else product(cotangent, s, None) for s in self.slopes(node)]
        shares = self.vjp_rule(cotangent, node, *node.args)
        shares = list(shares) if isinstance(shares, (tuple, list)) else [shares]
        if len(shares) != len(node.args):
            raise GraphError(
                f"the vjp rule of {self.where} returned {len(shares)} share(s) for "
                f"{len(node.args)} argument(s)"
            )
        checked = [
            None if share is None else self._share(ops.as_node(share), argument)
            for share, argument in zip(shares, node.args, strict=True)
        ]
        return shares_within(cotangent, checked)

    def _share(self, share: Node, argument: Node) -> Node:
        try:
            np.broadcast_shapes(share.dims, argument.dims)
        except ValueError:
            raise GraphError(
                f"the vjp rule of {self.where} returned a share of shape {share.shape} for an "
                f"argument of shape {argument.shape}"
            ) from None
        return share


def custom(
    function: Callable[..., Any],
    *,
    vjp: Rule | None = None,
    taylor: Rule | None = None,
    shape: Callable[..., tuple[int, ...]] | None = None,
) -> Callable[..., Any]:
    """An operation given by a numpy function and its own rules, written in :mod:`pinnsolve.ops`.

    Args:
        function: of arrays; it sees all points at once, so leading axes must broadcast.
        taylor: ``(result, *arguments) -> derivative by each argument`` (or one, for one argument)
            of a function that works entry by entry. All orders follow from it, both ways, as long
            as the rule itself can be differentiated.
        vjp: ``(cotangent, result, *arguments) -> shares``, one an argument, None for zero: for
            functions that do not work entry by entry, and for reverse mode only.
        shape: dims of the result from the dims of the arguments; as they broadcast by default.

    A rule that is needed and missing is a GraphError that names it. :func:`check_gradients`
    compares rules with differences.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> from scipy import special
    >>> lngamma = ps.diff.custom(special.gammaln, taylor=lambda y, x: digamma(x))
    >>> digamma = ps.diff.custom(special.digamma)
    >>> round(float(ps.diff.grad(lngamma)(1.0)), 6)
    -0.577216
    """
    name = getattr(function, "__name__", type(function).__name__)
    where = f"the custom operation {name!r} (defined{caller()})"
    program = Custom(function, taylor, vjp, shape, name, where)

    def operation(*arguments: Any) -> Any:
        if not any(map(is_symbolic, arguments)):
            arrays = [np.asarray(argument) for argument in arguments]
            value = program.value(*arrays)
            program.require(value, program.dims(*(a.shape for a in arrays)))
            return value[()]
        nodes = tuple(map(ops.as_node, arguments))
        if not shape:
            nodes = ops.align(f"call {name} with", *nodes)
        like = max(nodes, key=lambda n: n.points)
        full = like.shape._replace(dims=program.dims(*(node.dims for node in nodes)))
        return make("program", nodes, (program,), full)

    operation.__name__ = name
    return operation
