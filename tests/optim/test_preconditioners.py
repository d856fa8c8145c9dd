"""Preconditioners, Kronecker inverses and conjugate gradients against dense numpy."""

import math

import numpy as np
import pytest

from pinnsolve.errors import OptimizerError
from pinnsolve.optim import (
    CG,
    LSMR,
    DiagonalPreconditioner,
    KroneckerPreconditioner,
    NystroemPreconditioner,
)
from pinnsolve.optim.kronecker import (
    KroneckerInverse,
    Pair,
    flattened,
    nearest,
    pairs_of,
    unflattened,
)
from pinnsolve.optim.krylov import conjugate_gradients
from pinnsolve.optim.preconditioners import Scaling, nystroem
from tests.optim.small import small

PRECONDITIONERS = [
    None,
    DiagonalPreconditioner(),
    KroneckerPreconditioner(),
    NystroemPreconditioner(rank=30),
]


def semidefinite(size, seed, rank=None):
    root = np.random.default_rng(seed).normal(size=(size, rank or size))
    return root @ root.T


def burgers(device="cpu"):
    objective = small("burgers", device)
    return objective, np.random.default_rng(0).normal(size=objective.size) * 0.5


def columns(apply, size):
    return np.stack([apply(e) for e in np.eye(size)], axis=1)


@pytest.mark.parametrize(
    ("preconditioner", "device"),
    [*((p, "cpu") for p in PRECONDITIONERS), (NystroemPreconditioner(rank=30), "reference")],
)
@pytest.mark.parametrize("solver", [CG, LSMR])
def test_iterations_find_the_dense_solution(preconditioner, solver, device):
    objective, theta = burgers(device)
    point = solver(preconditioner, tolerance=1e-10).linearize(objective, theta, 0.1)
    shift, system = 0.1 * point.unit, objective.normal_equations(theta)
    factor = point.factor(shift)
    found = point.move(factor.solve(point.pulled))
    matrix = system.matrix + shift * np.eye(objective.size)
    assert np.allclose(found, np.linalg.solve(matrix, system.vector), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("preconditioner", PRECONDITIONERS[1:])
def test_a_root_is_a_square_root_of_the_inverse(preconditioner):
    objective, theta = burgers()
    matrix = objective.normal_equations(theta).matrix
    shift = 1e-3 * matrix.diagonal().mean()
    root = preconditioner.at(objective, theta, matrix.diagonal())(shift)
    r = columns(root.apply, objective.size)
    assert np.allclose(columns(root.transposed, objective.size), r.T, rtol=1e-10, atol=1e-12)
    if isinstance(preconditioner, DiagonalPreconditioner):
        expected = np.diag(1.0 / (matrix.diagonal() + shift))
    elif isinstance(preconditioner, KroneckerPreconditioner):
        pairs, sizes = pairs_of(objective, theta), [math.prod(s) for s in objective.shapes]
        inverse = KroneckerInverse.of(pairs, sizes, 1e-3)
        expected = columns(inverse.solve, objective.size)
    else:
        shifted = matrix + shift * np.eye(objective.size)
        assert np.linalg.cond(r.T @ shifted @ r) < 0.01 * np.linalg.cond(shifted)
        return
    assert np.allclose(r @ r.T, expected, rtol=1e-9)


def test_a_better_preconditioner_takes_fewer_products():
    objective, theta = burgers()
    system = objective.normal_equations(theta)
    shift = 1e-5 * system.matrix.diagonal().mean()
    counts = {}
    for kind in (None, NystroemPreconditioner(rank=60)):
        calls = []

        def product(v, calls=calls):
            calls.append(v)
            return system.matrix @ v + shift * v

        roots = kind and kind.at(objective, theta, system.matrix.diagonal())
        root = roots(shift) if roots else Scaling(np.ones(objective.size))
        conjugate_gradients(product, system.vector, root, 1e-8, 1000)
        counts[kind is None] = len(calls)
    assert counts[False] < 0.4 * counts[True]


def test_conjugate_gradients_start_anywhere_and_stop_at_negative_curvature():
    matrix, right = semidefinite(9, 0) + np.eye(9), np.arange(9.0)
    identity, exact = Scaling(np.ones(9)), np.linalg.solve(semidefinite(9, 0) + np.eye(9), right)
    start = np.cos(right)
    found = conjugate_gradients(lambda v: matrix @ v, right, identity, 1e-13, 100, start)
    assert np.allclose(found, exact, rtol=1e-9)
    assert conjugate_gradients(lambda v: matrix @ v, right, identity, 1e-13, 100, exact) == (
        pytest.approx(exact, rel=1e-12)
    )
    bent = np.diag([1.0, 2.0, -1.0])
    first = conjugate_gradients(
        lambda v: bent @ v, np.array([0.0, 0.0, 2.0]), Scaling(np.ones(3)), 1e-9, 10
    )
    assert np.array_equal(first, [0.0, 0.0, 2.0])  # the direction itself


def test_nystroem_finds_a_matrix_of_its_rank_and_the_indefinite_too():
    matrix = semidefinite(40, 1, rank=6)
    found = nystroem(lambda v: matrix @ v, 40, 10, np.random.default_rng(0))
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(10), atol=1e-10)
    rebuilt = found.vectors @ np.diag(found.values) @ found.vectors.T
    assert np.allclose(rebuilt, matrix, atol=1e-9 * np.abs(matrix).max())
    assert np.allclose(found.values[:6], np.linalg.eigvalsh(matrix)[::-1][:6], rtol=1e-9)
    bent = matrix - 0.5 * np.eye(40)
    found = nystroem(lambda v: bent @ v, 40, 20, np.random.default_rng(0))
    assert (found.values >= 0.0).all()
    assert np.isfinite(found.vectors).all()


@pytest.mark.parametrize("terms", [1, 2])
def test_the_inverse_of_a_sum_of_kronecker_products_is_exact(terms):
    pairs = [
        [Pair(semidefinite(3, 2 * k), semidefinite(4, 2 * k + 1)) for k in range(terms)],
        [Pair(np.ones((1, 1)), semidefinite(2, 9, rank=1))],
        [],
    ]
    damping = 1e-2
    inverse = KroneckerInverse.of(pairs, (12, 2, 2), damping)
    dense = np.zeros((12, 12))
    for pair in pairs[0]:
        a, b = (f + 0.1 * f.diagonal().mean() * np.eye(len(f)) for f in (pair.left, pair.right))
        dense += np.kron(a, b)
    vector = np.sin(np.arange(16.0) + 1.0)
    found = inverse.solve(vector)
    assert np.allclose(found[:12], np.linalg.solve(dense, vector[:12]), rtol=1e-9)
    assert (found[14:] == vector[14:]).all()  # what nothing depends on is left alone
    r = columns(inverse.apply, 16)
    assert np.allclose(r @ r.T, columns(inverse.solve, 16), rtol=1e-9, atol=1e-12)
    assert np.allclose(columns(inverse.transposed, 16), r.T, rtol=1e-12)


def test_the_nearest_product_is_the_first_singular_pair_of_the_rearrangement():
    pairs = [Pair(semidefinite(3, k, 2) * 10.0**k, semidefinite(4, k + 5, 2)) for k in range(3)]
    rearranged = sum(np.outer(p.left, p.right) for p in pairs)
    u, values, v = np.linalg.svd(rearranged)
    found = nearest(pairs)
    assert np.allclose(np.outer(found.left, found.right), values[0] * np.outer(u[:, 0], v[0]))
    assert np.linalg.eigvalsh(found.left)[0] > -1e-9 * np.trace(found.left)
    assert np.linalg.eigvalsh(found.right)[0] > -1e-9 * np.trace(found.right)


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_pairs_of_biases_are_the_blocks_of_the_normal_equations(device):
    objective, theta = burgers(device)
    matrix, stop = objective.normal_equations(theta).matrix, 0
    pairs = pairs_of(objective, theta)
    assert len(pairs) == len(objective.shapes)
    seen = 0
    for shape, group in zip(objective.shapes, pairs, strict=True):
        start, stop = stop, stop + int(np.prod(shape))
        if len(shape) == 1 and group:
            total = sum(np.kron(p.left, p.right) for p in group)
            assert np.allclose(total, matrix[start:stop, start:stop], rtol=1e-9, atol=1e-12)
            seen += 1
    assert seen >= 2
    vector = flattened(pairs)
    pairs_of(objective, 1.5 * theta)
    assert np.array_equal(flattened(pairs), vector)  # the device keeps no hold of them
    again = unflattened(vector, pairs)
    assert np.array_equal(flattened(again), vector)
    assert [len(group) for group in again] == [len(group) for group in pairs]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CG(tolerance=2.0), "0 <= tolerance < 1"),
        (lambda: LSMR(iterations=0), "0 <= tolerance < 1"),
        (lambda: NystroemPreconditioner(rank=0), "a rank of 1 or more"),
    ],
)
def test_bad_settings_are_refused(make, message):
    with pytest.raises(OptimizerError, match=message):
        make()
