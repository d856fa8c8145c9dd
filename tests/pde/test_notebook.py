"""What a notebook shows: valid markup with the statements, the domain and the checks."""

import subprocess
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from sympy import Eq, cos, pi

import pinnsolve as ps
from pinnsolve.errors import ProblemWarning
from pinnsolve.pde.notebook import MARGIN, WIDTH, domain_svg
from tests.pde.well_posed import BUILDERS

x, y, t = ps.coordinates("x y t")
u = ps.field("u", x, t)
w = ps.field("w", x, y)
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", list(BUILDERS))
def test_every_problem_is_valid_markup(name: str):
    problem = BUILDERS[name]()
    root = ElementTree.fromstring(f"<div>{problem._repr_html_()}</div>")
    assert "array" in "".join(root.itertext())
    assert len(root.findall(".//tr")) == 1 + len(problem.check())


def test_sides_with_conditions_say_which():
    problem = ps.Problem(
        Eq(u.dt, u.dxx),
        Eq(u(x, 0), 0),
        u(0, t),
        u.dx(1, t),
        domain={x: (0, 1), t: (0, 2)},
    )
    root = ElementTree.fromstring(domain_svg(problem))
    titles = [line.findtext(f"{SVG}title") for line in root.iter(f"{SVG}line")]
    assert titles == ["u(0, t)", "u.dx(1, t)", "u(x, 0) = 0", "no condition"]
    assert [text.text for text in root.iter(f"{SVG}text")] == [
        "0",
        "1",
        "x",
        "0",
        "2",
        "t",
    ]


def test_a_shape_is_drawn_by_the_points_of_its_parts():
    plate = ps.Rectangle((0, 0), (2, 1)) - ps.Disk((1, 0.5), 0.25, name="hole")
    walls = plate.left | plate.right | plate.top | plate.bottom
    problem = ps.Problem(ps.laplace(w), ps.on(walls, {w: x}), ps.on(plate.hole, w.dn), domain=plate)
    root = ElementTree.fromstring(domain_svg(problem))
    groups = {g.findtext(f"{SVG}title").splitlines()[0]: g for g in root.iter(f"{SVG}g")}
    assert groups.keys() == plate.parts.keys()
    hole = np.array(
        [[float(c.get(k)) for k in ("cx", "cy")] for c in groups["hole"].iter(f"{SVG}circle")]
    )
    centre = hole.mean(axis=0)
    assert centre[0] == pytest.approx(MARGIN + WIDTH / 2, abs=WIDTH / 20)
    assert np.ptp(hole[:, 0]) == pytest.approx(WIDTH / 4, rel=0.05)


def test_warnings_are_unfolded_and_a_solution_shows_its_report():
    with pytest.warns(ProblemWarning):
        problem = ps.Problem(
            Eq(u.dt, u.dxx),
            Eq(u(x, 0), cos(pi * x)),
            u(0, t),
            u(1, t),
            domain={x: (0, 1), t: (0, 1)},
        )
    assert "<details open>" in problem._repr_html_()
    f = ps.field("f", x)
    growth = ps.Problem(f.dx - f, f(0) - 1, domain={x: (0, 1)})
    network = ps.MLP(1, 1, width=4, depth=1)
    solution = growth.solve(network=network, steps=2, device="reference", progress=False)
    html = solution._repr_html_()
    assert "<details>" in html
    assert "held-out rms" in html
    ElementTree.fromstring(f"<div>{html}</div>")


def test_no_library_for_figures_is_loaded():
    code = (
        "import sys, pinnsolve as ps; x = ps.coordinates('x')[0]; f = ps.field('f', x); "
        "ps.Problem(f.dx, f(0), domain={x: (0, 1)})._repr_html_(); "
        "print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
