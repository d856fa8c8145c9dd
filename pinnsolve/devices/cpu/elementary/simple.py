"""Signs, choices, and what the machine has itself."""

from __future__ import annotations

from pinnsolve.devices.cpu.elementary.arithmetic import (
    elementary,
    keep_nan,
)
from pinnsolve.devices.cpu.trace import Tracer, Value


@elementary()
def absolute(tracer: Tracer, x: Value) -> Value:
    return tracer.intrinsic("llvm.fabs", x)


@elementary()
def sqrt(tracer: Tracer, x: Value) -> Value:
    return tracer.intrinsic("llvm.sqrt", x)


@elementary()
def sign(tracer: Tracer, x: Value) -> Value:
    return keep_nan(x, x.compare(">", 0.0).select(1.0, x.compare("<", 0.0).select(-1.0, 0.0)))


@elementary()
def floor(tracer: Tracer, x: Value) -> Value:
    return tracer.intrinsic("llvm.floor", x)


@elementary()
def single(tracer: Tracer, x: Value) -> Value:
    return x.rounded_to_single()


@elementary()
def where(tracer: Tracer, condition: Value, x: Value, y: Value) -> Value:
    return condition.compare("!=", 0.0).select(x, y)


@elementary()
def less(tracer: Tracer, x: Value, y: Value) -> Value:
    return x.compare("<", y).select(1.0, 0.0)


@elementary()
def less_equal(tracer: Tracer, x: Value, y: Value) -> Value:
    return x.compare("<=", y).select(1.0, 0.0)


@elementary()
def equal(tracer: Tracer, x: Value, y: Value) -> Value:
    return x.compare("==", y).select(1.0, 0.0)


@elementary()
def power(tracer: Tracer, x: Value, exponent: Value) -> Value:
    return tracer.library("pow", x, exponent)
