"""Equations behind random motion: densities, best decisions and prices."""

from typing import Any

import sympy

from pinnsolve.pde.equations.statement import (
    Equations,
    axes_of,
    carried,
    coefficients,
    divergence,
    gradient,
    laplacian,
    misfit,
    needed_time,
    quantities,
    quantity,
    rate,
    time_of,
)


def FokkerPlanck(p: Any, *, drift: Any, diffusion: Any) -> Equations:
    """Fokker-Planck equation for the density of random motion.

    `p_t = -div(m p) + sum (D_ij p)_ij`; the motion is `dX = m dt + s dW`, and `D = s s'/2`.

    Args:
        p: the density; without a time, that which lasts.
        drift: m, for one space coordinate an expression, else one for each; 0 for none.
        diffusion: D, an expression for all directions alike, or the rows of a matrix.

    Raises:
        ProblemError: the drift or the matrix does not fit the space coordinates.

    H. Risken, The Fokker-Planck Equation, Springer 1989, chapter 4.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> p = ps.field("p", x, t)
    >>> ps.equations.FokkerPlanck(p, drift=-x, diffusion=2)
    FokkerPlanck: -x*p.dx - p + p.dt - 2*p.dxx = 0
    """
    name = "FokkerPlanck"
    axes, time = axes_of(name, p), time_of(name, p)
    m = quantities(name, "drift", drift, len(axes))
    if isinstance(diffusion, list | tuple | sympy.Tuple | sympy.MatrixBase):
        rows = diffusion.tolist() if isinstance(diffusion, sympy.MatrixBase) else diffusion
        if len(rows) != len(axes) or not all(isinstance(r, list | tuple) for r in rows):
            raise misfit(
                name,
                f"diffusion is no matrix of {len(axes)} rows",
                rows,
                "give diffusion= one expression, or a row for each space coordinate",
            )
        matrix = [quantities(name, "diffusion", row, len(axes)) for row in rows]
        pairs = [(matrix[i][j], a, b) for i, a in enumerate(axes) for j, b in enumerate(axes)]
    else:
        pairs = [(quantity(name, "diffusion", diffusion), a, a) for a in axes]
    spread = sympy.Add(*((d * p).diff(a).diff(b) for d, a, b in pairs))
    return Equations([rate(p, time) + divergence([c * p for c in m], axes) - spread], name)


def HamiltonJacobiBellman(
    value: Any,
    *,
    drift: Any = 0,
    diffusion: Any = 0,
    running_cost: Any = 0,
    control_cost: Any = 1,
) -> Equations:
    """Hamilton-Jacobi-Bellman equation for the value V of the best control of random motion.

    `V_t + q + f . grad V - |grad V|^2/(4 r) + D laplace(V) = 0`. For
    `dX = (f + a) dt + sqrt(2 D) dW` and the cost `q + r |a|^2` in unit time, whose mean V is least
    with the control `a = -grad V/(2 r)`. V is given at the end of the time.

    Args:
        value: V; without a time, the steady equation.
        drift: f, for one space coordinate an expression, else one for each; 0 for none.
        diffusion: D.
        running_cost: q.
        control_cost: r.

    Raises:
        ProblemError: the drift does not fit the space coordinates, or there are none.

    W. H. Fleming, H. M. Soner, Controlled Markov Processes and Viscosity Solutions, Springer 2006,
    chapter 4. With f = q = 0, D = 1 and r = 1/4 it is that of J. Han, A. Jentzen, W. E, Proc. Natl.
    Acad. Sci. 115 (2018) 8505-8510.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> v = ps.field("v", x, t)
    >>> ps.equations.HamiltonJacobiBellman(v, diffusion=1, control_cost=0.25)
    HamiltonJacobiBellman: v.dt - 1.0*v.dx**2 + v.dxx = 0
    """
    name = "HamiltonJacobiBellman"
    axes, time = axes_of(name, value), time_of(name, value)
    f = quantities(name, "drift", drift, len(axes))
    d, q = coefficients(name, diffusion=diffusion, running_cost=running_cost)
    (r,) = coefficients(name, control_cost=control_cost)
    steep = sympy.Add(*(slope**2 for slope in gradient(value, axes)))
    gain = carried(f, value, axes) - steep / (4 * r) + d * laplacian(value, axes)
    return Equations([rate(value, time) + q + gain.expand()], name)


def BlackScholes(
    price: Any, *, volatility: Any, rate: Any, dividend: Any = 0, correlation: Any = 0
) -> Equations:
    """Black-Scholes equation for the price of an option on one or several assets.

    `V_t + 1/2 sum c_ij s_i s_j S_i S_j V_ij + sum (r - d_i) S_i V_i = r V`, with `c_ii = 1` and the
    correlation c of all pairs. V is given at the end of the time.

    Args:
        price: V, a field of the time and of the price S of each asset.
        volatility: s, for one asset an expression, else one for each.
        rate: r, of interest.
        dividend: d, for one asset an expression, else one for each; 0 for none.
        correlation: c.

    Raises:
        ProblemError: numbers do not fit the assets, or there is no time.

    F. Black, M. Scholes, J. Polit. Econ. 81 (1973) 637-654; R. C. Merton, Bell J. Econ. Manag. Sci.
    4 (1973) 141-183.

    >>> import pinnsolve as ps
    >>> s, t = ps.coordinates("s t")
    >>> v = ps.field("v", s, t)
    >>> ps.equations.BlackScholes(v, volatility=2, rate=0.05)
    BlackScholes: 2*s**2*v.dss + 0.05*s*v.ds - 0.05*v + v.dt = 0
    """
    name = "BlackScholes"
    axes, time = axes_of(name, price), needed_time(name, price)
    sigma = quantities(name, "volatility", volatility, len(axes))
    paid = quantities(name, "dividend", dividend, len(axes))
    r, c = coefficients(name, rate=rate, correlation=correlation)
    pairs = [(i, j) for i in range(len(axes)) for j in range(len(axes))]
    spread = sympy.Add(
        *(
            (1 if i == j else c)
            * sigma[i]
            * sigma[j]
            * axes[i]
            * axes[j]
            / 2
            * price.diff(axes[i], axes[j])
            for i, j in pairs
        )
    )
    growth = sympy.Add(*((r - d) * s * price.diff(s) for d, s in zip(paid, axes, strict=True)))
    return Equations([price.diff(time) + spread + growth - r * price], name)


__all__ = ["BlackScholes", "FokkerPlanck", "HamiltonJacobiBellman"]
