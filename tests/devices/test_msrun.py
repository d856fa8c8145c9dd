"""Processes that msrun has started, for real: on MindSpore's CPU target, two of them."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.devices.ascend.communication import MindSporeCollective
from pinnsolve.errors import DeviceError
from tests.devices.msrun_ranks import numbers, solved

ROOT = Path(__file__).parents[2]
MSRUN = Path(sys.executable).with_name("msrun")
TAG, PATIENCE = "PINNSOLVE_TEST_OF_MSRUN", 240  # seconds; 20 on a quiet machine

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed"
)


def tagged(tag: str) -> Iterator[int]:
    """Processes that have the variable TAG = tag: workers are in sessions of their own."""
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{TAG}={tag}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                yield int(folder.name)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def launch(folder: Path, *script: str | Path) -> str:
    """What msrun and its processes print; none of them is left, whatever happens."""
    variables = {
        TAG: str(folder),
        "PYTHONPATH": str(ROOT),
        "PATH": f"{MSRUN.parent}:{os.environ['PATH']}",
        "PINNSOLVE_THREADS": "1",
    }
    where = ["--master_addr=127.0.0.1", f"--master_port={free_port()}", "--join=True"]
    count = ["--worker_num=2", "--local_worker_num=2", f"--log_dir={folder / 'log'}"]
    try:
        done = subprocess.run(
            [MSRUN, *count, *where, *script],
            env=os.environ | variables,
            cwd=folder,  # where MindSpore may leave files
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    finally:
        for process in tagged(str(folder)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
    logs = [f"{file.name}:\n{file.read_text()}" for file in sorted(folder.glob("log/*"))]
    printed = "\n".join([done.stdout, done.stderr, *logs])
    assert done.returncode == 0, printed
    return printed


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What rank 0 of two has seen."""
    folder = tmp_path_factory.mktemp("msrun")
    launch(folder, ROOT / "tests/devices/msrun_ranks.py", folder / "found.json")
    return json.loads((folder / "found.json").read_text())


def test_processes_know_their_places(found: dict[str, Any]) -> None:
    assert found["text"].startswith("MindSporeCollective(rank 0 of 2 on ")
    assert found["local"] == 2


def test_sums_are_those_of_float64_to_the_last_bit(found: dict[str, Any]) -> None:
    assert (np.array(found["sums"]) == numbers(0) + numbers(1)).all()
    assert found["scalar"] == 0.1 + 1.1
    assert found["empty"] == [0, 3]


def test_sums_are_the_same_on_all_and_stay(found: dict[str, Any]) -> None:
    assert found["same on all"] == 1
    assert found["unchanged"]


def test_sums_by_the_library_have_the_digits_of_float32(found: dict[str, Any]) -> None:
    scale = np.abs(numbers(0)) + np.abs(numbers(1))
    errors = np.abs(np.array(found["sums in float32"]) - numbers(0) - numbers(1)) / scale
    assert 1e-9 < errors.max() < 2**-23


def test_whatever_can_be_pickled_travels(found: dict[str, Any]) -> None:
    assert found["short"] == ["of rank", 0]
    assert found["long"]
    assert found["gathered"] == [1, 5001]


def test_numbers_of_any_rank_reach_all(found: dict[str, Any]) -> None:
    assert found["spread"]


def test_first_order_on_the_device_is_that_of_one_process(found: dict[str, Any]) -> None:
    alone = solved(ps.Adam(schedule=ps.Constant(0.01)))  # in float64, by other code
    assert np.array(found["by Adam on MindSpore"]) == pytest.approx(alone, abs=1e-5)


def test_second_order_on_the_host_is_that_of_one_process(found: dict[str, Any]) -> None:
    alone = solved(ps.LevenbergMarquardt())
    assert np.array(found["by second order"]) == pytest.approx(alone, abs=1e-10)


def test_without_msrun_the_message_names_it() -> None:
    with pytest.raises(DeviceError, match=r"msrun has started(?s:.*)msrun --worker_num=2"):
        MindSporeCollective()


def test_a_process_that_does_not_come_is_told_in_words() -> None:
    def waits(tensor: Any) -> Any:
        raise RuntimeError("Launch kernel failed, name:Default/AllGather-op0\nC++ Call Stack")

    ranks = object.__new__(MindSporeCollective)
    ranks._mindspore, ranks._all_gather = SimpleNamespace(Tensor=np.asarray), waits
    ranks.rank, ranks.size, ranks.reduction = 0, 2, "float64"
    with pytest.raises(DeviceError, match=r"AllGather-op0\)\..* 30 s(?s:.*)use mpiexec"):
        ranks.allreduce_sum(np.ones(2))


def test_unknown_reductions_are_refused() -> None:
    with pytest.raises(DeviceError, match="float64 or float32, not 'exact'"):
        MindSporeCollective("exact")
