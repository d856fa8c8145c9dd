"""C: a function of a point as C99 that needs nothing but the mathematical library.

One point after the other runs through straight-line code over small local arrays, so the function
needs no memory of its own, and several threads may call it at once. Numbers are hexadecimal, so
that a compiler reads the bits that were meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from pinnsolve.diff.graph import Node
from pinnsolve.formats.c_body import FUNCTIONS, HELPERS, Body, array_of
from pinnsolve.formats.names import C_WORDS, comment, identifiers
from pinnsolve.formats.pointwise import Pointwise

WIDTH = 98


def c_source(function: Pointwise, name: str, precision: str) -> tuple[str, str]:
    """The text of the C file and of its header.

    Args:
        function: finished.
        name: of the files, without suffix, and of the function.
        precision: "float64" or "float32".
    """
    values = (*function.inputs, *function.outputs)
    functions = {text.rstrip("F_") for text in FUNCTIONS.values()} | {"pow", "sqrt", "main"}
    taken = C_WORDS | functions | {f"{function}f" for function in functions}
    own, *names = identifiers([name, *(value.name for value in values)], taken)
    body = Body(function, dict(zip(values, names, strict=True)), precision == "float64")
    signature = _signature(body, own)
    about = _comment(body, signature, precision)
    return _source(body, about, signature, name), _header(about, signature, own)


def _signature(body: Body, name: str) -> str:
    kind = "double" if body.double else "float"
    given = [f"const {kind} *{body.names[value]}" for value in body.function.inputs]
    found = [f"{kind} *{body.names[value]}" for value in body.function.outputs]
    return f"void {name}({', '.join(['size_t n', *given, *found])})"


def _comment(body: Body, signature: str, precision: str) -> list[str]:
    how = [
        signature,
        "",
        f"runs at n points, in {precision}; n may be 0. Compile as C99 or later, link with -lm.",
        "Arrays have n entries, or n times those of the shape in brackets. No array of results may",
        "overlap another array.",
    ]
    renamed = [f"{v.name} is {name} here" for v, name in body.names.items() if v.name != name]
    lines = [line.replace("*/", "* /") for line in [*comment(body.function, how), *renamed]]
    return ["/*", *(f" * {line}".rstrip() for line in lines), " */"]


def _header(about: list[str], signature: str, name: str) -> str:
    guard = f"PINNSOLVE_{name.upper()}_H"
    lines = [*about, f"#ifndef {guard}", f"#define {guard}", "", "#include <stddef.h>", ""]
    lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", "", f"{signature};", ""]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(lines)


def _source(body: Body, about: list[str], signature: str, stem: str) -> str:
    statements = list(body.statements())  # it finds out which weights and buffers there are
    text = "\n".join(statements)
    helpers = [body.typed(f"static {h}") for name, h in HELPERS.items() if f"{name}_(" in text]
    lines = [*about, f'#include "{stem}.h"', "", "#include <math.h>", ""]
    lines += [*helpers, *[""] * bool(helpers)]
    for node, name in body.weights.items():
        lines += [*_numbers(body, node, name), ""]
    lines += [signature, "{", "    for (size_t k_ = 0; k_ < n; ++k_) {"]
    lines += [body.typed(f"        T b{k}_[{size}];") for k, size in enumerate(body.sizes)]
    lines += _indented(statements, 2)
    names = [body.names[value] for value in body.function.inputs]
    lines += ["    }", *(f"    (void){name};" for name in names if name not in body.used), "}", ""]
    return "\n".join(lines)


def _indented(lines: Iterable[str], depth: int) -> Iterator[str]:
    for line in lines:
        depth -= line == "}"
        yield "    " * depth + line
        depth += line.endswith("{")


def _numbers(body: Body, node: Node, name: str) -> Iterator[str]:
    """The array of a constant, wrapped."""
    values = np.ravel(array_of(node))
    yield body.typed(f"static const T {name}[{len(values)}] = {{")
    line = "   "
    for value in values:
        word = f" {body.number(value)},"
        if len(line) + len(word) > WIDTH:
            yield line
            line = "   "
        line += word
    yield line.rstrip(",")
    yield "};"
