"""Derivatives along many directions at once, and unbiased estimates from a few random ones.

A constant-coefficient operator of order K is a sum of K-th derivatives along directions,
sum_r w_r (v_r . grad)^K. One sweep finds it with a value, K - 1 coefficients for each direction and
one sum for all of them, 1 + (K - 1) R + 1 channels: the coefficient of highest order enters a chain
rule linearly, so its sum over directions can be carried in its place (Dangel et al. 2025,
Collapsing Taylor mode automatic differentiation).

With d unit vectors the Laplacian is exact. With a few random directions, E[v v^T] = 1, it is
unbiased (Hutchinson 1990; Hu et al. 2023, arXiv 2312.14499; Shi et al. 2024, arXiv 2412.00088), and
neither its work nor its memory at a point grows with d behind the first layer. Directions are
data, drawn by the caller: drawing them anew changes no graph.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.batch import sum_over
from pinnsolve.diff.graph import Node, make
from pinnsolve.diff.primitives import Array
from pinnsolve.diff.taylor import power_series, sweep
from pinnsolve.diff.trace import leaf, resolve, trace
from pinnsolve.diff.trees import refill
from pinnsolve.errors import GraphError

Function = Callable[..., Any]

# --- directions ------------------------------------------------------------------------------


def random_directions(
    kind: str, count: int, dimension: int, seed: int | np.random.Generator
) -> Array:
    """Random directions v with E[v v^T] = 1, one a row: ``(count, dimension)``.

    Args:
        kind: "rademacher" (entries +1 and -1; of the dense ones the least variance for a
            Laplacian), "gaussian" (the only ones for orders above 2), or "sampled" (unit vectors
            times sqrt(dimension), each at most once: all of them give the exact Laplacian).
        seed: a whole number, or a generator that is moved on.

    The mean of v^T H v over R directions has variance 2 sum_{i != j} H_ij^2 / R (rademacher),
    2 sum_ij H_ij^2 / R (gaussian), d^2 (1 - R/d) S^2 / R (sampled), S^2 the variance of the H_ii.

    Raises:
        GraphError: an unknown kind, or more sampled directions than there are.

    >>> v = random_directions("sampled", 2, 2, seed=0)
    >>> v.T @ v / 2
    array([[1., 0.],
           [0., 1.]])
    """
    rng = np.random.default_rng(seed)
    if count < 1 or dimension < 1:
        raise GraphError(f"{count} random directions in {dimension} dimensions; take at least one")
    match kind:
        case "gaussian":
            return rng.standard_normal((count, dimension))
        case "rademacher":
            return rng.choice([-1.0, 1.0], (count, dimension))
        case "sampled":
            if count > dimension:
                raise GraphError(
                    f"{count} directions cannot be sampled from {dimension} without repetition; "
                    f"take at most {dimension}, which are exact"
                )
            found = np.zeros((count, dimension))
            chosen = rng.choice(dimension, count, replace=False)
            found[np.arange(count), chosen] = math.sqrt(dimension)
            return found
    raise GraphError(f"directions are rademacher, gaussian or sampled, not {kind!r}")


def operator_directions(matrix: Array, directions: Array) -> tuple[Array, Array]:
    """Directions and weights for sum_ij a_ij d_i d_j from directions for the Laplacian.

    With A = L L^T - M M^T the rows v become v L^T, and, when A is not positive semidefinite, v M^T
    with negative weight. Weights are those of a mean, for :func:`directional` of order 2.

    >>> import numpy as np
    >>> operator_directions(np.diag([4.0, 1.0]), np.array([[1.0, 1.0]]))
    (array([[2., 1.]]), array([1.]))
    """
    symmetric = (matrix + np.transpose(matrix)) / 2
    values, vectors = np.linalg.eigh(symmetric)
    if not np.count_nonzero(symmetric - np.diag(np.diagonal(symmetric))):
        values, vectors = np.diagonal(symmetric), np.eye(len(symmetric))  # sparse ones stay sparse
    parts, weights = [], []
    for sign in (1.0, -1.0):
        roots = np.sqrt(np.maximum(sign * values, 0.0))
        if roots.any():
            parts.append(directions @ vectors * roots @ vectors.T)
            weights.append(np.full(len(directions), sign / len(directions)))
    if not parts:
        raise GraphError("the operator is zero: no entry of its matrix differs from 0")
    return np.concatenate(parts), np.concatenate(weights)


def polarized(orders: Sequence[int]) -> tuple[Array, Array]:
    """Directions and weights of one partial derivative, d^|orders| / prod dx_i^orders_i =
    sum_r w_r (v_r . grad)^|orders|, with about prod(orders_i + 1) / 2 directions (Kan 2008, From
    moments of sum to moments of product, J. Multivariate Anal. 99).

    >>> polarized((1, 1))
    (array([[ 1.,  1.],
           [ 1., -1.]]), array([ 0.25, -0.25]))
    """
    total = sum(orders)
    if total < 1 or min(orders) < 0:
        raise GraphError(f"a partial derivative of orders {tuple(orders)}")
    found: dict[tuple[int, ...], float] = {}
    for chosen in itertools.product(*(range(k + 1) for k in orders)):
        twice = tuple(k - 2 * j for k, j in zip(orders, chosen, strict=True))
        if not any(twice):
            continue
        signs = [1 if k > 0 else -1 for k in twice if k]
        divisor = math.gcd(*twice)
        v = tuple(signs[0] * k // divisor for k in twice)
        ways = math.prod(math.comb(k, j) for k, j in zip(orders, chosen, strict=True))
        factor = (-1) ** sum(chosen) * (signs[0] * divisor / 2) ** total / math.factorial(total)
        found[v] = found.get(v, 0.0) + factor * ways
    return np.array(list(found), float), np.array(list(found.values()))


def biharmonic_directions(dimension: int) -> tuple[Array, Array]:
    """The d^2 directions e_i, e_i + e_j, e_i - e_j and weights that give the bi-Laplacian exactly:
    sum_{i<j} (d^4_{i+j} + d^4_{i-j}) / 6 + (4 - d)/3 sum_i d^4_i.

    >>> biharmonic_directions(2)[1]
    array([0.66666667, 0.66666667, 0.16666667, 0.16666667])
    """
    unit = np.eye(dimension)
    first, second = np.triu_indices(dimension, 1)
    pairs = [unit[first] + unit[second], unit[first] - unit[second]]
    weights = [np.full(dimension, (4 - dimension) / 3), np.full(2 * len(first), 1 / 6)]
    directions, factors = np.concatenate([unit, *pairs]), np.concatenate(weights)
    return directions[factors != 0], factors[factors != 0]


# --- derivatives along them ------------------------------------------------------------------


def directional(function: Function, order: int = 1) -> Function:
    """(x, directions, weights) -> sum_r w_r (v_r . grad)^order f(x), in one collapsed sweep.

    ``directions`` are ``(R, *x.shape)``, one for all points or, under a map over points, own ones
    for each; ``weights`` are ``(R,)``, one number for all, or 1.

    Raises:
        GraphError: an order below 1, or directions or weights of another shape.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> product = lambda x: x[0] ** 2 * x[1]
    >>> x = np.array([3.0, 5.0])
    >>> float(directional(product, 3)(x, *polarized((2, 1))))
    2.0
    """
    if order < 1:
        raise GraphError(f"a directional derivative of order {order}; it is 1 or more")

    def applied(x: Any, directions: Any, weights: Any = 1.0) -> Any:
        traced = trace(function, (x,))
        if len(traced.inputs) != 1:
            raise GraphError(
                f"directional derivatives are of a function of one array, not {len(traced.inputs)}"
            )
        (node,), (value,) = traced.inputs, traced.values
        rows, factors = leaf(directions), leaf(weights)
        known = {node: value, rows: directions, factors: weights}
        number = ops.number_of(weights)
        factors = factors if number is None else ops.constant(number)
        _check_directions(node, rows, factors)
        found = directional_nodes(traced.outputs, node, rows, order, factors)
        return refill(traced.form, resolve(found, known))

    return applied


def _check_directions(x: Node, directions: Node, weights: Node) -> None:
    if directions.dims[1:] != x.dims or not directions.dims:
        raise GraphError(
            f"directions of shape {directions.shape} for a value of shape {x.shape}; they have one "
            "more axis, the first"
        )
    if weights.dims not in ((), directions.dims[:1]):
        raise GraphError(f"weights of shape {weights.shape} for {directions.dims[0]} direction(s)")


def stochastic_laplacian(function: Function) -> Function:
    """(x, directions) -> the mean of v^T H v over the directions, R + 2 channels: an unbiased
    estimate of the Laplacian for those of :func:`random_directions`, of any kind.

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> estimate = stochastic_laplacian(lambda x: ps.ops.sum(x**3))
    >>> float(estimate(np.array([1.0, 2.0]), random_directions("rademacher", 1, 2, seed=0)))
    18.0
    """
    return _mean(function, 2, 1.0)


def stochastic_biharmonic(function: Function) -> Function:
    """(x, directions) -> the mean of d^4_v f / 3 over the directions, 3 R + 2 channels: unbiased
    for the bi-Laplacian with gaussian directions, whose E[v_i v_j v_k v_l] is the sum of the three
    pairings (Hu et al. 2023, arXiv 2312.14499).

    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> estimate = stochastic_biharmonic(lambda x: ps.ops.exp(ps.ops.sum(x)))
    >>> directions = random_directions("gaussian", 10_000, 2, seed=0)
    >>> round(float(estimate(np.zeros(2), directions)))
    4
    """
    return _mean(function, 4, 1 / 3)


def _mean(function: Function, order: int, factor: float) -> Function:
    derivative = directional(function, order)

    def estimate(x: Any, directions: Any) -> Any:
        count = directions.dims[0] if isinstance(directions, Node) else len(directions)
        return derivative(x, directions, factor / count)

    return estimate


def unbiased_square(first: Any, second: Any) -> Any:
    """The product of two estimates of one residual from independent directions: E[r s] = E[r]^2.

    The square of one estimate is too large by its variance, so a loss made of it has its minimum
    elsewhere (Hu et al. 2023).

    >>> unbiased_square(3.0, 2.0)
    6.0
    """
    return first * second


def directional_nodes(
    outputs: Sequence[Node],
    x: Node,
    directions: Node,
    order: int,
    weights: Node,
    collapse: bool = True,
) -> list[Node]:
    """sum_r w_r (v_r . grad)^order of each output, shaped like it; directions ``(R, *dims)``.

    collapse: False carries every direction to the highest order, 1 + order R channels.
    """
    v = make("input", (), ("direction",), directions.shape._replace(dims=x.dims))
    found = sweep(outputs, power_series(order), {x: (x, v, *(None,) * (order - 1))})
    tops = [channels[order] for channels in found]
    present = [top for top in tops if top is not None]
    sums = iter(sum_over({v: directions}, present, weights, collapse))
    result = []
    for top, output in zip(tops, outputs, strict=True):
        total = ops.constant(np.zeros(output.dims)) if top is None else next(sums)
        total = ops.widen(ops.scale(math.factorial(order), total), output.dims)
        result.append(total if total.points else ops.at_points(total, output))
    return result
