"""Problems on shapes, solved in seconds, against closed forms."""

from typing import Any

import numpy as np
import pytest
from sympy import Rational, cos, exp

import pinnsolve as ps
from pinnsolve.errors import FileError
from pinnsolve.sampling.draws import AbstractDraw

x, y, t = ps.coordinates("x y t")
u, v = ps.fields("u v", x, y)
w = ps.field("w", x, y, t)
HOLE = ps.Disk((1, Rational(1, 2)), Rational(1, 4), name="hole")
PLATE = ps.Rectangle((0, 0), (2, 1)) - HOLE
WALLS = PLATE.left | PLATE.right | PLATE.top | PLATE.bottom
harmonic = x**3 - 3 * x * y**2


def slope(shape: Any, value: Any) -> Any:
    """The derivative of an expression along the normal."""
    n = shape.normal
    return n[0] * value.diff(x) + n[1] * value.diff(y)


def plate() -> ps.Problem:
    """Values on the walls and a flux on the hole."""
    return ps.Problem(
        ps.laplace(u),
        ps.on(WALLS, {u: harmonic}),
        ps.on(PLATE.hole, {u.dn: slope(PLATE, harmonic)}),
        domain=PLATE,
        exact={u: harmonic},
    )


def test_values_and_a_flux_on_a_plate_with_a_hole(tmp_path: Any):
    problem = plate()
    solution = problem.solve(
        network=ps.MLP(2, 1, width=12, depth=2), steps=40, seconds=None, progress=False
    )
    assert solution.error()["u"] < 1e-4
    # What flows out through the hole flows in through the walls.
    through = solution.integrate(u.dn, over=PLATE.hole)
    assert abs(through + solution.integrate(u.dn, over=WALLS)) < 1e-3
    compared = solution.compare()["u"]
    inside = np.hypot(compared.coordinates["x"] - 1, compared.coordinates["y"] - 0.5) > 0.25 + 1e-9
    assert np.array_equal(~np.isnan(compared.expected), inside)
    loaded: Any = ps.load(solution.save(tmp_path / "plate.h5"))
    assert loaded.problem == problem
    assert loaded.error() == solution.error()


def test_two_materials_have_a_network_each():
    """Flat layers of conductivity 1 and 3, under a shear that both share."""
    west, east = ps.Rectangle((-1, 0), (0, 1)), ps.Rectangle((0, 0), (1, 1))
    exact = {u: 3 * x + x * y + exp(x) * cos(y), v: x + x * y / 3 + exp(x) * cos(y)}
    jump, flux = 0, -2 * cos(y)
    problem = ps.Problem(
        ps.on(west, ps.laplace(u)),
        ps.on(east, ps.laplace(v)),
        ps.on(west.left | west.top | west.bottom, {u: exact[u]}),
        ps.on(east.right | east.top | east.bottom, {v: exact[v]}),
        ps.on(west.right, {u - v: jump, u.dn - 3 * v.dn: flux}),
        domain=ps.Rectangle((-1, 0), (1, 1)),
        exact=exact,
    )
    networks = {u: ps.MLP(2, 1, width=8, depth=1), v: ps.MLP(2, 1, width=8, depth=1)}
    solution = problem.solve(network=networks, steps=40, seconds=None, progress=False)
    errors = solution.error()
    assert max(errors.values()) < 1e-3
    half = solution.compare()["u"]
    assert np.array_equal(~np.isnan(half.expected), half.coordinates["x"] <= 1e-9)


@pytest.mark.parametrize(
    "draw", [ps.RAD(), ps.RAR(), ps.R3(), ps.Sobol(), ps.Uniform()], ids=lambda d: type(d).__name__
)
def test_every_draw_keeps_to_the_shape(draw: AbstractDraw):
    points = ps.Points(interior=60, boundary=20, redraw=1, draw=draw)
    network = ps.MLP(2, 1, width=4, depth=1)
    solution = plate().solve(
        network=network, points=points, steps=3, device="reference", progress=False, exact="never"
    )
    inside, walls, hole = solution.points.values()
    assert len(inside) >= 60
    assert (PLATE.distance(inside) < 0).all()
    assert np.abs(PLATE.distance(walls)).max() < 1e-12
    assert np.allclose(np.hypot(hole[:, 0] - 1, hole[:, 1] - 0.5), 0.25)
    if not draw.keeps:
        assert [len(p) for p in (inside, walls, hole)] == [60, 20, 20]


def test_windows_of_time_on_a_disc():
    disk = ps.Disk((0, 0), 1)
    exact = exp(-t) * (x**2 - y**2)
    problem = ps.Problem(
        w.dt - ps.laplace(w) + w,
        w(x, y, 0) - exact.subs(t, 0),
        ps.on(disk.circle, {w: exact}),
        domain={(x, y): disk, t: (0, 1)},
        exact={w: exact},
    )
    network = ps.MLP(3, 1, width=6, depth=1)
    solution = problem.solve(network=network, windows=2, steps=40, seconds=None, progress=False)
    assert solution.problem == problem
    assert solution.error()["w"] < 1e-2


def test_a_run_on_a_shape_goes_on_from_its_checkpoint_and_from_no_other(tmp_path: Any):
    options: Any = {
        "network": ps.MLP(2, 1, width=4, depth=1),
        "device": "reference",
        "progress": False,
        "checkpoint": tmp_path / "run.h5",
    }
    plate().solve(steps=2, **options)
    resumed = plate().solve(steps=4, **options)
    whole = plate().solve(steps=4, **{**options, "checkpoint": None})
    assert resumed.error() == whole.error()
    smaller = ps.Rectangle((0, 0), (2, 1)) - ps.Disk((1, 0.5), 0.2, name="hole")
    other = ps.Problem(
        ps.laplace(u),
        ps.on(smaller.boundary, {u: harmonic}),
        domain=smaller,
    )
    with pytest.raises(FileError, match="another run"):
        other.solve(steps=4, **options)
