"""Lowering: the tile stage becomes a list of instructions over buffers.

Wide matrix products and outer products are *barriers*; everything between them is elementwise and
fused into loops, one per level and width. A value that a later level needs is stored if it is
expensive (a tanh) or long, and computed again from stored ones otherwise: the derivatives of an
activation are arithmetic on its value.
"""

from __future__ import annotations

from pinnsolve.devices.cpu.instructions import (
    ColumnSum,
    Instruction,
    Loop,
    Lowered,
    Outer,
    Place,
    Product,
    is_barrier,
    is_reduction,
    is_virtual,
    loop_width,
    members,
    place_of,
)
from pinnsolve.devices.cpu.stages import Stages
from pinnsolve.diff.graph import Node
from pinnsolve.diff.rewrite import NARROW

EXPENSIVE = {"tanh", "sigmoid", "sin", "cos", "exp", "expm1", "log", "log1p", "erf", "arctan"}
EXPENSIVE |= {"softplus"}
RECOMPUTE = 12  # arithmetic operations that cost less than a store and a load


def lower(stages: Stages, rows: dict[str, tuple[int, int]]) -> Lowered:
    """Instructions for the tile stage; ``rows`` says to which output row and segment each named
    per-point output goes."""
    return _Lowering(stages, rows).run()


class _Lowering:
    """One lowering in progress; each method fills one table from the earlier ones."""

    def __init__(self, stages: Stages, rows: dict[str, tuple[int, int]]) -> None:
        self.stages = stages
        self.rows = rows
        self.tile = set(stages.tile)
        self.varying = tuple(n for n in stages.tile if n.primitive == "input")
        self.out = Lowered(data=stages.data + self.varying, uniform=stages.uniform)
        self.level: dict[Node, int] = {}
        self.stored: set[Node] = set()
        self.stores: dict[Node, list[Place]] = {}

    def run(self) -> Lowered:
        columns = 0
        for node in self.out.data:
            self.out.places[node] = Place("D", columns)
            columns += node.columns
        self._levels()
        self._choose_stored()
        self._allocate()
        self._schedule()
        return self.out

    # --- levels ------------------------------------------------------------------------------

    def _levels(self) -> None:
        for node in self.stages.tile:
            if node in self.out.places:  # varying input
                self.level[node] = 0
                continue
            below = [self.level.get(a, 0) for a in node.args]
            if is_barrier(node):
                self.level[node] = max(below) + 1
            elif is_virtual(node):
                after = node.primitive in ("cut", "part") and self._is_computed(node.args[0])
                self.level[node] = max(below) + after
            else:
                self.level[node] = max(
                    self.level.get(leaf, 0) + self._crosses(node, leaf)
                    for leaf in self._operands(node)
                )

    def _crosses(self, node: Node, operand: Node) -> bool:
        """Whether a node needs features of a computed operand other than its own, so that the
        operand's loop must run before."""
        if not self._is_computed(operand):
            return False
        mixes = node.primitive in ("dot", "contract") and 1 < operand.columns <= NARROW
        return mixes or operand.columns != loop_width(node)

    def _is_computed(self, node: Node) -> bool:
        return (
            node in self.tile
            and not is_barrier(node)
            and not is_virtual(node)
            and node not in self.out.places
        )

    def _operands(self, node: Node) -> list[Node]:
        """The values a loop reads for a node, seen through views and stacks of computed ones."""
        found: list[Node] = []
        for argument in node.args:
            found += self._resolve(argument)
        return found

    def _resolve(self, node: Node) -> list[Node]:
        if node not in self.tile or node in self.out.places or not is_virtual(node):
            return [node]
        if node.primitive in ("stack", "concatenate"):
            return [leaf for argument in node.args for leaf in self._resolve(argument)]
        (source,) = node.args
        if node.primitive == "part" and source.primitive == "stack":
            return self._resolve(source.args[node.attributes[0]])
        return [node]  # a view of a stored value

    # --- what is stored ----------------------------------------------------------------------

    def _choose_stored(self) -> None:
        for node in self.stages.tile:
            for operand in self._barrier_operands(node):
                self._store(operand)
            if self._is_computed(node):
                self._store_other_features(node)
        wanted = set(self.stored)
        self._store_long(self._latest_use())
        latest = self._latest_use()
        self.stored = {n for n in self.stored if n in wanted or latest.get(n, 0) > self.level[n]}

    def _store_other_features(self, node: Node) -> None:
        """Operands of which a loop needs other features than the one it is at."""
        for operand in self._operands(node):
            if self._crosses(node, operand):
                self.stored.add(operand)
            if operand.primitive in ("cut", "part"):
                self._store(operand.args[0])

    def _latest_use(self) -> dict[Node, int]:
        """The last level that may ask for each value, its users being computed again or not."""
        latest: dict[Node, int] = {}
        for node in reversed(self.stages.tile):
            if is_virtual(node) or node in self.out.places:
                continue
            asked = self.level[node]
            if not is_barrier(node) and node not in self.stored:
                asked = max(asked, latest.get(node, 0))
            for operand in self._operands(node):
                latest[operand] = max(latest.get(operand, 0), asked)
        return latest

    def _store_long(self, latest: dict[Node, int]) -> None:
        """Values that a later level asks for and that take long to compute again."""
        cost: dict[Node, int] = {}
        for node in self.stages.tile:
            if not self._is_computed(node) or is_reduction(node):
                continue
            own = 100 if self._is_expensive(node) else 1
            cost[node] = own + sum(cost.get(a, 0) for a in self._operands(node))
            if cost[node] > RECOMPUTE and latest.get(node, 0) > self.level[node]:
                self.stored.add(node)
            if node in self.stored:
                cost[node] = 0

    def _is_expensive(self, node: Node) -> bool:
        whole = node.primitive == "power" and float(node.attributes[0]).is_integer()
        return node.primitive in EXPENSIVE or (node.primitive == "power" and not whole)

    def _barrier_operands(self, node: Node) -> list[Node]:
        if not is_barrier(node):
            return []
        return [argument for argument in node.args if argument.points]

    def _store(self, node: Node) -> None:
        if node in self.out.places or is_barrier(node):
            return
        if node.primitive in ("stack", "concatenate"):
            for argument in node.args:
                self._store(argument)
        elif is_virtual(node):
            self._store(node.args[0])
        elif node in self.tile:
            self.stored.add(node)

    # --- buffers -----------------------------------------------------------------------------

    def _buffer(self, features: int, blocks: int = 1) -> int:
        self.out.buffers.append((features, blocks))
        return len(self.out.buffers) - 1

    def _allocate(self) -> None:
        """Stacks and side-by-side columns first, so that their members are born in place."""
        for node in self.stages.tile:
            for operand in self._whole_operands(node):
                if operand.points:
                    self._contiguous(operand)
        for node in self.stages.tile:
            if node in self.out.places:
                continue
            if node.primitive in ("dot", "sum_axes") and is_barrier(node):
                self.out.places[node] = Place(
                    "S", self._buffer(node.columns, node.points), blocks=node.points
                )
            elif node.primitive == "outer" and node not in self.stages.rows.values():
                self.out.places[node] = Place("S", self._buffer(node.columns))
            elif node in self.stored:
                self._put(node, Place("S", self._buffer(node.columns)))

    def _whole_operands(self, node: Node) -> list[Node]:
        """Operands whose features a node reads from one matrix."""
        if is_virtual(node):
            return []
        match node.primitive:
            case "outer":
                return [m for operand in self._barrier_operands(node) for m in members(operand)]
            case "contract" if not is_barrier(node):  # the loop runs over the wide side
                left, right = node.args
                return list(members(left if left.columns >= right.columns else right))
        if is_barrier(node):
            return self._barrier_operands(node)
        if node.primitive in ("dot", "sum_points"):
            return []
        return [argument for argument in node.args if argument.primitive == "concatenate"]

    def _contiguous(self, node: Node) -> None:
        """A place where a barrier's operand lies as one matrix."""
        if node.primitive not in ("stack", "concatenate") or node in self.out.places:
            return
        blocks = node.points
        buffer = self._buffer(node.columns, blocks)
        self.out.places[node] = Place("S", buffer, blocks=blocks)
        feature = 0
        for s, member in enumerate(node.args):
            if node.primitive == "stack":
                self._fill(member, Place("S", buffer, s, blocks))
            else:
                self._fill(member, Place("S", buffer, 0, blocks, feature))
                feature += member.columns

    def _fill(self, member: Node, place: Place) -> None:
        if member.primitive == "concatenate" and member in self.tile:
            feature = place.feature
            for column in member.args:
                self._fill(column, Place("S", place.index, place.block, place.blocks, feature))
                feature += column.columns
        else:
            self._put(member, place)

    def _put(self, node: Node, place: Place) -> None:
        self.stores.setdefault(node, []).append(place)
        if self._is_computed(node) and node not in self.out.places:
            self.out.places[node] = place

    # --- schedule ----------------------------------------------------------------------------

    def _schedule(self) -> None:
        last = max(self.level.values(), default=0)
        barriers: dict[int, list[Node]] = {}
        for node in self.stages.tile:
            if is_barrier(node):
                barriers.setdefault(self.level[node], []).append(node)
        loops = self._loops()
        for level in range(last + 2):
            for node in barriers.get(level, []):
                self.out.instructions.append(self._barrier(node))
            self.out.instructions += loops.get(level, [])

    def _loops(self) -> dict[int, list[Loop]]:
        stores: dict[tuple[int, int], list[tuple[Node, Place]]] = {}
        for node, places in self.stores.items():
            key = (self._level_of(node), node.columns)
            stores.setdefault(key, []).extend((node, place) for place in places)
        sums: dict[tuple[int, int], list[Node]] = {}
        for node in self.stages.tile:
            if is_reduction(node):
                sums.setdefault((self.level[node], loop_width(node)), []).append(node)
        outputs: dict[tuple[int, int], list[tuple[Node, tuple[int, int]]]] = {}
        for name, node in self.stages.rows.items():
            for value, row in self._output_columns(node, self.rows[name]):
                key = (self._level_of(value), value.columns)
                outputs.setdefault(key, []).append((value, row))
        found: dict[int, list[Loop]] = {}
        for key in sorted({*stores, *sums, *outputs}):
            level, width = key
            loop = Loop(
                width,
                tuple(stores.get(key, ())),
                tuple(sums.get(key, ())),
                tuple(outputs.get(key, ())),
            )
            found.setdefault(level, []).append(loop)
        return found

    def _output_columns(
        self, node: Node, row: tuple[int, int]
    ) -> list[tuple[Node, tuple[int, int]]]:
        """Columns put side by side are written one by one; outer products write themselves."""
        if node.primitive == "outer":
            return []
        if node.primitive != "concatenate" or node in self.stages.data:
            return [(node, row)]
        found, first = [], row[0]
        for argument in node.args:
            found += self._output_columns(argument, (first, row[1]))
            first += argument.columns
        return found

    def _level_of(self, node: Node) -> int:
        return max((self.level.get(leaf, 0) for leaf in self._resolve(node)), default=0)

    def _barrier(self, node: Node) -> Instruction:
        match node.primitive:
            case "dot":
                return Product(node, self.place(node.args[0]), None, self.out.places[node])
            case "contract":
                left, right = (self.place(argument) for argument in node.args)
                return Product(node, left, right, None)
            case "sum_axes":
                return ColumnSum(node, self.place(node.args[0]), self.out.places[node])
        for name, row in self.stages.rows.items():
            if row is node:
                return Outer(node, self.rows[name])
        return Outer(node, self.out.places[node])

    def place(self, node: Node) -> Place:
        return place_of(self.out, node)
