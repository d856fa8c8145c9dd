"""Incompressible flow: by velocity and pressure, by vorticity, by a stream function."""

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
    quantities,
    rate,
    same_length,
    time_of,
)


def NavierStokes(
    *flow: Any, reynolds: Any = None, viscosity: Any = None, density: Any = 1, force: Any = 0
) -> Equations:
    """Incompressible Navier-Stokes equations by velocity and pressure, in any dimension.

    `rho (v_t + (v . grad) v) + grad p = mu laplace(v) + f` and `div v = 0`, the balance of mass
    last.

    Args:
        flow: the velocities, one for each space coordinate, and then the pressure; fields, or
            expressions of fields, such as `psi.dy, -psi.dx, p`, for which mass is in balance
            already and left out. Without a time, the steady equations.
        reynolds: the equations have no units, `mu = 1/Re` and `rho = 1`; or
        viscosity: mu, the dynamic viscosity; 0 for the Euler equations.
        density: rho, constant.
        force: f, one for each component; 0 for none.

    Raises:
        ProblemError: the number of velocities is not that of the space coordinates, or not just one
            of `reynolds` and `viscosity` is given.

    C. L. Navier, Mém. Acad. Sci. 6 (1823) 389-440; G. G. Stokes, Trans. Cambridge Phil. Soc. 8
    (1845) 287-319. G. K. Batchelor, An Introduction to Fluid Dynamics, Cambridge 1967, 3.3.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u, v, p = ps.fields("u v p", x, y)
    >>> ps.equations.NavierStokes(u, v, p, reynolds=100)
    NavierStokes:
      u*u.dx + v*u.dy + p.dx - u.dxx/100 - u.dyy/100 = 0
      u*v.dx + v*v.dy + p.dy - v.dxx/100 - v.dyy/100 = 0
      u.dx + v.dy = 0
    """
    name = "NavierStokes"
    axes, time = axes_of(name, *flow), time_of(name, *flow)
    *velocity, p = flow
    same_length(name, "velocities", velocity, axes)
    mu, (rho,) = _viscosity(name, flow, reynolds, viscosity), coefficients(name, density=density)
    forces = quantities(name, "force", force, len(axes))
    balances = [
        (rho * (rate(v, time) + carried(velocity, v, axes))).expand()
        + slope
        - mu * laplacian(v, axes)
        - f
        for v, slope, f in zip(velocity, gradient(p, axes), forces, strict=True)
    ]
    mass = divergence(velocity, axes)
    return Equations([*balances, *([] if mass == 0 else [mass])], name)


def Stokes(*flow: Any, viscosity: Any = 1, density: Any = 1, force: Any = 0) -> Equations:
    """Stokes equations of slow flow, `rho v_t + grad p = mu laplace(v) + f` and `div v = 0`.

    Args:
        flow: the velocities, one for each space coordinate, and then the pressure. Without a time,
            the steady equations.
        viscosity: mu.
        density: rho; of no account in steady flow.
        force: f, one for each component; 0 for none.

    Raises:
        ProblemError: the number of velocities is not that of the space coordinates.

    G. G. Stokes, Trans. Cambridge Phil. Soc. 9 (1851) 8-106. J. Happel, H. Brenner, Low Reynolds
    Number Hydrodynamics, Prentice-Hall 1965.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u, v, p = ps.fields("u v p", x, y)
    >>> ps.equations.Stokes(u, v, p)
    Stokes:
      p.dx - u.dxx - u.dyy = 0
      p.dy - v.dxx - v.dyy = 0
      u.dx + v.dy = 0
    """
    name = "Stokes"
    axes, time = axes_of(name, *flow), time_of(name, *flow)
    *velocity, p = flow
    same_length(name, "velocities", velocity, axes)
    mu, rho = coefficients(name, viscosity=viscosity, density=density)
    forces = quantities(name, "force", force, len(axes))
    balances = [
        rho * rate(v, time) + slope - mu * laplacian(v, axes) - f
        for v, slope, f in zip(velocity, gradient(p, axes), forces, strict=True)
    ]
    mass = divergence(velocity, axes)
    return Equations([*balances, *([] if mass == 0 else [mass])], name)


def StreamFunction(
    psi: Any, *, reynolds: Any = None, viscosity: Any = None, force: Any = 0
) -> Equations:
    """Navier-Stokes equations in the plane by the stream function alone, of fourth order.

    With `u = psi_y`, `v = -psi_x`: `W_t + psi_y W_x - psi_x W_y = nu laplace(W) + g_y - h_x` for
    `W = laplace(psi)`, which is the vorticity times -1, and the force `(g, h)`.

    Args:
        psi: a field of two space coordinates; without a time, the steady equation.
        reynolds: `nu = 1/Re`; or
        viscosity: nu, the kinematic viscosity.
        force: (g, h), for unit mass; 0 for none.

    Raises:
        ProblemError: the field does not depend on two space coordinates, or not just one of
            `reynolds` and `viscosity` is given.

    G. K. Batchelor, An Introduction to Fluid Dynamics, Cambridge 1967, 2.2 and 5.1.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> psi = ps.field("psi", x, y)
    >>> (equation,) = ps.equations.StreamFunction(psi, viscosity=0)
    >>> equation == psi.dy * ps.laplace(psi).diff(x) - psi.dx * ps.laplace(psi).diff(y)
    True
    """
    name = "StreamFunction"
    axes, time = axes_of(name, psi, least=2, most=2), time_of(name, psi)
    (x, y), nu = axes, _viscosity(name, (psi,), reynolds, viscosity)
    g, h = quantities(name, "force", force, 2)
    swirl = laplacian(psi, axes)
    change = rate(swirl, time) + carried((psi.diff(y), -psi.diff(x)), swirl, axes)
    return Equations([change - nu * laplacian(swirl, axes) - g.diff(y) + h.diff(x)], name)


def Vorticity(
    *flow: Any, vorticity: Any, reynolds: Any = None, viscosity: Any = None, force: Any = 0
) -> Equations:
    """Navier-Stokes equations by vorticity, and then what ties the velocity to it.

    `w_t + (v . grad) w = (w . grad) v + nu laplace(w) + curl f`; in the plane w is one field and is
    not stretched.

    Args:
        flow: in the plane the stream function, with `u = psi_y`, `v = -psi_x` and
            `laplace(psi) = -w`, or the velocities, with `v_x - u_y = w` and `u_x + v_y = 0`; in
            space the three velocities, with `curl v = w` and `div v = 0`.
        vorticity: w, a field, or three of them in space.
        reynolds: `nu = 1/Re`; or
        viscosity: nu, the kinematic viscosity.
        force: f for unit mass, one for each component; 0 for none.

    Raises:
        ProblemError: the numbers of velocities, vorticities and space coordinates do not fit, or
            not just one of `reynolds` and `viscosity` is given.

    H. Helmholtz, J. reine angew. Math. 55 (1858) 25-55. G. K. Batchelor, An Introduction to Fluid
    Dynamics, Cambridge 1967, 5.1.

    >>> import pinnsolve as ps
    >>> x, y, t = ps.coordinates("x y t")
    >>> psi, w = ps.fields("psi w", x, y, t)
    >>> ps.equations.Vorticity(psi, vorticity=w, viscosity=0)
    Vorticity:
      -psi.dx*w.dy + psi.dy*w.dx + w.dt = 0
      w + psi.dxx + psi.dyy = 0
    """
    name = "Vorticity"
    spins = tuple(vorticity) if isinstance(vorticity, list | tuple | sympy.Tuple) else (vorticity,)
    axes = axes_of(name, *flow, *spins, least=2, most=3)
    time, nu = time_of(name, *flow, *spins), _viscosity(name, flow, reynolds, viscosity)
    sizes = len(axes), len(spins), len(flow)
    if sizes not in ((2, 1, 1), (2, 1, 2), (3, 3, 3)):
        raise misfit(
            name,
            f"{name} has {len(flow)} flow fields and {len(spins)} vorticities for the space "
            f"coordinates {', '.join(map(str, axes))}",
            (*flow, *spins),
            "in the plane give the stream function or two velocities and vorticity=w, in space "
            "three velocities and vorticity=(a, b, c)",
        )
    velocity = (flow[0].diff(axes[1]), -flow[0].diff(axes[0])) if len(flow) == 1 else flow
    twist = curl(quantities(name, "force", force, len(axes)), axes)
    stretched = [carried(spins, v, axes) if len(axes) == 3 else 0 for v in flow]
    changes = [
        rate(w, time) + carried(velocity, w, axes) - s - nu * laplacian(w, axes) - f
        for w, s, f in zip(spins, stretched, twist, strict=False)
    ]
    if len(flow) == 1:
        return Equations([*changes, laplacian(flow[0], axes) + spins[0]], name)
    ties = [c - w for c, w in zip(curl(flow, axes), spins, strict=True)]
    return Equations([*changes, *ties, divergence(flow, axes)], name)


def curl(vector: Any, axes: Any) -> tuple[sympy.Expr, ...]:
    """Of a vector in space three components; of one in the plane one, across the plane."""
    slopes = [gradient(v, axes) for v in vector]
    if len(axes) == 2:
        return (slopes[1][0] - slopes[0][1],)
    return tuple(
        slopes[(i + 2) % 3][(i + 1) % 3] - slopes[(i + 1) % 3][(i + 2) % 3] for i in range(3)
    )


def _viscosity(name: str, flow: Any, reynolds: Any, viscosity: Any) -> sympy.Expr:
    if (reynolds is None) == (viscosity is None):
        raise misfit(
            name,
            f"{name} needs either reynolds= or viscosity=",
            flow,
            "give reynolds= where lengths and speeds have no units, else viscosity=",
        )
    if reynolds is None:
        return coefficients(name, viscosity=viscosity)[0]
    return 1 / coefficients(name, reynolds=reynolds)[0]
