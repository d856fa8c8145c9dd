"""Systems of ordinary differential equations."""

from typing import Any

from pinnsolve.pde.equations.statement import Equations, coefficients, only_coordinate, rate


def LotkaVolterra(
    prey: Any, predator: Any, *, growth: Any, predation: Any, death: Any, reproduction: Any
) -> Equations:
    """Lotka-Volterra equations: `r' = a r - b r p`, `p' = -c p + d r p`.

    Args:
        prey, predator: r and p, fields of one coordinate.
        growth: a, of the prey.
        predation: b.
        death: c, of the predator.
        reproduction: d.

    Raises:
        ProblemError: the fields depend on several coordinates.

    A. J. Lotka, Elements of Physical Biology, Baltimore 1925; V. Volterra, Nature 118
    (1926) 558-560.

    >>> import pinnsolve as ps
    >>> (t,) = ps.coordinates("t")
    >>> r, p = ps.fields("r p", t)
    >>> ps.equations.LotkaVolterra(r, p, growth=4, predation=3, death=2, reproduction=1)
    LotkaVolterra:
      3*p*r - 4*r + r.dt = 0
      -p*r + 2*p + p.dt = 0
    """
    name = "LotkaVolterra"
    t = only_coordinate(name, prey, predator)
    a, b = coefficients(name, growth=growth, predation=predation)
    c, d = coefficients(name, death=death, reproduction=reproduction)
    meeting = prey * predator
    return Equations(
        [rate(prey, t) - a * prey + b * meeting, rate(predator, t) + c * predator - d * meeting],
        name,
    )


def Lorenz(
    x: Any, y: Any, z: Any, *, sigma: Any = 10, rho: Any = 28, beta: Any = 8 / 3
) -> Equations:
    """Lorenz system: `x' = sigma (y - x)`, `y' = x (rho - z) - y`, `z' = x y - beta z`.

    Args:
        x, y, z: fields of one coordinate.
        sigma, rho, beta: the numbers of Prandtl and Rayleigh, and the shape of the rolls.

    Raises:
        ProblemError: the fields depend on several coordinates.

    E. N. Lorenz, J. Atmos. Sci. 20 (1963) 130-141.

    >>> import pinnsolve as ps
    >>> (t,) = ps.coordinates("t")
    >>> x, y, z = ps.fields("x y z", t)
    >>> ps.equations.Lorenz(x, y, z, beta=2)
    Lorenz:
      10*x - 10*y + x.dt = 0
      x*z - 28*x + y + y.dt = 0
      -x*y + 2*z + z.dt = 0
    """
    t = only_coordinate("Lorenz", x, y, z)
    s, r, b = coefficients("Lorenz", sigma=sigma, rho=rho, beta=beta)
    return Equations(
        [
            rate(x, t) - (s * (y - x)).expand(),
            rate(y, t) - (x * (r - z)).expand() + y,
            rate(z, t) - x * y + b * z,
        ],
        "Lorenz",
    )
