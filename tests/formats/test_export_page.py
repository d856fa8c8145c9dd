"""docs/export.md: its examples run, one after the other, and agree."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pinnsolve.devices.ascend import environment
from tests.formats.running import COMPILER

PAGE = Path(__file__).parents[2] / "docs" / "export.md"


def test_the_examples_run_and_agree(tmp_path, monkeypatch) -> None:
    pytest.importorskip("onnxruntime")
    environment.load()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    blocks = re.findall(r"```(python|c)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict = {}
    seen = []
    for language, text in blocks:
        if language == "python":
            exec(compile(text, str(PAGE), "exec"), names)
            seen.append(np.asarray(getattr(names.get("values"), "u", names.get("values"))))
        else:
            (tmp_path / "main.c").write_text(text)
    monkeypatch.delitem(sys.modules, "rod")
    solution = names["solution"]
    right = solution.u(np.linspace(0, 1, 5), 0.2)
    for values in (seen[1], seen[2]):  # Python, ONNX
        np.testing.assert_allclose(values, right, atol=1e-14)
    np.testing.assert_allclose(names["values"].asnumpy(), right, atol=1e-6)
    if COMPILER is not None:
        command = [COMPILER, "-std=c99", "-Wall", "-Werror", "main.c", "rod.c", "-o", "rod", "-lm"]
        subprocess.run(command, check=True)
        found = subprocess.run(["./rod"], check=True, capture_output=True, text=True).stdout.split()
        slope = solution.u.dx
        exact = [solution.u(0.5, 0.2), -0.1 * slope(0.5, 0.2), -0.1 * slope(0.0, 0.2)]
        np.testing.assert_allclose([float(word) for word in found], exact, rtol=1e-13, atol=1e-14)
