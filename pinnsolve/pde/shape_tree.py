"""Shapes as plain data, for files.

A shape is a frozen record of numbers, names, arrays and other such records. Its data says which
record of `pinnsolve.geometry` it is and what its attributes are; reading it makes that record again
without running anything of it. Invariant: `from_data(to_data(s)) == s`, and the data survives JSON.
"""

from __future__ import annotations

import base64
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

import pinnsolve.geometry as geometry
from pinnsolve.errors import FileError

DTYPES = ("<f8", "<i8", "|b1")


@cache
def _records() -> dict[str, type]:
    """The records of the package of shapes, by name."""
    found: dict[str, type] = {}
    for module in pkgutil.iter_modules(geometry.__path__, f"{geometry.__name__}."):
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, type) and is_dataclass(value) and value.__module__ == module.name:
                found[value.__name__] = value
    return found


def shape_to_data(value: Any, expression: Callable[[Any], Any]) -> Any:
    """A shape, or an attribute of one, as nested lists.

    Args:
        value: what to write.
        expression: the data of a sympy expression.

    Raises:
        FileError: it is nothing that shapes are made of.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return ["tuple", *(shape_to_data(item, expression) for item in value)]
    if isinstance(value, sympy.Basic):
        return ["expression", expression(value)]
    if isinstance(value, np.ndarray) and value.dtype.str in DTYPES:
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode("ascii")
        return ["array", value.dtype.str, list(value.shape), content]
    name = type(value).__name__
    if _records().get(name) is not type(value):
        raise FileError(f"a file cannot hold the shape {value!r}: it contains {name}")
    record: Any = value
    content = {f.name: shape_to_data(getattr(record, f.name), expression) for f in fields(record)}
    return ["record", name, content]


def shape_from_data(data: Any, expression: Callable[[Any], Any]) -> Any:
    """The inverse of `shape_to_data`.

    Raises:
        FileError: the data is not what that writes.
    """
    if not isinstance(data, list):
        return data
    kind, *rest = data
    if kind == "tuple":
        return tuple(shape_from_data(item, expression) for item in rest)
    if kind == "expression":
        return expression(rest[0])
    if kind == "array" and rest[0] in DTYPES:
        return np.frombuffer(base64.b64decode(rest[2]), rest[0]).reshape(rest[1])
    if kind == "record" and rest[0] in _records():
        return _record(_records()[rest[0]], rest[1], expression)
    raise FileError(f"the file contains {kind!r}, which is no part of a shape")


def _record(kind: Any, content: Any, expression: Callable[[Any], Any]) -> Any:
    names: Sequence[str] = [f.name for f in fields(kind)]
    if sorted(names) != sorted(content):
        raise FileError(f"damaged {kind.__name__} in the file: it has {', '.join(content)}")
    made = object.__new__(kind)
    for name in names:
        object.__setattr__(made, name, shape_from_data(content[name], expression))
    return made
