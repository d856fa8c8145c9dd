"""Problems that several processes solve together, started by mpiexec."""

import json
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy import Eq

import pinnsolve as ps
from pinnsolve.training.policy import Choice
from tests.devices.ranks import on_ranks
from tests.heat import HEAT, t, u, x
from tests.mpi import MPIEXEC, ROOT, launch

SCRIPT = ROOT / "tests/solve_ranks.py"
SETTINGS: dict[str, Any] = {
    "network": ps.MLP(2, 1, width=8, depth=1),
    "device": "reference",
    "progress": False,
}

pytestmark = pytest.mark.skipif(not MPIEXEC.exists(), reason="mpiexec is not installed")


def theta(solution: ps.Solution) -> np.ndarray:
    return np.concatenate([np.ravel(w) for w in solution.weights.values()])


def printed(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What each part has found."""
    parts = [json.loads(line) for line in done.stdout.splitlines() if line[:2] == '{"']
    return {name: found for part in parts for name, found in part.items()}


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path, Any]:
    """Most parts, on two ranks; in the end one is killed."""
    folder = tmp_path_factory.mktemp("two")
    names = "exchange,declared,command_line,interrupted,called_back,clocks,rounding,windows"
    names += ",unreadable,checkpoint"
    variables = {"PINNSOLVE_CACHE": str(folder / "cache")}
    done = launch(2, SCRIPT, f"{names},resumed,dying", "10", cwd=folder, **variables)
    found = printed(done)
    assert list(found) == [*names.split(","), "resumed"], done.stderr
    return found, folder, done


@pytest.fixture(scope="module")
def three(two) -> tuple[dict[str, Any], Any]:
    """The killed run goes on, on three ranks; then one has an error."""
    done = launch(3, SCRIPT, "checkpoint,fails", "20", cwd=two[1])
    return printed(done), done


def test_a_problem_file_on_two_ranks_gives_the_answer_of_one(two) -> None:
    found, folder, _ = two
    assert found["command_line"]["same"]
    alone = HEAT.solve(network=SETTINGS["network"], steps=8, progress=False)
    assert np.abs(found["command_line"]["theta"] - theta(alone)).max() < 1e-10
    assert found["command_line"]["ranks"].startswith("2 (mpi), ")
    saved = ps.load(folder / "out/solve_ranks.h5")
    assert theta(saved).tolist() == found["command_line"]["theta"]


def test_arrays_arrive_as_they_were_sent(two) -> None:
    assert two[0]["exchange"]["right"] == [True, True]


def test_one_rank_shows_writes_and_prints(two) -> None:
    _, folder, done = two
    assert sorted(p.name for p in (folder / "out").iterdir()) == [
        "solve_ranks.h5",
        "solve_ranks.png",
    ]
    assert done.stdout.count("Solution of u(x, t)") == 1
    assert done.stderr.count("stopped after 8 steps") == 1


def test_one_rank_warns_of_what_all_declare(two) -> None:
    found, _, done = two
    assert found["declared"]["verdicts"] == ["warning", "warning"]
    assert done.stderr.count("PS-W003") == 1


def test_one_rank_compiles(two) -> None:
    first, second = two[0]["command_line"]["compiled"]
    assert first > 5
    assert second == 0


@pytest.mark.parametrize("part", ["interrupted", "called_back"])
def test_an_interrupt_of_one_rank_ends_all_at_the_same_step(two, part: str) -> None:
    found = two[0][part]
    assert found["same"]
    assert found["reason"] == "interrupted"
    if part == "called_back":
        assert found["called"][0] > 0
        assert found["called"][1] == 0
        assert found["steps"] == 100


def test_the_clock_is_that_of_rank_0(two) -> None:
    assert two[0]["clocks"]["same"]
    assert two[0]["clocks"]["reason"] == "0.4 s of training done"


def test_numbers_that_drift_apart_are_set_to_those_of_rank_0(two) -> None:
    found = two[0]["rounding"]
    assert found["same"]
    assert found["ranks"].endswith("they rounded differently, so rank 0 sent its numbers")
    alone = HEAT.solve(**SETTINGS, optimizer=ps.Adam(steps=None), steps=250)
    assert np.abs(found["theta"] - theta(alone)).max() < 1e-8


def test_windows_are_the_same_and_each_has_one_checkpoint(two) -> None:
    found = two[0]["windows"]
    assert found["same"]
    assert found["files"] == ["windows-1.h5", "windows-2.h5"]
    alone = HEAT.solve(**SETTINGS, steps=20, windows=2)
    assert np.abs(found["theta"] - theta(alone)).max() < 1e-9


def test_what_rank_0_cannot_read_is_told_to_all(two) -> None:
    first, second = two[0]["unreadable"]["errors"]
    assert "solve_ranks.py is not an HDF5 file" in first
    assert second == first


def test_a_run_resumes_exactly(two) -> None:
    found = two[0]["resumed"]
    assert found["same"]
    assert found["steps"] == 20
    assert found["theta"] == found["whole"]


def test_a_killed_rank_ends_all_and_any_number_goes_on(two, three) -> None:
    """On two ranks of which one is killed, on three, and alone."""
    _, folder, done = two
    assert done.returncode != 0
    assert "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES" in done.stdout
    found = three[0]["checkpoint"]
    assert found["same"]
    assert found["steps"] == 20
    assert found["ranks"].startswith("3 (mpi), ")
    resumed = HEAT.solve(**SETTINGS, steps=30, checkpoint=folder / "run.h5")
    alone = HEAT.solve(**SETTINGS, steps=30)
    assert resumed.steps == 30
    assert np.abs(theta(resumed) - theta(alone)).max() < 1e-8


def test_a_reproducible_run_goes_on_with_any_number_to_the_last_bit(tmp_path: Path) -> None:
    """On two ranks of which one is killed, on three, and alone with two threads."""
    options = SETTINGS | {"device": "cpu", "reproducible": True, "steps": 40}
    killed = launch(2, SCRIPT, "exact,dying_exact", "10", cwd=tmp_path)
    assert killed.returncode != 0
    assert list(printed(killed)) == ["exact"], killed.stderr
    found = printed(launch(3, SCRIPT, "exact", "30", cwd=tmp_path))["exact"]
    assert found["same"]
    assert found["steps"] == 30
    resumed = HEAT.solve(**options, threads=2, checkpoint=tmp_path / "exact.h5")
    whole = HEAT.solve(**options, threads=1)
    assert resumed.steps == whole.steps == 40
    assert theta(resumed).tolist() == theta(whole).tolist()
    assert [r.losses for r in resumed.history] == [r.losses for r in whole.history]
    assert found["theta"] == theta(HEAT.solve(**options | {"steps": 30})).tolist()
    reproducible = "; reproducible on any number of ranks and threads"
    assert found["ranks"].startswith("3 (mpi), ")
    assert found["ranks"].endswith(reproducible)
    assert resumed.details["ranks"] == f"1, 2 threads{reproducible}"


def test_an_error_of_one_rank_ends_all_with_its_message(three) -> None:
    done = three[1]
    assert done.returncode != 0
    assert "rank 1: Traceback" in done.stderr
    assert "ValueError: this rank has had enough" in done.stderr
    assert "rank 0:" not in done.stderr


@pytest.mark.slow
def test_an_error_of_all_ranks_is_told_once() -> None:
    done = launch(2, SCRIPT, "refused")
    assert done.returncode != 0
    assert done.stderr.count("steps must be positive, not -1") == 1


def test_a_correction_is_the_same_on_ranks() -> None:
    rough = HEAT.solve(**SETTINGS, steps=8)
    options = SETTINGS | {"correct": rough, "steps": 8}
    alone = HEAT.solve(**options)
    ranks = on_ranks(2, lambda c: HEAT.solve(**options, communicator=c))
    assert np.abs(theta(ranks[1]) - theta(alone)).max() < 1e-10


def test_numbers_to_be_found_are_the_same_on_ranks_with_their_errors() -> None:
    nu = ps.unknown("nu", guess=0.3, bounds=(0.01, 1))
    places = np.random.default_rng(0).uniform(0, 1, (2, 41))
    values = np.exp(-0.1 * np.pi**2 * places[1]) * np.sin(np.pi * places[0])
    values += 1e-3 * np.cos(1000 * places[0])  # noise
    observed = ps.observations({u: values}, at={x: places[0], t: places[1]})
    problem = ps.Problem(
        Eq(u.dt, nu * u.dxx), u(0, t), u(1, t), observed, domain={x: (0, 1), t: (0, 1)}
    )
    alone = problem.solve(**SETTINGS, steps=12).parameters["nu"]
    solution = on_ranks(3, lambda c: problem.solve(**SETTINGS, steps=12, communicator=c))[2]
    found = solution.parameters["nu"]
    assert found.value == pytest.approx(alone.value, rel=1e-9)
    assert found.error == pytest.approx(alone.error, rel=1e-6)
    assert solution.save("nowhere/never.h5") == Path("nowhere/never.h5")  # rank 2 writes nothing
    assert not Path("nowhere").exists()


def test_what_was_chosen_for_some_threads_stays_with_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the policy would choose other points for the threads of all ranks."""

    def choose(*_: Any, threads: int, **__: Any) -> Choice:
        return Choice(ps.LevenbergMarquardt(), ps.Points(first=threads), "", threads)

    monkeypatch.setattr(import_module("pinnsolve.runs.solve"), "choose", choose)
    file = tmp_path / "run.h5"
    HEAT.solve(**SETTINGS, steps=2, checkpoint=file)
    resumed = on_ranks(
        2, lambda c: HEAT.solve(**SETTINGS, steps=4, checkpoint=file, communicator=c)
    )
    alone = HEAT.solve(**SETTINGS, steps=4)
    assert np.abs(theta(resumed[1]) - theta(alone)).max() < 1e-10
