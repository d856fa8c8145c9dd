"""What holds for all methods on second derivatives: the same steps on both devices."""

import numpy as np
import pytest

from pinnsolve.optim import (
    CG,
    DSGNAR,
    KFAC,
    LSMR,
    SPRING,
    SVD,
    Cholesky,
    EnergyNaturalGradient,
    GaussNewton,
    Grid,
    LevenbergMarquardt,
    NysNewtonCG,
    NystroemPreconditioner,
)
from tests.optim.small import small

OPTIMIZERS = [
    GaussNewton(solver=CG(NystroemPreconditioner(rank=10), iterations=20), damping=0.3),
    GaussNewton(solver=SVD(), damping=1e-3),
    EnergyNaturalGradient(search=Grid(8), damping=1e-3),
    EnergyNaturalGradient(search=Grid(8), damping=1e-3, solver=Cholesky(dual=False)),
    LevenbergMarquardt(solver=LSMR(NystroemPreconditioner(rank=10), iterations=20), corrections=1),
    SPRING(damping=1e-3),
    KFAC(),
    KFAC(quadratic=False, search=Grid(8)),
    NysNewtonCG(rank=10, iterations=60, damping=0.3),
    DSGNAR(radii=4),
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=lambda o: type(o).__name__)
def test_devices_take_the_same_steps(optimizer):
    thetas = []
    for device in ("reference", "cpu"):
        objective = small("heat", device)
        start = np.random.default_rng(0).normal(size=objective.size) * 0.5
        state = optimizer.init(objective, start)
        for _ in range(2):
            state = optimizer.step(objective, state)
            assert optimizer.done(state) is None
        r = objective.residuals(state.theta)
        assert state.loss == pytest.approx(float(r @ r), rel=1e-12)
        assert np.abs(state.theta - start).max() > 1e-4
        thetas.append(state.theta)
    assert np.allclose(*thetas, rtol=1e-5, atol=1e-6)
