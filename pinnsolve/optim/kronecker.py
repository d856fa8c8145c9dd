"""Inverses of sums of Kronecker products, one a parameter: what KFAC puts in place of (J'J)^-1.

The block of J'J that belongs to a weight W ``(a, b)`` is close to a sum of A (x) B over residual
blocks, with A ``(a, a)`` and B ``(b, b)``. Two of them have an inverse in closed form (Martens and
Grosse 2015, arXiv 1503.05671, appendix B); more are first brought down to two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from pinnsolve.devices.base import AbstractObjective
from pinnsolve.optim.base import Matrix, Vector


@dataclass(frozen=True, eq=False)
class Pair:
    """left (x) right, which acts on a matrix V as left V right."""

    left: Matrix
    right: Matrix

    @property
    def trace(self) -> float:
        return float(np.trace(self.left) * np.trace(self.right))

    def damped(self, damping: float) -> Pair:
        """Both factors with sqrt(damping) of their mean diagonal entry added: factored Tikhonov
        damping, whose last term is damping times the mean diagonal entry of the product."""
        share = np.sqrt(damping)
        return Pair(*(f + share * np.trace(f) / len(f) * np.eye(len(f)) for f in self.both))

    @property
    def both(self) -> tuple[Matrix, Matrix]:
        return self.left, self.right


# Per parameter, one pair a residual block that depends on it.
Pairs = list[list[Pair]]


def pairs_of(objective: AbstractObjective, theta: Vector) -> Pairs:
    """left / terms and right of all factors at theta."""
    blocks = objective.kronecker_factors(theta)
    return [
        [Pair(f.left / f.terms, f.right) for f in factors if f is not None]
        for factors in zip(*blocks, strict=True)
    ]


def flattened(pairs: Pairs) -> Vector:
    """All factors in one vector."""
    parts = [f.ravel() for group in pairs for pair in group for f in pair.both]
    return np.concatenate([np.zeros(0), *parts])


def unflattened(vector: Vector, like: Pairs) -> Pairs:
    """The inverse of `flattened` for pairs of these shapes."""
    start, result = 0, []
    for group in like:
        found = []
        for pair in group:
            factors = []
            for f in pair.both:
                factors.append(vector[start : start + f.size].reshape(f.shape))
                start += f.size
            found.append(Pair(*factors))
        result.append(found)
    return result


def nearest(pairs: Sequence[Pair]) -> Pair:
    """The Kronecker product nearest to the sum of the pairs in the Frobenius norm.

    Van Loan and Pitsianis 1993: the best rank-one fit of sum vec(A) vec(B)'. As inner products of
    positive semidefinite matrices are not negative, the fit is a sum of the A with weights x >= 0,
    the first eigenvector of (B, B)(A, A), and one of the B, so it is semidefinite as well.
    """
    lengths = [float(np.linalg.norm(pair.left)) or 1.0 for pair in pairs]
    lefts = np.array([pair.left / size for pair, size in zip(pairs, lengths, strict=True)])
    rights = np.array([pair.right * size for pair, size in zip(pairs, lengths, strict=True)])
    inner = np.einsum("iab,jab->ij", lefts, lefts)
    values, vectors = np.linalg.eig(np.einsum("iab,jab->ij", rights, rights) @ inner)
    weights = np.abs(np.real(vectors[:, np.argmax(np.real(values))]))
    across = inner @ weights
    size = np.sqrt(weights @ across)
    left, right = np.tensordot(weights / size, lefts, 1), np.tensordot(across / size, rights, 1)
    return Pair(left, right)


@dataclass(frozen=True, eq=False)
class Part:
    """(X (x) Y) diag(values) (X (x) Y)' for one parameter."""

    place: slice
    left: Matrix
    right: Matrix
    values: Matrix

    @classmethod
    def of(cls, place: slice, pairs: Sequence[Pair], damping: float) -> Part:
        """The inverse of the damped sum. With A_1 = X^-T X^-1, A_2 = X^-T diag(a) X^-1, and B and Y
        in the same way, values = 1 / (1 + a_i b_j)."""
        pairs = sorted((p for p in pairs if p.trace > 0.0), key=lambda p: p.trace)
        if not pairs:  # nothing depends on the parameter
            one = np.ones((1, 1))
            return cls(place, one, np.eye(place.stop - place.start), one)
        *others, main = pairs
        first = main.damped(damping)
        if not others:
            second = Pair(np.zeros_like(first.left), np.zeros_like(first.right))
        else:
            second = (others[0] if len(others) == 1 else nearest(others)).damped(damping)
        (a, left), (b, right) = (
            eigh(two, one, check_finite=False)
            for one, two in zip(first.both, second.both, strict=True)
        )
        return cls(place, left, right, 1.0 / (1.0 + np.outer(a.clip(0.0), b.clip(0.0))))


@dataclass(frozen=True, eq=False)
class KroneckerInverse:
    """P^-1 = R R', block diagonal by parameters."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, pairs: Pairs, sizes: Sequence[int], damping: float) -> KroneckerInverse:
        """sizes: of the parameters. damping: a fraction of the mean diagonal entry of each pair."""
        stops = np.cumsum(sizes).tolist()
        places = [slice(stop - size, stop) for stop, size in zip(stops, sizes, strict=True)]
        return cls(tuple(Part.of(*part, damping) for part in zip(places, pairs, strict=True)))

    def solve(self, vector: Vector) -> Vector:
        """P^-1 v."""
        return self.apply(self.transposed(vector))

    def apply(self, vector: Vector) -> Vector:
        """R v."""
        result = np.empty_like(vector)
        for p in self.parts:
            scaled = _matrix(p, vector) * np.sqrt(p.values)
            result[p.place] = (p.left @ scaled @ p.right.T).ravel()
        return result

    def transposed(self, vector: Vector) -> Vector:
        """R'v."""
        result = np.empty_like(vector)
        for p in self.parts:
            turned = p.left.T @ _matrix(p, vector) @ p.right
            result[p.place] = (turned * np.sqrt(p.values)).ravel()
        return result


def _matrix(part: Part, vector: Vector) -> Matrix:
    return vector[part.place].reshape(len(part.left), len(part.right))


def averaged(old: Vector, new: Pairs, keep: float) -> Vector:
    """The moving average of factors; the first ones as they are."""
    found = flattened(new)
    return found if old.size == 0 else keep * old + (1.0 - keep) * found
