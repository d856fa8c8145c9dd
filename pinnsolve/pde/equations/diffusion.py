"""Diffusion, with and without a current, and its steady states."""

from typing import Any

from pinnsolve.pde.equations.statement import (
    Equations,
    axes_of,
    carried,
    coefficients,
    divergence,
    gradient,
    laplacian,
    needed_time,
    quantities,
    quantity,
    rate,
    same_length,
    time_of,
)


def Heat(u: Any, *, diffusivity: Any = 1, source: Any = 0) -> Equations:
    """Heat equation, `u_t = div(k grad u) + f`.

    Args:
        u: the temperature, which depends on the time and on one space coordinate at least.
        diffusivity: k, which may vary in space, or depend on u.
        source: f.

    Raises:
        ProblemError: the field does not depend on the time, or on no space coordinate.

    J. Fourier, Théorie analytique de la chaleur, Paris 1822.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> ps.equations.Heat(u, diffusivity=x)
    Heat: -x*u.dxx + u.dt - u.dx = 0
    """
    axes = axes_of("Heat", u)
    time = needed_time("Heat", u, instead="Poisson")
    k, f = coefficients("Heat", diffusivity=diffusivity, source=source)
    return Equations([rate(u, time) - laplacian(u, axes, k) - f], "Heat")


def AdvectionDiffusion(
    u: Any, *, velocity: Any, diffusivity: Any = 0, reaction: Any = 0
) -> Equations:
    """Advection, diffusion and reaction, `u_t + c . grad u = div(D grad u) + R`.

    Args:
        u: what is carried; without a time, the steady equation.
        velocity: c, a number or field for one space coordinate, else one for each; 0 for none.
        diffusivity: D, which may vary in space; 0 for pure advection.
        reaction: R, a source or an expression of u: `u * (1 - u)`.

    Raises:
        ProblemError: the number of components of the velocity is not that of the space
            coordinates.

    W. Hundsdorfer, J. G. Verwer, Numerical Solution of Time-Dependent
    Advection-Diffusion-Reaction Equations, Springer 2003, chapter I.

    >>> import pinnsolve as ps
    >>> x, t = ps.coordinates("x t")
    >>> u = ps.field("u", x, t)
    >>> ps.equations.AdvectionDiffusion(u, velocity=30, reaction=-u)
    AdvectionDiffusion: u + u.dt + 30*u.dx = 0
    """
    name = "AdvectionDiffusion"
    axes, time = axes_of(name, u), time_of(name, u)
    c = quantities(name, "velocity", velocity, len(axes))
    d, r = coefficients(name, diffusivity=diffusivity, reaction=reaction)
    return Equations([rate(u, time) + carried(c, u, axes) - laplacian(u, axes, d) - r], name)


def Poisson(u: Any, *, source: Any = 0, coefficient: Any = 1) -> Equations:
    """Poisson equation, `-div(a grad u) = f`; the Laplace equation where f is 0.

    Args:
        u: the potential, a field of space coordinates.
        source: f, or an expression of u.
        coefficient: a > 0, which may vary in space.

    Raises:
        ProblemError: the field depends on no space coordinate.

    S. D. Poisson, Nouveau bulletin de la Société philomatique 3 (1813) 388-392. L. C. Evans,
    Partial Differential Equations, AMS 2010, 2.2.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u = ps.field("u", x, y)
    >>> ps.equations.Poisson(u, source=1)
    Poisson: -u.dxx - u.dyy - 1 = 0
    """
    axes = axes_of("Poisson", u)
    a, f = coefficients("Poisson", coefficient=coefficient, source=source)
    return Equations([-laplacian(u, axes, a) - f], "Poisson")


def Darcy(
    *flow: Any, permeability: Any = 1, viscosity: Any = 1, source: Any = 0, force: Any = 0
) -> Equations:
    """Darcy flow in a porous medium, for the pressure alone or with the velocity.

    Args:
        flow: p, for `-div(K/mu (grad p - g)) = q`; or the velocities, one for each space
            coordinate, and then p, for `v = -K/mu (grad p - g)` and `div v = q`.
        permeability: K, which may vary in space.
        viscosity: mu.
        source: q.
        force: g, one for each space coordinate; 0 for none.

    Raises:
        ProblemError: there is neither one field nor one more than space coordinates.

    H. Darcy, Les fontaines publiques de la ville de Dijon, Paris 1856. J. Bear, Dynamics of Fluids
    in Porous Media, Elsevier 1972, chapter 5.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u, v, p = ps.fields("u v p", x, y)
    >>> ps.equations.Darcy(u, v, p, permeability=2)
    Darcy:
      u + 2*p.dx = 0
      v + 2*p.dy = 0
      u.dx + v.dy = 0
    """
    axes = axes_of("Darcy", *flow)
    *velocity, p = flow
    mobility = quantity("Darcy", "permeability", permeability)
    mobility /= quantity("Darcy", "viscosity", viscosity)
    forces = quantities("Darcy", "force", force, len(axes))
    q = quantity("Darcy", "source", source)
    filtered = [-mobility * (s - g) for s, g in zip(gradient(p, axes), forces, strict=True)]
    if not velocity:
        return Equations([divergence(filtered, axes) - q], "Darcy")
    same_length("Darcy", "velocities", velocity, axes)
    laws = [v - w for v, w in zip(velocity, filtered, strict=True)]
    return Equations([*laws, divergence(velocity, axes) - q], "Darcy")
