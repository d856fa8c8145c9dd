"""The page on networks: its code runs, and what it shows is what comes out."""

import re
from pathlib import Path

import pinnsolve.nets

PAGE = (Path(__file__).parents[2] / "docs" / "networks.md").read_text()


def test_code_runs(capsys):
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(block, "networks.md", "exec"), names)
    shown = [line[2:] for line in PAGE.splitlines() if line.startswith(("# Wave", "#   "))]
    assert capsys.readouterr().out.splitlines() == shown
    assert names["value"] < 0.15  # the regression has come some way from 0.5
    assert names["finite"]
    assert list(names["second"].weights) == ["cells.2.weight", "cells.2.bias"]
    assert 1e-9 < names["difference"] < 1e-6


def test_every_cell_is_on_the_page():
    for name in pinnsolve.nets.__all__:
        assert f"`{name}" in PAGE or f".{name}(" in PAGE, name
