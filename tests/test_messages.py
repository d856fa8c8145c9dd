"""What people are told where something is missing that they have asked for, in their own words:
each case as a script would meet it, in a process in which packages are absent."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve.devices.ascend import environment
from pinnsolve.devices.ascend.environment import Probe, probe
from pinnsolve.devices.choice import pick_device
from pinnsolve.errors import DeviceError, DeviceWarning

ROOT = Path(__file__).parents[1]

# Statements that are tried, with what launched the process and which MindSpore is installed.
SCRIPT = """
import json, os, sys, types

class Absent:
    "Finds no package of these names."

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("mindspore", "mpi4py"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())

import pinnsolve as ps
from pinnsolve.errors import PinnsolveError
x, = ps.coordinates("x")
u = ps.field("u", x)
decay = ps.Problem(u.dx + u, u(0) - 1, domain={x: (0, 1)})

def told(statement, **variables):
    os.environ.update(variables)
    try:
        eval(statement)
    except PinnsolveError as error:
        return f"{type(error).__name__}: {error}"
    finally:
        for name in variables:
            del os.environ[name]
    return "nothing"

found = {
    "device": told("decay.solve(device='ascend', steps=1)"),
    "stage": told("decay.solve(optimizer=ps.Adam().on('ascend'), steps=1)"),
    "jit": told("ps.jit(lambda x: x, device='ascend:cpu')(1.0)"),
    "mpi": told("decay.solve(communicator='mpi', steps=1)"),
    "mpiexec": told("decay.solve(steps=1)", PMI_SIZE="4"),
    "open mpi": told("decay.solve(steps=1)", OMPI_COMM_WORLD_SIZE="3"),
    "srun": told("decay.solve(steps=1)", SLURM_STEP_NUM_TASKS="8"),
    "not by msrun": told("decay.solve(communicator='mindspore', steps=1)"),
    "msrun": told("decay.solve(steps=1)", MS_WORKER_NUM="2"),
    "alone": told("decay.solve(communicator='serial', progress=False, steps=1)", PMI_SIZE="4"),
}
sys.modules["mindspore"] = types.SimpleNamespace(__version__="2.5.0")
found["old"] = told("decay.solve(device='ascend', steps=1)")
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, str]:
    """The message of each statement."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=ROOT, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("where", ["device", "stage", "jit"])
def test_mindspore_is_absent(told: dict[str, str], where: str) -> None:
    assert told[where].startswith("DeviceError: the device 'ascend' needs MindSpore")
    assert "pip install 'pinnsolve[ascend]'" in told[where]
    assert "device='cpu'" in told[where]


def test_mindspore_is_of_another_version(told: dict[str, str]) -> None:
    assert told["old"].startswith("DeviceError: MindSpore 2.5.0 is installed")
    assert "pip install 'mindspore>=2.9,<3'" in told["old"]


def test_mpi4py_is_absent(told: dict[str, str]) -> None:
    assert told["mpi"].startswith("DeviceError: communicator 'mpi' needs mpi4py")
    assert "pip install 'pinnsolve[mpi]'" in told["mpi"]


@pytest.mark.parametrize(("launcher", "size"), [("mpiexec", 4), ("open mpi", 3), ("srun", 8)])
def test_launched_without_mpi4py(told: dict[str, str], launcher: str, size: int) -> None:
    assert f"one of {size} processes that " in told[launcher]
    assert "pip install 'pinnsolve[mpi]'" in told[launcher]
    assert 'communicator="serial"' in told[launcher]


def test_launched_processes_may_work_alone(told: dict[str, str]) -> None:
    assert told["alone"] == "nothing"


def test_msrun_without_mindspore(told: dict[str, str]) -> None:
    assert "needs MindSpore" in told["msrun"]


def test_collectives_of_mindspore_without_msrun(told: dict[str, str]) -> None:
    assert "msrun --worker_num=2" in told["not by msrun"]
    assert "mpiexec" in told["not by msrun"]


@pytest.mark.skipif(
    importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed"
)
def test_cann_is_absent() -> None:
    if probe().devices:
        pytest.skip("there is an Ascend device")
    with pytest.warns(DeviceWarning, match="runs on MindSpore's CPU target") as said:
        assert ps.jit(lambda x: 2 * x, device="ascend")(3.0) == 6.0
    for text in ("no Ascend device", "set_env.sh", "device='ascend:cpu'", "device='cpu'"):
        assert text in str(said[0].message)


def test_float64_on_ascend(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the hardware, only that it is there is made up."""
    monkeypatch.setattr(environment, "probe", lambda: Probe(8, "ascend910b"))
    monkeypatch.setattr(environment, "_prepare", lambda wanted: None)
    with pytest.raises(DeviceError, match="float64") as error:
        ps.jit(lambda x: 2 * x, device=pick_device("ascend", "float64"))(np.ones(3))
    for text in ("float32", ".on('ascend')", ".on('cpu')", "device='cpu'"):
        assert text in str(error.value)
