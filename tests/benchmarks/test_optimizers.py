"""The comparison of optimizers: that each runs as set, and the table from made-up runs."""

import json
from typing import Any

import pytest
from sympy import exp

import pinnsolve as ps
from benchmarks import optimizers

x = ps.coordinates("x")[0]
u = ps.field("u", x)
DECAY = ps.Problem(u.dx + u, u(0) - 1, domain={x: (0, 1)})


@pytest.mark.parametrize("method", optimizers.METHODS)
def test_every_method_lowers_the_error(method: str) -> None:
    chosen = optimizers.METHODS[method]
    network = ps.MLP(1, 1, width=6, depth=1)
    solution = DECAY.solve(
        optimizer=chosen.optimizer, points=chosen.points, network=network, steps=60,
        device="reference", progress=False, reference=exp(-x),
    )  # fmt: skip
    assert solution.error(exp(-x))["u"] < 0.7 * solution.history.errors["u"][0]


def test_a_run_prints_its_record(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PINNSOLVE_THREADS", "1")
    optimizers.run("poisson_5d", "LM", 0.05)
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed["problem"] == "poisson_5d"
    assert len(printed["curve"]["errors"]["u"]) == len(printed["curve"]["seconds"]) >= 2


def record(method: str, problem: str, errors: list[float | None], **more: Any) -> dict[str, Any]:
    curve = {"seconds": [0.0, 5.0, 10.0], "window": [0, 0, 0], "errors": {"u": errors}}
    return {
        "problem": problem, "method": method, "errors": {"u": errors[-1]}, "allowed": 10.0,
        "seconds": 10.0, "steps": 1234, "stop_reason": "10 s", "curve": curve, **more,
    }  # fmt: skip


def test_the_table_shows_failures_as_such() -> None:
    found = [
        record("Adam", "poisson_5d", [1.0, 1e-2, 1e-3]),
        record("LM", "poisson_5d", [1.0, 1e-5, 1e-9]),
        record("LM", "burgers", [1.0, 1.0, None]),
        record(
            "DSGNAR",
            "poisson_5d",
            [1.0, 0.5, 0.4],
            seconds=3.0,
            stop_reason="the radius is too small",
        ),
        {"problem": "burgers", "method": "KFAC", "crash": "a trace\nValueError: no\nexit status 1"},
    ]
    lines = optimizers.overview(found).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[:6]]
    assert cells[0] == ["", "Burgers", "Poisson, 5D"]
    assert cells[2:] == [
        ["Adam", "-", "1.0e-03 (1,234)"],
        ["LM", "inf* (1,234)", "1.0e-09 (1,234)"],
        ["KFAC", "crashed*", "-"],
        ["DSGNAR", "-", "4.0e-01* (1,234)"],
    ]
    assert set(lines[7:]) == {
        "* LM, Burgers: diverged: error inf after 10 s",
        "* DSGNAR, Poisson, 5D: ended after 3 s: the radius is too small",
        "* KFAC, Burgers: crashed: ValueError: no",
    }
    drawn = optimizers.panel("poisson_5d", found)
    assert [(c.label, c.ending) for c in drawn.curves] == [
        ("Adam", ""),
        ("LM", ""),
        ("DSGNAR", "x"),
    ]


def test_jobs_depend_on_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    (before,) = optimizers.jobs(["poisson_5d"], ["LM"], 5.0)
    changed = {"LM": optimizers.Method(ps.LevenbergMarquardt(damping=1.0))}
    monkeypatch.setattr(optimizers, "METHODS", changed)
    (after,) = optimizers.jobs(["poisson_5d"], ["LM"], 5.0)
    assert (before.name, before.name) == (after.name, "poisson_5d-LM-5s")
    assert before.key != after.key
