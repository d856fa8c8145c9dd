"""The table of steps on MindSpore from made-up lines, and what it refuses."""

import json
from pathlib import Path

import pytest

from benchmarks import mindspore_steps
from benchmarks.mindspore_steps import HESSIAN, NESTED, OURS

SECONDS = {OURS: 1.0, NESTED: 2.5, HESSIAN: 7.0}


def made_up(loss: float):
    def line(scheme: str, order: int, options, cache: str) -> dict:
        if order == 6 and scheme == NESTED:
            return {"skipped": "longer than 900 s"}
        own = loss if scheme == NESTED else 0.5
        time = SECONDS[scheme] * max(order, 1)
        numbers = {"first": time, "spent": time, "cpu": 10 * time, "wall": 11 * time, "mb": 500.0}
        return {"loss": own, "length": 2.0, **numbers}

    return line


def test_lines_of_a_case_are_shown_and_kept(monkeypatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setattr(mindspore_steps, "line", made_up(0.5 + 1e-6))
    monkeypatch.setattr(mindspore_steps, "keep_cores", lambda count: None)
    mindspore_steps.main(["--orders", "2", "6", "--json", str(tmp_path / "steps.json")])
    printed = capsys.readouterr().out.splitlines()
    rows = [row.replace("|", " ").split() for row in printed]
    assert [*HESSIAN.split(), "7.00", "7.00", "70.0", "77.0", "500"] in rows
    assert rows[-1] == ["6", "6.0", "-", "6.0", "-", "60.0", "-"]
    kept = json.loads((tmp_path / "steps.json").read_text())["cases"]
    assert [entry["order"] for entry in kept] == [0, 2, 6]


def test_lines_that_differ_are_no_comparison(monkeypatch) -> None:
    monkeypatch.setattr(mindspore_steps, "line", made_up(0.5001))
    monkeypatch.setattr(mindspore_steps, "keep_cores", lambda count: None)
    with pytest.raises(AssertionError, match="order 0: loss differs by 2"):
        mindspore_steps.main(["--orders"])
