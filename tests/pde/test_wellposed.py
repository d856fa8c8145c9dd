"""The count of conditions that a system needs, against the assignment problem of scipy."""

from types import SimpleNamespace

import numpy as np
from scipy.optimize import linear_sum_assignment

from pinnsolve.pde.wellposed import structural_order


def teststructural_order_is_the_largest_assignment():
    rng = np.random.default_rng(0)
    zeros = 0
    for _ in range(300):
        count = rng.integers(1, 5)
        orders = rng.integers(-1, 4, (rng.integers(count, 6), count))
        equations = [SimpleNamespace(order=lambda f, axis, row=row: int(row[f])) for row in orders]
        fields = [SimpleNamespace(name=k) for k in range(count)]
        allowed = np.where(orders < 0, -1e6, orders)
        total = allowed[linear_sum_assignment(allowed, maximize=True)].sum()
        zeros += total < 0
        assert structural_order(equations, fields, 0) == max(0, int(total))
    assert 0 < zeros < 150  # some have no assignment
