"""Loops as data: the same function comes back; data that is no loop is refused, whatever it is."""

import copy
import json

import numpy as np
import pytest

from pinnsolve import diff, ops
from pinnsolve.diff import functions
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.export import DEPTH, INLINE, function_from_data, function_to_data
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.program import AbstractProgram, Body, Call
from pinnsolve.diff.trace import leaf, trace
from pinnsolve.diff.trees import leaves
from pinnsolve.diff.verify import verify
from pinnsolve.errors import FileError, GraphError

X = np.array([0.3, -0.7, 1.1])
POINTS = np.array([[0.3, -0.7, 1.1], [1.5, 0.2, -0.4]])


def scanned(x):
    """tanh, three times over: a carry, entries, a constant, results of both kinds."""
    return diff.scan(lambda c, e: (ops.tanh(c + e * x), c * e), x / 2, xs=ops.sin(x))


def halved(x):
    return diff.while_loop(lambda s: ops.sum(s * s) > 0.1, lambda s: s / 2 + x / 99, x)


def bounded(x):
    return diff.while_loop(lambda s: ops.sum(s * s) > 0.1, lambda s: s / 2, x, max_steps=5)


def checked(x):
    return diff.checkpoint(lambda y: ops.exp(ops.sin(y)) * y)(x)


def nested(x):
    return diff.scan(lambda c, _: (checked(c), scanned(c)), x, length=2, reverse=True)


def number(function):
    """A function's results as one number."""
    return lambda x: sum((ops.sum(v * v) for v in leaves(function(x))), 0.0)


def second_series(function):
    return lambda x: diff.jet(function, [x], [[ops.sin(x), x]])


LOOPS = {"scan": scanned, "while": halved, "bounded": bounded, "call": checked, "nested": nested}
CASES = {name: (function, X) for name, function in LOOPS.items()}
CASES |= {f"map of {name}": (diff.vmap(f), POINTS) for name, f in LOOPS.items()}
CASES |= {f"jet of {name}": (second_series(f), X) for name, f in LOOPS.items()}
CASES |= {f"map of jet of {name}": (diff.vmap(second_series(f)), POINTS)
          for name, f in LOOPS.items()}  # fmt: skip
SMOOTH = {name: number(f) for name, f in LOOPS.items() if name != "while"}
CASES |= {f"grad of {name}": (diff.grad(f), X) for name, f in SMOOTH.items()}
CASES |= {f"map of hessian of {name}": (diff.vmap(diff.hessian(f)), POINTS)
          for name, f in SMOOTH.items()}  # fmt: skip


def body_of(function, *arguments):
    traced = trace(function, arguments)
    return Body(traced.inputs, traced.outputs)


def values(body, *arguments):
    return evaluate(body.outputs, dict(zip(body.inputs, arguments, strict=True)))


def restored(data, arrays=None):
    return function_from_data(json.loads(json.dumps(data)), {}, arrays or {})


@pytest.mark.parametrize("name", CASES)
def test_round_trip_of_loops(name):
    function, x = CASES[name]
    body = body_of(function, x)
    data, arrays = function_to_data(body, {})
    again = restored(data, arrays)
    for before, after in zip(values(body, x), values(again, x), strict=True):
        assert np.array_equal(before, after)
    assert function_to_data(again, {})[0] == data
    assert not set(again.inputs) & set(body.inputs)


@pytest.mark.parametrize("name", ["grad of call", "nested", "map of hessian of scan"])
def test_data_is_the_same_whenever_it_is_written(name):
    """Names of leaves and tags of copies are those of a process, and stay there."""
    function, x = CASES[name]
    first = json.dumps(function_to_data(body_of(function, x), {})[0])
    assert json.dumps(function_to_data(body_of(function, x), {})[0]) == first


def test_large_constants_lie_beside_the_rows():
    small, large = np.arange(float(INLINE)), np.arange(INLINE + 1.0) / 3

    def function(x):
        def step(c, _):
            return c + ops.sum(ops.sin(large * c)), None

        return ops.sum(small * x), diff.scan(step, x, length=2)[0]

    data, arrays = function_to_data(body_of(function, 0.5), {})
    assert len(arrays) == 1
    assert np.array_equal(arrays["0"], large)
    assert small.tolist() in [row[2][0] for row in data["rows"] if row[0] == "constant"]
    expected = 0.5
    for _ in range(2):
        expected += np.sin(large * expected).sum()
    assert values(restored(data, arrays), 0.5) == [
        pytest.approx(0.5 * small.sum()),
        pytest.approx(expected, rel=1e-14),
    ]
    with pytest.raises(FileError, match="damaged: '0'"):
        restored(data)


# --- what cannot be written ----------------------------------------------------------------------


def test_a_custom_operation_is_named():
    lngamma = diff.custom(lambda x: x, taylor=lambda y, x: y)

    def deep(x):
        return diff.scan(lambda c, _: (diff.checkpoint(lngamma)(c), None), x, length=2)[0]

    for function in (lngamma, deep):
        body = body_of(function, X)
        with pytest.raises(GraphError, match=r"custom operation '<lambda>' .*test_export_programs"):
            function_to_data(body, {})


class Other(AbstractProgram):
    """A program of which files know nothing."""

    name = "other"
    bodies = ()

    def value(self, *arrays):
        return arrays[0]

    def taylor(self, node, arguments, algebra):
        return arguments[0]

    def reverse(self, node, cotangent, per_point):
        return [cotangent]


def test_an_unknown_program_is_not_written():
    x = leaf(X)
    node = functions.make("program", (x,), (Other(),), x.shape)
    with pytest.raises(GraphError, match="a graph with a other in it cannot be written"):
        function_to_data(Body((x,), (node,)), {})


def deep(levels):
    """Calls inside calls."""
    function = ops.sin
    for _ in range(levels):
        function = diff.checkpoint(function)
    return body_of(function, X)


def test_depth_is_bounded():
    data, _ = function_to_data(deep(DEPTH), {})
    assert np.array_equal(values(restored(data), X)[0], np.sin(X))
    with pytest.raises(GraphError, match=f"more than {DEPTH} deep"):
        function_to_data(deep(DEPTH + 1), {})
    (call,) = (row for row in data["rows"] if row[0] == "program")
    call[2][0][1] = copy.deepcopy(data)  # ... deeper by hand
    with pytest.raises(FileError, match=f"more than {DEPTH} deep"):
        restored(data)


def test_a_body_depends_on_nothing_else():
    x, w = leaf(X), Parameter((3,), lambda rng, shape: np.ones(shape), name="w")
    with pytest.raises(GraphError, match=r"depends on argument \d+, which is not an input"):
        function_to_data(Body((), (functions.sin(x),)), {})
    product = Body((x,), (functions.multiply(x, w),))
    assert function_to_data(product, {w: "w"})[0]["rows"][1][2] == ["w"]
    with pytest.raises(GraphError, match="depends on Parameter"):
        verify([Call(product).node([x])])


# --- hostile data --------------------------------------------------------------------------------

SCAN = function_to_data(body_of(scanned, X), {})[0]
WHILE = function_to_data(body_of(halved, X), {})[0]
CALL = function_to_data(body_of(checked, X), {})[0]
MAPPED = function_to_data(body_of(diff.vmap(scanned), POINTS), {})[0]
VECTOR = ["input", [], ["argument 0"], [0, [3], 0]]
SINE = ["sin", [0], [], [0, [3], 0]]
BODY = {"rows": [VECTOR, SINE], "inputs": [0], "outputs": [1]}
W = ["parameter", [], ["w"], [0, [3], 0]]
ROW = ["constant", [], [[1.0, 2.0, 3.0]], [0, [3], 0]]


def stored(name):
    return {
        "rows": [["constant", [], [{"array": name}], [0, [3], 0]]],
        "inputs": [],
        "outputs": [0],
    }


def leaf_of(*shape):
    return BODY | {"rows": [["input", [], ["argument 0"], list(shape)]], "outputs": [0]}


def loop(data):
    """The row of the one program in the data."""
    (row,) = (row for row in data["rows"] if row[0] == "program")
    return row


def edited(data, *path):
    """Data with the last of the path put at the place in its program that the path leads to."""
    data = copy.deepcopy(data)
    (place,) = loop(data)[2]
    *way, last, value = path
    for key in way:
        place = place[key]
    place[last] = value
    return data


def given(data, *arguments):
    """Data whose program gets other arguments."""
    data = copy.deepcopy(data)
    loop(data)[1] = list(arguments)
    return data


def resized(data, change):
    """Data whose program has other fields."""
    data = copy.deepcopy(data)
    loop(data)[2][0] = change(loop(data)[2][0])
    return data


def doubled(times):
    """A constant put beside itself again and again: 2^times entries, were they computed."""
    rows = [["constant", [], [[1.0, 2.0]], [0, [2], 0]]]
    rows += [["concatenate", [k, k], [-1], [0, [4 * 2**k], 0]] for k in range(times)]
    return {"rows": rows, "inputs": [], "outputs": [times]}


def two_counts():
    """A call of values at 2 and at 4 points."""
    inputs = [["input", [], ["a"], [1, [3], 2]], ["input", [], ["b"], [1, [3], 4]]]
    body = {"rows": inputs, "inputs": [0, 1], "outputs": [0, 1]}
    rows = [["input", [], ["a"], [0, [2, 3], 0]], ["spread", [0], [], [1, [3], 2]],
            ["input", [], ["b"], [0, [4, 3], 0]], ["spread", [2], [], [1, [3], 4]],
            ["program", [1, 3], [["call", body]], [1, [6], 2]]]  # fmt: skip
    return {"rows": rows, "inputs": [0, 2], "outputs": [4]}


# What is wrong -> what the message says, and data that are right but for this.
HOSTILE = {
    "nothing": ("'rows'", {}),
    "a list": ("list indices", [[VECTOR], [0], [0]]),
    "rows of text": ("unpack", {"rows": "abc", "inputs": [], "outputs": [0]}),
    "input beyond": ("2 is not the number of a row", BODY | {"inputs": [2]}),
    "true input": ("True is not the number", BODY | {"inputs": [True]}),
    "output of text": ("'1' is not the number", BODY | {"outputs": ["1"]}),
    "decimal output": ("1.0 is not the number", BODY | {"outputs": [1.0]}),
    "negative output": ("-1 is not the number", BODY | {"outputs": [-1]}),
    "outputs without a list": ("must be an iterable", BODY | {"outputs": 1}),
    "an input twice": ("different leaves", BODY | {"inputs": [0, 0]}),
    "an input that is computed": ("different leaves", BODY | {"inputs": [0, 1]}),
    "a free leaf": ("not an input", BODY | {"inputs": []}),
    "true argument": ("in row 1", BODY | {"rows": [VECTOR, ["sin", [True], [], [0, [3], 0]]]}),
    "an array that is not there": ("'7'", stored("7")),
    "an array of no name": ("unhashable", stored([])),
    "an array of another shape": (r"\[3\], expected \[1\]", stored("one")),
    "an array without numbers": ("no entries", stored("empty")),
    "no memory": ("no memory holds", doubled(60)),
    "more than 64 bits": ("no memory holds", leaf_of(0, [2**70], 0)),
    "too many points": ("no memory holds", leaf_of(1, [3], 2**60)),
    "unknown kind": ("'eval'", edited(SCAN, 0, "eval")),
    "kind of a list": ("unhashable", edited(SCAN, 0, [])),
    "a program of a number": ("cannot have the attr", BODY | {
        "rows": [VECTOR, ["program", [0], [3], [0, [3], 0]]]}),
    "a field missing": ("a scan has 5 fields, not 4", resized(SCAN, lambda fields: fields[:-1])),
    "a field too many": ("a scan has 5 fields, not 6", resized(SCAN, lambda fields: [*fields, 1])),
    "no body": ("not subscriptable", edited(SCAN, 1, 3)),
    "body of another": ("has a body of", edited(SCAN, 1, BODY)),
    "a body with a parameter": (
        "depends on Parameter",
        edited(CALL, 1, "rows", [VECTOR, SINE, W, ["add", [1, 2], [], [0, [3], 0]]]),
    ),
    "a body with a bad row": ("expected", edited(SCAN, 1, "rows", 5, 3, [0, [4], 0])),
    "carries of text": ("carries of a scan is '1'", edited(SCAN, 2, "1")),
    "true carries": ("carries of a scan is True", edited(SCAN, 2, True)),
    "negative carries": ("carries -1", edited(SCAN, 2, -1)),
    "too many carries": ("carries 9", edited(SCAN, 2, 9)),
    "a carry taken for an entry": ("has a body of", edited(edited(SCAN, 2, 0), 1, "outputs", [6])),
    "negative entries": ("runs over -2", edited(SCAN, 3, -2)),
    "too many entries": ("runs over 5", edited(SCAN, 3, 5)),
    "entries that are none": ("has a body of", edited(SCAN, 3, 0)),
    "no length": ("a scan of 0 steps", edited(SCAN, 4, 0)),
    "negative length": ("a scan of -3 steps", edited(SCAN, 4, -3)),
    "decimal length": ("length of a scan is 3.0", edited(SCAN, 4, 3.0)),
    "no number as length": ("length of a scan is nan", edited(SCAN, 4, float("nan"))),
    "another length": ("a scan of 4 steps runs over", edited(SCAN, 4, 4)),
    "a length without end": ("a scan of 1000000000000 steps", edited(SCAN, 4, 10**12)),
    "backward of a number": ("backward of a scan is 0", edited(SCAN, 5, 0)),
    "an argument less": ("has a body of", given(SCAN, 1, 2)),
    "no arguments": ("carries 1 and runs over 1", given(SCAN)),
    "no results": ("no results", edited(SCAN, 1, "outputs", [])),
    "results of another size": ("program has shape", edited(SCAN, 1, "outputs", [5])),
    "a carry of another shape": ("carries .* to", edited(SCAN, 1, "outputs", [1, 6])),
    "a step that looks outside": ("not an input", edited(SCAN, 1, "inputs", [0, 1])),
    "results at no points": ("gives", edited(MAPPED, 1, "rows", 7, ROW)),
    "two numbers of points": ("program cannot have these", two_counts()),
    "condition of a vector": ("one number as condition", edited(WHILE, 1, "outputs", [0])),
    "no condition": ("one number as condition", edited(WHILE, 1, "outputs", [])),
    "two conditions": ("one number as condition", edited(WHILE, 1, "outputs", [5, 5])),
    "a state too many": ("one number as condition", edited(WHILE, 2, "outputs", [0, 0])),
    "a state without end": ("carries .* to", edited(WHILE, 3, 2)),
    "a call of nothing": ("no results", edited(CALL, 1, "outputs", [])),
    "a call with too much": ("has a body of", given(CALL, 0, 0)),
    "a call that takes nothing": ("not an input", edited(CALL, 1, "inputs", [])),
}  # fmt: skip


def read(data):
    parameters = {"w": Parameter((3,), lambda rng, shape: np.ones(shape), name="w")}
    arrays = {"one": np.ones(1), "empty": np.ones(0)}
    return function_from_data(json.loads(json.dumps(data)), parameters, arrays)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data_is_refused(name):
    message, data = HOSTILE[name]
    with pytest.raises(FileError, match=message):
        read(data)


def test_the_good_data_among_them_are_good():
    for data in (SCAN, WHILE, CALL, MAPPED, BODY, doubled(3), leaf_of(0, [3], 0)):
        body = read(data)
        values(body, *[np.full(node.dims, 0.5) for node in body.inputs])
    assert np.array_equal(values(read(doubled(3)))[0], [1.0, 2.0] * 8)


PLACES = {"numbers": (int, float), "texts": (str,), "anything": (int, float, str, list, dict)}


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize("name", ["nested", "grad of bounded", "map of jet of scan"])
def test_random_changes_never_do_more_than_fail(name, kind):
    """Data with one thing changed give a FileError, or a function that has a value."""
    function, x = CASES[name]
    data, arrays = function_to_data(body_of(function, x), {})
    text = json.dumps(data)
    rng = np.random.default_rng(sum(map(ord, name + kind)))
    others = [0, 1, 2, -1, True, None, 0.5, float("nan"), 10**12, "", "argument 0", [], [0], {}]
    loaded = 0
    for _ in range(60):
        data = json.loads(text)
        places = [p for p in every_place(data) if isinstance(p[0][p[1]], PLACES[kind])]
        place, key = places[rng.integers(len(places))]
        place[key] = others[rng.integers(len(others))]
        try:
            body = function_from_data(data, {}, arrays)
        except FileError:
            continue
        loaded += 1
        found = values(body, *[np.full(node.dims, 0.5) for node in body.inputs])
        assert [v.shape for v in found] == [node.dims for node in body.outputs]
    assert kind == "texts" or loaded


def every_place(data):
    """Every list or dict inside, with each of its keys."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield data, key
        if isinstance(value, (dict, list)):
            yield from every_place(value)
