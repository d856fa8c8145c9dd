"""Communicators by themselves; `tests/test_ranks.py` runs several processes."""

import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from pinnsolve.devices.communication import (
    AbstractCommunicator,
    Serial,
    end_all_on_error,
    first_does,
    pick_communicator,
    threads_of_rank,
    together,
)
from pinnsolve.errors import DeviceError
from pinnsolve.options import Launcher

ROOT = Path(__file__).parents[2]


class Recorded(AbstractCommunicator):
    """One rank of several, with the answers of the others given."""

    name, local_size = "recorded", 2

    def __init__(self, rank: int, others: Any) -> None:
        self.rank, self.size, self.others = rank, 2, others
        self.told = ""

    def allreduce_sum(self, array: Any) -> Any:
        return array + self.others

    def broadcast(self, value: Any) -> Any:
        return value if self.rank == 0 else self.others

    def gather(self, value: Any) -> list[Any]:
        both = [value, self.others]
        return both if self.rank == 0 else both[::-1]

    def abort(self, message: str) -> NoReturn:
        self.told = message
        raise SystemExit(1)


def test_one_process_has_its_own_values() -> None:
    alone, array = Serial(), np.arange(3)
    total = alone.allreduce_sum(array)
    assert total.dtype == float
    assert total.tolist() == [0, 1, 2]
    assert not np.shares_memory(total, array)
    assert alone.broadcast("a") == "a"
    assert alone.gather(4) == [4]


def test_one_process_aborts_with_the_message(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        Serial().abort("no more")
    assert capsys.readouterr().err == "no more\n"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Launcher()),
        ({"PMI_SIZE": "1"}, Launcher()),
        ({"PMI_SIZE": "4", "PMI_RANK": "3"}, Launcher("mpiexec", 4, 3)),
        (
            {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1", "SLURM_STEP_NUM_TASKS": "1"},
            Launcher("mpiexec", 2, 1),
        ),
        ({"SLURM_STEP_NUM_TASKS": "64", "SLURM_PROCID": "9"}, Launcher("srun", 64, 9)),
        ({"SLURM_STEP_NUM_TASKS": "64"}, Launcher("srun", 64)),
        ({"SLURM_PROCID": "9"}, Launcher()),
        ({"MS_WORKER_NUM": "8"}, Launcher("msrun", 8)),
        ({"MS_WORKER_NUM": "1"}, Launcher("msrun", 1)),
        ({"PMI_SIZE": "many"}, Launcher()),
    ],
)
def test_the_launcher_is_found(environment: dict[str, str], expected: Launcher) -> None:
    assert Launcher.from_environment(environment) == expected


def test_a_communicator_is_itself_and_no_launcher_means_one_process() -> None:
    given = Recorded(0, 0)
    assert pick_communicator(given) is given
    assert isinstance(pick_communicator("auto", Launcher()), Serial)


def test_a_process_that_a_rank_starts_is_no_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setattr("multiprocessing.parent_process", object)
    assert isinstance(pick_communicator(), Serial)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(DeviceError, match="there is no communicator 'ray'; choose 'auto'"):
        pick_communicator("ray")


def test_a_launcher_of_another_mpi_is_refused() -> None:
    with pytest.raises(DeviceError, match=r"one of 4 processes that srun started.*--mpi=pmi2"):
        pick_communicator("auto", Launcher("srun", 4))


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, "communicator 'mpi' needs mpi4py; install it with: pip install 'pinnsolve[mpi]'"),
        (
            {"PMI_SIZE": "2"},
            "one of 2 processes that mpiexec started, but communicator 'mpi' needs",
        ),
    ],
    ids=["asked for", "launched"],
)
def test_without_mpi4py_the_message_says_how_to_install_it(
    variables: dict[str, str], message: str
) -> None:
    code = """if True:
        import sys
        sys.modules["mpi4py"] = None  # as if it were not installed
        from pinnsolve.devices.communication import pick_communicator
        from pinnsolve.options import Launcher
        pick_communicator("auto" if Launcher.from_environment().size > 1 else "mpi")
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=variables
    )
    assert done.returncode == 1
    assert message in done.stderr


def test_what_rank_0_raises_is_raised_everywhere() -> None:
    error = FileNotFoundError("run.h5")

    def fails() -> int:
        raise error

    with pytest.raises(FileNotFoundError, match=r"run\.h5"):
        first_does(Recorded(0, None), fails)
    with pytest.raises(FileNotFoundError, match=r"run\.h5"):
        first_does(Recorded(1, (None, error)), lambda: 1)


def test_only_rank_0_acts() -> None:
    def never() -> int:
        raise AssertionError

    assert first_does(Recorded(0, None), lambda: 7) == 7
    assert first_does(Recorded(1, (7, None)), never) == 7


def test_an_error_of_one_rank_ends_all_with_its_message() -> None:
    rank = Recorded(0, None)
    with pytest.raises(SystemExit), together(rank):
        raise ValueError("no such thing")
    assert rank.told.endswith("ValueError: no such thing\n")
    with pytest.raises(ValueError, match="alone"), together(Serial()):
        raise ValueError("alone")


def test_an_error_that_somebody_only_prints_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    printed: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: printed.append(error))
    rank, error = Recorded(0, None), ValueError("harmless")
    end_all_on_error(rank)
    hook = sys.excepthook
    end_all_on_error(rank)
    assert sys.excepthook is hook
    sys.excepthook(ValueError, error, None)
    assert printed == [error]
    assert rank.told == ""


@pytest.mark.parametrize(
    ("mine", "other", "expected"),
    [
        ({0, 1, 2, 3}, ("here", {0, 1, 2, 3}), 2),  # shared by both
        ({0, 1}, ("here", {2, 3}), 2),  # pinned
        ({0, 1, 2, 3}, ("there", {0, 1, 2, 3}), 4),  # on different machines
        ({0, 1, 2, 3}, ("here", {2, 3}), 3),  # half of two, and two
        ({0}, ("here", {0}), 1),  # more ranks than cores
    ],
)
def test_threads_divide_what_ranks_share(
    mine: set[int], other: tuple[str, set[int]], expected: int
) -> None:
    rank = Recorded(1, (other[0], frozenset(other[1])))
    assert threads_of_rank(rank, "here", frozenset(mine)) == expected
