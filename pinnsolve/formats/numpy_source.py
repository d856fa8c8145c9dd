"""Python: a function of a point as a module that needs numpy and nothing else.

Values at points are arrays ``(n, c)``, stacks of S of them ``(S, n, c)``; points run through in
parts, so that memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import isfinite, isnan
from typing import Any

import numpy as np

from pinnsolve.devices.cpu.elementary.error_function import ERF, ERFC
from pinnsolve.diff.graph import Node
from pinnsolve.diff.leaves import entry_of
from pinnsolve.formats.names import comment, python_names
from pinnsolve.formats.pointwise import Pointwise, Value

WIDTH = 98
CHUNK = 4096  # points at once
ENTRY = "evaluate"  # the name of the function
RESULTS = "Values"  # of the type of its results

ROWS: dict[str, str] = {
    "tanh": "np.tanh({0})",
    "sin": "np.sin({0})",
    "cos": "np.cos({0})",
    "exp": "np.exp({0})",
    "expm1": "np.expm1({0})",
    "log": "np.log({0})",
    "log1p": "np.log1p({0})",
    "arctan": "np.arctan({0})",
    "erf": "_erf({0})",
    "sigmoid": "1.0 / (1.0 + np.exp(-{0}))",
    "softplus": "np.maximum({0}, 0.0) + np.log1p(np.exp(-np.abs({0})))",
    "absolute": "np.abs({0})",
    "sign": "np.sign({0})",
    "floor": "np.floor({0})",
    "single": "{0}.astype(np.float32).astype(TYPE)",
    "stop_gradient": "{0}",
    "again": "{0}",
    "add": "{0} + {1}",
    "multiply": "{0} * {1}",
    "less": "({0} < {1}).astype(TYPE)",
    "less_equal": "({0} <= {1}).astype(TYPE)",
    "equal": "({0} == {1}).astype(TYPE)",
    "ones": "np.ones((n, 1), TYPE)",
    "sum_axes": "{0}.sum(-1, keepdims=True)",
}


def numpy_source(function: Pointwise, precision: str) -> str:
    """The text of the module.

    Args:
        function: finished.
        precision: "float64" or "float32".
    """
    function = _renamed(function)
    weights: dict[str, Node] = {}
    body = list(_statements(function, weights))
    given = ", ".join(value.name for value in function.inputs)
    found = [value.name for value in function.outputs]
    how = [
        f"{ENTRY}({given}) -> {RESULTS}({', '.join(found)})",
        f"computes in {precision}. Arguments broadcast as numpy does; results have their shape."
        if not any(value.dims for value in function.inputs)
        else f"computes in {precision}. Arguments have points first, then the shape in brackets.",
    ]
    lines = ['"""' + "\n".join(comment(function, how)).replace("\\", "\\\\").replace('"""', "'''")]
    lines += ['"""', "", "from collections import namedtuple", "", "import numpy as np", ""]
    lines += [f"TYPE = np.{precision}", f"CHUNK = {CHUNK}  # points at once"]
    lines += [f"{RESULTS} = namedtuple({RESULTS!r}, {found!r})"]
    lines += ["# Name: shape at a point, what it is, range, unit."]
    lines += [*_table("ARGUMENTS", function.inputs), *_table("RESULTS", function.outputs), "", ""]
    lines += _entry(function, given)
    lines += _points(function, body)
    if any("_erf(" in line for line in body):
        lines += _erf(precision == "float64")
    for number, node in weights.items():
        lines += _numbers(number, node)
    return "\n".join([*lines, ""])


def _renamed(function: Pointwise) -> Pointwise:
    """With names that Python takes."""
    values = (*function.inputs, *function.outputs)
    names = python_names([value.name for value in values])
    made = [
        v if v.name == name else replace(v, name=name, text=v.text or v.name)
        for v, name in zip(values, names, strict=True)
    ]
    count = len(function.inputs)
    return replace(function, inputs=tuple(made[:count]), outputs=tuple(made[count:]))


def _table(name: str, values: tuple[Value, ...]) -> Iterator[str]:
    yield f"{name} = {{"
    for v in values:
        yield f"    {v.name!r}: {(v.dims, v.text or v.name, (v.low, v.high), v.unit)!r},"
    yield "}"


def _entry(function: Pointwise, given: str) -> Iterator[str]:
    yield f"def {ENTRY}({given}):"
    yield f'    """{", ".join(v.name for v in function.outputs)} at the given places."""'
    yield f"    return _evaluate([{given}])"
    yield from ("", "", "def _evaluate(given):")
    yield "    given = [np.asarray(value, TYPE) for value in given]"
    if any(value.dims for value in function.inputs):
        yield "    shape = given[0].shape[: given[0].ndim - len(next(iter(ARGUMENTS.values()))[0])]"
        yield "    sizes = [np.prod(dims, dtype=int) for dims, *_ in ARGUMENTS.values()]"
        yield "    columns = [v.reshape(-1, s) for v, s in zip(given, sizes)]"
    else:
        yield "    given = np.broadcast_arrays(*given)"
        yield "    shape = given[0].shape"
        yield "    columns = [value.reshape(-1, 1) for value in given]"
    yield "    parts = range(0, max(1, len(columns[0])), CHUNK)"
    yield '    with np.errstate(all="ignore"):'
    yield "        found = [_points(*(c[k : k + CHUNK] for c in columns)) for k in parts]"
    yield "    whole = [np.concatenate(column) for column in zip(*found)]"
    yield "    dims = [entry[0] for entry in RESULTS.values()]"
    yield f"    return {RESULTS}(*(w.reshape(shape + d)[()] for w, d in zip(whole, dims)))"
    yield from ("", "")


def _points(function: Pointwise, body: list[str]) -> Iterator[str]:
    names = ", ".join(f"v{k}" for k in range(len(function.inputs)))
    yield f"def _points({names}):"
    yield "    n = len(v0)"
    yield from (f"    {line}" for line in body)
    yield from ("", "")


def _statements(function: Pointwise, weights: dict[str, Node]) -> Iterator[str]:
    """One assignment for each node; names are used again when values are not needed any more."""
    order = function.order()
    results = {value.node for value in function.outputs}
    last = {argument: node for node in order for argument in node.args}
    names: dict[Node, str] = {v.node: f"v{k}" for k, v in enumerate(function.inputs)}
    free: list[str] = []
    count = len(names)
    for node in order:
        if node in names or (node.primitive == "constant" and node not in results):
            continue
        text = _spelled(node, [_operand(a, node, names, weights) for a in node.args])
        done = {a for a in node.args if last[a] is node and a in names and a not in results}
        free += sorted(names[a] for a in done)
        if not free:
            free, count = [f"v{count}"], count + 1
        names[node] = free.pop(0)
        yield f"{names[node]} = {text}"
    yield f"return {', '.join(names[v.node] for v in function.outputs)},"


def _operand(node: Node, user: Node, names: dict[Node, str], weights: dict[str, Node]) -> str:
    if node in names:
        return names[node]
    array = node.attributes[0].array
    if array.size == 1 and user.primitive not in ("dot", "concatenate", "blocks", "stack"):
        return _number(array.item())
    name = next((name for name, known in weights.items() if known is node), f"W{len(weights)}")
    weights[name] = node
    return name


def _spelled(node: Node, args: list[str]) -> str:
    rule = RULES.get(node.primitive)
    return rule(node, args) if rule is not None else ROWS[node.primitive].format(*args)


def _scale(node: Node, args: list[str]) -> str:
    (number,) = node.attributes
    return f"-{args[0]}" if number == -1 else f"{_number(number)} * {args[0]}"


def _power(node: Node, args: list[str]) -> str:
    (x,), (exponent, vanishing) = args, node.attributes
    plain = {0.5: f"np.sqrt({x})", -1.0: f"1.0 / {x}", 2.0: f"{x} * {x}"}
    text = plain.get(exponent, f"{x} ** {_number(exponent)}")
    return f"np.where({x} == 0.0, 0.0, {text}).astype(TYPE)" if vanishing else text


def _where(node: Node, args: list[str]) -> str:
    """Numbers have no type of their own, and two of them would be of another."""
    typed = [
        f"TYPE({text})" if entry_of(part) is not None else text
        for part, text in zip(node.args[1:], args[1:], strict=True)
    ]
    return f"np.where({args[0]} != 0.0, {', '.join(typed)})"


def _at_all(node: Node, part: Node, text: str) -> str:
    """A part that is the same for all points, repeated."""
    if part.points:
        return text
    blocks = f"{node.points}, " if node.points > 1 else ""
    return f"np.broadcast_to({text}, ({blocks}n, {part.columns}))"


def _concatenate(node: Node, args: list[str]) -> str:
    parts = [_at_all(node, part, a) for part, a in zip(node.args, args, strict=True)]
    return f"np.concatenate([{', '.join(parts)}], -1)"


def _blocks(node: Node, args: list[str]) -> str:
    if node.points == 1:
        return f"np.broadcast_to({args[0]}, (n, {node.columns}))"
    return f"np.broadcast_to({args[0]}[:, None], ({node.points}, n, {node.columns}))"


def _split_blocks(node: Node, args: list[str]) -> str:
    if node.points == 1:
        return args[0]
    return f"{args[0]}.reshape(n, {node.points}, {node.columns}).transpose(1, 0, 2)"


def _join_blocks(node: Node, args: list[str]) -> str:
    if node.args[0].points == 1:
        return args[0]
    return f"{args[0]}.transpose(1, 0, 2).reshape(n, {node.columns})"


def _sum_blocks(node: Node, args: list[str]) -> str:
    return args[0] if node.args[0].points == 1 else f"{args[0]}.sum(0)"


def _outer(node: Node, args: list[str]) -> str:
    x, y = node.args
    product = f"{args[0]}[..., :, None] * {args[1]}[..., None, :]"
    total = f"({product}).sum(0)" if node.attributes[0] > 1 else f"({product})"
    return f"{total}.reshape(-1, {x.columns * y.columns})"


RULES: dict[str, Callable[[Node, list[str]], str]] = {
    "scale": _scale,
    "power": _power,
    "where": _where,
    "cut": lambda node, args: (
        f"{args[0]}[..., {node.attributes[1]}:{node.attributes[1] + node.attributes[2]}]"
    ),
    "concatenate": _concatenate,
    "stack": lambda node, args: f"np.stack([{', '.join(args)}])",
    "part": lambda node, args: f"{args[0]}[{node.attributes[0]}]",
    "blocks": _blocks,
    "sum_blocks": _sum_blocks,
    "join_blocks": _join_blocks,
    "split_blocks": _split_blocks,
    "dot": lambda node, args: f"{args[0]} @ {args[1]}{'.T' if node.attributes[0] else ''}",
    "outer": _outer,
}


# --- numbers ---------------------------------------------------------------------------------


def _number(value: float) -> str:
    if isnan(value):
        return "np.nan"
    if not isfinite(value):
        return "np.inf" if value > 0 else "-np.inf"
    return f"({value!r})" if value < 0 else repr(float(value))


def _numbers(name: str, node: Node) -> Iterator[str]:
    """The array of a constant, wrapped."""
    array: np.ndarray[Any, Any] = node.attributes[0].array
    yield f"{name} = np.array(["
    line = "   "
    for value in array.ravel().tolist():
        word = f" {_number(value).strip('()')},"
        if len(line) + len(word) > WIDTH:
            yield line
            line = "   "
        line += word
    yield line
    shape = f".reshape({', '.join(map(str, array.shape))})" if array.ndim != 1 else ""
    yield f"], TYPE){shape}"


def _erf(double: bool) -> Iterator[str]:
    """Minimax polynomials near 0, and exp(-x^2) times one in (x - 2) / (x + 2) further out."""
    near, far = (_polynomial(pair[0 if double else 1], v) for pair, v in ((ERF, "z"), (ERFC, "w")))
    yield "def _erf(x):"
    yield '    """The error function, to a few units in the last place."""'
    yield "    size = np.abs(x)"
    yield "    z = x * x"
    yield f"    near = x + x * ({near})"
    yield f"    held = np.clip(size, 1.0, {6.0 if double else 4.0})"
    yield "    w = (held - 2.0) / (held + 2.0)"
    yield f"    far = np.copysign(1.0 - np.exp(-(held * held)) * ({far}), x)"
    yield "    return np.where(size < 1.0, near, np.where(size == size, far, x))"
    yield from ("", "")


def _polynomial(coefficients: tuple[float, ...], x: str) -> str:
    text = _number(coefficients[-1])
    for c in reversed(coefficients[:-1]):
        text = f"{_number(c)} + {x} * ({text})"
    return text
