"""A hundred dimensions are two sets of points, and as many channels as a forward Laplacian has."""

import numpy as np

from pinnsolve.diff import functions as ops
from pinnsolve.diff.evaluate import evaluate
from pinnsolve.diff.plan import plan_block
from pinnsolve.diff.residual import Approximator, residual_nodes
from pinnsolve.pde.sampling import sample, site_points
from pinnsolve.pde.system import normalize
from problems import poisson_100d


def test_the_closed_form_in_place_of_the_network_solves_poisson_100d() -> None:
    system = normalize(poisson_100d.problem())
    squares = Approximator(("u",), lambda x: ops.reshape(ops.sum_columns(x * x), (1,)))
    plans = [plan_block(block, system.dimension, [("u",)]) for block in system.blocks]
    assert [plan.bases[0][0].size for plan in plans] == [102, 1]  # type: ignore[union-attr]
    for block, plan in zip(system.blocks, plans, strict=True):
        (residual,) = residual_nodes(system, block, plan, [squares])
        (points,) = site_points(block, system, sample(block, system, 64, seed=0))
        (values,) = evaluate([residual], {"site0": points})
        assert np.abs(values).max() < 1e-11
    touching = (points == 0) | (points == 1)
    assert np.all(touching.sum(axis=1) == 1)
    assert len(np.unique(np.argmax(touching, axis=1))) > 30
