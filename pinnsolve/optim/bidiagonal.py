"""LSMR: least squares by products with a matrix and its transpose, whatever the norm of its rows is
made of. Where processes share the rows, that norm is a sum over all of them.

Source: Fong and Saunders 2011, SIAM J. Sci. Comput. 33, arXiv 1006.0758, whose symbols are used.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import hypot, sqrt

import numpy as np

from pinnsolve.optim.base import Vector


def lsmr(
    forward: Callable[[Vector], Vector],
    backward: Callable[[Vector], Vector],
    right: Vector,
    length: Callable[[Vector], float],
    tolerance: float,
    iterations: int,
) -> Vector:
    """x that minimizes |A x - right|, from A y = `forward(y)` and A'w = `backward(w)`.

    `length` is the norm of what `forward` gives. Stops where |A'r| <= tolerance |A| |r| or
    |r| <= tolerance (|right| + |A| |x|) for r = right - A x, or at rounding. Where A or the right
    side is zero, so is x.
    """
    beta = length(right)
    u = right / beta if beta > 0.0 else right
    v = backward(u)
    alpha = float(np.linalg.norm(v))
    x, hbar = np.zeros_like(v), np.zeros_like(v)
    if not alpha * beta > 0.0:
        return x
    v = v / alpha
    h, scalars = v, _Scalars.of(alpha, beta)
    for _ in range(iterations):
        u = forward(v) - alpha * u
        beta = length(u)
        if beta > 0.0:
            u = u / beta
        v = backward(u) - beta * v
        alpha = float(np.linalg.norm(v))
        if alpha > 0.0:
            v = v / alpha
        back, ahead, along = scalars.advance(alpha, beta)
        hbar = h - back * hbar
        x = x + along * hbar
        h = v - ahead * h
        if scalars.is_done(tolerance, float(np.linalg.norm(x))):
            break
    return x


@dataclass
class _Scalars:
    """The two QR factorizations of the bidiagonal matrix, step by step, and |r| and |A'r|.

    alpha is alpha bar, zeta is zeta bar, rho and rhobar those of the last step, cbar and sbar of
    its second rotation. square: of the Frobenius norm of the bidiagonal matrix, which is |A|.
    """

    alpha: float
    zeta: float
    start: float  # |right|
    square: float
    rho: float = 1.0
    rhobar: float = 1.0
    cbar: float = 1.0
    sbar: float = 0.0
    residual: _Residual = field(default_factory=lambda: _Residual(0.0))

    @classmethod
    def of(cls, alpha: float, beta: float) -> _Scalars:
        return cls(alpha, alpha * beta, beta, alpha * alpha, residual=_Residual(beta))

    def advance(self, alpha: float, beta: float) -> tuple[float, float, float]:
        """With alpha_{k+1} and beta_{k+1}: the factors of hbar, of h, and the step along hbar."""
        self.square += alpha * alpha + beta * beta
        rho = hypot(self.alpha, beta)
        c, s = self.alpha / rho, beta / rho
        theta, self.alpha = s * alpha, c * alpha
        thetabar, across = self.sbar * rho, self.cbar * rho
        rhobar = hypot(across, theta)
        self.cbar, self.sbar = across / rhobar, theta / rhobar
        zeta, self.zeta = self.cbar * self.zeta, -self.sbar * self.zeta
        back = thetabar * rho / (self.rho * self.rhobar)
        self.rho, self.rhobar = rho, rhobar
        self.residual.advance(c, s, thetabar, rhobar, zeta)
        return back, theta / rho, zeta / (rho * rhobar)

    def is_done(self, tolerance: float, size: float) -> bool:
        """`size` is |x|."""
        rounding = float(np.finfo(float).eps)
        norm, rest = sqrt(self.square), self.residual.length
        small = rest <= max(tolerance, rounding) * (self.start + norm * size)
        return small or abs(self.zeta) <= max(tolerance, rounding) * norm * rest


@dataclass
class _Residual:
    """|r|, by a third factorization (section 5.1)."""

    betadd: float
    betad: float = 0.0
    rhod: float = 1.0
    tautilde: float = 0.0
    thetatilde: float = 0.0
    zeta: float = 0.0
    length: float = np.inf

    def advance(self, c: float, s: float, thetabar: float, rhobar: float, zeta: float) -> None:
        betahat, self.betadd = c * self.betadd, -s * self.betadd
        rhotilde = hypot(self.rhod, thetabar)
        ctilde, stilde = self.rhod / rhotilde, thetabar / rhotilde
        before, self.thetatilde = self.thetatilde, stilde * rhobar
        self.rhod = ctilde * rhobar
        self.betad = -stilde * self.betad + ctilde * betahat
        self.tautilde = (self.zeta - before * self.tautilde) / rhotilde
        taud = (zeta - self.thetatilde * self.tautilde) / self.rhod
        self.zeta = zeta
        self.length = hypot(self.betad - taud, self.betadd)
