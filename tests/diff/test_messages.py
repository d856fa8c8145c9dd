"""What tracing and transforms refuse, and what they say."""

import math

import numpy as np
import pytest

from pinnsolve import ops
from pinnsolve.diff import (
    curl,
    derivative,
    divergence,
    grad,
    hessian,
    jacobian,
    jet,
    jvp,
    laplacian,
    scan,
    value_and_grad,
    vjp,
    vmap,
)
from pinnsolve.errors import GraphError
from tests.diff.comparing import A, B, M, f1

TRACED = {
    "if": (
        lambda x: x if x > 0 else -x,
        r"Python branch .*ops\.where.*diff\.cond.*diff\.while_loop",
    ),
    "if equal": (lambda x: x if x == 0 else -x, r"by == or != .*ops\.equal"),
    "if not equal": (lambda x: x if x != x * 2 else -x, r"by == or != .*ops\.equal"),
    "and": (lambda x: x > 0 and x, "Python branch"),
    "max": (lambda x: max(x, 0.0), "Python branch"),
    "bool": (bool, "Python branch"),
    "float": (float, r"float\(\) was called .*pinnsolve.ops"),
    "math": (math.sin, r"float\(\) was called"),
    "int": (int, r"int\(\) was called .*while_loop"),
    "range": (lambda x: list(range(x)), r"int\(\) was called"),
    "numpy": (np.sin, r"numpy\.sin was called .*pinnsolve\.ops"),
    "numpy sum": (np.sum, r"numpy\.add was called .*pinnsolve\.ops"),
    "numpy stack": (lambda x: np.stack([x, x]), "a numpy function was called .*pinnsolve.ops"),
    "numpy where": (lambda x: np.where(x > 0, x, 0), "a numpy function was called"),
    "in place": (lambda x: np.add(np.ones(()), x, out=np.ones(())), r"numpy\.add was called"),
}


@pytest.mark.parametrize("name", TRACED)
@pytest.mark.parametrize("transform", ["grad", "jet", "vmap", "scan"])
def test_python_on_traced_values_is_refused_where_it_stands(name, transform):
    f, message = TRACED[name]

    def located(x):
        return f(x)

    run = {
        "grad": lambda: grad(located)(1.0),
        "jet": lambda: jet(located, [1.0], [[1.0, 0.0]]),
        "vmap": lambda: vmap(located)(A),
        "scan": lambda: grad(lambda x: scan(lambda c, _: (located(c), None), x, length=2)[0])(1.0),
    }[transform]
    with pytest.raises(GraphError, match=message) as error:
        run()
    assert "test_messages.py:" in str(error.value)


def test_numpy_numbers_and_arrays_leave_operators_to_nodes():
    def f(x):
        return np.float64(2) * x + A @ (x * A) - (A / (1 + x * x))[0] + (x < B)[0]

    x = 0.3
    value, slope = value_and_grad(f)(x)
    assert value == pytest.approx(2 * x + x * A @ A - A[0] / (1 + x * x) + 1)
    assert slope == pytest.approx(2 + A @ A + 2 * x * A[0] / (1 + x * x) ** 2)


REFUSED = {
    "argnums": (lambda: grad(ops.sin, 1)(1.0), r"argnums 1 for a function of 1 argument"),
    "negative argnums": (lambda: grad(ops.sin, -2)(1.0), r"argnums -2 "),
    "no argnums": (lambda: grad(ops.sin, ())(1.0), r"argnums \(\) "),
    "argnums of a text": (lambda: grad(ops.sin, "x")(1.0), "argnums 'x'"),
    "no value": (lambda: grad(lambda x: "text")(1.0), "<lambda> returned .* not a value.* str"),
    "complex": (lambda: grad(ops.sin)(1j), "real numbers, not complex"),
    "text": (lambda: grad(ops.sin)("x"), "real numbers, not <U1"),
    "weights": (
        lambda: value_and_grad(ops.sin, weights=[A])(1.0),
        "Parameters, got ndarray.*trainable",
    ),
    "has_aux": (
        lambda: value_and_grad(ops.sin, has_aux=True)(1.0),
        r"has_aux, sin must return a tuple",
    ),
    "jvp form": (
        lambda: jvp(ops.add, (1.0, 2.0), (1.0,)),
        r"primals and tangents .* \(\., \.\) and \(\.\)",
    ),
    "jvp shape": (lambda: jvp(ops.sin, A, 1.0), r"a tangent of shape \[\] .* of shape \[3\]"),
    "vjp form": (
        lambda: vjp(ops.sin, A)[1]((A, A)),
        "the result and its cotangent must have one form",
    ),
    "vjp shape": (
        lambda: vjp(ops.sin, A)[1](M),
        r"a cotangent of shape \[3, 3\] .* of shape \[3\]",
    ),
    "mode": (lambda: jacobian(ops.sin, mode="both"), "auto, forward or reverse, not 'both'"),
    "jet lengths": (
        lambda: jet(ops.add, [1.0, 2.0], [[1.0], [1.0, 0.0]]),
        r"all of one length.*\[1, 2\]",
    ),
    "jet count": (lambda: jet(ops.add, [1.0, 2.0], [[1.0]]), r"one series for each of 2 argument"),
    "jet of order 0": (lambda: jet(ops.sin, [1.0], [[]]), "jet needs one series"),
    "jet shape": (
        lambda: jet(ops.sin, [A], [[A, 1.0]]),
        r"a term of shape \[\] for an argument of shape \[3\]",
    ),
    "jet form": (lambda: jet(ops.sin, [A], [[(A, A)]]), "an argument of jet and each term"),
    "derivative": (lambda: derivative(ops.sin, 1.0, -1), "a derivative of order -1"),
    "divergence": (lambda: divergence(ops.sum)(A), r"divergence needs .* shape \(3,\)"),
    "curl": (
        lambda: curl(lambda x: x)(np.ones(4)),
        "curl of a field of 4 components; it has 2 or 3",
    ),
    "curl of a number": (
        lambda: curl(ops.sum)(A),
        "curl needs a function of d numbers with d values",
    ),
    "laplacian": (
        lambda: laplacian(lambda d: d["x"])({"x": A, "y": A}),
        "laplacian needs .* one array",
    ),
    "vmap nothing": (lambda: vmap(lambda: 1.0)(), "shapes none"),
    "vmap None": (lambda: vmap(ops.sin, in_axes=None)(A), "shapes none"),
    "vmap number": (lambda: vmap(ops.sin)(1.0), r"shapes \[\(\)\]"),
    "vmap lengths": (lambda: vmap(ops.add)(A, A[:2]), r"shapes \[\(3,\), \(2,\)\]"),
    "vmap axes": (
        lambda: vmap(ops.add, in_axes=(0, 1))(A, A),
        r"in_axes \(0, 1\) .*0 or None each",
    ),
    "vmap axes count": (
        lambda: vmap(ops.add, in_axes=(0,))(A, A),
        r"in_axes \(0,\) for 2 argument",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_mistakes_are_named(name):
    run, message = REFUSED[name]
    with pytest.raises(GraphError, match=message):
        run()


def test_functions_keep_telling_names():
    assert grad(f1).__name__ == "grad(f1)"
    assert hessian(f1).__name__ == "hessian(f1)"
    assert value_and_grad(grad(f1)).__name__ == "value_and_grad(grad(f1))"
