"""Exported functions: the same numbers come back without the code, and can be worked with."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve import diff, ops
from pinnsolve.diff import functions
from pinnsolve.diff.graph import topological
from pinnsolve.diff.parameters import Parameter
from pinnsolve.diff.primitives import PRIMITIVES
from pinnsolve.diff.trees import form, leaves
from pinnsolve.errors import GraphError
from pinnsolve.formats.exporting import export
from pinnsolve.solutions.loading import load

RNG = np.random.default_rng(0)
X = RNG.normal(size=3)
POINTS = RNG.uniform(0.2, 1, size=(6, 3))
MATRIX = RNG.normal(size=(20, 3))  # large enough for a dataset of its own
NET = ps.MLP(3, 2, 6, 2).initialize(seed=1)


def field(x):
    """A number at a point, with the elementary functions in it."""
    total = ops.sum(NET(x)) + ops.norm(ops.matmul(MATRIX, x)) + ops.log(x[0]) * ops.log1p(x[1])
    smooth = [ops.tanh, ops.sigmoid, ops.sin, ops.cos, ops.exp, ops.expm1, ops.erf, ops.arctan]
    rough = [ops.absolute, ops.sign, ops.floor, ops.stop_gradient]
    for function in [*smooth, ops.softplus, *rough]:
        total = total + function(x[0] * x[2])
    return ops.where(x[0] <= 1.5, total, ops.equal(x[1], 0.5)) * x[2] ** 2.5


def loss(points, target):
    """A residual of second order, squared and averaged."""
    residual = diff.vmap(lambda x: ops.sum(diff.hessian(lambda y: NET(y)[0])(x)))(points)
    return ops.mean((residual - target) ** 2)


def loops(x):
    swung = diff.scan(lambda c, e: (ops.tanh(c + e * x), c[::-1]), x, xs=ops.sin(x))
    small = diff.while_loop(lambda s: ops.sum(s * s) > 0.1, lambda s: s / 2, x)
    return swung, small, diff.cond(x[0] > 0, ops.sin, ops.cos, x)


def nested(arguments, pair):
    """Every kind of nesting, in and out."""
    x, y = pair
    return {"b": [arguments["p"] * y, None], "a": (ops.sum(arguments["q"][0]), x), 3: x - y}


def stacked(x):
    """Operations that a traced function has only when it is written in what devices use."""
    products = functions.outer(functions.sin(x), x)
    both = functions.part(functions.stack([x, x * x]), 1)
    return ops.sum(ops.transpose(ops.reshape(products, (3, 3))) * both)


NESTED = ({"q": [X], "p": 2.0, "r": None}, (POINTS, 0.5))
CHECKED = diff.checkpoint(lambda x: ops.exp(ops.sin(x)) * x)

# name -> the function and its arguments
CASES = {
    "number": (lambda x: ops.sin(x) + x**2, [0.7]),
    "network": (NET, [POINTS]),
    "network at a point": (NET, [X]),
    "compiled network": (ps.jit(NET, device="reference"), [POINTS]),
    "field": (diff.vmap(field), [POINTS]),
    "nested": (nested, NESTED),
    "gradient by weights": (
        diff.value_and_grad(loss, weights=NET.named_parameters()), [POINTS, np.ones(6)]
    ),
    "gradient by both": (
        diff.value_and_grad(loss, argnums=0, weights=NET.parameters()), [POINTS, np.ones(6)]
    ),
    "map of a hessian": (diff.vmap(diff.hessian(field)), [POINTS]),
    "jet": (lambda x: diff.jet(field, [x], [[x, x * x, np.ones(3)]]), [POINTS[0]]),
    "gradient of a checkpoint": (diff.grad(lambda x: ops.sum(CHECKED(x))), [X]),
    "loops": (loops, [X]),
    "map of loops": (diff.vmap(loops), [POINTS]),
    "hessian of a loop": (diff.hessian(lambda x: ops.sum(loops(x)[0][1])), [X]),
    "stacks": (diff.vmap(stacked), [POINTS]),
    "a constant": (lambda: MATRIX, []),
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Every case as a file, written once."""
    folder = tmp_path_factory.mktemp("functions")
    return {
        name: export(function, folder / f"{k}.h5", *arguments)
        for k, (name, (function, arguments)) in enumerate(CASES.items())
    }


def assert_equal(found, expected, tolerance=0.0):
    assert form(found) == form(expected)
    for a, b in zip(leaves(found), leaves(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CASES)
def test_round_trip(name, saved, tmp_path):
    function, arguments = CASES[name]
    loaded = load(saved[name], device="reference")
    found = loaded(*arguments)
    assert_equal(found, ps.jit(function, device="reference")(*arguments))
    assert_equal(found, function(*arguments), 1e-11)
    again = export(loaded, tmp_path / "again.h5", *loaded.arguments)
    assert again.read_bytes() == saved[name].read_bytes()


def test_every_primitive_is_among_them(saved):
    """But for those that only a solve or the inside of a device has."""
    found = set()
    for path in saved.values():
        graph = load(path, device="reference").graph
        bodies = [b.outputs for n in graph.nodes() if n.primitive == "program"
                  for b in n.attributes[0].bodies]  # fmt: skip
        found |= {n.primitive for roots in (graph.outputs.values(), *bodies)
                  for n in topological(roots)}  # fmt: skip
    inside = {name for name in PRIMITIVES if "block" in name} | {"orthonormal"}
    assert set(PRIMITIVES) - found == inside | {"coefficient", "direction", "single"}


SCRIPT = """
import json, numpy as np, pinnsolve as ps
from pinnsolve.diff.trees import leaves

def numbers(result):
    return [float(value).hex() for leaf in leaves(result) for value in np.ravel(leaf)]

points, x = np.load("points.npy"), np.load("x.npy")
error = ps.load("error.h5")
print(json.dumps([numbers(error(points)), numbers(error.on("reference")(points)),
                  numbers(ps.load("loops.h5", device="reference")(x))]))
"""


def test_a_new_process_needs_nothing_but_the_file(tmp_path):
    """The same numbers, from kernels that are not made again."""

    def error(points):
        return ops.mean(diff.vmap(lambda x: ops.tanh(NET(x)[0]) * x[1])(points))

    gradient = diff.value_and_grad(error, weights=NET.named_parameters())
    export(gradient, tmp_path / "error.h5", POINTS)
    export(loops, tmp_path / "loops.h5", X)
    np.save(tmp_path / "points.npy", POINTS)
    np.save(tmp_path / "x.npy", X)
    first, made = in_a_new_process(tmp_path)
    second, kept = in_a_new_process(tmp_path)
    assert made
    assert kept == made
    assert first == second
    cpu, reference, looped = first
    here = ps.jit(gradient, device="reference")(POINTS)
    assert np.array_equal(reference, flat(here))
    assert np.array_equal(looped, flat(ps.jit(loops, device="reference")(X)))
    np.testing.assert_allclose(cpu, flat(here), rtol=1e-12, atol=1e-12)


def in_a_new_process(folder):
    """What the script prints, and the kernels in the cache afterwards with their times."""
    surroundings = {"PINNSOLVE_CACHE": str(folder / "cache"), "PINNSOLVE_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT], cwd=folder, check=True,
        capture_output=True, text=True, env=os.environ | surroundings,
    )  # fmt: skip
    files = [path for path in (folder / "cache").rglob("*") if path.is_file()]
    found = [[float.fromhex(text) for text in texts] for texts in json.loads(done.stdout)]
    return found, {path: path.stat().st_mtime_ns for path in files}


def flat(result):
    return np.concatenate([np.ravel(leaf) for leaf in leaves(result)])


# --- the loaded function as a function -----------------------------------------------------------


def loaded_function(function, path, *arguments):
    return load(export(function, path, *arguments), device="reference")


def test_it_is_differentiated_again(tmp_path):
    cubes = loaded_function(lambda x: ops.sum(x**3), tmp_path / "f.h5", X)
    np.testing.assert_allclose(diff.grad(cubes)(X), 3 * X**2, rtol=1e-14)
    np.testing.assert_allclose(diff.hessian(cubes)(X), np.diag(6 * X), rtol=1e-14)
    twice = loaded_function(diff.grad(cubes), tmp_path / "g.h5", X)
    np.testing.assert_allclose(diff.jvp(twice, X, np.ones(3))[1], 6 * X, rtol=1e-14)


def test_it_is_mapped_over_points(tmp_path):
    at_point = loaded_function(field, tmp_path / "f.h5", X)
    for transform in (
        diff.vmap,
        lambda f: diff.vmap(diff.grad(f)),
        lambda f: diff.vmap(diff.hessian(f)),
    ):
        expected = transform(field)(POINTS)
        np.testing.assert_allclose(transform(at_point)(POINTS), expected, rtol=1e-10)
    swung = loaded_function(loops, tmp_path / "g.h5", X)
    assert_equal(diff.vmap(swung)(POINTS), diff.vmap(loops)(POINTS), 1e-14)
    gradient = diff.grad(lambda p: ops.sum(diff.vmap(lambda x: swung(x)[0][1])(p)))
    expected = diff.grad(lambda p: ops.sum(diff.vmap(lambda x: loops(x)[0][1])(p)))(POINTS)
    np.testing.assert_allclose(gradient(POINTS), expected, rtol=1e-12)


def test_it_stands_inside_a_loop(tmp_path):
    step = loaded_function(lambda x: x * x, tmp_path / "f.h5", 0.0)

    def power(x):
        return diff.scan(lambda c, _: (step(c), None), x, length=3)[0]

    assert power(1.1) == pytest.approx(1.1**8)
    assert diff.grad(power)(1.1) == pytest.approx(8 * 1.1**7)


def test_its_parameters_are_parameters(tmp_path):
    path = export(NET, tmp_path / "f.h5", X)
    loaded = load(path, device="reference")
    assert {p.name: p for p in loaded.parameters.values()} == loaded.parameters
    assert loaded.parameters.keys() == NET.named_parameters().keys()
    _, found = diff.value_and_grad(loaded, weights=loaded.parameters)(X)
    _, expected = diff.value_and_grad(NET, weights=NET.named_parameters())(X)
    for name, gradient in expected.items():
        assert np.array_equal(found[name], gradient)
    before = loaded(X)
    for parameter in loaded.parameters.values():
        parameter.value = 0 * parameter.value
    assert not loaded(X).any()
    assert not loaded.on("reference")(X).any()
    assert np.array_equal(load(path, device="reference")(X), before)


def test_frozen_parameters_stay_frozen(tmp_path):
    net = ps.MLP(3, 1, 4, 1).initialize()
    net.parameters()[0].requires_grad = False
    loaded = loaded_function(net, tmp_path / "f.h5", X)
    frozen = [name for name, p in loaded.parameters.items() if not p.requires_grad]
    assert frozen == [next(iter(net.named_parameters()))]


def test_a_gradient_goes_by_the_names_of_its_parameters(tmp_path):
    """One step down the gradient, with nothing but the file."""
    step = diff.value_and_grad(loss, weights=NET.named_parameters())
    path = export(step, tmp_path / "f.h5", POINTS, np.ones(6), parameters=NET.named_parameters())
    loaded = load(path, device="reference")
    before, gradient = loaded(POINTS, np.ones(6))
    assert set(loaded.parameters) <= set(gradient) == set(NET.named_parameters())
    for name, parameter in loaded.parameters.items():
        parameter.value = parameter.value - 1e-3 * gradient[name]
    assert loaded(POINTS, np.ones(6))[0] < before


def test_names_of_parameters(tmp_path):
    """Each its own, whatever they are."""
    names = ["w", "w", "", "", "a/b", ".", "..", "w (2)", "schön", "x" * 300]
    weights = [Parameter((), lambda rng, shape: np.array(2.0), name=name) for name in names]
    loaded = loaded_function(
        lambda x: sum((w * x**k for k, w in enumerate(weights)), 0.0), tmp_path / "f.h5", 0.0
    )
    found = ["w", "w (2)", "parameter 2", "parameter 3", "a.b", "parameter", "parameter (2)",
             "w (2) (2)", "schön", "x" * 300]  # fmt: skip
    assert sorted(loaded.parameters) == sorted(found)
    assert loaded(1.0) == 20


def test_what_it_says_of_itself(tmp_path):
    loaded = loaded_function(nested, tmp_path / "f.h5", *NESTED)
    assert repr(loaded) == (
        "LoadedFunction(({'q': [array(3,)], 'p': number, 'r': None}, (array(6, 3), number)) -> "
        "{'b': [number, None], 'a': (number, array(6, 3)), 3: array(6, 3)}, "
        "0 parameters, on reference)"
    )
    assert str(loaded.graph).splitlines()[-1].startswith("output 3 = %")
    assert loaded.compiled.cost(*NESTED).uniform_flops > 0


def test_dicts_may_come_in_any_order(tmp_path):
    loaded = loaded_function(lambda a: a["x"] - a["y"], tmp_path / "f.h5", {"x": 0.0, "y": 0.0})
    assert loaded({"y": 1.0, "x": 5.0}) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([X], "takes (array(3,), {'a': number}), but was given (array(3,))"),
        ([X, {"a": 1.0}, 2.0], "but was given (array(3,), {'a': number}, number)"),
        ([X[:2], {"a": 1.0}], "but was given (array(2,), {'a': number})"),
        ([POINTS, {"a": 1.0}], "but was given (array(6, 3), {'a': number})"),
        ([[1.0, 2.0, 3.0], {"a": 1.0}], "but was given ([number, number, number], {'a': number})"),
        ([X, {"b": 1.0}], "{'b': number}"),
        ([X, {"a": 1.0, "b": 1.0}], "{'a': number, 'b': number}"),
        ([X, {"a": None}], "{'a': None}"),
        ([X, 1.0], "(array(3,), number)"),
        ([X, {"a": "1"}], "{'a': str that is not of real numbers}"),
        ([X, {"a": 1j}], "{'a': complex that is not of real numbers}"),
    ],
)
def test_other_arguments_are_refused(arguments, message, saved_pair):
    with pytest.raises(GraphError) as caught:
        saved_pair(*arguments)
    assert message in str(caught.value)


@pytest.fixture(scope="module")
def saved_pair(tmp_path_factory):
    path = tmp_path_factory.mktemp("pair") / "f.h5"
    return loaded_function(lambda x, b: x * b["a"], path, X, {"a": 1.0})


def test_other_shapes_in_a_trace_are_refused(saved_pair):
    with pytest.raises(GraphError, match=r"but was given \(array\(2,\), {'a': number}\)"):
        diff.grad(lambda x: ops.sum(saved_pair(x, {"a": 1.0})))(X[:2])


# --- what cannot be exported ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (lambda x: diff.custom(np.fliplr)(x), [POINTS], r"'fliplr' .*test_exporting.*Python"),
        (lambda x: None, [X], "returns nothing; export needs a function that returns arrays"),
        (lambda x: ops, [X], "returned something that is not a value"),
        (lambda x: functions.input_points("a", 2), [X], "depends on a traced value"),
        (lambda x: {(1, 2): x}, [X], r"keys are texts or numbers, not \(1, 2\)"),
        (lambda x: {True: x}, [X], "keys are texts or numbers, not True"),
        (lambda x: float(x), [1.0], "float\\(\\) was called on a traced value"),
        (lambda x: x, ["text"], "array of real numbers"),
        (lambda x: x, [Parameter((), lambda rng, shape: np.zeros(shape))], "not traced values"),
    ],
)
def test_what_is_no_function_of_arrays_is_refused(function, arguments, message, tmp_path):
    with pytest.raises(GraphError, match=message):
        export(function, tmp_path / "f.h5", *arguments)
    assert not list(tmp_path.iterdir())


def test_a_function_of_traced_values_is_refused(tmp_path):
    def outer(x):
        export(lambda y: x * y, tmp_path / "f.h5", 0.0)
        return x

    with pytest.raises(GraphError, match="depends on a traced value that is no argument of it"):
        diff.grad(outer)(1.0)


def test_bottomless_arguments_are_refused(tmp_path):
    tree = 1.0
    for _ in range(70):
        tree = [tree]
    with pytest.raises(GraphError, match="nested more than 64 deep"):
        export(lambda x: leaves(x)[0], tmp_path / "f.h5", tree)
