"""cond and while_loop against closed forms and the Python statements that they stand for."""

import math

import numpy as np
import pytest

from pinnsolve import ops
from pinnsolve.diff import (
    checkpoint,
    cond,
    custom,
    derivative,
    grad,
    hessian,
    jacobian,
    jet,
    jvp,
    scan,
    trace,
    value_and_grad,
    vjp,
    vmap,
    while_loop,
)
from pinnsolve.errors import GraphError
from tests.diff.comparing import A, B, assert_equal, parameter

# --- cond ------------------------------------------------------------------------------------


def kinked(x):
    """x^2 right of 1, x^3 between, -x left of 0."""
    return cond(x > 0, lambda x: cond(x > 1, lambda x: x**2, lambda x: x**3, x), lambda x: -x, x)


KINKED = {2.0: (4.0, 4.0, 2.0), 0.5: (0.125, 0.75, 3.0), -2.0: (2.0, -1.0, 0.0)}


def test_choices_nest():
    for x, (value, first, second) in KINKED.items():
        assert_equal(kinked(x), value)
        assert_equal(value_and_grad(kinked)(x), (value, first))
        assert_equal(jvp(kinked, x, 1.0), (value, first))
        assert_equal(hessian(kinked)(x), second)
        assert_equal(jet(kinked, [x], [[1.0, 0.0]]), (value, [first, second]))
    points = np.array(list(KINKED))
    found = vmap(lambda x: (kinked(x), grad(kinked)(x), hessian(kinked)(x)))(points)
    assert_equal(found, tuple(np.array(list(KINKED.values())).T))


reciprocal = custom(lambda x: 1 / x, taylor=lambda y, x: -1 / (x * x))
SINGULAR = {
    "log": (lambda x: ops.sum(ops.log(x)), lambda x: ops.sum(x * x)),
    "reciprocal": (lambda x: ops.sum(1 / x), lambda x: ops.sum(x * x)),
    "root": (lambda x: ops.sum((x - 1) ** 0.5), lambda x: ops.sum(x * x)),
    "overflow": (lambda x: ops.sum(ops.exp(1000 / (x * x))), lambda x: ops.sum(x * x)),
    "product": (lambda x: ops.sum(ops.matmul(1 / x, np.ones((3, 2)))), lambda x: ops.sum(x * x)),
    "parts": (
        lambda x: ops.sum(ops.concatenate([ops.reshape(1 / ops.reshape(x, (3, 1)), (3,)), x])),
        lambda x: ops.sum(x * x),
    ),
    "checkpoint": (checkpoint(lambda x: ops.sum(1 / x)), lambda x: ops.sum(x * x)),
    "loop": (lambda x: scan(lambda c, y: (c + 1 / y, None), 0.0, x)[0], lambda x: ops.sum(x * x)),
    "custom": (lambda x: ops.sum(reciprocal(x)), lambda x: ops.sum(x * x)),
    "own product": (lambda x: ops.sum(x / x), lambda x: ops.sum(x * x)),
}
ZERO = np.array([-1.0, 0.0, 2.0])


@pytest.mark.parametrize("name", SINGULAR)
def test_what_is_not_taken_may_be_infinite(name):
    singular, regular = SINGULAR[name]

    def choice(x):
        return cond(x[0] > 0, singular, regular, x)

    assert_equal(choice(ZERO), ZERO @ ZERO)
    assert_equal(jvp(choice, ZERO, A), (ZERO @ ZERO, 2 * ZERO @ A))
    assert_equal(grad(choice)(ZERO), 2 * ZERO)
    assert_equal(hessian(choice)(ZERO), 2 * np.eye(3))
    assert_equal(jacobian(grad(choice), mode="reverse")(ZERO), 2 * np.eye(3))
    assert_equal(jet(choice, [ZERO], [[A, B, A]])[1][1], 2 * A @ A + 2 * ZERO @ B)
    assert_equal(vmap(grad(choice))(np.stack([ZERO, 2 * ZERO])), np.stack([2 * ZERO, 4 * ZERO]))


def test_choices_of_nestings_closures_and_parameters():
    p = parameter(3.0)

    def f(x, y):
        return cond(
            x < y, lambda z: {"a": (z * x, p.node), "b": y}, lambda z: {"a": (z, x), "b": z}, x + y
        )

    assert_equal(f(2.0, 1.0), {"a": (3.0, 2.0), "b": 3.0})
    assert_equal(jvp(f, (1.0, 2.0), (1.0, 0.0)), (
        {"a": (3.0, 3.0), "b": 2.0}, {"a": (4.0, 0.0), "b": 0.0}
    ))  # fmt: skip
    slope = value_and_grad(lambda x, y: f(x, y)["a"], 0, weights=p)
    assert_equal(slope(1.0, 2.0)[1], (4.0, 1.0))
    assert_equal(slope(2.0, 1.0)[1], (2.0, 0.0))
    chosen = value_and_grad(lambda x: cond(p, lambda: x * p.node, lambda: x), weights=p)
    assert_equal(chosen(2.0), (6.0, 2.0))
    p.value = 0.0
    assert_equal(chosen(2.0), (2.0, 0.0))


def test_a_predicate_with_entries_chooses_entry_by_entry():
    f = lambda x: cond(x > 0, lambda x: x**2, lambda x: -x, x)  # noqa: E731
    expected = np.where(A > 0, A**2, -A)
    assert_equal(f(A), expected)
    assert_equal(cond(A > 0, lambda x: x**2, lambda x: -x, A), expected)
    assert_equal(grad(f)(A), np.where(A > 0, 2 * A, -1))


def test_predicates_that_are_known_run_one_function():
    def never(x):
        raise AssertionError

    assert_equal(grad(lambda x: cond(True, lambda x: x * x, never, x))(3.0), 6.0)
    assert_equal(grad(lambda x: cond(np.array(0.0), never, ops.sin, x))(0.0), 1.0)
    assert_equal(cond(2.0 > 3.0, never, lambda x: x, 5.0), 5.0)


def test_results_of_a_choice_must_be_alike():
    with pytest.raises(GraphError, match=r"results of both functions of cond .* \(\., \.\) and \."):
        grad(lambda x: cond(x > 0, lambda x: (x, x), lambda x: x, x))(1.0)
    with pytest.raises(GraphError, match=r"cond must have one shape, got \[3\] and \[\]"):
        grad(lambda x: cond(x > 0, lambda x: x * A, lambda x: x, x))(1.0)
    with pytest.raises(GraphError, match=r"cond must have one shape, got \[3\] and \[\]"):
        cond(A > 0, lambda: A, lambda: 1.0)


# --- while_loop ------------------------------------------------------------------------------


def halved(x, max_steps=None):
    """x / 2^k, not above 1."""
    return while_loop(lambda s: s > 1.0, lambda s: s / 2, x, max_steps)


def powers(x, max_steps=None):
    """The first power of x, at least x itself, that is 20 or more; and how often it multiplied."""
    return while_loop(lambda s: s[0] < 20.0, lambda s: (s[0] * x, s[1] + 1), (x, 0.0), max_steps)


@pytest.mark.parametrize("steps", [None, 12])
def test_forward_through_any_loop(steps):
    assert_equal(jvp(lambda x: halved(x, steps), 12.0, 1.0), (0.75, 1 / 16))
    assert_equal(jvp(lambda x: halved(x, steps), 0.3, 1.0), (0.3, 1.0))
    assert_equal(jet(lambda x: powers(x, steps), [3.0], [[1.0, 0.0, 0.0, 0.0]]), (
        (27.0, 2.0), [(27.0, 0.0), (18.0, 0.0), (6.0, 0.0), (0.0, 0.0)]
    ))  # fmt: skip
    assert_equal(derivative(lambda x: powers(x, steps)[0], 2.5, 3)[1], 4 * 3 * 2 * 2.5)

    def scaled(x):
        return while_loop(lambda s: s[0] < 20.0, lambda s: s * x, x, steps)

    x = np.array([3.0, 2.0])
    assert_equal(jacobian(scaled, mode="forward")(x), np.diag([27.0, 12.0]))
    twice = jacobian(jacobian(lambda x: ops.sum(scaled(x)), mode="forward"), mode="forward")
    assert_equal(twice(x), np.diag([18.0, 12.0]))


def test_reverse_where_the_number_of_steps_is_bounded():
    assert_equal(grad(lambda x: halved(x, 10))(12.0), 1 / 16)
    assert_equal(grad(lambda x: powers(x, 10)[0])(3.0), 27.0)
    assert_equal(hessian(lambda x: powers(x, 10)[0])(3.0), 18.0)
    assert_equal(grad(grad(grad(lambda x: powers(x, 10)[0])))(3.0), 6.0)
    assert_equal(vjp(lambda x: powers(x, 10), 3.0)[1]((2.0, 5.0)), (54.0,))
    assert_equal(
        vmap(grad(lambda x: halved(x, 10)))(np.array([12.0, 3.0, 0.3])), 1 / np.array([16, 4, 1.0])
    )
    p = parameter(2.0)
    slope = value_and_grad(
        lambda x: while_loop(lambda s: s < 20, lambda s: s * p.node, x, max_steps=9), 0, weights=p
    )
    assert_equal(slope(3.0), (24.0, (8.0, 3 * 3 * 4.0)))


def test_a_bound_that_is_reached_ends_the_loop():
    assert_equal(halved(12.0, 2), 3.0)
    assert_equal(jvp(lambda x: halved(x, 2), 12.0, 1.0), (3.0, 0.25))
    assert_equal(grad(lambda x: halved(x, 2))(12.0), 0.25)


def test_steps_after_the_end_have_no_influence():
    """The state would become infinite there: 1 / (3 - s) at s = 3."""

    def f(x):
        return while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] / (3 - s[0])), (0.0, x), 7)

    assert_equal(f(2.0)[1], 2 / 6)
    assert_equal(grad(lambda x: f(x)[1])(2.0), 1 / 6)
    assert_equal(jvp(lambda x: f(x)[1], 2.0, 1.0), (2 / 6, 1 / 6))


def test_every_point_has_its_own_number_of_steps():
    x = np.array([12.0, 3.0, 0.3, 1000.0])
    steps = np.array([4, 2, 0, 10])
    assert_equal(vmap(halved)(x), x / 2.0**steps)
    assert_equal(vmap(lambda x: jvp(halved, x, 1.0)[1])(x), 1 / 2.0**steps)
    points = np.array([3.0, 2.1, 30.0])
    found = vmap(lambda x: jet(lambda y: powers(y)[0], [x], [[1.0, 0.0]]))(points)
    k = np.array([3, 5, 1])
    assert_equal(found, (points**k, [k * points ** (k - 1), k * (k - 1) * points ** (k - 2.0)]))
    reached = vmap(lambda x: while_loop(lambda s: s < 20, lambda s: s * x, 1.0))(points)
    assert_equal(reached, points**k)  # only the function sees the point
    ended = vmap(lambda x: while_loop(lambda s: s < x, lambda s: s * 2, 1.0))(points)
    assert_equal(ended, np.array([4.0, 4.0, 32.0]))  # only the condition does
    rows = vmap(lambda x: while_loop(lambda s: ops.sum(s) < 20, lambda s: s * 2, x))
    assert_equal(rows(np.array([[2.0, 3.0], [10, 20]])), np.array([[8.0, 12.0], [10, 20]]))
    nested = vmap(
        lambda x: vmap(lambda y: while_loop(lambda s: s < x, lambda s: s * y, 1.0))(points)
    )
    assert_equal(nested(points), np.array(
        [[3.0, 2.1**2, 30], [3, 2.1, 30], [81, 2.1**5, 30]]
    ))  # fmt: skip


def test_loops_in_loops_and_loops_in_scans():
    def counted(x):
        """Two rounds of multiplying until 5 is passed, less 3."""
        step = lambda c, _: (while_loop(lambda s: s < 5.0, lambda s: s * x, c) - 3.0, None)  # noqa: E731
        return scan(step, 1.0, length=2)[0]

    assert_equal(counted(2.0), 2.0)  # 8 - 3 = 5, not below 5
    assert_equal(jvp(counted, 2.0, 1.0), (2.0, 12.0))
    assert_equal(jvp(counted, 1.6, 1.0)[0], (1.6**4 - 3) * 1.6 - 3)
    slope = 5 * 1.6**4 - 3
    assert_equal(jvp(counted, 1.6, 1.0)[1], slope)
    assert_equal(
        vmap(lambda x: jvp(counted, x, 1.0)[1])(np.array([2.0, 1.6])), np.array([12, slope])
    )

    def squares(x):
        inner = lambda s: scan(lambda c, _: (c * x, None), s, length=2)[0]  # noqa: E731
        return while_loop(lambda s: s < 5.0, inner, 1.0)

    assert_equal(jvp(squares, 2.0, 1.0), (16.0, 32.0))

    def loops(x):
        inner = lambda s: while_loop(lambda t: t < s + 1, lambda t: t + x, s)  # noqa: E731
        return while_loop(lambda s: s < 3.0, inner, 0.0)

    assert_equal(jvp(loops, 0.4, 1.0), (3.6, 9.0))


def test_newton_has_the_derivative_of_the_root():
    def root(q):
        return while_loop(lambda s: ops.absolute(s * s - q) > 1e-13, lambda s: (s + q / s) / 2, 1.0)

    assert_equal(root(2.0), math.sqrt(2))
    q = np.array([2.0, 9.0, 0.5])
    found = vmap(lambda q: jvp(root, q, 1.0))(q)
    assert_equal(found, (np.sqrt(q), 0.5 / np.sqrt(q)), rtol=1e-10)


MISTAKES = {
    "form": (
        lambda x: while_loop(lambda s: s < 5, lambda s: (s, s), x),
        r"one form, got \. and \(\., \.\)",
    ),
    "shape": (
        lambda x: while_loop(lambda s: s < 5, lambda s: s * A, x),
        r"of while_loop has .* \[\] .*\[3\]",
    ),
    "condition": (
        lambda x: while_loop(lambda s: s < 5, lambda s: s * 2, x * A),
        r"must be a number, not .*\[3\]",
    ),
    "bound": (lambda x: while_loop(lambda s: s < 5, lambda s: s * 2, x, 0), "at most 0 steps"),
    "bounded condition": (
        lambda x: while_loop(lambda s: s < 5, lambda s: s * 2, x * A, 3),
        "must be a number",
    ),
    "bounded form": (lambda x: while_loop(lambda s: s < 5, lambda s: (s, s), x, 3), "one form"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_on_arrays_and_in_graphs(name):
    run, message = MISTAKES[name]
    with pytest.raises(GraphError, match=message):
        run(1.0)
    with pytest.raises(GraphError, match=message):
        trace(run, [1.0])


def test_reverse_through_a_loop_without_a_bound_is_refused_where_it_stands():
    message = r"the while_loop at .*test_control\.py:\d+ only when .*max_steps=N.*forward mode"
    with pytest.raises(GraphError, match=message):
        grad(halved)(12.0)
    with pytest.raises(GraphError, match=message):
        vmap(lambda x: vjp(halved, x)[1](1.0))(A)
