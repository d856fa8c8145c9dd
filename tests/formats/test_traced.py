"""Functions of the engine in the formats of others: what they do at one point, at many."""

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve import formats
from pinnsolve.errors import FileError, GraphError
from tests.formats.running import load_python, run

POINTS = np.random.default_rng(0).normal(size=(9, 3))
NET = ps.MLP(3, 2, 8, 2).initialize(seed=0)
WITHOUT_MINDSPORE = [suffix for suffix in formats.FORMATS if suffix != ".mindir"]


def curved(x):
    """A value, its Hessian and the trace of it."""
    hessian = ps.diff.hessian(lambda z: NET(z)[0])(x)
    return {"u": NET(x)[0], "hessian": hessian, "laplacian": ps.ops.sum(hessian * np.eye(3))}


def nested(a, pair):
    return a * pair[0], ps.ops.matmul(a, np.ones((3, 2))) + pair[1]["k"]


@pytest.mark.parametrize("suffix", list(formats.FORMATS))
def test_networks_and_their_derivatives(suffix, tmp_path) -> None:
    path = ps.export(curved, tmp_path / f"curved{suffix}", np.zeros(3))
    values = run(path, [("u", ()), ("hessian", (3, 3)), ("laplacian", ())], [POINTS])
    step = 1e-4 * np.eye(3)

    def difference(i, j):
        places = [POINTS + a * step[i] + b * step[j] for a in (1, -1) for b in (1, -1)]
        one, two, three, four = (NET(place)[:, 0] for place in places)
        return (one - two - three + four) / 4e-8

    right = np.array([[difference(i, j) for j in range(3)] for i in range(3)]).transpose(2, 0, 1)
    np.testing.assert_allclose(values[0], NET(POINTS)[:, 0], atol=1e-15)
    np.testing.assert_allclose(values[1], right, atol=2e-7)
    np.testing.assert_allclose(values[2], np.trace(values[1], axis1=1, axis2=2), atol=1e-15)


@pytest.mark.parametrize("suffix", WITHOUT_MINDSPORE)
def test_nested_arguments_have_names(suffix, tmp_path) -> None:
    path = ps.export(nested, tmp_path / f"nested{suffix}", np.zeros(3), (1.0, {"k": np.zeros(2)}))
    arrays = [POINTS, POINTS[:, 0].copy(), POINTS[:, 1:].copy()]
    first, second = run(path, [("value_0", (3,)), ("value_1", (2,))], arrays)
    np.testing.assert_allclose(first, POINTS * POINTS[:, :1])
    np.testing.assert_allclose(second, POINTS @ np.ones((3, 2)) + POINTS[:, 1:])
    if suffix == ".py":
        assert list(load_python(path).ARGUMENTS) == ["a", "pair_0", "pair_1_k"]


@pytest.mark.parametrize("suffix", WITHOUT_MINDSPORE)
def test_no_points_and_many(suffix, tmp_path) -> None:
    """More than the module takes at once, too."""
    path = ps.export(NET, tmp_path / f"net{suffix}", np.zeros(3))
    for count in (0, 1, 5000):
        places = np.resize(POINTS, (count, 3))
        (value,) = run(path, [("value", (2,))], [places])
        np.testing.assert_allclose(value, NET(places) if count else np.zeros((0, 2)), atol=1e-15)


def test_names_are_all_different(tmp_path) -> None:
    def doubled(x, pair):
        return {"x": 2 * x, "x_": pair["a_b"], "y": {"z": pair["a"]["b"]}, "y_z": x}

    pair = {"a_b": 1.0, "a": {"b": 1.0}}
    module = load_python(ps.export(doubled, tmp_path / "doubled.py", 1.0, pair))
    assert list(module.ARGUMENTS) == ["x", "pair_a_b", "pair_a_b_"]
    assert list(module.RESULTS) == ["x_", "x__", "y_z", "y_z_"]
    values = module.evaluate([1.0], [2.0], [3.0])
    assert [float(v[0]) for v in values] == [2.0, 2.0, 3.0, 1.0]


def test_parameters_are_the_present_ones(tmp_path) -> None:
    net = ps.MLP(1, 1, 3, 1).initialize(seed=0)
    first = load_python(ps.export(net, tmp_path / "net.py", np.zeros(1)))
    net.set_values({name: 0 * w for name, w in net.values().items()})
    assert first.evaluate([[0.3]]).value != 0
    second = load_python(ps.export(net, tmp_path / "net.py", np.zeros(1)))
    assert second.evaluate([[0.3]]).value == 0


def mapped(x):
    return ps.diff.vmap(ps.ops.sin)(x)


def halved(x):
    return ps.diff.while_loop(lambda s: ps.ops.sum(s * s) > 0.1, lambda s: s / 2, x)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (mapped, [POINTS], "mapped is exported as a function of one point, which it is not"),
        (halved, [POINTS[0]], "value of halved, at every point cannot be exported: it runs while"),
        (lambda: ps.ops.sin(1.0), [], "has no arguments, so it is no function of a point"),
        (lambda class_: ps.ops.sin(class_), [0.0], None),
    ],
)
def test_what_is_no_function_of_a_point_is_refused(function, arguments, message, tmp_path) -> None:
    if message is None:
        assert ps.export(function, tmp_path / "f.c", *arguments).exists()
        return
    with pytest.raises(GraphError, match=message):
        ps.export(function, tmp_path / "f.c", *arguments)
    assert not list(tmp_path.iterdir())


def test_an_unknown_suffix_names_the_known_ones(tmp_path) -> None:
    known = r"\.onx: no format is known by the suffix '\.onx'; known are \.h5, \.hdf5, \.onnx, \.c"
    with pytest.raises(FileError, match=known):
        ps.export(NET, tmp_path / "net.onx", np.zeros(3))
    with pytest.raises(FileError, match="no precision 'half'; write float64 or float32"):
        ps.export(NET, tmp_path / "net.c", np.zeros(3), precision="half")
