"""Instructions of a tile: what lowering makes and emission writes.

Layout: a buffer holds rows of points, ``[feature][block][point]``, so the innermost loop always
runs over the points of the tile, whatever the width of the network, and a matrix product takes
all blocks at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pinnsolve.diff.graph import Node
from pinnsolve.diff.rewrite import NARROW, is_wide
from pinnsolve.errors import DeviceError


@dataclass(frozen=True)
class Place:
    """Where a per-point value lies: in the columns of point data ("D") or in a buffer ("S").

    row: of its first feature in its first block. feature, block: rows to the next of each.
    """

    space: str
    buffer: int = 0
    row: int = 0
    feature: int = 1
    block: int = 0

    def at(self, feature: int, block: int = 0) -> Place:
        """The same value from a later feature or block on."""
        return replace(self, row=self.row + feature * self.feature + block * self.block)


@dataclass(frozen=True)
class Rows:
    """Output rows of a value: row, segment of its first feature; block: rows to the next one."""

    row: int
    segment: int
    block: int = 0


@dataclass(frozen=True)
class Loop:
    """A fused elementwise loop over features, points and blocks.

    What has blocks is computed for each of them, the rest before or after (what needs a sum over
    blocks). outside: blocks are looped over outside of the points, for sums over the points of
    each block.
    """

    blocks: int
    width: int
    outside: bool
    stores: tuple[tuple[Node, Place], ...]
    sums: tuple[Node, ...]
    outputs: tuple[tuple[Node, Rows], ...]


@dataclass(frozen=True)
class Product:
    """dot (target is a buffer) or contract (target is a sum)."""

    node: Node
    left: Place
    right: Place | None
    target: Place | None


@dataclass(frozen=True)
class Outer:
    """A Jacobian block: sum over blocks of x_s (x) y_s, into output rows or a buffer; `more` adds
    to what is there."""

    node: Node
    target: Place | Rows
    more: bool = False


@dataclass(frozen=True)
class ColumnSum:
    node: Node
    source: Place
    target: Place


Instruction = Loop | Product | Outer | ColumnSum


@dataclass
class Lowered:
    """Instructions in order; buffers as rows; where values and columns lie."""

    instructions: list[Instruction] = field(default_factory=list)
    buffers: list[int] = field(default_factory=list)
    places: dict[Node, Place] = field(default_factory=dict)
    data: tuple[Node, ...] = ()
    uniform: tuple[Node, ...] = ()


def is_barrier(node: Node) -> bool:
    """Whether a node is an instruction of its own."""
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
    """Whether a node is a view of others."""
    if node.primitive == "join_blocks":  # blocks of one feature lie like features
        return node.args[0].columns == 1
    return node.primitive in ("stack", "part", "concatenate", "cut")


def summed(node: Node) -> Node:
    """What a sum over points adds up: of blocks side by side, each on its own."""
    (x,) = node.args
    return x.args[0] if x.primitive == "join_blocks" else x


def loop_width(node: Node) -> int:
    """Features of the loop that computes a node; a narrow contraction runs over its wide side."""
    match node.primitive:
        case "contract":
            return max(node.shape.rows, node.columns)
        case "join_blocks":
            return node.args[0].columns
        case "sum_points":
            return summed(node).columns
    return node.columns


def loop_blocks(node: Node) -> int:
    """Blocks of the loop that computes a node, at least 1."""
    match node.primitive:
        case "sum_blocks" | "join_blocks":
            return node.args[0].points
        case "sum_points":
            return summed(node).points
        case "contract":
            return 1 if node.args[0].primitive == "stack" else node.args[0].points
    return max(1, node.points)


def members(node: Node) -> tuple[Node, ...]:
    """The blocks of a stack that has a node for each; else the node."""
    return node.args if node.primitive == "stack" else (node,)


def place_of(lowered: Lowered, node: Node) -> Place:
    """Where a stored value, or a view of one, lies."""
    if node in lowered.places:
        return lowered.places[node]
    if node.primitive == "part":
        number = node.attributes[0]
        (source,) = node.args
        if source.primitive == "stack" and source not in lowered.places:
            return place_of(lowered, source.args[number])
        return replace(place_of(lowered, source).at(0, number), block=0)
    if node.primitive == "cut":
        return place_of(lowered, node.args[0]).at(node.attributes[1])
    if is_virtual(node) and node.primitive == "join_blocks":
        base = place_of(lowered, node.args[0])
        return replace(base, feature=base.block, block=0)
    raise DeviceError(f"{node.primitive} has no place in memory")


def regrouped(lowered: Lowered, node: Node) -> Place:
    """Where the features lie that split_blocks makes blocks of, as those blocks."""
    base = place_of(lowered, node.args[0])
    return replace(base, block=node.columns * base.feature)


def outer_terms(node: Node) -> list[Node]:
    """The outer products that a node is the sum of, or nothing."""
    if node.primitive == "outer":
        return [node]
    if node.primitive != "add":
        return []
    first, second = map(outer_terms, node.args)
    return first + second if first and second else []
