"""The generated loop texts run by Python itself instead of LLVM: slow, nothing to compile, and it
sees what the compiler is told but cannot check.

A loop over points is one vector operation here. Every call checks that operands of different alias
scopes do not overlap where one of them is written, and that nothing is read or written outside of
an array: both are promises to LLVM.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

FUNCTIONS = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "sin": np.sin,
    "cos": np.cos,
    "log": np.log,
    "erf": special.erf,
    "arctan": np.arctan,
    "sqrt": np.sqrt,
    "power": np.power,
    "absolute": np.abs,
    "sign": np.sign,
}


class Length(int):
    """A number of points: loops over it are taken at once."""

    def __mul__(self, other):
        return Length(int(self) * int(other))


class Sum:
    """``total += values``, over the points of a loop."""

    def __init__(self):
        self.value = 0.0

    def __iadd__(self, values):
        self.value += float(np.sum(values))
        return self


class Call:
    """The vocabulary of one call, and what it touched: per array, scope -> (reads, writes)."""

    def __init__(self):
        self.touched = {}

    def touch(self, array, index, scope, write):
        index = np.atleast_1d(index)
        assert index.min() >= 0, "read or written before an array"
        assert index.max() < array.size, "read or written behind an array"
        sets = self.touched.setdefault(id(array), {}).setdefault(scope, (set(), set()))
        sets[write].update(index.tolist())

    def load(self, array, index, scope):
        self.touch(array, index, scope, False)
        return array[index]

    def store(self, array, index, value, scope):
        self.touch(array, index, scope, True)
        array[index] = value

    def check(self):
        for scopes in self.touched.values():
            for one, (_, written) in scopes.items():
                for other, (read, also) in scopes.items():
                    if one != other:
                        assert not written & (read | also), "operands of two scopes overlap"

    def names(self):
        def count(*bounds):
            if any(isinstance(b, Length) for b in bounds):
                return [np.arange(*bounds)]
            return range(*bounds)

        return {
            **FUNCTIONS,
            "load": self.load,
            "store": self.store,
            "range": count,
            "R": float,
            "accumulator": Sum,
            "product": product,
        }


def matrix(array, start, rows, columns, leading):
    """A column-major matrix inside an array."""
    index = start + np.arange(rows)[:, None] + leading * np.arange(columns)
    assert index.max() < array.size
    assert leading >= rows
    return index


def product(left_t, right_t, m, n, k, a, a0, lda, b, b0, ldb, accumulate, c, c0, ldc):
    left = a[matrix(a, a0, k, m, lda)].T if left_t else a[matrix(a, a0, m, k, lda)]
    right = b[matrix(b, b0, n, k, ldb)].T if right_t else b[matrix(b, b0, k, n, ldb)]
    target = matrix(c, c0, m, n, ldc)
    c[target] = left @ right + (c[target] if accumulate else 0)


class Program:
    """What a compiled program is to the device: ``compile`` and a call over a range of tiles."""

    def __init__(self, texts):
        self.codes = [compile(text, "<loop>", "exec") for text in texts]

    def compile(self, signature):
        return None

    def __call__(self, table, first, last, eighths, *rest):
        *arrays, stride, column, segment = rest
        tile = Length(8 * eighths)
        for number in range(first, last):
            # A tile starts with an arena of nothing: what it did not write it must not read.
            arrays[2].fill(math.nan)
            for row in table:
                call = Call()
                names = call.names()
                exec(self.codes[row[0]], names)
                place = column + (number - first) * int(tile)
                cells = [int(cell) for cell in row]
                names["call"](cells, number * int(tile), *arrays, tile, stride, place, segment)
                call.check()


def program(texts, dtype, folder):
    """In place of `pinnsolve.devices.cpu.kernel.program`."""
    return Program(texts)
