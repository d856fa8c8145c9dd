"""Every primitive of a final graph, in every format, against the interpreter."""

from dataclasses import replace

import numpy as np
import pytest

from pinnsolve import formats
from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import make
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.formats import Pointwise, Value
from pinnsolve.formats.pointwise import PRIMITIVES as FINAL
from tests.formats.running import run

RNG = np.random.default_rng(0)
X, Y, Z = ops.input_points("x", 3), ops.input_points("y", 3), ops.input_points("z", 1)
WEIGHT, ROW = ops.constant(RNG.normal(size=(3, 4))), ops.constant(RNG.normal(size=3))
STACK = ops.stack([X, Y])
HALF = ops.scale(0.5, X)  # from -1 to 1
POSITIVE = ops.absolute(X) + 0.1


def again(x):
    return make("again", (x,), (0,), x.shape)


CASES = {
    **{f"{name} {k}": getattr(ops, name)(x) for name in (
        "tanh", "sigmoid", "sin", "cos", "exp", "expm1", "erf", "arctan", "softplus", "absolute",
        "sign", "floor", "single", "stop_gradient",
    ) for k, x in (("near", HALF), ("far", ops.scale(16.0, X)), ("small", ops.scale(2.0**-30, X)))},
    "log": ops.log(POSITIVE),
    "log1p": ops.log1p(ops.scale(0.25, X)),
    "log1p small": ops.log1p(ops.scale(2.0**-30, X)),
    "log1p far": ops.log1p(ops.scale(2.0**30, POSITIVE)),
    **{f"power {p}": ops.power(POSITIVE, p) for p in (0.5, -0.5, 2.5, -1, -2, 3, 5, -3)},
    "vanishing power": ops.vanishing_power(X * ops.less(0.0, X), -0.5),
    "scale": ops.scale(-0.1, X),
    "minus": ops.scale(-1.0, X),
    "again": again(X),
    "add": X + Y,
    "add row": X + ROW,
    "add column": X + Z,
    "add number": X + 0.1,
    "multiply": X * Y,
    "multiply stack": ops.part(STACK * Y, 1),
    "multiply stack by row": ops.part(STACK * ROW, 1),
    "multiply stack by column": ops.part(STACK * Z, 1),
    "less": ops.less(X, Y),
    "less_equal": ops.less_equal(X, 0.5),
    "equal": ops.equal(ops.floor(X), ops.floor(Y)),
    "where": ops.where(ops.less(X, Y), X, 2.0),
    "where nan": ops.where(ops.less(X, Y), X, float("nan")),
    "where infinite": ops.where(ops.less(X, Y), float("inf"), float("-inf")) * X,
    "ones": ops.ones(X) + Z,
    "cut": ops.cut(X * Y, -1, 1, 2),
    "concatenate": ops.concatenate([X, Z, X * Y]),
    "concatenate with numbers": ops.concatenate([X, ROW, Z]),
    "sum_axes": ops.sum_columns(X * Y),
    "sum_axes of a stack": ops.part(ops.sum_columns(STACK), 1),
    "stack": ops.part(ops.dot(STACK, WEIGHT), 1),
    "blocks": ops.part(ops.blocks(ops.constant(np.eye(2, 3) + 0.5), X) * STACK, 0),
    "blocks alone": ops.sum_blocks(ops.blocks(ops.constant(np.eye(2, 3) + 0.5), X)),
    "sum_blocks": ops.sum_blocks(STACK * STACK),
    "join_blocks": ops.join_blocks(STACK * Y),
    "split_blocks": ops.sum_blocks(ops.split_blocks(ops.concatenate([X, Y]), 3) * Z),
    "dot": ops.dot(X * Y, WEIGHT),
    "dot transposed": ops.dot(X, ops.constant(RNG.normal(size=(1, 3))), transposed=True),
    "dot of a column": ops.dot(Z, ops.constant(RNG.normal(size=(1, 3)))),
    "outer": ops.outer(X, ops.dot(Y, WEIGHT)),
    "outer of stacks": ops.outer(STACK, STACK * Z, 2),
    "an input": X,
    "a long chain": ops.tanh(((X + Y) * Z + X) * Y * Z + X * Y + Z * X * (1 - Y * Y) + Y * Y * Z),
}  # fmt: skip
FUNCTION = Pointwise(
    "every primitive",
    (Value("x", X, (3,)), Value("y", Y, (3,)), Value("z", Z)),
    tuple(Value(name, node, node.dims) for name, node in CASES.items()),
)
NAMED = replace(
    FUNCTION,
    outputs=tuple(replace(v, name=f"case{k}") for k, v in enumerate(FUNCTION.outputs)),
)
PLACES = [
    np.vstack([RNG.uniform(-2, 2, (20, 3)), np.zeros((1, 3))]),
    RNG.uniform(-2, 2, (21, 3)),
    RNG.uniform(-2, 2, 21),
]
ULPS = {"float64": 1e-15, "float32": 6e-7}  # a few


def expected(dtype):
    x, y, z = (array.astype(dtype).astype(float) for array in PLACES)
    values = evaluate(CASES.values(), {"x": x, "y": y, "z": z[:, None]})
    return dict(zip(CASES, values, strict=True))


def size(dtype):
    """The size of what is added up in each entry, or of the value itself."""
    x, y, z = (np.abs(array.astype(dtype).astype(float)) for array in PLACES)
    return float(max(x.max(), y.max(), z.max()) ** 2 * 8)


def test_cases_are_values_at_points() -> None:
    assert {node.points for node in CASES.values()} == {1}


def test_all_primitives_are_in_the_cases() -> None:
    found = {node.primitive for node in FUNCTION.order()}
    assert found - {"input", "constant"} == set(FINAL)


def test_what_is_left_out_is_no_function_of_a_point() -> None:
    left = set(PRIMITIVES) - set(FINAL)
    leaves = {"input", "parameter", "coefficient", "direction", "constant"}
    together = {"sum_points", "contract", "spread", "collect"}
    assert left - leaves - together == {"program", "reshape", "transpose", "orthonormal"}


def check(path, precision) -> None:
    places = [array.astype(precision) for array in PLACES]
    values = run(path, [(v.name, v.dims) for v in NAMED.outputs], places)
    exact = expected(precision)
    few = ULPS[precision]
    for (name, node), value in zip(CASES.items(), values, strict=True):
        assert value.dtype == precision, name
        assert value.shape == (21, *node.dims), name
        # What is added up, or turned, is as exact as its largest part, and so is a logarithm in
        # single precision, of what MindSpore has itself.
        sums = ("dot", "sum", "outer", "long", "split", "stack", "add", "sin", "cos")
        sums += ("log",) * (path.suffix == ".mindir" and precision == "float32")
        atol = few * size(precision) if name.startswith(sums) else 0
        right = np.broadcast_to(exact[name], value.shape)
        np.testing.assert_allclose(value, right, rtol=4 * few, atol=atol, err_msg=name)


@pytest.mark.parametrize("precision", formats.PRECISIONS)
@pytest.mark.parametrize("suffix", list(formats.FORMATS))
def test_every_primitive(suffix: str, precision: str, tmp_path) -> None:
    for end, content in formats.FORMATS[suffix](NAMED, "every", precision).items():
        (tmp_path / f"every{end}").write_bytes(content)
    check(tmp_path / f"every{suffix}", precision)


def test_every_primitive_after_rewriting(tmp_path) -> None:
    check(formats.write(NAMED, tmp_path / "every.py"), "float64")
