"""Time to make the programs of a Burgers solve: cold, warm, another viscosity, another depth.

    python benchmarks/compile_seconds.py

Each line is a process of its own; the first starts with an empty cache.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

SOLVE = """
import sys, time
start = time.perf_counter()
import pinnsolve as ps
from sympy import Eq, pi, sin
imported = time.perf_counter() - start
nu, depth = float(sys.argv[1]), int(sys.argv[2])
x, t = ps.coordinates("x t")
u = ps.field("u", x, t)
problem = ps.Problem(
    Eq(u.dt + u*u.dx, nu*u.dxx), Eq(u(x, 0), -sin(pi*x)), u(-1, t), u(1, t),
    domain={x: (-1, 1), t: (0, 1)})
solution = problem.solve(steps=3, progress=False, network=ps.MLP(2, 1, width=20, depth=depth))
print(f"import {imported:.2f} s, programs {solution.compile_seconds:.2f} s")
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PINNSOLVE_CACHE": folder}
        for label, nu, depth in (
            ("cold, 3 layers", "0.00318", "3"),
            ("second process", "0.00318", "3"),
            ("another viscosity", "0.0077", "3"),
            ("8 layers", "0.00318", "8"),
        ):
            command = [sys.executable, "-c", SOLVE, nu, depth]
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment
            )
            print(f"{label}: {done.stdout.strip()}", flush=True)


if __name__ == "__main__":
    main()
