"""The Ascend device on MindSpore's CPU against the reference device, in both precisions."""

import numpy as np
import pytest

from pinnsolve.devices.ascend import AscendDevice
from pinnsolve.devices.reference import ReferenceDevice
from tests.devices.gallery import case, relative

BOUNDS = {"float64": 1e-12, "float32": 1e-5}
QUANTITIES = {
    "residuals": lambda o, theta, v, w: o.residuals(theta),
    "loss": lambda o, theta, v, w: np.array([o.loss_gradient(theta)[0]]),
    "gradient": lambda o, theta, v, w: o.loss_gradient(theta)[1],
    "J'J": lambda o, theta, v, w: o.normal_equations(theta).matrix,
    "J'r": lambda o, theta, v, w: o.normal_equations(theta).vector,
    "r'r": lambda o, theta, v, w: np.array([o.normal_equations(theta).loss]),
    "JJ'": lambda o, theta, v, w: o.dual_equations(theta).matrix,
    "R'R": lambda o, theta, v, w: o.triangle(theta).T @ o.triangle(theta),
    "diagonal": lambda o, theta, v, w: o.normal_diagonal(theta),
    "panel": lambda o, theta, v, w: o.normal_panels(theta, [(1, 4)])[0],
    "J v": lambda o, theta, v, w: o.jvp(theta, v),
    "J'w": lambda o, theta, v, w: o.vjp(theta, w),
}


def compare(blocks, layout, points, theta, precision="float64", names=tuple(QUANTITIES)):
    """Each quantity at its own size."""
    rng = np.random.default_rng(4)
    device = AscendDevice("ascend:cpu", precision).compile(blocks, layout).bind(points)
    reference = ReferenceDevice().compile(blocks, layout).bind(points)
    v, w = rng.normal(size=reference.size), rng.normal(size=reference.rows)
    for name in names:
        found, expected = (QUANTITIES[name](o, theta, v, w) for o in (device, reference))
        assert found.dtype == np.float64
        assert relative(found, expected) <= BOUNDS[precision], name


@pytest.mark.parametrize("precision", BOUNDS)
def test_a_problem(precision):
    problem = case("burgers")
    compare(problem.blocks, problem.layout, problem.points, problem.theta(), precision)
