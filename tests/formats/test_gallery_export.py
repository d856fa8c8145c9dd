"""Every problem of the gallery, untrained: fields and all derivatives of its equations."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from pinnsolve.nets.choice import Network
from pinnsolve.pde.jets import Jet
from pinnsolve.pde.sampling import sample, site_points
from pinnsolve.pde.system import normalize
from pinnsolve.pipeline import approximate
from pinnsolve.solutions.field import SolutionField
from pinnsolve.solutions.field_evaluator import FieldEvaluator
from pinnsolve.solutions.field_export import export_fields
from tests.formats.running import run

GALLERY = Path(__file__).parents[2] / "problems"
SHORT = {"heat", "schrodinger"}  # in every run
POINTS = 30


def names():
    for path in sorted(GALLERY.glob("*.py")):
        if "def problem(" in path.read_text():
            marks = () if path.stem in SHORT else (pytest.mark.slow,)
            yield pytest.param(path.stem, marks=marks)


def asked(problem, system, evaluator):
    """Name -> each field and each derivative in the equations, as of a solution."""
    coordinates = tuple(c.name for c in problem.coordinates)
    jets = {j for r in system.residuals for j in r.expression.atoms(Jet) if j.site >= 0}
    found = {(j.field, tuple(j.orders)) for j in jets}
    found |= {(name, (0,) * len(coordinates)) for name in system.fields}
    arguments = {name: tuple(c.name for c in own) for name, own in problem.arguments.items()}
    return {
        f"value{k}": SolutionField(evaluator, name, arguments[name], coordinates, orders)
        for k, (name, orders) in enumerate(sorted(found))
    }


@pytest.mark.filterwarnings("ignore::pinnsolve.errors.ProblemWarning")
@pytest.mark.parametrize("name", list(names()))
@pytest.mark.parametrize("suffix", [".c", ".py", ".onnx"])
def test_a_problem_of_the_gallery(name: str, suffix: str, tmp_path) -> None:
    problem = importlib.import_module(f"problems.{name}").problem()
    system = normalize(problem)
    network: Network = None
    system, model, _ = approximate(system, network, "auto")
    theta = model.layout.initialize(np.random.default_rng(0))
    evaluator = FieldEvaluator.of(model, system.dimension, theta)
    fields = asked(problem, system, evaluator)
    numbers = {number: number.guess for number in problem.unknowns}
    path = export_fields(
        problem, evaluator, numbers, fields, tmp_path / f"gallery{suffix}", "float64", {}
    )
    block = next(b for b in system.blocks if b.dimension == system.dimension)
    places = site_points(block, system, sample(block, system, POINTS, 0))[0]
    arrays = [np.ascontiguousarray(column) for column in places.T]
    values = run(path, [(key, ()) for key in fields], arrays)
    for field, value in zip(fields.values(), values, strict=True):
        right = evaluator.derivative(field.name, field.orders, places)
        size = max(1e-300, np.abs(right).max())
        np.testing.assert_allclose(value / size, right / size, atol=1e-10, err_msg=repr(field))
