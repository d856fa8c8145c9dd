"""The factor of a spread matrix against numpy on every rank; run under mpiexec, or called."""

import sys

import numpy as np

from pinnsolve.devices.communication import MPI, AbstractCommunicator
from pinnsolve.devices.panels import PanelMatrix


def check(ranks: AbstractCommunicator) -> bool:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 23))
    rows[:, 5] = rows[:, 6]  # J'J is singular then
    matrix, right = rows.T @ rows, rng.normal(size=23)
    for width, memory in ((4, 1.0), (5, 1e9), (23, 1.0), (40, 1.0)):
        spread = PanelMatrix.of(
            23, width, ranks, lambda panels: [matrix[a:, a:b] for a, b in panels], memory
        )
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
    last = ranks.size - 1
    array = np.arange(3.0) if ranks.rank == last else None
    assert ranks.spread(array, (3,), last + ranks.size).tolist() == [0.0, 1.0, 2.0]
    return True


if __name__ == "__main__":
    assert check(MPI())
    sys.stdout.write("agrees\n")
