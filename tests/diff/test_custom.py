"""Operations with rules of their own, and check_gradients, which judges them."""

import math

import numpy as np
import pytest
from mpmath import mp
from scipy import special

from pinnsolve import ops
from pinnsolve.diff import (
    GradientCheck,
    check_gradients,
    checkpoint,
    cond,
    custom,
    grad,
    hessian,
    jacobian,
    jet,
    jvp,
    scan,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from pinnsolve.errors import GraphError
from tests.diff.comparing import A, B, M, assert_equal, parameter, times

lngamma = custom(special.gammaln, taylor=lambda y, x: digamma(x))
digamma = custom(special.digamma, taylor=lambda y, x: trigamma(x))
trigamma = custom(lambda x: special.polygamma(1, x))

# J_0' = -J_1, J_1' = J_0 - J_1 / x: rules that name each other give all orders.
bessel0 = custom(special.j0, taylor=lambda y, x: -bessel1(x))
bessel1 = custom(special.j1, taylor=lambda y, x: bessel0(x) - y / x)

product = custom(lambda x, y: x * y, taylor=lambda r, x, y: (y, x))
hypotenuse = custom(np.hypot, taylor=lambda r, x, y: (x / r, y / r))
power = custom(lambda x, y: x**y, taylor=lambda r, x, y: (y * r / x, r * ops.log(x)))

backward_sine = custom(np.sin, vjp=lambda c, y, x: c * ops.cos(x))


def _solve(matrix, rhs):
    return np.linalg.solve(matrix, rhs[..., None])[..., 0]


def _solve_rule(c, y, matrix, rhs):
    share = solve(ops.transpose(matrix), c)
    return -ops.reshape(share, (-1, 1)) * ops.reshape(y, (1, -1)), share


solve = custom(_solve, vjp=_solve_rule, shape=lambda matrix, rhs: rhs)
SYSTEM = np.array([[2.0, 1, 0], [0, 3, 1], [1, 0, 4]])


# --- rules -----------------------------------------------------------------------------------


def test_on_arrays_it_is_the_function():
    assert_equal(lngamma(2.5), math.lgamma(2.5))
    assert_equal(hypotenuse(A, 2.0), np.hypot(A, 2.0))
    assert_equal(solve(SYSTEM, B), np.linalg.solve(SYSTEM, B))
    assert lngamma.__name__ == "gammaln"


@pytest.mark.parametrize("order", range(1, 9))
def test_one_rule_gives_all_orders_both_ways(order):
    with mp.workdps(30):
        expected = float(mp.diff(mp.j0, 1.3, order))
    once = {
        "jet": lambda x: jet(bessel0, [x], [[1.0, *[0.0] * (order - 1)]])[1][-1],
        "grad": times(order, grad, bessel0),
        "grad of a map": lambda x: vmap(times(order, grad, bessel0))(np.array([x, 2.0]))[0],
    }
    if order <= 4:
        once["jvp"] = times(order, lambda f: lambda x: jvp(f, x, 1.0)[1], bessel0)
        once["reverse"] = times(order, lambda f: jacobian(f, mode="reverse"), bessel0)
    for name, f in once.items():
        assert f(1.3) == pytest.approx(expected, rel=1e-10), name


def test_several_arguments():
    """... of which one depends on another, or is it."""
    x, y = 0.8, 1.7
    r = math.hypot(x, y)
    assert_equal(grad(hypotenuse, (0, 1))(x, y), (x / r, y / r))
    expected = np.array([[y * y, -x * y], [-x * y, x * x]]) / r**3
    assert_equal(hessian(lambda z: hypotenuse(z[0], z[1]))(np.array([x, y])), expected)
    assert_equal(grad(grad(lambda x: product(x, x)))(3.0), 2.0)
    assert_equal(jet(lambda x: product(ops.sin(x), x), [0.4], [[1.0, 0.0, 0.0]])[1], [
        math.sin(0.4) + 0.4 * math.cos(0.4), 2 * math.cos(0.4) - 0.4 * math.sin(0.4),
        -3 * math.sin(0.4) - 0.4 * math.cos(0.4),
    ])  # fmt: skip
    with mp.workdps(30):
        exact = [float(mp.diff(lambda t: t ** mp.sin(t), 1.2, k)) for k in range(1, 6)]
    found = jet(lambda t: power(t, ops.sin(t)), [1.2], [[1.0, 0, 0, 0, 0]])[1]
    assert_equal(tuple(found), tuple(exact), rtol=1e-11)


def test_arguments_broadcast_in_a_map_as_anywhere():
    rows = np.outer(A, B)
    assert_equal(vmap(lambda x, s: product(x, s))(M, A), M * A[:, None])
    assert_equal(vmap(lambda s: product(s, B))(A), rows)
    assert_equal(vmap(lambda s: product(B, s))(A), rows)
    assert_equal(vmap(grad(lambda s: ops.sum(product(s, B))))(A), np.full(3, B.sum()))
    assert_equal(grad(lambda x: ops.sum(product(x, B)))(2.0), B.sum())
    assert_equal(grad(lambda x: ops.sum(product(M, x)))(A), M.sum(axis=0))


def test_rules_work_inside_everything():
    f = lambda x: bessel0(x) * bessel1(x)  # noqa: E731
    slope = lambda x: -(special.j1(x) ** 2) + special.j0(x) * (special.j0(x) - special.j1(x) / x)  # noqa: E731
    assert_equal(grad(checkpoint(f))(1.3), slope(1.3))
    assert_equal(vmap(grad(f))(np.array([1.3, 0.4])), slope(np.array([1.3, 0.4])))
    looped = lambda x: scan(lambda c, _: (c + f(x), None), 0.0, length=3)[0]  # noqa: E731
    assert_equal(grad(looped)(1.3), 3 * slope(1.3))

    def summed(x):
        return while_loop(lambda s: s < 1, lambda s: s + f(x), 0.0)

    assert_equal(jvp(summed, 1.3, 1.0)[1], slope(1.3) * 4)
    assert_equal(grad(lambda x: cond(x > 1, f, bessel0, x))(1.3), slope(1.3))
    p = parameter(1.3)
    assert_equal(value_and_grad(lambda: f(p.node), weights=p)()[1], slope(1.3))


def test_reverse_rules_alone_nest():
    assert_equal(backward_sine(A), np.sin(A))
    assert_equal(grad(backward_sine)(A), np.cos(A))
    assert_equal(grad(grad(backward_sine))(0.3), -math.sin(0.3))
    assert_equal(grad(grad(grad(lambda x: ops.sum(backward_sine(x)))))(A), -np.cos(A))
    assert_equal(vmap(grad(grad(backward_sine)))(A), -np.sin(A))


def test_an_operation_on_whole_arrays():
    x = np.linalg.solve(SYSTEM, B)
    to_matrix, to_rhs = vjp(solve, SYSTEM, B)[1](A)
    inverse = np.linalg.inv(SYSTEM)
    assert_equal(to_rhs, inverse.T @ A)
    assert_equal(to_matrix, -np.outer(inverse.T @ A, x))
    energy = lambda b: ops.sum(solve(SYSTEM, b) ** 2) / 2  # noqa: E731
    assert_equal(jacobian(grad(energy), mode="reverse")(B), inverse.T @ inverse)
    assert_equal(vmap(lambda b: solve(SYSTEM, b))(M), M @ inverse.T)
    assert_equal(vmap(grad(energy))(M), M @ inverse.T @ inverse)
    matrices = np.stack([SYSTEM, SYSTEM.T])
    assert_equal(vmap(lambda a: solve(a, B))(matrices), np.stack([x, inverse.T @ B]))


# --- check_gradients -------------------------------------------------------------------------


@pytest.mark.parametrize("order", range(1, 5))
def test_right_rules_pass(order):
    cases = {
        "bessel": (bessel0, 1.3),
        "hypotenuse": (hypotenuse, (A, B)),
        "nested": (
            lambda d, y: {"a": product(d["x"], y[0]), "b": [power(y[1], d["x"])]},
            ({"x": A}, (B, 1.7)),
        ),
    }
    for name, (f, arguments) in cases.items():
        found = check_gradients(f, arguments, order=order)
        assert isinstance(found, GradientCheck), name
        assert len(found.forward) == len(found.backward) == order
        assert found.worst < 1e-5, (name, found)
    one = check_gradients(solve, (SYSTEM, B), order=1, modes=("reverse",))
    assert one.forward == ()
    assert one.worst < 1e-9


WRONG = {
    "slope": (custom(np.sin, taylor=lambda y, x: 1.001 * ops.cos(x)), "forward", 1),
    "curvature": (custom(np.sin, taylor=lambda y, x: ops.cos(x) + 0.01 * (x - 0.3)), "forward", 2),
    "third": (custom(np.sin, taylor=lambda y, x: ops.cos(x) + 0.1 * (x - 0.3) ** 2), "forward", 3),
    "fourth": (custom(np.sin, taylor=lambda y, x: ops.cos(x) + (x - 0.3) ** 3), "forward", 4),
    "vjp": (
        custom(np.sin, taylor=lambda y, x: ops.cos(x), vjp=lambda c, y, x: -c * ops.cos(x)),
        "reverse", 1,
    ),
    "one of two": (custom(np.multiply, taylor=lambda r, x, y: (y, 1.01 * x)), "forward", 1),
    "a stopped slope": (
        custom(np.sin, taylor=lambda y, x: ops.stop_gradient(ops.cos(x))), "forward", 2
    ),
    "a kink": (lambda x: ops.relu(x - 0.3), "forward", 1),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_rules_do_not(name):
    f, mode, wrong_at = WRONG[name]
    arguments = (0.3, 0.7) if name == "one of two" else 0.3
    message = f"the {mode} derivative of order {wrong_at} of .* differs from differences"
    with pytest.raises(GraphError, match=message):
        check_gradients(f, arguments, order=wrong_at)
    if wrong_at > 1:
        check_gradients(f, arguments, order=wrong_at - 1)


# --- messages --------------------------------------------------------------------------------

MISSING = {
    "forward": (
        lambda: jvp(backward_sine, 0.3, 1.0),
        r"operation 'sin' \(defined at .*test_custom\.py:\d+\) has no rule for forward .*"
        r"write custom\(sin, taylor=\.\.\.\)",
    ),
    "jet": (lambda: jet(backward_sine, [0.3], [[1.0, 0.0]]), r"custom\(sin, taylor=\.\.\.\)"),
    "hessian": (lambda: hessian(backward_sine)(0.3), r"custom\(sin, taylor=\.\.\.\)"),
    "reverse": (
        lambda: grad(trigamma)(0.3),
        r"test_custom\.py:\d+\) has no rule for reverse .*custom\(<lambda>, vjp=.*or taylor=",
    ),
    "in a rule": (lambda: times(3, grad, lngamma)(0.3), r"test_custom\.py:\d+\) has no rule"),
    "check": (
        lambda: check_gradients(backward_sine, 0.3, order=1), r"custom\(sin, taylor=\.\.\.\)"
    ),
    "check, second order": (
        lambda: check_gradients(backward_sine, 0.3, order=2, modes=("reverse",)),
        r"custom\(sin, taylor=\.\.\.\)",
    ),
    "shares": (
        lambda: grad(custom(np.hypot, vjp=lambda c, r, x, y: c * x / r))(1.0, 2.0),
        r"the vjp rule of .*'hypot' .* returned 1 share\(s\) for 2 argument",
    ),
    "derivatives": (
        lambda: grad(custom(np.hypot, taylor=lambda r, x, y: x / r))(1.0, 2.0),
        r"the taylor rule of .*'hypot' .* returned 1 derivative\(s\) for 2 argument",
    ),
    "share": (
        lambda: grad(custom(np.sin, vjp=lambda c, y, x: np.ones(2)))(A),
        r"the vjp rule of .*'sin' .* a share of shape \[2\] for an argument of shape \[3\]",
    ),
    "result": (
        lambda: custom(np.sum)(A),
        r"'sum' \(defined at .*\) returned an array of shape \(\), not \(3,\): .*shape=\.\.\.",
    ),
    "result in a graph": (
        lambda: jvp(lambda x: x * custom(np.sum)(B), A, A), r"'sum' .* shape \(\), not \(3,\)"
    ),
    "declared result": (
        lambda: custom(np.sin, shape=lambda x: ())(A), r"'sin' .* shape \(3,\), not \(\)"
    ),
    "order": (lambda: check_gradients(ops.sin, 0.3, order=5), "orders 1 to 4, not 5"),
    "mode": (lambda: check_gradients(ops.sin, 0.3, modes=("both",)), "'forward' and 'reverse'"),
    "no mode": (lambda: check_gradients(ops.sin, 0.3, modes=()), "'forward' and 'reverse'"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_or_wrong_is_named(name):
    run, message = MISSING[name]
    with pytest.raises(GraphError, match=message):
        run()
