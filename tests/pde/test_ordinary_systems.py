"""Systems of ordinary differential equations against numerical solutions by DOP853."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import pinnsolve as ps
from pinnsolve.pde.jets import Jet
from pinnsolve.pde.sampling import sample
from pinnsolve.pde.system import normalize

(t,) = ps.coordinates("t")
SYSTEMS: dict[str, tuple[Callable[..., list[Any]], list[float], float]] = {
    "Lotka-Volterra": (lambda x, y: [1.5 * x - x * y, x * y - 3 * y], [10.0, 5.0], 3.0),
    "Lorenz": (
        lambda x, y, z: [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z],
        [1.0, 1.0, 1.0],
        2.0,
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_numerical_solution_leaves_no_residual(name: str) -> None:
    right, start, end = SYSTEMS[name]
    unknowns = ps.fields("x y z"[: 2 * len(start)], t)
    problem = ps.Problem(
        *(u.dt - f for u, f in zip(unknowns, right(*unknowns), strict=True)),
        *(u(0) - value for u, value in zip(unknowns, start, strict=True)),
        domain={t: (0, end)},
    )
    system = normalize(problem)
    places = sample(system.blocks[0], system, 20, 0)[:, 0]
    solved = solve_ivp(
        lambda _, u: right(*u), (0, end), start, "DOP853", dense_output=True, rtol=1e-12, atol=1e-12
    )
    step = 1e-3
    # Differences of the solution: independent of the right sides that are checked.
    slopes = sum(
        w * (solved.sol(places + k * step) - solved.sol(places - k * step)) / step
        for k, w in ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
    )
    values = {(f, 0): v for f, v in zip("xyz", solved.sol(places), strict=False)}
    values |= {(f, 1): v for f, v in zip("xyz", slopes, strict=False)}
    for residual in system.blocks[0].residuals:
        jets = sorted(residual.expression.atoms(Jet), key=str)
        at = [values[jet.field, jet.orders[0]] for jet in jets]
        found = [
            float(residual.expression.xreplace(dict(zip(jets, v, strict=True))))
            for v in zip(*at, strict=True)
        ]
        assert np.abs(found).max() < 1e-6
    for residual in system.blocks[1].residuals:
        (jet,) = residual.expression.atoms(Jet)
        value = solved.sol(0.0)["xyz".index(jet.field)]
        assert abs(float(residual.expression.subs(jet, value))) < 1e-12
