"""The forces of the flow past a cylinder, on flows whose forces are known in closed form."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from problems import cylinder


def test_the_shape_is_the_channel_without_the_cylinder() -> None:
    shape = cylinder.domain()
    assert shape.measure == pytest.approx(22 * 4.1 - np.pi / 4)
    assert shape.cylinder.measure == pytest.approx(np.pi)
    inside = shape.contains([[2.0, 2.0], [2.0, 2.6], [21.9, 4.0]])
    assert inside.tolist() == [False, True, True]


def test_published_numbers_are_in_the_units_of_the_problem() -> None:
    # 0.11752016697 Pa at a density of 1 kg/m^3 and a mean velocity of 0.2 m/s.
    known = cylinder.reference().unknowns
    assert known is not None
    assert known["drop"] == pytest.approx(2.93800417, rel=1e-8)


def test_the_force_of_a_pressure_that_grows_is_its_slope_times_the_area() -> None:
    def integrate(density: Any, over: Any) -> float:
        angle = 2 * np.pi * np.arange(400) / 400
        x, y = 2 + np.cos(angle) / 2, 2 + np.sin(angle) / 2
        flow = {cylinder.u: 0.3 * cylinder.y, cylinder.v: 0.3 * cylinder.x, cylinder.p: cylinder.x}
        value = density.subs(flow).doit()
        normals = dict(zip(cylinder.domain().normal, (-np.cos(angle), -np.sin(angle)), strict=True))
        numbers = [
            float(
                value.subs({cylinder.x: a, cylinder.y: b, **{n: v[k] for n, v in normals.items()}})
            )
            for k, (a, b) in enumerate(zip(x, y, strict=True))
        ]
        return float(np.mean(numbers)) * np.pi

    solution: Any = SimpleNamespace(integrate=integrate, p=lambda x, y: np.array(x))
    found = cylinder.coefficients(solution)
    # grad p = (1, 0) pushes with minus the area pi/4; the shear of 0.6/20 is uniform: no force.
    assert found["drag"] == pytest.approx(-np.pi / 2)
    assert found["lift"] == pytest.approx(0, abs=1e-12)
    assert found["drop"] == -1.0
