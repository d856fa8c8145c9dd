"""The gallery solved by default settings, to a stated accuracy: run by `make accuracy`.

Each run is a process of its own, as a user would start it, and is judged against the problem's
independent reference. The times are for two cores of about 20 GFLOP/s each.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# problem: (training seconds, largest relative L2 error of each field)
TARGETS = {
    "burgers": (60, {"u": 2e-6}),
    "poisson": (60, {"u": 1e-7}),
    "heat": (60, {"u": 1e-7}),
    "helmholtz": (120, {"u": 1e-6}),
    "wave": (180, {"u": 1e-5}),
    "kovasznay": (120, {"u": 1e-6, "v": 1e-6, "p": 1e-5}),
    "taylor_green": (120, {"u": 1e-5, "v": 1e-5, "p": 1e-4}),
    "kdv": (180, {"u": 1e-4}),
    "allen_cahn": (180, {"u": 1e-4}),
    "biharmonic": (180, {"u": 1e-6}),
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", TARGETS)
def test_accuracy(name: str, seed: int, tmp_path: Path) -> None:
    seconds, targets = TARGETS[name]
    command = [sys.executable, ROOT / "problems" / f"{name}.py", "--json", "--seed", str(seed)]
    command += ["--seconds", str(seconds), "--output", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    record = json.loads(done.stdout.splitlines()[-1])
    assert record["seconds"] <= seconds + 5
    assert record["errors"].keys() == targets.keys()
    for field, target in targets.items():
        assert record["errors"][field] <= target, field
