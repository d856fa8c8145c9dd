"""The runner of long runs with a toy problem, and its table from made-up records."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import accuracy
from benchmarks.accuracy import Row

TOY = """
import numpy as np
from sympy import exp
import pinnsolve as ps
from problems.references import closed_form

x = ps.coordinates("x")[0]
u = ps.field("u", x)

def problem():
    return ps.Problem(u.dx + u, u(0) - 1, domain={x: (0, 1)})

def reference():
    return closed_form({"u": exp(-x)}, {x: np.linspace(0, 1, 11)}, "a formula")

if __name__ == "__main__":
    from pinnsolve.command_line import run

    run(problem, reference, network=ps.MLP(1, 1, width=4, depth=1), steps=20, device="reference")
"""
ROWS = (Row("decay", "decay", 50, 1e-2, 1e-12), Row("broken", "broken", 50, 1e-2, 1e-12))


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(accuracy, "SEEDS", (3,))
    problems, docs = tmp_path / "problems", tmp_path / "docs"
    problems.mkdir()
    docs.mkdir()
    (problems / "decay.py").write_text(TOY)
    (problems / "broken.py").write_text("raise ValueError('no such thing')\n")
    (docs / "accuracy.md").write_text(
        "before\n<!-- begin table -->\nold\n<!-- end table -->\nafter\n"
    )
    folders = {"--problems": problems, "--output": tmp_path / "runs", "--docs": docs}
    return [str(part) for pair in folders.items() for part in pair]


def test_runs_are_kept_resumed_and_a_crash_stops_no_other(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="crashed: broken-50s-3"):
        accuracy.main(options, ROWS)
    assert capsys.readouterr().out.startswith("0 of 2 runs are done already")
    runs = tmp_path / "runs"
    broken = json.loads((runs / "broken-50s-3.json").read_text())
    assert "ValueError: no such thing" in broken["crash"]
    assert "ValueError: no such thing" in (runs / "broken-50s-3.log").read_text()

    good = json.loads((runs / "decay-50s-3.json").read_text())
    assert (good["seed"], good["allowed"], good["steps"]) == (3, 50.0, 20)
    assert good["curve"]["errors"]["u"][0] > 0.1 > 1e-2 > good["errors"]["u"]
    assert {"machine", "version", "findings", "compile_seconds", "stop_reason"} <= good.keys()
    assert {path.suffix for path in runs.iterdir()} == {".json", ".log", ""}

    text = (tmp_path / "docs" / "accuracy.md").read_text()
    assert text.startswith("before\n<!-- begin table -->\n| problem")
    assert text.endswith("(figures/accuracy-1.png)\n<!-- end table -->\nafter\n")
    assert "seed 3 crashed" in text
    assert "1e-02 met" in text
    assert "1e-12 missed" in text
    assert (tmp_path / "docs" / "figures" / "accuracy-1.png").stat().st_size > 1000

    before = (runs / "decay-50s-3.json").stat().st_mtime_ns
    accuracy.main([*options, "--only", "decay"], ROWS)
    assert capsys.readouterr().out.startswith("1 of 1 runs are done already")
    assert (runs / "decay-50s-3.json").stat().st_mtime_ns == before


def test_a_page_is_made_where_there_is_none(options: list[str], tmp_path: Path) -> None:
    elsewhere = tmp_path / "mine" / "docs"
    accuracy.main([*options, "--only", "decay", "--docs", str(elsewhere)], ROWS)
    assert (elsewhere / "accuracy.md").read_text().startswith("<!-- begin table -->\n| problem")


def test_another_text_or_time_is_another_run(options: list[str], tmp_path: Path) -> None:
    problems = tmp_path / "problems"

    def keys(budget: float = 1.0) -> list[Any]:
        return [job.key for job in accuracy.jobs(ROWS, budget, tmp_path, problems)]

    before = keys()
    assert keys() == before
    assert [key["allowed"] for key in keys(0.5)] == [25.0, 25.0]
    (problems / "broken.py").write_text("from problems import decay\n")
    imported = keys()
    assert [a == b for a, b in zip(imported, before, strict=True)] == [True, False]
    (problems / "decay.py").write_text(TOY + "\n")
    assert not any(a == b for a, b in zip(keys(), imported, strict=True))


def record(seed: int, u: list[float | None], v: list[float], **more: Any) -> dict[str, Any]:
    curve = {"seconds": [0.0, 10.0, 20.0], "window": [0, 0, 0], "errors": {"u": u, "v": v}}
    return {
        "problem": "flow", "seed": seed, "errors": {"u": u[-1], "v": v[-1]}, "seconds": 20.0 + seed,
        "steps": 1000 * seed, "parameters": 921, "reference": "a formula", "reference_error": 1e-15,
        "machine": {"processor": "a processor"}, "version": "1.0", "curve": curve, **more,
    }  # fmt: skip


def test_the_table_has_the_worst_of_the_seeds() -> None:
    flow = Row("a flow", "flow", 20, 1e-3, 1e-5, 2e-6, "somebody, GPU")
    records = [
        record(0, [1.0, 1e-3, 1e-6], [1.0, 1e-4, 2e-6]),
        record(1, [1.0, 2e-2, 3e-6], [1.0, 1e-4, 1e-6]),
        record(2, [1.0, None, 1e-6], [1.0, 1e-4, 1e-7]),
    ]
    cells = [cell.strip() for cell in accuracy.overview([flow], records).splitlines()[2].split("|")]
    assert cells[1:-1] == [
        "a flow", "u 3.0e-06, v 2.0e-06", "1e-03 met", "1e-05 met", "20", "21", "1,000", "921",
        "a formula (1e-15)", "2.0e-06 (somebody, GPU)",
    ]  # fmt: skip
    v_alone = Row("a flow", "flow", 20, 1e-3, 1e-6, fields=("v",))
    cells = [
        cell.strip() for cell in accuracy.overview([v_alone], records).splitlines()[2].split("|")
    ]
    assert cells[3:6] == ["1e-03 met", "1e-06 missed", "10"]
    assert [len(panel.curves) for panel in accuracy.panels([flow], records)] == [3]


def test_a_target_is_reached_in_the_last_window() -> None:
    row = Row("a flow", "flow", 20, 1e-3, 1e-5)
    curve = {"seconds": [1.0, 2.0, 3.0, 4.0], "window": [0, 0, 1, 1],
             "errors": {"u": [1.0, 1e-6, 1.0, 1e-4]}}  # fmt: skip
    assert accuracy.reached(row, curve, 1e-3) == 4.0
    assert accuracy.reached(row, curve, 1e-5) is None
    unmeasured = Row("a flow", "flow", 20, 1e-3, 1e-5, fields=("nu",))
    assert accuracy.reached(unmeasured, curve, 1.0) is None


def test_every_problem_file_has_its_row() -> None:
    texts = {path.stem: path.read_text() for path in (accuracy.ROOT / "problems").glob("*.py")}
    files = {name for name, text in texts.items() if "def problem(" in text}
    assert {row.file for row in accuracy.ROWS} == files
