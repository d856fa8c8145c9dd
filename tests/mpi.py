"""Runs scripts under ``mpiexec``."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
MPIEXEC = Path(sys.executable).with_name("mpiexec")
PATIENCE = 150  # seconds; some on a quiet machine


def launch(
    ranks: int, *script: str | Path, cwd: Path = ROOT, **variables: str
) -> subprocess.CompletedProcess[str]:
    """What a script of so many ranks prints, and how it ends. One that takes too long fails the
    test; its processes end, for without mpiexec those that it has started do."""
    command: list[Any] = [MPIEXEC, "-n", str(ranks), sys.executable, *script]
    return subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
