"""Run under mpiexec: the factor of a spread matrix against numpy, on every rank."""

import sys

import numpy as np

from pinnsolve.devices.communication import MPI, AbstractCommunicator
from pinnsolve.devices.panels import PanelMatrix

ranks = MPI()
rng = np.random.default_rng(0)
rows = rng.normal(size=(60, 23))
matrix, right = rows.T @ rows, rng.normal(size=23)
matrix[:, 5] = matrix[:, 6]  # singular, after
matrix[5] = matrix[6]


def columns(panels):
    """The same on every rank."""
    return [matrix[a:, a:b] for a, b in panels]


for width, memory in ((4, 1.0), (5, 1e9), (23, 1.0), (40, 1.0)):
    spread = PanelMatrix.of(23, width, ranks, columns, memory)
    assert sum(ranks.gather(len(spread.panels))) == -(-23 // width)
    assert np.array_equal(spread.diagonal, matrix.diagonal())
    for shift in (0.3, 1e-3):
        factor = spread.factor(shift)
        assert factor is not None
        found = factor.solve(right)
        wanted = np.linalg.solve(matrix + shift * np.eye(23), right)
        assert np.abs(found - wanted).max() < 1e-11 * np.abs(wanted).max()
        assert all(np.array_equal(other, found) for other in ranks.gather(found))
    assert spread.factor(-1.0) is None
    assert spread.factor(np.nan) is None

array = np.arange(3.0) if ranks.rank == ranks.size - 1 else None
for form in (ranks.spread, lambda *a: AbstractCommunicator.spread(ranks, *a)):
    assert form(array, (3,), 2 * ranks.size - 1).tolist() == [0.0, 1.0, 2.0]
sys.stdout.write("agrees\n")
