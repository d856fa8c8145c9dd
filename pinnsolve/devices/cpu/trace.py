"""Tracing: generated loop text becomes an LLVM function.

The text of a loop is plain Python over a few names (``load``, ``store``, ``range``, arithmetic).
Run once with the values below it writes its own LLVM function: arithmetic appends instructions and
``range`` opens and closes a loop. (numba's front end gives the same machine code for the same text,
20 times slower.)

A value at points is a vector of them, which LLVM cuts into the registers of the machine: the code
is the same for any tile, has no remainder, and needs no proof that operands do not overlap. So a
loop over blocks can stand inside the loop over points, with its sums in registers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir

LINE = 64  # bytes of a cache line, and of the points that a loop takes at once: tiles are multiples
VECTORS = {"call": LINE, "pairs": LINE // 2}  # bytes, by the name of the text's function
FAST = ("contract", "nsz", "arcp", "reassoc")
EXACT = ("contract",)  # where the order of operations is part of the algorithm
INDEX = ir.IntType(64)
# Of values at points and of their sums over points, by precision.
REALS = {
    "float64": (ir.DoubleType(), ir.DoubleType()),
    "float32": (ir.FloatType(), ir.FloatType()),
    "mixed": (ir.FloatType(), ir.DoubleType()),
}


class Tracer:
    """Where instructions go: one LLVM function under construction.

    lanes: points of one vector.
    """

    def __init__(self, builder: ir.IRBuilder, real: ir.Type, size: int = LINE) -> None:
        self.builder, self.real = builder, real
        self.flags: tuple[str, ...] = FAST
        self.double = isinstance(real, ir.DoubleType)
        self.lanes = size // self.itemsize

    def vector(self, lane: ir.Type) -> ir.VectorType:
        return ir.VectorType(lane, self.lanes)

    @property
    def reals(self) -> ir.VectorType:
        return self.vector(self.real)

    @property
    def itemsize(self) -> int:
        return 8 if self.double else 4

    def lift(self, value: Any, like: ir.Type) -> Any:
        """A number or a value as a register of a type; numbers fill all lanes."""
        lanes = isinstance(like, ir.VectorType)
        if not isinstance(value, Value):
            if not lanes:
                return ir.Constant(like, value)
            number = value if isinstance(like.element, ir.IntType) else float(value)
            return ir.Constant(like, [number] * self.lanes)
        return self.filled(value).register if lanes and not value.is_vector else value.register

    def filled(self, value: Value) -> Value:
        """A number in every lane."""
        kind = self.vector(value.register.type)
        first = self.builder.insert_element(
            ir.Constant(kind, ir.Undefined), value.register, ir.Constant(ir.IntType(32), 0)
        )
        lanes = ir.Constant(self.vector(ir.IntType(32)), [0] * self.lanes)
        return Value(self, self.builder.shuffle_vector(first, first, lanes))

    def number(self, value: float) -> Value:
        return Value(self, ir.Constant(self.reals, [float(value)] * self.lanes))

    def intrinsic(self, name: str, *arguments: Value) -> Value:
        """A function of LLVM, on all lanes at once."""
        suffix = f".v{self.lanes}f{8 * self.itemsize}"
        return self._call(name + suffix, self.reals, [a.register for a in arguments])

    def fused(self, a: Value, b: Value, c: Value) -> Value:
        """a b + c, rounded once."""
        return self.intrinsic("llvm.fma", a, b, c)

    def library(self, name: str, *arguments: Value) -> Value:
        """A function of the C library, lane by lane; once in the module, out of the way."""
        name = name if self.double else name + "f"
        text = f"{name}_of_{self.lanes}"
        function = self.builder.module.globals.get(text)
        if function is None:
            function = self._over_lanes(name, text, len(arguments))
        return Value(self, self.builder.call(function, [a.register for a in arguments]))

    def _over_lanes(self, name: str, text: str, arity: int) -> ir.Function:
        kinds = ir.FunctionType(self.reals, [self.reals] * arity)
        function = ir.Function(self.builder.module, kinds, text)
        function.linkage = "internal"
        for attribute in ("noinline", "cold"):
            function.attributes.add(attribute)
        inside = Tracer(ir.IRBuilder(function.append_basic_block()), self.real)
        result: Any = ir.Constant(self.reals, ir.Undefined)
        for k in range(self.lanes):
            lane = ir.Constant(ir.IntType(32), k)
            numbers = [inside.builder.extract_element(a, lane) for a in function.args]
            value = inside._call(name, self.real, numbers)
            result = inside.builder.insert_element(result, value.register, lane)
        inside.builder.ret(result)
        return function

    def guarded(self, inside: Value, usual: Value, name: str, *arguments: Value) -> Value:
        """usual in the lanes where the condition `inside` holds, the C library's function in the
        others: a branch that is hardly ever taken, and costs one test of all lanes together."""
        builder: Any = self.builder
        width = inside.register.type.count
        lanes = builder.bitcast(inside.register, ir.IntType(width))
        full = builder.icmp_signed("==", lanes, ir.Constant(lanes.type, -1))
        before, rare = builder.block, builder.append_basic_block()
        after = builder.append_basic_block()
        builder.cbranch(full, after, rare).set_weights([1 << 20, 1])
        builder.position_at_end(rare)
        mended = inside.select(usual, self.library(name, *arguments))
        builder.branch(after)
        builder.position_at_end(after)
        result = builder.phi(usual.register.type)
        result.add_incoming(usual.register, before)
        result.add_incoming(mended.register, rare)
        return Value(self, result)

    def _call(self, name: str, kind: ir.Type, arguments: list[Any]) -> Value:
        function_type = ir.FunctionType(kind, [kind] * len(arguments))
        return Value(self, self.builder.call(self.declared(name, function_type), arguments))

    def declared(self, name: str, function_type: ir.FunctionType) -> ir.Function:
        """A function that is defined elsewhere."""
        module = self.builder.module
        known = module.globals.get(name)
        return ir.Function(module, function_type, name) if known is None else known


class Value:
    """A register: an index, a real number, or a vector of either."""

    __slots__ = ("register", "tracer")

    def __init__(self, tracer: Tracer, register: Any) -> None:
        self.tracer, self.register = tracer, register

    @property
    def is_vector(self) -> bool:
        return isinstance(self.register.type, ir.VectorType)

    @property
    def is_real(self) -> bool:
        kind = self.register.type
        return not isinstance(kind.element if self.is_vector else kind, ir.IntType)

    def _pair(self, other: Any) -> tuple[Any, Any]:
        if isinstance(other, Value) and other.is_vector and not self.is_vector:
            return self.tracer.filled(self).register, other.register
        return self.register, self.tracer.lift(other, self.register.type)

    def _binary(self, other: Any, real: str, whole: str, swapped: bool = False) -> Value:
        builder = self.tracer.builder
        a, b = self._pair(other)
        if swapped:
            a, b = b, a
        if self.is_real:
            return Value(self.tracer, getattr(builder, real)(a, b, flags=self.tracer.flags))
        return Value(self.tracer, getattr(builder, whole)(a, b))

    def __add__(self, other: Any) -> Value:
        return self._binary(other, "fadd", "add")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Value:
        return self._binary(other, "fsub", "sub")

    def __rsub__(self, other: Any) -> Value:
        return self._binary(other, "fsub", "sub", swapped=True)

    def __mul__(self, other: Any) -> Value:
        return self._binary(other, "fmul", "mul")

    __rmul__ = __mul__

    def __neg__(self) -> Value:
        return Value(self.tracer, self.tracer.builder.fneg(self.register))

    def __truediv__(self, other: Any) -> Value:
        return self._binary(other, "fdiv", "sdiv")

    def __rtruediv__(self, other: Any) -> Value:
        return self._binary(other, "fdiv", "sdiv", swapped=True)

    def __lshift__(self, bits: int) -> Value:
        return self._binary(bits, "", "shl")

    def __rshift__(self, bits: int) -> Value:
        return self._binary(bits, "", "lshr")

    def __and__(self, bits: Any) -> Value:
        return self._binary(bits, "", "and_")

    def __or__(self, bits: Any) -> Value:
        return self._binary(bits, "", "or_")

    def __xor__(self, bits: Any) -> Value:
        return self._binary(bits, "", "xor")

    def compare(self, sign: str, other: Any) -> Value:
        builder = self.tracer.builder
        a, b = self._pair(other)
        if self.is_real:
            return Value(self.tracer, builder.fcmp_ordered(sign, a, b))
        return Value(self.tracer, builder.icmp_signed(sign, a, b))

    def select(self, yes: Any, no: Any) -> Value:
        """yes where this condition holds, else no; no branch."""
        kind = self.tracer.reals
        a, b = (self.tracer.lift(x, kind) for x in (yes, no))
        return Value(self.tracer, self.tracer.builder.select(self.register, a, b))

    def bits(self) -> Value:
        """The same bits as whole numbers."""
        return self._cast(ir.IntType(8 * self.tracer.itemsize))

    def from_bits(self) -> Value:
        return self._cast(self.tracer.real)

    def rounded_to_single(self) -> Value:
        """The nearest numbers of single precision."""
        if not self.tracer.double:
            return self
        narrow = self.tracer.builder.fptrunc(self.register, self.tracer.vector(ir.FloatType()))
        return Value(self.tracer, self.tracer.builder.fpext(narrow, self.tracer.reals))

    def _cast(self, to: ir.Type) -> Value:
        return Value(
            self.tracer, self.tracer.builder.bitcast(self.register, self.tracer.vector(to))
        )


class Accumulator:
    """A sum that loops carry, lane by lane: ``total += value``."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        builder = tracer.builder
        with builder.goto_entry_block():
            self.slot = builder.alloca(tracer.reals)
        builder.store(tracer.number(0.0).register, self.slot)

    def __iadd__(self, value: Value) -> Accumulator:
        builder: Any = self.tracer.builder
        term = self.tracer.lift(value, self.tracer.reals)
        total = builder.fadd(builder.load(self.slot), term, flags=self.tracer.flags)
        builder.store(total, self.slot)
        return self

    @property
    def value(self) -> Value:
        return Value(self.tracer, self.tracer.builder.load(self.slot))

    def over_lanes(self) -> Value:
        """The sum over the lanes: one half is added to the other until one is left."""
        builder: Any = self.tracer.builder
        total, width = self.value.register, self.tracer.lanes
        while width > 1:
            width //= 2
            kind = ir.VectorType(ir.IntType(32), width)
            low, high = (
                builder.shuffle_vector(total, total, ir.Constant(kind, list(range(k, k + width))))
                for k in (0, width)
            )
            total = builder.fadd(low, high, flags=self.tracer.flags)
        return Value(self.tracer, builder.extract_element(total, ir.Constant(ir.IntType(32), 0)))


class Row:
    """The table row of a call: ``row[k]``."""

    def __init__(self, tracer: Tracer, pointer: ir.Value) -> None:
        self.tracer, self.pointer = tracer, pointer

    def __getitem__(self, k: int) -> Value:
        builder = self.tracer.builder
        cell = builder.gep(self.pointer, [ir.Constant(INDEX, k)])
        return Value(self.tracer, builder.load(cell))


def vocabulary(tracer: Tracer, elementary: dict[str, Callable]) -> dict[str, Any]:
    """The names that the text of a loop may use."""
    builder: Any = tracer.builder
    whole = tracer.reals

    def entry(array: ir.Value, index: Any) -> Any:
        return builder.gep(array, [tracer.lift(index, INDEX)])

    def points(array: ir.Value, index: Any) -> Any:
        return builder.bitcast(entry(array, index), whole.as_pointer())

    def load(array: ir.Value, index: Any) -> Value:
        return Value(tracer, builder.load(points(array, index), align=tracer.itemsize))

    def store(array: ir.Value, index: Any, value: Value) -> None:
        builder.store(tracer.lift(value, whole), points(array, index), align=tracer.itemsize)

    def uniform(array: ir.Value, index: Any) -> Value:
        return tracer.filled(Value(tracer, builder.load(entry(array, index))))

    def increase(array: ir.Value, index: Any, total: Accumulator) -> None:
        slot = entry(array, index)
        term = total.over_lanes().register
        if term.type != slot.type.pointee:  # sums may be more precise than what they sum up
            term = builder.fpext(term, slot.type.pointee)
        builder.store(builder.fadd(builder.load(slot), term), slot)

    functions = {
        name: (lambda *a, f=function: f(tracer, *a)) for name, function in elementary.items()
    }
    return {
        **functions,
        "load": load,
        "store": store,
        "uniform": uniform,
        "increase": increase,
        "range": lambda length: _loop(tracer, length, 1),
        "points": lambda length: _loop(tracer, length, tracer.lanes),
        "perhaps": lambda length: _loop(tracer, length, 1, empty=True),
        "R": tracer.number,
        "accumulator": lambda: Accumulator(tracer),
    }


def _loop(tracer: Tracer, length: Any, step: int, empty: bool = False) -> Iterator[Value]:
    """A loop from 0 in steps; it runs at least once unless it may be empty."""
    builder: Any = tracer.builder  # its add takes flags, whatever its stub says
    last = tracer.lift(length, INDEX)
    before, body, after = builder.block, *(builder.append_basic_block() for _ in range(2))
    if empty:
        builder.cbranch(builder.icmp_signed(">", last, ir.Constant(INDEX, 0)), body, after)
    else:
        builder.branch(body)
    builder.position_at_end(body)
    index = builder.phi(INDEX)
    index.add_incoming(ir.Constant(INDEX, 0), before)
    yield Value(tracer, index)
    following = builder.add(index, ir.Constant(INDEX, step), flags=("nsw",))
    index.add_incoming(following, builder.block)
    builder.cbranch(builder.icmp_signed("<", following, last), body, after)
    builder.position_at_end(after)


def trace(text: str, name: str, precision: str, elementary: dict[str, Callable]) -> ir.Module:
    """The text as a function ``name(row, D, U, S, O, A, at, tile, stride, column, segment)`` in a
    module of its own."""
    real, total = REALS[precision]
    module = ir.Module(name)
    kinds = [INDEX.as_pointer(), *[real.as_pointer()] * 4, total.as_pointer(), *[INDEX] * 5]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    code = compile(text, "<loop>", "exec")
    (entry,) = code.co_names
    tracer = Tracer(builder, real, VECTORS[entry])
    start = builder.append_basic_block()
    with builder.goto_block(start):
        namespace: dict[str, Any] = vocabulary(tracer, elementary)
        exec(code, namespace)  # our own: it only calls the vocabulary
        row, *data = function.args[:6]
        namespace[entry](Row(tracer, row), Value(tracer, function.args[6]), *data,
                         *(Value(tracer, a) for a in function.args[7:]))  # fmt: skip
        builder.ret_void()
    builder.branch(start)  # all allocations are in the entry block
    return module
