"""scan against the loop it stands for, written out in Python, and against closed forms."""

import numpy as np
import pytest

from pinnsolve import ops
from pinnsolve.diff import (
    checkpoint,
    cond,
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
from pinnsolve.diff.graph import topological
from pinnsolve.diff.trees import leaves, map_leaves, refill
from pinnsolve.errors import GraphError
from tests.diff.comparing import A, B, M, assert_equal, parameter


def unrolled(function, init, xs=None, length=None, reverse=False):
    """The loop in Python: its graph grows with its length."""
    count = length or len(leaves(xs)[0])
    carry, ys = init, [None] * count
    for k in range(count)[:: -1 if reverse else 1]:
        carry, ys[k] = function(carry, map_leaves(lambda x, k=k: x[k], xs))
    return carry, refill(
        ys[0], [ops.stack(column) for column in zip(*map(leaves, ys), strict=True)]
    )


# Loops as functions of an array x of three numbers; `loop` is scan, or the one above.
LOOPS = {
    "no xs": lambda loop, x: loop(lambda c, _: (c * x[0] + x[1], c), 1.0, length=4),
    "no ys": lambda loop, x: loop(lambda c, y: (ops.tanh(c * y), None), x[0], x),
    "one step": lambda loop, x: loop(lambda c, y: (c * y, c + y), x[1], x[:1]),
    "xs": lambda loop, x: loop(lambda c, y: (c * y, c + y * y), 1.0, x),
    "backwards": lambda loop, x: loop(lambda c, y: (2 * c + y**2, c * y), x[2], x, reverse=True),
    "array carry": lambda loop, x: loop(lambda c, y: (ops.sin(c) * y, c[0]), x, x),
    "matrix carry": lambda loop, x: loop(
        lambda c, y: (ops.matmul(c, M) * y, ops.sum(c, axis=0)), M * x[None], x, reverse=True
    ),
    "nested carry": lambda loop, x: loop(
        lambda c, y: ({"a": c["b"][0], "b": (c["a"] * y["u"], None)}, (c["a"], [y["v"]])),
        {"a": x, "b": (x[::-1], None)},
        {"u": x * x, "v": np.arange(6.0).reshape(3, 2)},
    ),
    "dead carry": lambda loop, x: loop(
        lambda c, _: ((c[0] * x[0] + c[1], 1.0), None), (1.0, x[1]), length=3
    ),
    "dead step": lambda loop, x: loop(lambda c, y: (y, c), x[0], x),
    "constant ys": lambda loop, x: loop(lambda c, _: (c * x[0], B), x[1], length=3),
    "a carry as it came": lambda loop, x: loop(lambda c, y: (c, c * y), x[0], x),
    "captured data": lambda loop, x: loop(lambda c, k: (c * x[0] + B[0] * k, k), 0, np.arange(3)),
    "in a loop": lambda loop, x: loop(
        lambda c, y: (loop(lambda d, z: (ops.tanh(d * z) + c, None), y, x)[0], c * y), x[0], x
    ),
    "of gradients": lambda loop, x: loop(
        lambda c, y: (grad(lambda z: ops.sin(z * c) * x[0])(y), None), x[1], x
    ),
    "of a choice": lambda loop, x: loop(
        lambda c, y: (cond(y > 0, lambda: ops.log(y) * c, lambda: y * y - c), None), x[0], x
    ),
    "of a checkpoint": lambda loop, x: loop(
        checkpoint(lambda c, y: (ops.sin(c) * y, c * x[2])), x[0], x
    ),
    "of a map": lambda loop, x: loop(
        lambda c, y: (vmap(lambda d, e: ops.sin(d * e) * y)(c, x), ops.sum(c)), x, x
    ),
    "of a bounded loop": lambda loop, x: loop(
        lambda c, y: (while_loop(lambda s: s < 2, lambda s: s * 1.5 + y * y, c, 5) - 1, c),
        x[0], x,
    ),
}  # fmt: skip


def total(loop, name):
    """A number that depends on all that a loop returns."""

    def f(x):
        found = leaves(LOOPS[name](loop, x))
        return sum(ops.sum(ops.sin(value + k)) for k, value in enumerate(found))

    return f


TRANSFORMS = {
    "jvp": lambda f, x: jvp(f, x, B),
    "grad": lambda f, x: grad(f)(x),
    "forward": lambda f, x: jacobian(f, mode="forward")(x),
    "hessian": lambda f, x: hessian(f)(x),
    "reverse of reverse": lambda f, x: jacobian(grad(f), mode="reverse")(x),
    "jet": lambda f, x: jet(f, [x], [[B, x, -B, 0 * x]]),
    "grad of jet": lambda f, x: grad(lambda x: jet(f, [x], [[B, A]])[1][1])(x),
    "map of grad": lambda f, x: vmap(grad(f))(np.stack([x, x + 0.1])),
    "map of hessian": lambda f, x: vmap(hessian(f))(np.stack([x, x + 0.1])),
    "map of jet": lambda f, x: vmap(lambda x: jet(f, [x], [[B, A]]))(np.stack([x, x + 0.1])),
    "grad of map": lambda f, x: grad(lambda x: ops.sum(vmap(f)(np.stack([B, A]) * x)))(x),
}


@pytest.mark.parametrize("name", LOOPS)
def test_values(name):
    """On arrays the loop is Python; in a graph it is one node."""
    expected = LOOPS[name](unrolled, A)
    assert_equal(LOOPS[name](scan, A), expected)
    assert_equal(jvp(lambda x: LOOPS[name](scan, x), A, B)[0], expected)
    rows = vmap(lambda x: LOOPS[name](scan, x))(np.stack([A, B]))
    assert_equal(map_leaves(lambda v: v[0], rows), expected)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_derivatives(name, transform):
    run = TRANSFORMS[transform]
    assert_equal(run(total(scan, name), A), run(total(unrolled, name), A), rtol=1e-10, atol=1e-11)


def test_closed_forms():
    def power(x, n=5):
        return scan(lambda c, _: (c * x, None), 1.0, length=n)[0]

    assert_equal(power(2.0), 32.0)
    assert_equal(grad(power)(2.0), 5 * 16.0)
    assert_equal(
        jet(power, [2.0], [[1.0, 0, 0, 0, 0, 0]])[1], [80.0, 160.0, 240.0, 240.0, 120.0, 0.0]
    )

    def fibonacci(a, b):
        return scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (a, b), length=8)

    assert_equal(jacobian(fibonacci, (0, 1))(0.0, 1.0)[0], ((13.0, 21.0), (21.0, 34.0)))
    assert_equal(fibonacci(0.0, 1.0)[1], np.array([0.0, 1, 1, 2, 3, 5, 8, 13]))

    # The explicit Euler method for y' = a y: (1 + a h)^n, derivative by a and by y(0).
    def euler(a, y):
        return scan(lambda y, _: (y + 0.1 * a * y, y), y, length=10)[0]

    assert_equal(grad(euler, (0, 1))(2.0, 3.0), (3 * 1.2**9, 1.2**10))
    assert_equal(hessian(euler)(2.0, 3.0), 3 * 0.9 * 1.2**8)


def test_by_init_xs_and_closure():
    def f(c, xs, w):
        return scan(lambda c, x: (c * x + w, None), c, xs)[0]

    by_c, by_xs, by_w = grad(f, (0, 1, 2))(2.0, A, 0.5)
    steps = [2.0]
    for x in A:
        steps.append(steps[-1] * x + 0.5)
    assert_equal(by_c, A.prod())
    assert_equal(by_xs, np.array([steps[0] * A[1] * A[2], steps[1] * A[2], steps[2]]))
    assert_equal(by_w, A[1] * A[2] + A[2] + 1)
    value, pull = vjp(f, 2.0, A, 0.5)
    assert_equal((value, pull(3.0)), (steps[3], (3 * by_c, 3 * by_xs, 3 * by_w)))


def test_by_weights():
    p, q = parameter(M), parameter(A)

    def f(x):
        step = lambda c, _: (ops.tanh(ops.matmul(c, p.node) + q.node), None)  # noqa: E731
        return ops.sum(scan(step, x, length=3)[0])

    def by_hand(values, x):
        for _ in range(3):
            x = np.tanh(x @ values[0] + values[1])
        return x.sum()

    found = value_and_grad(f, weights=[p, q])(B)[1]
    expected = [np.zeros((3, 3)), np.zeros(3)]
    for k, slope in enumerate(expected):
        for at in np.ndindex(slope.shape):
            moved = [M.astype(complex), A.astype(complex)]
            moved[k][at] += 1e-30j
            slope[at] = by_hand(moved, B).imag * 1e30
    assert_equal(found, tuple(expected))
    points = np.stack([B, A])
    rows = vmap(lambda x: value_and_grad(f, weights=[p, q])(x)[1])(points)
    assert_equal(tuple(r[0] for r in rows), tuple(expected))
    mean = value_and_grad(lambda: ops.sum(vmap(f)(points)), weights=[p, q])()[1]
    assert_equal(mean, tuple(r.sum(axis=0) for r in rows))
    as_init = value_and_grad(lambda: scan(lambda c, x: (c * x, None), q, A)[0], weights=q)()
    assert_equal(as_init, (A * A.prod(), A.prod() * np.ones(3)))


def test_a_map_may_reach_a_loop_in_any_way():
    """By its carry, its entries, or only by what its function closes over."""
    points, expected = B, (A.sum() * B, np.array([[0, b * A[0], b * (A[0] + A[1])] for b in B]))
    step = lambda c, y, x: (c + x * y, c)  # noqa: E731
    assert_equal(vmap(lambda x: scan(lambda c, y: step(c, y, x), 0.0, A))(points), expected)
    assert_equal(vmap(lambda x: scan(lambda c, y: step(c, y, 1.0), 0.0, A * x))(points), expected)
    assert_equal(vmap(lambda x: scan(lambda c, _: (c + 1, x), 0.0, length=2))(points), (
        2 * np.ones(3), np.stack([B, B], 1)
    ))  # fmt: skip
    assert_equal(vmap(lambda x: scan(lambda c, _: (c * x, c), x, length=2)[0])(points), B**3)
    assert_equal(
        vmap(lambda x: scan(lambda c, y: (c * y, None), 1.0, A)[0] * x)(points), A.prod() * B
    )


def test_a_map_inside_a_map_inside_a_loop():
    def f(x):
        step = lambda c, _: (vmap(lambda d: ops.sum(vmap(lambda e: d * e * x)(A)))(c), None)  # noqa: E731
        return scan(step, B, length=2)[0]

    assert_equal(f(2.0), B * (2 * A.sum()) ** 2)
    assert_equal(jacobian(f)(2.0), B * 2 * 2 * A.sum() ** 2)
    assert_equal(vmap(f)(A), np.outer((A * A.sum()) ** 2, B))


def test_the_graph_does_not_grow_with_the_length():
    def size(transform, length):
        f = lambda x: scan(lambda c, _: (ops.sin(c) * x, None), x, length=length)[0]  # noqa: E731
        return len(topological(trace(transform(f), [1.0]).outputs))

    for transform in (lambda f: f, grad, hessian, lambda f: grad(grad(grad(f)))):
        assert size(transform, 500) == size(transform, 2) < 200


def test_what_a_loop_does_not_change_is_computed_once():
    expensive = lambda x: ops.exp(ops.sin(x) * x)  # noqa: E731
    f = lambda x: scan(lambda c, _: (c * expensive(x), None), 1.0, length=3)[0]  # noqa: E731
    order = topological(trace(f, [1.0]).outputs)
    assert sum(n.primitive == "exp" for n in order) == 1
    (loop,) = (n for n in order if n.primitive == "program")
    inside = [n.primitive for n in topological(loop.attributes[0].body.outputs)]
    assert sorted(inside) == ["input", "input", "multiply"]


MISTAKES = {
    "no length": (lambda s: scan(lambda c, _: (c, c), s), "needs one length, .* found none"),
    "no entries": (lambda s: scan(lambda c, _: (c, c), s, length=0), "over 0 entries"),
    "lengths": (lambda s: scan(lambda c, _: (c, c), s, (A, A[:2])), "one length, .*2, 3"),
    "length and xs": (lambda s: scan(lambda c, _: (c, c), s, A, length=2), "one length, .*2, 3"),
    "a number as xs": (lambda s: scan(lambda c, _: (c, c), s, 3.0), "one length, .*None"),
    "not a pair": (lambda s: scan(lambda c, _: c, s, A), r"must return \(carry, y\), not \."),
    "three": (lambda s: scan(lambda c, _: (c, c, c), s, A), r"\(carry, y\), not \(\., \., \.\)"),
    "carry": (lambda s: scan(lambda c, x: ((c, x), c), s, A), r"one form, got \. and \(\., \.\)"),
    "carry shape": (
        lambda s: scan(lambda c, x: (c + A, c), s, A),
        r"carry of scan has a value of shape \[\] before a step and of shape \[3\] after",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named_on_arrays_and_in_graphs(name):
    run, message = MISTAKES[name]
    with pytest.raises(GraphError, match=message):
        run(1.0)
    with pytest.raises(GraphError, match=message):
        grad(run)(1.0)
