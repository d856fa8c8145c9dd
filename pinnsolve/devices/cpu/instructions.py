"""Instructions of a tile: what lowering makes and emission writes.

Layout: a buffer holds features as rows and points as columns, ``[feature][block][point]``, so the
innermost loop always runs over the points of the tile, whatever the width of the network.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pinnsolve.diff.graph import Node
from pinnsolve.diff.rewrite import NARROW, is_wide
from pinnsolve.errors import DeviceError


@dataclass(frozen=True)
class Place:
    """Where a per-point value lies. space "D": first data column; "S": buffer and block; rows of a
    buffer of `blocks` blocks are `blocks * tile` long."""

    space: str
    index: int
    block: int = 0
    blocks: int = 1
    feature: int = 0


@dataclass(frozen=True)
class Loop:
    """A fused elementwise loop: what it computes for feature j and point i."""

    width: int
    stores: tuple[tuple[Node, Place], ...]
    sums: tuple[Node, ...]
    outputs: tuple[tuple[Node, tuple[int, int]], ...]  # (value, (output row, segment))


@dataclass(frozen=True)
class Product:
    """dot (target is a buffer) or contract (target is a sum)."""

    node: Node
    left: Place
    right: Place | None
    target: Place | None


@dataclass(frozen=True)
class Outer:
    """A Jacobian block: sum over blocks of x_s (x) y_s, into output rows or a buffer."""

    node: Node
    target: Place | tuple[int, int]


@dataclass(frozen=True)
class ColumnSum:
    node: Node
    source: Place
    target: Place


Instruction = Loop | Product | Outer | ColumnSum


@dataclass
class Lowered:
    """Instructions in order; buffers as (features, blocks); where values and columns lie."""

    instructions: list[Instruction] = field(default_factory=list)
    buffers: list[tuple[int, int]] = field(default_factory=list)
    places: dict[Node, Place] = field(default_factory=dict)
    data: tuple[Node, ...] = ()
    uniform: tuple[Node, ...] = ()


def is_barrier(node: Node) -> bool:
    match node.primitive:
        case "dot":
            return is_wide(node)
        case "contract":
            return min(node.shape.rows, node.columns) > NARROW
        case "outer" | "sum_axes":
            return True
    return False


def is_reduction(node: Node) -> bool:
    return node.primitive == "sum_points" or (node.primitive == "contract" and not is_barrier(node))


def is_virtual(node: Node) -> bool:
    return node.primitive in ("stack", "part", "concatenate", "cut")


def loop_width(node: Node) -> int:
    """Features of the loop that computes a node; a narrow contraction runs over its wide side."""
    if node.primitive == "contract":
        return max(node.shape.rows, node.columns)
    return node.columns


def members(node: Node) -> tuple[Node, ...]:
    """The blocks of a stack."""
    return node.args if node.primitive == "stack" else (node,)


def place_of(lowered: Lowered, node: Node) -> Place:
    """Where a stored value, or a view of one, lies."""
    if node in lowered.places:
        return lowered.places[node]
    if node.primitive == "part":
        index, blocks = node.attributes
        (source,) = node.args
        if source.primitive == "stack" and source not in lowered.places:
            return place_of(lowered, source.args[index])
        base = place_of(lowered, source)
        return Place(base.space, base.index, index, blocks, base.feature)
    if node.primitive == "cut":
        base = place_of(lowered, node.args[0])
        j = node.attributes[1]
        if base.space == "D":
            return Place("D", base.index + j)
        return Place(base.space, base.index, base.block, base.blocks, base.feature + j)
    raise DeviceError(f"{node.primitive} has no place in memory")
