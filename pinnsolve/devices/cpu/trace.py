"""Tracing: generated loop text becomes LLVM code inside a numba function.

The text of a loop is plain Python over a few names (``load``, ``store``, ``range``, arithmetic).
Run once with the values below it writes its own LLVM function: arithmetic appends instructions and
``range`` opens and closes a loop. numba compiles and caches the driver that calls it. (numba's own
front end gives the same machine code for the same text, 20 times slower.)

Operands of one loop never overlap, but LLVM cannot know that of slices of one arena: every load
and store names an alias scope, and scope k overlaps scope k only, so loops vectorize without
run-time checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.linalg import ensure_blas

SCOPES = 48  # further operands share the last scope, which is safe
FAST = ("contract", "nsz", "arcp", "reassoc")
EXACT = ("contract", "nsz")  # where the order of operations is part of the algorithm
INDEX = ir.IntType(64)

ensure_blas()  # the matrix product's symbol is filled in by the import that this does


class Tracer:
    """Where instructions go: one LLVM function under construction."""

    def __init__(self, builder: ir.IRBuilder, real: ir.Type) -> None:
        self.builder, self.real = builder, real
        self.flags: tuple[str, ...] = FAST
        self.double = isinstance(real, ir.DoubleType)
        self._scopes: dict[int, tuple[Any, Any]] = {}

    def lift(self, value: Any, like: ir.Type) -> ir.Value:
        return value.register if isinstance(value, Value) else ir.Constant(like, value)

    def number(self, value: float) -> Value:
        return Value(self, ir.Constant(self.real, float(value)))

    def scoped(self, instruction: Any, scope: int) -> Any:
        scope = min(scope, SCOPES - 1)
        if not self._scopes:
            module = self.builder.module
            domain = module.add_metadata([ir.MetaDataString(module, "operands of a loop")])
            names = [ir.MetaDataString(module, f"operand {k}") for k in range(SCOPES)]
            all_ = [module.add_metadata([name, domain]) for name in names]
            for k, own in enumerate(all_):
                others = [other for other in all_ if other is not own]
                self._scopes[k] = (module.add_metadata([own]), module.add_metadata(others))
        own, others = self._scopes[scope]
        instruction.set_metadata("alias.scope", own)
        instruction.set_metadata("noalias", others)
        return instruction

    def call(self, name: str, *arguments: Value) -> Value:
        """An external or LLVM function real -> real."""
        kinds = [self.real] * len(arguments)
        function_type = ir.FunctionType(self.real, kinds)
        function = cgutils.get_or_insert_function(self.builder.module, function_type, name)
        return Value(self, self.builder.call(function, [a.register for a in arguments]))


class Value:
    """A number in a register: an index or a real, by its LLVM type."""

    __slots__ = ("register", "tracer")

    def __init__(self, tracer: Tracer, register: Any) -> None:
        self.tracer, self.register = tracer, register

    @property
    def is_real(self) -> bool:
        return not isinstance(self.register.type, ir.IntType)

    def _binary(self, other: Any, real: str, whole: str, swapped: bool = False) -> Value:
        builder = self.tracer.builder
        a, b = self.register, self.tracer.lift(other, self.register.type)
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

    def __truediv__(self, other: Any) -> Value:
        return self._binary(other, "fdiv", "sdiv")

    def __rtruediv__(self, other: Any) -> Value:
        return self._binary(other, "fdiv", "sdiv", swapped=True)

    def __lshift__(self, bits: int) -> Value:
        return self._binary(bits, "", "shl")

    def __and__(self, bits: int) -> Value:
        return self._binary(bits, "", "and_")

    def compare(self, sign: str, other: Any) -> Value:
        builder, b = self.tracer.builder, self.tracer.lift(other, self.register.type)
        if self.is_real:
            return Value(self.tracer, builder.fcmp_ordered(sign, self.register, b))
        return Value(self.tracer, builder.icmp_signed(sign, self.register, b))

    def select(self, yes: Value, no: Value) -> Value:
        """yes where this condition holds, else no; no branch."""
        return Value(
            self.tracer, self.tracer.builder.select(self.register, yes.register, no.register)
        )

    def bits(self) -> Value:
        """The same bits as a whole number."""
        word = ir.IntType(64 if self.tracer.double else 32)
        return Value(self.tracer, self._cast(word))

    def from_bits(self) -> Value:
        return Value(self.tracer, self._cast(self.tracer.real))

    def _cast(self, to: ir.Type) -> Any:
        return self.tracer.builder.bitcast(self.register, to)


class Accumulator:
    """A sum that a loop carries: ``total += value``."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        builder = tracer.builder
        with builder.goto_entry_block():
            self.slot = builder.alloca(tracer.real)
        builder.store(ir.Constant(tracer.real, 0.0), self.slot)

    def __iadd__(self, value: Value) -> Accumulator:
        builder = self.tracer.builder
        add: Any = builder.fadd  # takes flags, whatever its stub says
        total = add(builder.load(self.slot), value.register, flags=self.tracer.flags)
        builder.store(total, self.slot)
        return self

    @property
    def value(self) -> Value:
        return Value(self.tracer, self.tracer.builder.load(self.slot))


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
    builder = tracer.builder

    def load(array: ir.Value, index: Value, scope: int) -> Value:
        pointer = builder.gep(array, [tracer.lift(index, INDEX)])
        return Value(tracer, tracer.scoped(builder.load(pointer), scope))

    def store(array: ir.Value, index: Value, value: Value, scope: int) -> None:
        pointer = builder.gep(array, [tracer.lift(index, INDEX)])
        tracer.scoped(builder.store(value.register, pointer), scope)

    def count(*bounds: Any) -> Iterator[Value]:
        """A loop; it runs at least once."""
        first, last = (0, *bounds) if len(bounds) == 1 else bounds
        before, body = builder.block, builder.append_basic_block()
        builder.branch(body)
        builder.position_at_end(body)
        index = builder.phi(INDEX)
        index.add_incoming(ir.Constant(INDEX, first), before)
        yield Value(tracer, index)
        following = builder.add(index, ir.Constant(INDEX, 1))
        index.add_incoming(following, builder.block)
        after = builder.append_basic_block()
        again = builder.icmp_signed("<", following, tracer.lift(last, INDEX))
        builder.cbranch(again, body, after)
        builder.position_at_end(after)

    functions = {
        name: (lambda *a, f=function: f(tracer, *a)) for name, function in elementary.items()
    }
    return {
        **functions,
        "load": load,
        "store": store,
        "range": count,
        "R": tracer.number,
        "accumulator": lambda: Accumulator(tracer),
        "product": lambda *a: _product(tracer, *a),
    }


def _product(tracer: Tracer, left_transposed: bool, right_transposed: bool, m: int, n: int, k: int,
             a: ir.Value, a_start: Value, lda: Any, b: ir.Value, b_start: Value, ldb: Any,
             accumulate: bool, c: ir.Value, c_start: Value, ldc: Any) -> None:  # fmt: skip
    """BLAS: C (m x n, column-major) = op(A) op(B), or += when accumulate."""
    builder = tracer.builder
    char, void = ir.IntType(8), ir.IntType(8).as_pointer()

    def number(value: float) -> Any:
        slot = cgutils.alloca_once_value(builder, ir.Constant(tracer.real, value))
        return builder.bitcast(slot, void)

    def address(array: ir.Value, start: Value) -> Any:
        return builder.bitcast(builder.gep(array, [tracer.lift(start, INDEX)]), void)

    def letter(text: str) -> ir.Value:
        return ir.Constant(char, ord(text))

    whole = [tracer.lift(value, INDEX) for value in (m, n, k, lda, ldb, ldc)]
    function_type = ir.FunctionType(
        ir.IntType(32),
        [char, char, char, INDEX, INDEX, INDEX, void, void, INDEX, void, INDEX, void, void, INDEX],
    )
    function = cgutils.get_or_insert_function(builder.module, function_type, "numba_xxgemm")
    builder.call(
        function,
        [
            letter("d" if tracer.double else "s"),
            letter("t" if left_transposed else "n"), letter("t" if right_transposed else "n"),
            *whole[:3], number(1.0), address(a, a_start), whole[3], address(b, b_start), whole[4],
            number(1.0 if accumulate else 0.0), address(c, c_start), whole[5],
        ],
    )  # fmt: skip


def traced(text: str, elementary: dict[str, Callable]):
    """A numba function of the signature ``(row, at, D, U, S, O, A, eighths, stride, column,
    segment)`` whose machine code is traced from the text; the tile is 8 * eighths points, so the
    compiler knows that no loop over points has a remainder."""
    code = compile(text, "<loop>", "exec")

    @intrinsic
    def call(typing_context, row, at, D, U, S, O, A, eighths, stride, column, segment):  # noqa: E741
        signature = types.void(row, at, D, U, S, O, A, eighths, stride, column, segment)

        def generate(context, builder, signature, args):
            real = context.get_value_type(signature.args[2].dtype)
            arrays = [
                context.make_array(t)(context, builder, a).data
                for t, a in zip(signature.args, args, strict=True)
                if isinstance(t, types.Array)
            ]
            function = _function(builder.module, text, code, real, arrays, elementary)
            builder.call(function, [*arrays, args[1], *args[7:]])
            return context.get_dummy_value()

        return signature, generate

    return call


def _function(module, text: str, code, real, arrays, elementary) -> ir.Function:
    """The loop as an internal LLVM function of the module."""
    kinds = [array.type for array in arrays] + [INDEX] * 5
    function_type = ir.FunctionType(ir.VoidType(), kinds)
    function = ir.Function(module, function_type, module.get_unique_name("loop"))
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    tracer = Tracer(builder, real)
    start = builder.append_basic_block()
    builder.branch(start)
    builder.position_at_end(start)
    names = vocabulary(tracer, elementary)
    namespace: dict[str, Any] = dict(names)
    exec(code, namespace)  # our own text: it only calls the vocabulary
    row, *data = function.args[:6]
    at, eighths, *rest = (Value(tracer, a) for a in function.args[6:])
    namespace["call"](Row(tracer, row), at, *data, eighths << 3, *rest)
    builder.ret_void()
    return function
