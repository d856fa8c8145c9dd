"""Phase fields: interfaces that move by curvature, and mixtures that separate."""

from typing import Any

from pinnsolve.pde.equations.statement import (
    Equations,
    axes_of,
    coefficients,
    laplacian,
    misfit,
    rate,
    time_of,
)


def AllenCahn(u: Any, *, diffusivity: Any, reaction: Any = 1, source: Any = 0) -> Equations:
    """Allen-Cahn equation, `u_t = d laplace(u) + r (u - u^3) + f`.

    Args:
        u: the order parameter; without a time, the steady equation.
        diffusivity: d, the square of the width of an interface where r is 1.
        reaction: r.
        source: f.

    Raises:
        ProblemError: the field depends on no space coordinate.

    S. M. Allen, J. W. Cahn, Acta Metall. 27 (1979) 1085-1095.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> ps.equations.AllenCahn(u, diffusivity=0.001, reaction=5)
    AllenCahn: 5*u**3 - 5*u + u.dt - 0.001*u.dxx = 0
    """
    name = "AllenCahn"
    axes, time = axes_of(name, u), time_of(name, u)
    d, r, f = coefficients(name, diffusivity=diffusivity, reaction=reaction, source=source)
    return Equations([rate(u, time) - d * laplacian(u, axes) - (r * (u - u**3)).expand() - f], name)


def CahnHilliard(*fields: Any, width: Any, mobility: Any = 1) -> Equations:
    """Cahn-Hilliard equation, `c_t = M laplace(c^3 - c - w^2 laplace(c))`.

    Args:
        fields: the concentration c, from -1 to 1, for one equation of fourth order; or c and the
            chemical potential mu, for `c_t = M laplace(mu)` and `mu = c^3 - c - w^2 laplace(c)`.
        width: w, of an interface.
        mobility: M, constant.

    Raises:
        ProblemError: more than two fields, or no space coordinate.

    J. W. Cahn, J. E. Hilliard, J. Chem. Phys. 28 (1958) 258-267.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> c, mu = ps.fields("c mu", x, t)
    >>> ps.equations.CahnHilliard(c, mu, width=0.1)
    CahnHilliard:
      c.dt - mu.dxx = 0
      -c**3 + c + mu + 0.01*c.dxx = 0
    """
    name = "CahnHilliard"
    if len(fields) not in (1, 2):
        raise misfit(
            name,
            f"{name} has {len(fields)} fields",
            fields,
            "give the concentration, or the concentration and the chemical potential",
        )
    c, axes, time = fields[0], axes_of(name, *fields), time_of(name, *fields)
    w, m = coefficients(name, width=width, mobility=mobility)
    potential = c**3 - c - w**2 * laplacian(c, axes)
    if len(fields) == 1:
        return Equations([rate(c, time) - m * laplacian(potential, axes).expand()], name)
    return Equations([rate(c, time) - m * laplacian(fields[1], axes), fields[1] - potential], name)
