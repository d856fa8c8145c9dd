"""Values computed again instead of kept."""

import tracemalloc

import numpy as np

from pinnsolve import ops
from pinnsolve.diff import (
    checkpoint,
    grad,
    hessian,
    hvp,
    jacobian,
    jet,
    jvp,
    trace,
    value_and_grad,
    vmap,
)
from pinnsolve.diff.graph import topological
from tests.diff.comparing import A, B, assert_equal, parameter


def block(x, w):
    return ops.tanh(ops.sin(x) * w + ops.exp(-x * x))


def test_checkpoint_changes_no_derivative():
    def plain(x):
        return ops.sum(block(block(x, 1.3), x[0]) ** 2)

    again = checkpoint(block)

    def kept(x):
        return ops.sum(again(again(x, 1.3), x[0]) ** 2)

    whole = checkpoint(kept)
    for f in (kept, whole):
        assert_equal(f(A), plain(A))
        for transform in (
            grad,
            hessian,
            lambda f: lambda x: jvp(f, x, B),
            lambda f: lambda x: jet(f, [x], [[B, A, -B, A]]),
            lambda f: lambda x: hvp(f, x, B),
            lambda f: jacobian(grad(f), mode="reverse"),
            lambda f: lambda x: vmap(grad(f))(np.stack([x, 2 * x])),
        ):
            assert_equal(transform(f)(A), transform(plain)(A), rtol=1e-10, atol=1e-12)


def test_checkpoint_of_closures_nestings_and_equal_arguments():
    p = parameter(2.0)

    def f(y):
        return checkpoint(lambda d: {"out": d["a"] * d["b"] * y * p.node})({"a": 3.0, "b": A})

    assert_equal(jacobian(f)(5.0), {"out": 6 * A})
    found = value_and_grad(lambda y: ops.sum(f(y)["out"]), 0, weights=p)(5.0)
    assert_equal(found, (30 * A.sum(), (6 * A.sum(), 15 * A.sum())))
    assert_equal(grad(lambda x: checkpoint(lambda a, b: a * a * b)(x, x))(2.0), 12.0)
    assert_equal(grad(checkpoint(lambda x: (x, x, 1.0)))(2.0), 2.0)
    assert_equal(checkpoint(lambda x: (x, 1.0))(A), (A, 1.0))
    assert_equal(
        vmap(lambda y: grad(checkpoint(lambda x: ops.exp(x * y)))(2.0))(A), A * np.exp(2 * A)
    )


def test_checkpoint_computes_again_and_keeps_less():
    """A chain of blocks of ten operations each: peak memory of one gradient."""

    def deep(x):
        for _ in range(10):
            x = ops.sin(x) + 0.1 * x
        return x

    def chain(step):
        def f(x):
            for _ in range(10):
                x = step(x)
            return ops.sum(x)

        return f

    def peak(f, x):
        tracemalloc.start()
        grad(f)(x)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size / x.nbytes

    x = np.linspace(-1, 1, 10_000)
    plain, kept = chain(deep), chain(checkpoint(deep))
    assert_equal(grad(kept)(x), grad(plain)(x))
    assert peak(plain, x) > 100  # every sin and cos is alive at the turn
    assert peak(kept, x) < 40
    copies = [n for n in topological(trace(grad(kept), [x]).outputs) if n.primitive == "again"]
    assert len(copies) == 10
