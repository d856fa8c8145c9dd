"""The report of `python -m pinnsolve doctor`: it finds what is wrong, and is always finished."""

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pinnsolve as ps
from pinnsolve import __main__ as command_line
from pinnsolve import doctor
from pinnsolve.devices.ascend.probes import cann_version
from pinnsolve.devices.base import AbstractDevice, AbstractExecutable
from pinnsolve.devices.reference import ReferenceDevice, ReferenceExecutable, ReferenceObjective
from pinnsolve.doctor import Section, apart, examine, packages, read_problem
from pinnsolve.errors import DeviceError, FileError
from pinnsolve.self_check import Case, Finding

ROOT = Path(__file__).parents[1]
installed = importlib.metadata.version


def problem_file(folder: Path, text: str) -> str:
    file = folder / "stated.py"
    file.write_text(f"import pinnsolve as ps\nx, = ps.coordinates('x')\n{text}")
    return str(file)


STATED = "u = ps.field('u', x)\nproblem = ps.Problem(u.dx + u, u(0) - 1, domain={x: (0, 1)})\n"


# --- packages ------------------------------------------------------------------------------------


def test_oldest_versions_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    for name, oldest, extra in doctor.PACKAGES:
        (line,) = [line for line in groups[extra] if line.startswith((f"{name}>", f"{name} >"))]
        assert f"{name}>={oldest}" in line.split(";")[0]
    listed = {name for name, _, extra in doctor.PACKAGES if not extra}
    assert listed == {line.split(">")[0] for line in groups[""]}


def version_of(changes: dict[str, str | None]) -> Any:
    """As if some packages had another version, or none."""

    def version(name: str) -> str:
        if changes.get(name, "") is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return changes.get(name) or installed(name)

    return version


@pytest.mark.parametrize(
    ("name", "version", "right", "text"),
    [
        ("numpy", "1.9.3", False, r"1\.9\.3, but at least 1\.26 .*'numpy>=1\.26'"),
        ("numpy", "1.100", True, r"1\.100"),
        ("llvmlite", None, False, "not installed; pip install 'llvmlite>="),
        ("mindspore", None, None, r"not installed; pip install 'pinnsolve\[ascend\]'"),
        ("mpi4py", None, None, r"not installed; pip install 'pinnsolve\[mpi\]'"),
        ("mindspore", "2.8.0", False, r"at least 2\.9 is needed"),
    ],
)
def test_versions_are_judged(name, version, right, text, monkeypatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", version_of({name: version}))
    (found,) = [finding for finding in packages() if finding.name == name]
    assert found.right is right
    assert re.search(text, found.text)


def test_a_cache_that_cannot_be_written_is_wrong(tmp_path, monkeypatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PINNSOLVE_CACHE", str(tmp_path / "file" / "cache"))
    cache = doctor.settings()[0]
    assert cache.right is False
    assert "set PINNSOLVE_CACHE" in cache.text


# --- the whole report ----------------------------------------------------------------------------


def test_the_report_needs_neither_mindspore_nor_mpi4py(monkeypatch, capsys) -> None:
    absent: dict[str, str | None] = {"mindspore": None, "mpi4py": None}
    monkeypatch.setattr(importlib.metadata, "version", version_of(absent))
    monkeypatch.setattr(doctor, "apart", lambda *a: [Finding(" ".join(map(str, a)), "", True)])
    assert command_line.main(["doctor"]) == 0
    printed = capsys.readouterr().out
    for text in ("System", "python", "Device cpu, float64", "alone; mpiexec -n 2", "in order"):
        assert text in printed
    assert "MindSpore" not in printed
    assert printed.isascii()


def test_with_mindspore_it_is_checked_too(monkeypatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", version_of({"mindspore": "2.10.0"}))
    monkeypatch.setattr(doctor, "apart", lambda *a: [])
    titles = [section.title for section in examine()]
    assert titles[3:] == [
        "Device cpu, float64",
        "Device cpu, float32",
        "Device ascend, float32",
        "Device ascend:cpu, float64",
        "MindSpore",
    ]
    assert [s.title for s in examine(devices=["cpu"])][3:] == titles[3:5]


def test_what_is_wrong_is_marked_and_is_the_exit_status(monkeypatch, capsys) -> None:
    section = Section("Packages", (Finding("numpy", "too old", right=False),))
    monkeypatch.setattr(command_line, "examine", lambda *a: iter([section]))
    assert command_line.main(["doctor"]) == 1
    printed = capsys.readouterr().out
    assert "  WRONG  numpy  too old" in printed
    assert printed.endswith("WRONG: Packages: numpy\n")


def test_a_launcher_without_its_package_is_wrong(monkeypatch) -> None:
    def pick(choice: str = "auto") -> Any:
        if choice == "auto":
            raise DeviceError("this is one of 2 processes; pip install 'pinnsolve[mpi]'")
        return serial

    serial = doctor.pick_communicator("serial")
    monkeypatch.setattr(doctor, "pick_communicator", pick)
    ranks, section = doctor.processes()
    assert ranks is serial
    assert section.wrong == ["Processes: launched"]


@pytest.mark.skipif(importlib.util.find_spec("mpi4py") is None, reason="mpi4py is not installed")
def test_ranks_are_checked() -> None:
    code = """if True:
        from pinnsolve.doctor import processes
        ranks, section = processes()
        if ranks.rank == 0:
            print(section)
    """
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("mpiexec is not that of the environment")
    done = subprocess.run(
        [mpiexec, "-n", "2", sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert "rank 0 of 2" in done.stdout
    assert "ok     sum        the same on all ranks" in done.stdout
    assert "WRONG" not in done.stdout


# --- checks in processes of their own ------------------------------------------------------------


def test_the_cpu_device_is_right_in_a_process_of_its_own(tmp_path) -> None:
    found = apart("check_device", "cpu", "float64", problem_file(tmp_path, STATED))
    assert [finding.right for finding in found] == [None, True, True, True, True]
    assert found[-1].text.endswith("random weights")


def test_a_process_that_dies_is_a_line_of_the_report(tmp_path) -> None:
    file = problem_file(tmp_path, "import os; os.abort()")
    (found,) = apart("check_device", "cpu", "float64", file)
    assert found.right is False
    assert found.text.startswith("has ended with -6")


def test_an_error_in_a_file_is_a_line_of_the_report(tmp_path) -> None:
    (found,) = apart("check_device", "cpu", "float64", problem_file(tmp_path, "v"))
    assert found.text == "has ended with 1: NameError: name 'v' is not defined"


@pytest.mark.skipif(
    importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed"
)
def test_mindspore_is_looked_at() -> None:
    found = {finding.name: finding.text for finding in apart("check_mindspore")}
    assert found["mindspore"] == installed("mindspore")
    assert found["trap: gradients of gradients, compiled"] == "not in this one"
    product = found["float64"].split()
    assert (product[0], float(product[1].rstrip(","))) == ("matmul", pytest.approx(0, abs=1e-14))
    if found["mindspore"].startswith("2.10."):
        for trap in ("gradients of gradients, run eagerly", "a Python number beside float64"):
            assert found[f"trap: {trap}"].startswith("relative error")
        for trap in ("set_data after compilation", "asnumpy shows memory in use"):
            assert "avoided: " in found[f"trap: {trap}"]


# --- files of problems ---------------------------------------------------------------------------


def test_a_file_states_a_problem_and_its_network(tmp_path) -> None:
    text = STATED + "def network(): return ps.MLP(1, 1, width=3, depth=1)\n"
    problem, network = read_problem(problem_file(tmp_path, text))
    assert problem.fields[0].name == "u"
    assert repr(network).startswith("MLP")


def test_a_missing_file_is_named(tmp_path) -> None:
    with pytest.raises(FileError, match=r"there is no file .*none\.py"):
        read_problem(str(tmp_path / "none.py"))


@pytest.mark.parametrize("text", ["", "problem = 3\n"])
def test_a_file_without_a_problem_is_refused(text: str, tmp_path) -> None:
    with pytest.raises(FileError, match=r"has no problem; write `problem = ps.Problem"):
        read_problem(problem_file(tmp_path, text))


# --- what a check finds --------------------------------------------------------------------------

x, t = ps.coordinates("x t")
u = ps.field("u", x, t)
heat = ps.Problem(u.dt - u.dxx, u(x, 0) - x, u(0, t), u(1, t) - 1, domain={x: (0, 1), t: (0, 1)})
small = ps.MLP(2, 1, width=4, depth=2)


class Broken(ReferenceObjective):
    """What is wrong with it is a method of a subclass."""


class Slope(Broken):
    """One entry of the gradient is off."""

    def loss_gradient(self, theta: Any) -> Any:
        loss, gradient = super().loss_gradient(theta)
        gradient[np.argmax(np.abs(gradient))] *= 1.001
        return loss, gradient


class Frozen(Broken):
    """The parameters of the first call are used for ever."""

    def residuals(self, theta: Any) -> Any:
        self.first = getattr(self, "first", theta)
        return super().residuals(self.first)


class Reused(Broken):
    """Results are in memory that later ones are written to."""

    def loss_gradient(self, theta: Any) -> Any:
        loss, gradient = super().loss_gradient(theta)
        self.memory = getattr(self, "memory", gradient)
        self.memory[:] = gradient
        return loss, self.memory


class DeviceOf(AbstractDevice):
    """The interpreter with another objective."""

    name = "broken"

    def __init__(self, objective: type[ReferenceObjective]) -> None:
        self.objective = objective

    def compile(self, blocks: Any, layout: Any) -> AbstractExecutable:
        objective = self.objective

        class Executable(ReferenceExecutable):
            def bind(self, points: Any) -> ReferenceObjective:
                return objective(self, tuple(points))

        return Executable(tuple(blocks), layout)

    def function(self, outputs: Any, rewrites: bool = True) -> Any:
        raise NotImplementedError


@pytest.fixture(scope="module")
def case() -> Case:
    return Case.of(heat, small)


def wrong(case: Case, objective: type[ReferenceObjective]) -> list[str]:
    return [f.name for f in case.findings(DeviceOf(objective), "float64") if f.right is False]


def test_the_interpreter_agrees_with_differences(case: Case) -> None:
    found = case.findings(ReferenceDevice(), "float64")
    assert all(finding.right is not False for finding in found)
    assert float(found[-1].text.split()[0]) < 1e-9


def test_a_wrong_gradient_is_found(case: Case) -> None:
    assert "loss, gradient" in wrong(case, Slope)


def test_parameters_that_are_not_seen_are_found(case: Case) -> None:
    assert wrong(case, Frozen) == ["residuals"]


def test_results_that_change_are_found(case: Case) -> None:
    assert wrong(case, Reused) == ["results"]


def test_residuals_that_are_no_numbers_are_located() -> None:
    from sympy import log

    stated = ps.Problem(u.dt - log(x - 0.5) * u, u(x, 0) - x, domain={x: (0, 1), t: (0, 1)})
    found = Case.of(stated, small).findings(ReferenceDevice(), "float64")
    assert [finding.right for finding in found] == [False]
    assert "not finite at 32 of 64 points, such as x=0." in found[0].text


# --- CANN, from files as its installers write them -----------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "version"),
    [
        ("compiler/version.info", "Version=8.5.0\nversion_dir=8.5.0\n", "8.5.0"),
        ("version.cfg", "[cann]\nruntime_running_version=[8.3.RC1:8.3.RC1]\n", "8.3.RC1"),
        ("ascend_toolkit_install.info", "package_name=Ascend-cann\nversion=9.0.0\n", "9.0.0"),
    ],
)
def test_the_version_of_cann_is_read(name, text, version, tmp_path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert cann_version([tmp_path / "none", tmp_path]) == f"{version} in {tmp_path}"


def test_without_cann_the_script_to_source_is_named(tmp_path) -> None:
    assert "set_env.sh" in cann_version([tmp_path])
