"""Two substances that react and diffuse."""

from typing import Any

from pinnsolve.pde.equations.statement import (
    Equations,
    axes_of,
    coefficients,
    laplacian,
    quantities,
    rate,
    time_of,
)


def GrayScott(u: Any, v: Any, *, diffusivities: Any, feed: Any, kill: Any) -> Equations:
    """Gray-Scott model of a substance that is fed and of another that feeds on it.

    `u_t = d1 laplace(u) - u v^2 + F (1 - u)`, `v_t = d2 laplace(v) + u v^2 - (F + k) v`.

    Args:
        u, v: the two concentrations; without a time, the steady equations.
        diffusivities: d1, d2.
        feed: F.
        kill: k.

    Raises:
        ProblemError: there are not two diffusivities, or no space coordinate.

    P. Gray, S. K. Scott, Chem. Eng. Sci. 39 (1984) 1087-1097; J. E. Pearson, Science 261 (1993)
    189-192.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u, v = ps.fields("u v", x, t)
    >>> ps.equations.GrayScott(u, v, diffusivities=(2, 1), feed=0.04, kill=0.06)
    GrayScott:
      u*v**2 + 0.04*u + u.dt - 2*u.dxx - 0.04 = 0
      -u*v**2 + 0.1*v + v.dt - v.dxx = 0
    """
    name = "GrayScott"
    axes, time = axes_of(name, u, v), time_of(name, u, v)
    first, second = quantities(name, "diffusivities", diffusivities, 2)
    f, k = coefficients(name, feed=feed, kill=kill)
    return Equations(
        [
            rate(u, time) - first * laplacian(u, axes) + u * v**2 + f * u - f,
            rate(v, time) - second * laplacian(v, axes) - u * v**2 + (f + k) * v,
        ],
        name,
    )


def FitzHughNagumo(
    v: Any,
    w: Any,
    *,
    diffusivity: Any = 0,
    rate_of_recovery: Any = 0.08,
    offset: Any = 0.7,
    decay: Any = 0.8,
    current: Any = 0,
) -> Equations:
    """FitzHugh-Nagumo model: `v_t = D laplace(v) + v - v^3/3 - w + I`, `w_t = e (v + a - b w)`.

    Args:
        v: the voltage, a field of the time and, where it spreads, of space.
        w: the recovery.
        diffusivity: D, of the voltage.
        rate_of_recovery: e.
        offset: a.
        decay: b.
        current: I.

    Raises:
        ProblemError: the voltage spreads and depends on no space coordinate.

    R. FitzHugh, Biophys. J. 1 (1961) 445-466; J. Nagumo, S. Arimoto, S. Yoshizawa, Proc. IRE 50
    (1962) 2061-2070.

    >>> import pinnsolve as ps
    >>> (t,) = ps.coordinates("t")
    >>> v, w = ps.fields("v w", t)
    >>> ps.equations.FitzHughNagumo(v, w, rate_of_recovery=1, offset=0, decay=2)
    FitzHughNagumo:
      v**3/3 - v + w + v.dt = 0
      -v + 2*w + w.dt = 0
    """
    name = "FitzHughNagumo"
    d, e = coefficients(name, diffusivity=diffusivity, rate_of_recovery=rate_of_recovery)
    a, b = coefficients(name, offset=offset, decay=decay)
    (i,) = coefficients(name, current=current)
    axes, time = axes_of(name, v, least=0 if d == 0 else 1), time_of(name, v, w)
    return Equations(
        [
            rate(v, time) - d * laplacian(v, axes) - v + v**3 / 3 + w - i,
            rate(w, time) - (e * (v + a - b * w)).expand(),
        ],
        name,
    )
