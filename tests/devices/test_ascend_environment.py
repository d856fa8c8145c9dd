"""MindSpore missing, broken, of another version, without Ascend; and quiet where it is right."""

import importlib.util
import subprocess
import sys
from types import SimpleNamespace

import pytest

from pinnsolve.devices.ascend import environment
from pinnsolve.devices.ascend.environment import Probe, check_version, load, probe, target
from pinnsolve.errors import DeviceError, DeviceWarning

needs_mindspore = pytest.mark.skipif(
    importlib.util.find_spec("mindspore") is None, reason="MindSpore is not installed"
)


def test_missing_mindspore_is_named_with_the_command_that_installs_it(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "mindspore", None)
    with pytest.raises(DeviceError, match=r"not installed(?s:.*)pip install 'pinnsolve\[ascend\]'"):
        load.__wrapped__()


def test_a_package_that_mindspore_lacks_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "mindspore", raising=False)
    (tmp_path / "mindspore.py").write_text("import a_package_of_another_age")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DeviceError, match=r"cannot be imported: .*a_package_of_another_age"):
        load.__wrapped__()


def test_a_library_that_cannot_be_loaded_is_named(tmp_path, monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "mindspore", raising=False)
    (tmp_path / "mindspore.py").write_text("raise OSError('libfoo.so.2: no such file')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DeviceError, match=r"libfoo\.so\.2(?s:.*)install it again"):
        load.__wrapped__()


@pytest.mark.parametrize("version", ["2.9.0", "2.10.0", "2.11.1rc1"])
def test_versions_that_are_fit(version: str) -> None:
    check_version(version)


@pytest.mark.parametrize("version", ["2.8.0", "1.10.1", "3.0.0", "3.0.0rc1", "nightly"])
def test_versions_that_are_not(version: str) -> None:
    with pytest.raises(DeviceError, match=r"needs at least 2\.9(?s:.*)'mindspore>=2\.9,<3'") as e:
        check_version(version)
    assert version in str(e.value)


@needs_mindspore
def test_a_new_process_prints_nothing_and_warns_of_nothing() -> None:
    code = (
        "import os, sys\n"
        "sys.excepthook = lambda *_: os._exit(3)\n"  # as where an error of one rank ends all
        "from pinnsolve.devices.ascend.environment import load, target\n"
        "assert target('ascend:cpu') == 'CPU'\n"
        "ms = load()\n"
        "print((ms.Tensor([1.0], ms.float32) + 1.0).asnumpy())\n"
        "assert ms.get_current_device().device_target == 'CPU'"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("[2.]\n", "")


@needs_mindspore
def test_without_cann_a_cpu_stands_in_and_says_why() -> None:
    found = probe()
    if found.devices:
        pytest.skip("there is an Ascend device")
    with pytest.warns(DeviceWarning, match=r"no Ascend device: MindSpore cannot load CANN: .*so"):
        assert target("ascend") == "CPU"


@needs_mindspore
def test_asking_for_the_cpu_warns_of_nothing() -> None:
    assert target("ascend:cpu") == "CPU"


def test_unknown_targets_are_refused() -> None:
    with pytest.raises(DeviceError, match="choose 'ascend' or 'ascend:cpu'"):
        target("npu")


# From here on there is no Ascend hardware: what the probe says of it is made up.


def test_cann_without_a_device_says_so(monkeypatch) -> None:
    class Lost(SimpleNamespace):
        def device_count(self) -> int:
            raise RuntimeError("aclInit failed")

    for ascend, reason in [
        (SimpleNamespace(is_available=lambda: True, device_count=lambda: 0), "npu-smi"),
        (Lost(is_available=lambda: True), "aclInit failed"),
    ]:
        fake = SimpleNamespace(device_context=SimpleNamespace(ascend=ascend))
        monkeypatch.setattr(environment, "load", lambda fake=fake: fake)
        assert probe().devices == 0
        assert reason in probe().reason


def test_an_ascend_target_keeps_float32_as_it_is(monkeypatch) -> None:
    called = []

    def note(name: str):
        return lambda value: called.append((name, value))

    precision = SimpleNamespace(
        precision_mode=note("precision_mode"),
        matmul_allow_hf32=note("matmul_allow_hf32"),
        conv_allow_hf32=note("conv_allow_hf32"),
    )
    fake = SimpleNamespace(
        set_device=note("set_device"),
        set_deterministic=note("set_deterministic"),
        device_context=SimpleNamespace(ascend=SimpleNamespace(op_precision=precision)),
    )
    monkeypatch.setattr(environment, "load", lambda: fake)
    monkeypatch.setattr(environment, "_prepare", environment._prepare.__wrapped__)
    monkeypatch.setattr(environment, "probe", lambda: Probe(8, "ascend910b"))
    assert target("ascend") == "Ascend"
    assert called == [
        ("set_device", "Ascend"),
        ("precision_mode", "must_keep_origin_dtype"),
        ("matmul_allow_hf32", False),
        ("conv_allow_hf32", False),
        ("set_deterministic", True),
    ]


def test_a_chip_without_float32_is_refused(monkeypatch) -> None:
    monkeypatch.setattr(environment, "probe", lambda: Probe(8, "ascend910"))
    with pytest.raises(DeviceError, match=r"no float32(?s:.*)Atlas A2"):
        target("ascend")


def test_one_target_a_process(monkeypatch) -> None:
    def set_device(name: str) -> None:
        raise RuntimeError("The 'mindspore.set_device' can not be modified.\nmore")

    fake = SimpleNamespace(
        set_device=set_device, get_current_device=lambda: SimpleNamespace(device_target="CPU")
    )
    monkeypatch.setattr(environment, "load", lambda: fake)
    monkeypatch.setattr(environment, "_prepare", environment._prepare.__wrapped__)
    monkeypatch.setattr(environment, "probe", lambda: Probe(8, "ascend910b"))
    with pytest.raises(DeviceError, match=r"already used it on CPU(?s:.*)one target a process"):
        target("ascend")
