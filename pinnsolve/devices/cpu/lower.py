"""Lowering: the tile stage becomes a list of instructions over buffers.

Wide matrix products and outer products are *barriers*; everything between them is elementwise and
fused into loops, one per level, number of blocks and width. A value that a later loop needs is
stored if it is expensive (a tanh) or long, and computed again from stored ones otherwise: the
derivatives of an activation are arithmetic on its value.

A value's *position* is its level and the blocks of the loop that computes it; loops run in that
order. What needs a sum over blocks is *late*: computed in the loop over blocks, after them.
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
    Rows,
    is_barrier,
    is_reduction,
    is_virtual,
    loop_blocks,
    loop_width,
    members,
    outer_terms,
    place_of,
    summed,
)
from pinnsolve.devices.cpu.stages import Stages
from pinnsolve.diff.graph import Node
from pinnsolve.diff.rewrite import NARROW

EXPENSIVE = {"tanh", "sigmoid", "sin", "cos", "exp", "expm1", "log", "log1p", "erf", "arctan"}
EXPENSIVE |= {"softplus", "sum_blocks"}
RECOMPUTE = 12  # arithmetic operations that cost less than a store and a load

Position = tuple[int, int]  # level, blocks
Key = tuple[int, int, int, bool]  # of a loop: level, blocks, width, outside
FIRST = (0, 1)


def lower(stages: Stages, rows: dict[str, tuple[int, int]]) -> Lowered:
    """Instructions for the tile stage. rows: row and segment of each named per-point output."""
    return _Lowering(stages, rows).run()


class _Lowering:
    """One lowering in progress; each method fills one table from the earlier ones."""

    def __init__(self, stages: Stages, rows: dict[str, tuple[int, int]]) -> None:
        self.stages = stages
        self.rows = rows
        self.tile = set(stages.tile)
        self.varying = tuple(n for n in stages.tile if n.primitive == "input")
        self.out = Lowered(data=stages.data + self.varying, uniform=stages.uniform)
        self.position: dict[Node, Position] = {}
        self.stored: set[Node] = set()
        self.stores: dict[Node, list[Place]] = {}
        self.written: set[str] = set()  # outputs that an outer product has written
        terms = {name: frozenset(outer_terms(node)) for name, node in stages.rows.items()}
        self.outer_outputs = {name: found for name, found in terms.items() if found}

    def run(self) -> Lowered:
        columns = 0
        for node in self.out.data:
            self.out.places[node] = Place("D", row=columns)
            columns += node.columns
        self._positions()
        self._choose_stored()
        self._allocate()
        self._schedule()
        return self.out

    # --- positions ---------------------------------------------------------------------------

    def _positions(self) -> None:
        for node in self.stages.tile:
            if node in self.out.places:  # varying input
                self.position[node] = FIRST
                continue
            below = [self._level(a) for a in node.args]
            if is_barrier(node):
                self.position[node] = (max(below) + 1, 1)
            elif is_virtual(node):
                view = node.primitive not in ("stack", "concatenate")
                after = view and self._is_computed(node.args[0])
                self.position[node] = (max(below) + after, 1)
            else:
                self.position[node] = self._loop_position(node)

    def _level(self, node: Node) -> int:
        return self.position.get(node, FIRST)[0]

    def _loop_position(self, node: Node) -> Position:
        """The first loop in which all operands are there, those that are put side by side too."""
        operands = self._operands(node)
        joined = {
            part
            for whole in self._whole_operands(node)
            if whole.primitive == "concatenate"
            for part in self._resolve(whole)
        }
        waits = [x in joined or self._crosses(node, x) for x in operands]
        level = max(map(sum, zip(map(self._level, operands), waits, strict=True)), default=0)
        late = {
            self.position[x][1] for x in operands if self._is_late(x) and self._level(x) == level
        }
        blocks = loop_blocks(node)
        if blocks > 1:
            return level + bool(late), blocks
        return (level, late.pop() if late else 1) if len(late) < 2 else (level + 1, 1)

    def _is_late(self, node: Node) -> bool:
        return self._is_computed(node) and node.points <= 1 < self.position[node][1]

    def _crosses(self, node: Node, operand: Node) -> bool:
        """Whether a node needs other features or blocks of a computed operand than its own, so
        that the operand's loop must run before."""
        if not self._is_computed(operand) or operand.primitive == "blocks":
            return False
        mixes = node.primitive in ("dot", "contract") and 1 < operand.columns <= NARROW
        regrouped = operand.primitive == "join_blocks" or node.primitive == "split_blocks"
        return mixes or regrouped or operand.columns != loop_width(node)

    def _is_computed(self, node: Node) -> bool:
        return (
            node in self.tile
            and not is_barrier(node)
            and not is_virtual(node)
            and node not in self.out.places
        )

    def _operands(self, node: Node) -> list[Node]:
        """The values a loop reads for a node, seen through views and stacks of computed ones."""
        if node.primitive == "blocks":  # uniform values
            return []
        if node.primitive == "sum_points":
            return self._resolve(summed(node))
        return [leaf for argument in node.args for leaf in self._resolve(argument)]

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
        for value, _ in self._outputs():
            if is_virtual(value):
                self._store(value)
        wanted = set(self.stored)
        self._store_long(self._latest_use())
        latest = self._latest_use()  # not of what is computed from values that are stored now
        self.stored = {
            node
            for node in self.stored
            if node in wanted or latest.get(node, FIRST) > self.position[node]
        }

    def _store_other_features(self, node: Node) -> None:
        """Operands of which a loop needs other features than the one it is at."""
        for operand in self._operands(node):
            if self._crosses(node, operand):
                self.stored.add(operand)
            if operand.primitive in ("cut", "part", "join_blocks"):
                self._store(operand)

    def _latest_use(self) -> dict[Node, Position]:
        """The last loop that may ask for each value, its users being computed again or not."""
        latest: dict[Node, Position] = {}
        for node in reversed(self.stages.tile):
            if is_virtual(node) or node in self.out.places:
                continue
            asked = self.position[node]
            if not is_barrier(node) and node not in self.stored:
                asked = max(asked, latest.get(node, FIRST))
            for operand in self._operands(node):
                latest[operand] = max(latest.get(operand, FIRST), asked)
        return latest

    def _store_long(self, latest: dict[Node, Position]) -> None:
        """Values that a later loop asks for and that take long to compute again."""
        cost: dict[Node, int] = {}
        for node in self.stages.tile:
            if not self._is_computed(node) or is_reduction(node):
                continue
            own = 100 if self._is_expensive(node) else 1
            cost[node] = own + sum(cost.get(a, 0) for a in self._operands(node))
            if cost[node] > RECOMPUTE and latest.get(node, FIRST) > self.position[node]:
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

    def _buffer(self, features: int, blocks: int = 1) -> Place:
        self.out.buffers.append(features * blocks)
        return Place("S", len(self.out.buffers) - 1, 0, blocks, int(blocks > 1))

    def _buffer_of(self, node: Node) -> Place:
        return self._buffer(node.columns, max(1, node.points))

    def _allocate(self) -> None:
        """Stacks and side-by-side columns first, so that their members are born in place."""
        for node in self.stages.tile:
            for operand in self._whole_operands(node):
                if operand.points:
                    self._contiguous(operand)
        read = self._read()
        for node in self.stages.tile:
            if node in self.out.places:
                continue
            if is_barrier(node):
                if node.primitive in ("dot", "sum_axes") or node in read:
                    self.out.places[node] = self._buffer_of(node)
            elif node in self.stored:
                self._put(node, self._buffer_of(node))

    def _read(self) -> set[Node]:
        """Operands of instructions: not the outer products that are but added to output rows."""
        added: set[Node] = set()
        stack = [self.stages.rows[name] for name in self.outer_outputs]
        while stack:
            node = stack.pop()
            if node not in added:
                added.add(node)
                stack += node.args if node.primitive == "add" else ()
        return {a for n in self.stages.tile if n not in added and n.points for a in n.args}

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
        self.out.places[node] = place = self._buffer_of(node)
        self._fill(node, place)

    def _fill(self, node: Node, place: Place) -> None:
        """Members of a stack and side-by-side columns at their parts of a place."""
        if node not in self.tile or node.primitive not in ("stack", "concatenate"):
            self._put(node, place)
            return
        feature = 0
        for s, member in enumerate(node.args):
            if node.primitive == "stack":
                part = place.at(0, s)
                self._fill(member, Place("S", part.buffer, part.row, part.feature))
            else:
                self._fill(member, place.at(feature))
                feature += member.columns

    def _put(self, node: Node, place: Place) -> None:
        if node.primitive == "join_blocks" and not is_virtual(node):
            (source,) = node.args  # the loop over its blocks writes it
            step = source.columns * place.feature
            self._fill(source, Place("S", place.buffer, place.row, place.feature, step))
            self.out.places.setdefault(node, place)
            return
        self.stores.setdefault(node, []).append(place)
        if self._is_computed(node) and place.block == (node.points > 1):
            self.out.places.setdefault(node, place)

    # --- schedule ----------------------------------------------------------------------------

    def _schedule(self) -> None:
        barriers: dict[int, list[Node]] = {}
        for node in self.stages.tile:
            if is_barrier(node):
                barriers.setdefault(self._level(node), []).append(node)
        loops = self._loops()
        last = max([*barriers, *(key[0] for key in loops)], default=0)
        for level in range(last + 1):
            for node in barriers.get(level, []):
                self.out.instructions += self._barrier(node)
            now = [key for key in loops if key[0] == level]  # in an order that no size changes
            now.sort(key=lambda key: key[1] > 1)
            self.out.instructions += [loops[key] for key in now]

    def _loops(self) -> dict[Key, Loop]:
        stores: dict[Key, list[tuple[Node, Place]]] = {}
        for node, places in self.stores.items():
            found = stores.setdefault(self._key(node), [])
            found.extend((node, place) for place in places)
        sums: dict[Key, list[Node]] = {}
        for node in self.stages.tile:
            if is_reduction(node):
                outside = node.primitive == "sum_points" and summed(node).points > 1
                key = (*self.position[node], loop_width(node), outside)
                sums.setdefault(key, []).append(node)
        outputs: dict[Key, list[tuple[Node, Rows]]] = {}
        for value, rows in self._outputs():
            outputs.setdefault(self._key(value), []).append((value, rows))
        return {
            key: Loop(
                *key[1:],
                tuple(stores.get(key, ())),
                tuple(sums.get(key, ())),
                tuple(outputs.get(key, ())),
            )
            for key in {**stores, **sums, **outputs}
        }

    def _key(self, node: Node) -> Key:
        """The loop that computes a node, or can copy it."""
        if self._is_computed(node) or node in self.stored:
            return (*self.position[node], loop_width(node), False)
        level = max((self._level(leaf) for leaf in self._resolve(node)), default=0)
        return (level, max(1, node.points), node.columns, False)

    def _outputs(self) -> list[tuple[Node, Rows]]:
        """What loops write to output rows."""
        named = [(node, Rows(*self.rows[name])) for name, node in self.stages.rows.items()]
        return [found for node, rows in named for found in self._output_columns(node, rows)]

    def _output_columns(self, node: Node, rows: Rows) -> list[tuple[Node, Rows]]:
        """Columns put side by side are written one by one; outer products write themselves."""
        if outer_terms(node):
            return []
        if node in self.stages.data:
            return [(node, rows)]
        if node.primitive == "join_blocks":
            (source,) = node.args
            return self._output_columns(source, Rows(rows.row, rows.segment, source.columns))
        if node.primitive != "concatenate":
            return [(node, rows)]
        found, first = [], rows.row
        for argument in node.args:
            found += self._output_columns(argument, Rows(first, rows.segment, rows.block))
            first += argument.columns
        return found

    def _barrier(self, node: Node) -> list[Instruction]:
        target = self.out.places.get(node)
        match node.primitive:
            case "dot":
                return [Product(node, self.place(node.args[0]), None, target)]
            case "contract":
                left, right = (self.place(argument) for argument in node.args)
                return [Product(node, left, right, None)]
            case "sum_axes" if target is not None:
                return [ColumnSum(node, self.place(node.args[0]), target)]
        found: list[Instruction] = [] if target is None else [Outer(node, target)]
        for name, terms in self.outer_outputs.items():
            if node in terms:  # the first one writes, the others add to it
                found.append(Outer(node, Rows(*self.rows[name]), name in self.written))
                self.written.add(name)
        return found

    def place(self, node: Node) -> Place:
        return place_of(self.out, node)
