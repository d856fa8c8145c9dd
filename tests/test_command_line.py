"""The command line of a problem file, with a stand-in for the trained solution."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pinnsolve.command_line import run
from pinnsolve.solutions.estimates import Estimate
from pinnsolve.solutions.history import History, Record

KNOWN: Any = SimpleNamespace(
    axes={}, values={}, error=2e-13, source="a formula", unknowns={"nu": 0.5}
)


def solution_of(calls: dict[str, Any]) -> Any:
    return SimpleNamespace(
        rank=calls.get("rank", 0),
        error=lambda reference: {"u": 1.5e-6} if reference is KNOWN else {},
        plot=lambda reference, path: Path(path).write_text("figure"),
        save=lambda path: Path(path).write_text("data"),
        report=lambda: "the report",
        seconds=calls["seconds"],
        compile_seconds=0.5,
        network_size=921,
        steps=40,
        optimizer="LevenbergMarquardt",
        stop_reason="training time is spent",
        seed=calls["seed"],
        findings=(),
        parameters={"nu": Estimate(0.5005, 0.001)},
        history=History((Record(0, 0.0, 1.0, errors={"u": 1 / 3}), Record(9, 1.5, 1.0))),
    )


solved_with: dict[str, Any] = {}


def solve(**options: Any) -> Any:
    solved_with.clear()
    solved_with.update(options)
    return solution_of(options)


def problem() -> Any:
    return SimpleNamespace(solve=solve)


def test_a_quantity_is_compared_with_its_true_value(tmp_path, capsys) -> None:
    arguments = ["--json", "--output", str(tmp_path)]
    run(problem, lambda: KNOWN, arguments=arguments, quantities=lambda s: {"nu": s.steps / 100})
    printed = capsys.readouterr().out
    assert "nu: relative error 2.00e-01 of 0.4" in printed
    assert json.loads(printed.splitlines()[-1])["errors"]["nu"] == pytest.approx(0.2)


def test_json_is_the_last_line_and_files_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--json", "--seed", "2", "--seconds", "3", "--output", str(tmp_path / "new")]
    run(problem, lambda: KNOWN, arguments=arguments)
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(lines[-1]) == {
        "problem": "test_command_line",
        "errors": {"u": 1.5e-6, "nu": pytest.approx(1e-3)},
        "unknowns": {"nu": [0.5005, 0.001]},
        "seconds": 3.0,
        "compile_seconds": 0.5,
        "parameters": 921,
        "steps": 40,
        "optimizer": "LevenbergMarquardt",
        "stop_reason": "training time is spent",
        "seed": 2,
        "findings": [],
        "reference": "a formula",
        "reference_error": 2e-13,
        "curve": {"seconds": [0.0, 1.5], "window": [0, 0], "errors": {"u": [0.3333, None]}},
    }
    assert lines[0] == "the report"
    assert "nu: relative error 1.00e-03 of 0.5005" in lines
    assert "u: relative L2 error 1.50e-06 against a formula (itself 2e-13)" in lines
    assert (tmp_path / "new" / "test_command_line.png").read_text() == "figure"
    assert (tmp_path / "new" / "test_command_line.h5").read_text() == "data"


def test_without_json_no_object_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(problem, lambda: KNOWN, arguments=["--output", str(tmp_path)])
    assert "{" not in capsys.readouterr().out


def test_unknown_option_is_refused_before_solving(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        run(problem, lambda: KNOWN, arguments=["--sed", "1"])
    assert "--sed" in capsys.readouterr().err


@pytest.mark.parametrize(("given", "seconds"), [([], 40.0), (["--seconds", "3"], 3.0)])
def test_settings_of_a_problem_file_reach_solve(
    given: list[str], seconds: float, tmp_path: Path
) -> None:
    arguments = [*given, "--output", str(tmp_path)]
    run(problem, lambda: KNOWN, arguments=arguments, seconds=40.0, threads=1)
    assert solved_with.pop("communicator").name == "serial"
    assert solved_with == {
        "seed": 0,
        "seconds": seconds,
        "threads": 1,
        "reference": KNOWN,
    }


def test_of_several_ranks_one_tells_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(problem, lambda: KNOWN, arguments=["--output", str(tmp_path)], rank=1)
    assert capsys.readouterr().out == ""
    assert not list(tmp_path.iterdir())
