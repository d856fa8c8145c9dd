"""Operations against numpy, and the dot test: forward and reverse rules are transposes of each
other, and derivatives."""

import numpy as np
import pytest

from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.graph import Shape, make, topological
from pinnsolve.diff.reverse import reverse
from pinnsolve.diff.taylor import tangent
from pinnsolve.diff.verify import verify

N = 7


def at_points(name, *dims):
    """A leaf with a value at each point."""
    return make("input", (), (name,), Shape(1, dims))


def uniform(name, *dims):
    """A leaf that is the same for all points."""
    return make("input", (), (name,), Shape(0, dims))


def array_for(node, rng):
    """Random numbers in the shape of a node, with N points."""
    return rng.normal(size=((node.shape.count or N), *node.dims) if node.points else node.dims)


def check_transposes(function, operands, seed=0):
    """w . (J v) = (J^T w) . v for random v and w, and J v is the complex step along v.

    All leaves below the result that are not among the operands are held fixed.
    """
    rng = np.random.default_rng(seed)
    out = function(*operands)
    along = [make("input", (), (f"along {k}",), x.shape) for k, x in enumerate(operands)]
    cotangent = make("input", (), ("cotangent",), out.shape)
    inputs = [n for n in topological([out]) if n.primitive in ("input", "parameter")]
    values = {n: array_for(n, rng) for n in {*inputs, *operands, *along, cotangent}}

    (forward,) = tangent([out], dict(zip(operands, along, strict=True)))
    backward = reverse({out: cotangent}, operands)
    verify([out, forward, *backward])
    assert forward.dims == out.dims
    for share, operand in zip(backward, operands, strict=True):
        assert (share.points, share.dims) == (operand.points, operand.dims)
    jv, *jw = evaluate([forward, *backward], values)
    left = (values[cotangent] * jv).sum()
    right = sum((values[v] * share).sum() for v, share in zip(along, jw, strict=True))
    assert left == pytest.approx(right, rel=1e-12, abs=1e-13)

    moved = {x: values[x] + 1e-30j * values[v] for x, v in zip(operands, along, strict=True)}
    (value,) = evaluate([out], {**values, **moved}, dtype=complex)
    assert value.shape == values[cotangent].shape
    assert np.allclose(np.broadcast_to(jv, value.shape), value.imag * 1e30, rtol=1e-12, atol=1e-12)


def check_value(node, leaves, reference, seed=0):
    """The node against a numpy function of the values of the leaves, at each point."""
    rng = np.random.default_rng(seed)
    values = {leaf: array_for(leaf, rng) for leaf in leaves}
    verify([node])
    (found,) = evaluate([node], values)

    def expected(k):
        return reference(*(values[leaf][k] if leaf.points else values[leaf] for leaf in leaves))

    if not any(leaf.points for leaf in leaves):
        assert node.shape == Shape(0, found.shape)
        assert np.allclose(found, expected(0), rtol=1e-14, atol=1e-15)
        assert found.shape == np.shape(expected(0))
        return
    assert node.points == 1
    assert found.shape == (N, *node.dims)
    for k in range(N):
        exact = np.asarray(expected(k))
        assert exact.shape == node.dims
        assert np.allclose(found[k], exact, rtol=1e-14, atol=1e-15)


def check(function, reference, *leaves):
    """Value against numpy, derivatives against each other and a complex step."""
    check_value(function(*leaves), leaves, reference)
    check_transposes(function, leaves)
