"""jit: compiled and interpreted functions agree in value and in every derivative."""

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve import diff, ops
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.diff.trees import leaves
from pinnsolve.errors import DeviceError, GraphError

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (37, 2))
Y = RNG.normal(size=(37, 1))
W = RNG.normal(size=(2, 3))


def assert_equal(found, expected, tolerance=1e-12):
    found, expected = (leaves(v) for v in (found, expected))
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.allclose(a, b, rtol=tolerance, atol=tolerance)


def field(x):
    """A number at each point, with many operations in it."""
    h = ops.tanh(ops.matmul(x, W)) * ops.sigmoid(x[0]) + ops.softplus(x[1])
    return ops.sum(ops.exp(-h * h)) + ops.where(x[0] > 0, x[0] ** 3, ops.sin(x[1])) * ops.norm(h)


def everything(x):
    """Value and derivatives of all kinds at each point, and sums over points."""
    value = diff.vmap(field)
    squares = diff.vmap(lambda p: diff.hessian(field)(p) @ p)
    third = diff.vmap(lambda p: diff.jet(field, [p], [[p * p, 0 * p, 0 * p]])[1][2])
    return {
        "value": value(x),
        "gradient": diff.vmap(diff.grad(field))(x),
        "hessian times p": squares(x),
        "third": third(x),
        "sum": ops.sum(value(x)) ** 2,
    }


def test_compiled_derivatives_are_the_interpreted_ones():
    expected = everything(X)
    for device in ("reference", "cpu"):
        assert_equal(ps.jit(everything, device)(X), expected)
    # ... and the interpreted ones are right: differences of the value alone.
    step = 1e-6 * np.eye(2)
    slopes = [(everything(X + e)["value"] - everything(X - e)["value"]) / 2e-6 for e in step]
    assert np.allclose(expected["gradient"], np.stack(slopes, -1), atol=1e-7)


def test_a_training_step_on_the_cpu():
    """Gradients by weights of a loss with derivatives in it, several sets of points at once."""
    net = ps.MLP(2, 1, width=6, depth=2)
    net.initialize(seed=3)

    def loss(inside, left):
        def u(p):
            return net(p)[0]

        def residual(p):
            curvature = diff.jet(u, [p], [[np.array([1.0, 0.0]), np.zeros(2)]])[1][1]
            return curvature + u(p) * diff.grad(u)(p)[1]

        r, b = diff.vmap(residual)(inside), diff.vmap(u)(left)
        return ops.mean(r * r) + 3 * ops.mean(b * b), r

    step = diff.value_and_grad(loss, weights=net.parameters(), has_aux=True)
    compiled = ps.jit(step)
    assert_equal(compiled(X, X[:11]), step(X, X[:11]))
    kept = net.parameters()[0].value
    for parameter in net.parameters():  # new values are seen without a new trace
        parameter.value = 0.7 * parameter.value
    assert_equal(compiled(X, X[:11]), step(X, X[:11]))
    assert len(compiled.variants) == 1
    assert np.array_equal(net.parameters()[0].value, 0.7 * kept)
    assert_equal(compiled(X[:5], X[:6]), step(X[:5], X[:6]))
    assert len(compiled.variants) == 2
    # The gradient itself, by a complex step through the interpreter.
    assert set(compiled.profile(X, X[:11], repeats=1).parts) >= {"uniform"}


def test_a_sum_over_points_may_be_needed_at_points():
    """Two passes over the points: centred values, their variance, and what follows."""

    def standardized(x):
        value = diff.vmap(lambda p: p[0] * p[1])(x)
        centred = diff.vmap(lambda v, m: v - m, in_axes=(0, None))(value, ops.mean(value))
        return centred / ops.sqrt(ops.mean(centred**2))

    assert_equal(ps.jit(standardized)(X), standardized(X))
    value = X[:, 0] * X[:, 1]
    assert np.allclose(standardized(X), (value - value.mean()) / value.std())


def test_loops_at_points_are_unrolled():
    def root(a):
        """Newton's method for the square root, five steps."""
        return diff.scan(lambda s, _: (0.5 * (s + a / s), s), a, length=5)

    inside = np.array([1.0, 2.0, 3.0, 0.5])
    compiled = ps.jit(diff.vmap(root))
    assert_equal(compiled(inside), diff.vmap(root)(inside))
    assert np.allclose(compiled(inside)[0], np.sqrt(inside), rtol=1e-6)
    again = ps.jit(diff.vmap(diff.checkpoint(field)))
    assert_equal(again(X), diff.vmap(field)(X))


def test_a_while_loop_at_points_is_refused_by_the_cpu():
    halve = diff.vmap(lambda s: diff.while_loop(lambda s: s > 1, lambda s: s / 2, s))
    values = np.array([5.0, 0.3])
    assert np.allclose(ps.jit(halve, "reference")(values), [0.625, 0.3])
    with pytest.raises(GraphError, match=r"while at points cannot run in a kernel"):
        ps.jit(halve)(values)


def test_forms_and_shapes_are_traced_once_each():
    calls = []

    def f(tree):
        calls.append(1)
        return {"sum": tree["a"] + tree["b"][0], "twice": (2 * tree["a"],)}

    compiled = ps.jit(f, device=ReferenceDevice())
    assert_equal(compiled({"a": 1.0, "b": [2.0]}), {"sum": 3.0, "twice": (2.0,)})
    compiled({"a": 5.0, "b": [7.0]})
    assert len(calls) == 1
    assert_equal(
        compiled({"a": np.ones(3), "b": [2.0]}), {"sum": np.full(3, 3.0), "twice": (np.full(3, 2),)}
    )
    assert len(calls) == 2


def test_a_compiled_function_is_part_of_other_traces():
    fast = ps.jit(lambda x: ops.sin(x) * x, device="reference")
    assert float(diff.grad(fast)(0.3)) == pytest.approx(np.cos(0.3) * 0.3 + np.sin(0.3), rel=1e-14)
    assert float(ps.jit(diff.grad(fast), "reference")(0.3)) == float(diff.grad(fast)(0.3))


def test_level_0_compiles_what_was_traced():
    def f(x):
        return diff.grad(lambda x: ops.sum(ops.tanh(x) * ops.tanh(x)))(x)

    plain, final = ps.jit(f, "reference", level=0), ps.jit(f, "reference")
    x = np.linspace(-1, 1, 5)
    assert_equal(plain(x), final(x))
    assert not final.cost(x).exceeds(plain.cost(x))
    assert "tanh" in str(final.graph(x))


def test_a_function_that_cannot_be_traced():
    def branch(x):
        return x if x > 0 else -x

    with pytest.raises(GraphError, match=r"Python branch .*test_compiled\.py:\d+.*cond"):
        ps.jit(branch, "reference")(1.0)
    with pytest.warns(UserWarning, match="runs as Python, not compiled"):
        assert ps.jit(branch, "reference", full_graph=False)(-2.0) == 2.0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"device": "gpu"}, "no device 'gpu'"), ({"level": 2}, "level must be 0 or 1")],
)
def test_refused_settings(options, message):
    with pytest.raises(DeviceError, match=message):
        ps.jit(ops.sin, **options)


def test_profile_and_text():
    compiled = ps.jit(lambda x: ops.sin(x) ** 2, device="reference")
    profile = compiled.profile(np.zeros(3), repeats=2)
    assert profile.trace > 0
    assert profile.run > 0
    assert str(profile).splitlines()[0].startswith("trace")
