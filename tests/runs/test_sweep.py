"""Sweeps over numbers of a problem and settings of solve, in processes and on ranks."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sympy import exp

import pinnsolve as ps
from pinnsolve.errors import FileError, PinnsolveError, SolutionError
from pinnsolve.runs.members import Member, _settings
from tests.mpi import launch

(t,) = ps.coordinates("t")
u = ps.field("u", t)
k = ps.parameter("k", 0.5, 4)
NETWORK = ps.MLP(1, 1, width=5, depth=1)
SETTINGS = {"network": NETWORK, "device": "reference", "progress": False}


def decay(rate: float) -> ps.Problem:
    if rate < 0:
        raise ArithmeticError("it would grow")
    conditions = (u.dt + rate * u, u(0) - 1)
    return ps.Problem(*conditions, domain={t: (0, 1)}, exact={u: exp(-rate * t)})


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[ps.Sweep, Path]:
    """Two numbers by two seeds, and a number that fails."""
    folder = tmp_path_factory.mktemp("sweep")
    values = {"rate": [1, 2.5, -1], "seed": [0, 3]}
    return ps.sweep(decay, values, steps=30, folder=folder, **SETTINGS), folder


def test_a_case_is_the_solution_of_its_values(table: tuple[ps.Sweep, Path]) -> None:
    found, _ = table
    order = [(1, 0), (1, 3), (2.5, 0), (2.5, 3), (-1, 0), (-1, 3)]
    assert [tuple(case.values.values()) for case in found.cases] == order
    alone = decay(2.5).solve(steps=30, seed=3, **SETTINGS)
    times = np.linspace(0, 1, 5)
    chosen = found.select(rate=2.5, seed=3)
    assert np.array_equal(chosen.solutions[0].u(times), alone.u(times))
    assert found.cases[5].failure == "ArithmeticError: it would grow"


def test_the_table_tells_values_errors_and_failures(table: tuple[ps.Sweep, Path]) -> None:
    found, _ = table
    row = found.rows()[2]
    solution = found.solutions[2]
    assert row["error u"] == solution.error()["u"] < 1e-2
    assert (row["rate"], row["seed"], row["steps"]) == (2.5, 0, solution.steps)
    assert row["held-out"] == solution.kept.held_out
    lines = found.report().splitlines()
    assert lines[0] == "Sweep of 6 cases, 2 of them failed"
    assert lines[1].split()[:3] == ["rate", "seed", "held-out"]
    assert lines[-1].split()[0] == "-1"
    assert lines[-1].endswith("failed: ArithmeticError: it would grow")
    assert found._repr_html_().count("<tr>") == 7
    errors = [s.error()["u"] for s in found.solutions]
    assert found.best("error u").solution is found.solutions[int(np.argmin(errors))]
    assert found.best(lambda s: -s.error()["u"]).solution is found.solutions[np.argmax(errors)]
    with pytest.raises(SolutionError, match="no case has a number for 'cost'; the columns are ra"):
        found.best("cost")
    with pytest.raises(SolutionError, match="no case of the sweep has rate=7"):
        found.select(rate=7)


def test_a_folder_keeps_what_is_solved(
    table: tuple[ps.Sweep, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And only what is missing is solved by the same call."""
    found, folder = table
    files = sorted(path.name for path in folder.glob("*.h5"))
    assert files == [f"rate={r}_seed={s}.h5" for r in (1, 2.5) for s in (0, 3)]
    one = ps.load(folder / "rate=2.5_seed=3.h5")
    assert isinstance(one, ps.Solution)
    assert one.u(0.5) == found.solutions[3].u(0.5)
    monkeypatch.setattr("pinnsolve.runs.members.ProcessPoolExecutor", None)  # nothing may be solved
    again = ps.sweep(decay, {"rate": [2.5, 1], "seed": [0, 3]}, steps=30, folder=folder, **SETTINGS)
    assert again.solutions[0].u(0.5) == found.solutions[2].u(0.5)
    with pytest.raises(FileError, match=r"was solved with other settings, see settings\.json"):
        ps.sweep(decay, {"rate": [1], "seed": [0]}, steps=31, folder=folder, **SETTINGS)
    starts = {**SETTINGS, "start": found.solutions[0]}
    with pytest.raises(FileError, match=r"rate=1_seed=0\.h5 was solved with other settings"):
        ps.sweep(decay, {"rate": [1], "seed": [0]}, steps=30, folder=folder, **starts)
    with pytest.raises(PinnsolveError, match=r"two members would be kept in one file, rate=1\.h5"):
        ps.sweep(decay, {"rate": [1, 1]}, steps=30, folder=folder, **SETTINGS)


def test_settings_tell_data_apart() -> None:
    """Which the statement of a problem does not show."""

    def member(values: list[float]) -> Member:
        data = ps.observations({u: np.array(values)}, at={t: np.array([0.1, 0.2])})
        rate = ps.unknown("rate", guess=1.0)
        return Member("one", ps.Problem(u.dt + rate * u, u(0) - 1, data, domain={t: (0, 1)}), {})

    first, second = (_settings(member(values)) for values in ([0.9, 0.8], [0.9, 0.7]))
    assert first[:-1] == second[:-1]
    assert first[-1] != second[-1]


def test_a_problem_with_a_parameter_and_a_list_of_cases(capsys: pytest.CaptureFixture) -> None:
    family = ps.Problem(u.dt + k * u, u(0) - 1, domain={t: (0, 1)})
    cases = [{k: 1, "steps": 20}, {k: 2, "steps": 30}]
    found = ps.sweep(family, cases, processes=1, **{**SETTINGS, "progress": True})
    assert [case.values for case in found.cases] == [{"k": 1, "steps": 20}, {"k": 2, "steps": 30}]
    for case in found.cases:
        expected = np.exp(-case.values["k"] * 0.5)
        assert float(case.solution.u(0.5)) == pytest.approx(expected, abs=1e-2)
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == [
        "1/2 k=1, steps=20",
        "2/2 k=2, steps=30",
    ]
    with pytest.raises(PinnsolveError, match="neither an argument of solve nor a parameter of the"):
        ps.sweep(family, {"kk": [1]}, **SETTINGS)


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        ({}, {}, "a sweep needs values"),
        ({"rate": []}, {}, "a sweep needs values"),
        ({"rate": "12"}, {}, "come in lists"),
        ([{"rate": 1}, {"seed": 1}], {}, "values of the same names"),
        ({"rate": [1], "seed": [1]}, {"seed": 2}, r"sweep\(\) takes no seed: each member has its"),
        ({"rate": [1]}, {"checkpoint": "run.h5"}, r"sweep\(\) takes no checkpoint"),
        ({"rate": [1]}, {"processes": 0}, "processes must be a whole number"),
        ({"rate": [1]}, {"callback": lambda record: None}, "callback cannot be sent to another"),
        ({"rat": [1]}, {}, "no member was solved; rat=1: TypeError: decay"),
    ],
)
def test_arguments_that_make_no_sense(values, options: dict, message: str) -> None:
    with pytest.raises(PinnsolveError, match=message):
        ps.sweep(decay, values, **{**SETTINGS, **options})


INTERRUPTED = """
import os, signal, sys
import pinnsolve as ps

class CtrlC:
    def __call__(self, record):
        if record.step == 100:
            os.killpg(0, signal.SIGINT)

t = ps.coordinates("t")[0]
u = ps.field("u", t)
decay = ps.Problem(u.dt + u, u(0) - 1, domain={t: (0, 1)})
settings = {"network": ps.MLP(1, 1, width=5, depth=1), "device": "reference"}
if __name__ == "__main__":
    found = ps.sweep(
        decay, {"steps": [20, 10**9, 30]}, processes=1, folder=sys.argv[1], callback=CtrlC(),
        optimizer=ps.Adam(steps=10**9), **settings,
    )
    for case in found.cases:
        print(case.failure or case.solution.stop_reason)
"""


def test_ctrl_c_gives_what_there_is_and_keeps_what_is_done(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    done = subprocess.run(
        [sys.executable, script, tmp_path / "kept"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        start_new_session=True,
    )
    lines = done.stdout.splitlines()
    assert lines == ["20 steps done", "interrupted", "interrupted before the start"], done.stderr
    assert [path.name for path in (tmp_path / "kept").glob("*.h5")] == ["steps=20.h5"]


RANKS = """
import sys
import numpy as np
import pinnsolve as ps
from pinnsolve.devices.communication import MPI

t = ps.coordinates("t")[0]
u = ps.field("u", t)
decay = ps.Problem(u.dt + u, u(0) - 1, domain={t: (0, 1)})
settings = {"network": ps.MLP(1, 1, width=5, depth=1), "device": "reference", "steps": 5}
rates = lambda rate: ps.Problem(u.dt + rate * u, u(0) - 1, domain={t: (0, 1)})
table = ps.sweep(rates, {"rate": [1, 2, 3]}, folder=sys.argv[1], **settings)
seeds = ps.ensemble(decay, seeds=(5, 6, 7), **settings)
found = [float(s.u(0.5)) for s in (*table.solutions, *seeds.solutions)]
assert all(other == found for other in MPI().gather(found))
if MPI().rank == 0:
    print(found)
"""


def test_ranks_share_the_cases(tmp_path: Path) -> None:
    """Each rank has all of them in the end, and they are those of one process."""
    script = tmp_path / "script.py"
    script.write_text(RANKS)
    done = launch(2, script, tmp_path / "kept")
    assert done.returncode == 0, done.stderr
    expected = [
        float(decay(rate).solve(steps=5, seed=seed, **SETTINGS).u(0.5))
        for rate, seed in ((1, 0), (2, 0), (3, 0), (1, 5), (1, 6), (1, 7))
    ]
    assert [float(x) for x in done.stdout.strip("[]\n").split(",")] == expected
    lines = done.stderr.splitlines()  # rank 0 tells of its own
    assert [line.split(":")[0] for line in lines] == ["1/3 rate=1", "2/3 rate=3"]
    assert len(list((tmp_path / "kept").glob("*.h5"))) == 3
