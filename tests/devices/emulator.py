"""The generated loop texts run by Python itself instead of LLVM: slow, nothing to compile, and it
sees what the compiler cannot: that nothing is read or written outside of an array, nor read before
it was written.

A loop over points is one vector operation here.
"""

from __future__ import annotations

import ctypes
import math
from functools import partial

import numpy as np
from scipy import special

from pinnsolve.devices.cpu.jit import Runs

FUNCTIONS = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "sin": np.sin,
    "cos": np.cos,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "softplus": lambda x: np.logaddexp(0, x),
    "erf": special.erf,
    "arctan": np.arctan,
    "sqrt": np.sqrt,
    "power": np.power,
    "absolute": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "single": lambda x: np.float64(np.float32(x)),
    "where": lambda condition, x, y: np.where(condition != 0, x, y),
    "less": lambda x, y: np.where(x < y, 1.0, 0.0),
    "less_equal": lambda x, y: np.where(x <= y, 1.0, 0.0),
    "equal": lambda x, y: np.where(x == y, 1.0, 0.0),
}


class Length(int):
    """A number of points: loops over it are taken at once."""

    def __mul__(self, other):
        return Length(int(self) * int(other))


class Accumulator:
    """``total += values``, point by point."""

    def __init__(self):
        self.value = 0.0

    def __iadd__(self, values):
        self.value = self.value + values
        return self


def index_of(array, index):
    index = np.atleast_1d(index)
    assert index.min() >= 0, "read or written before an array"
    assert index.max() < array.size, "read or written behind an array"
    return index


def load(array, index):
    return array[index_of(array, index)]


def store(array, index, value):
    array[index_of(array, index)] = value


def uniform(array, index):
    return float(load(array, index)[0])


def increase(array, index, total):
    array[index_of(array, index)] += np.sum(total.value)


NAMES = {
    **FUNCTIONS,
    "load": load,
    "store": store,
    "uniform": uniform,
    "increase": increase,
    "range": range,
    "perhaps": range,
    "points": lambda length: [np.arange(length)],
    "R": float,
    "accumulator": Accumulator,
}


class Program:
    """What a compiled program is to the device: addresses and a call over a range of tiles."""

    def __init__(self, texts):
        self.calls, self.runs = [], []
        self.addresses = {text: k for k, text in enumerate(texts)}
        for text in texts:
            names = dict(NAMES)
            exec(text, names)
            self.calls.append(names.get("call") or names["pairs"])

    def run(self, *arguments):
        """A record is the number of a run that is known here."""
        self.runs.append(partial(self._run, *arguments))
        return Runs(self._driver, np.array([len(self.runs) - 1]), ())

    def _driver(self, start, count):
        numbers = ctypes.cast(start, ctypes.POINTER(ctypes.c_int64))
        for number in numbers[:count]:
            self.runs[number]()

    def _run(self, table, first, last, tile, *rest):
        *arrays, stride, column, segment = rest
        tile = Length(tile)
        for number in range(first, last):
            # A tile starts with an arena of nothing: what it did not write it must not read.
            arrays[2].fill(math.nan)
            for row in table:
                place = column + (number - first) * int(tile)
                cells = [int(cell) for cell in row]
                call = self.calls[cells[0]]
                call(cells, number * int(tile), *arrays, tile, stride, place, segment)


def program(texts, dtype, folder):
    """In place of `pinnsolve.devices.cpu.kernel.program`."""
    return Program(texts)
