"""Devices by name: the one place that knows them all."""

from __future__ import annotations

from pinnsolve.devices.base import AbstractDevice
from pinnsolve.devices.reference import ReferenceDevice
from pinnsolve.errors import DeviceError

NAMES = ("cpu", "reference", "ascend", "ascend:cpu")


def pick_device(
    device: str | AbstractDevice, precision: str | None = None, threads: int | None = None
) -> AbstractDevice:
    """The device of a name; a device object is itself.

    Args:
        device: "cpu", kernels made for this machine; "reference", the interpreter; "ascend",
            MindSpore on an Ascend device, or with a warning on its CPU target where there is none;
            "ascend:cpu", that target.
        precision: of what the device computes; by default the one that it is best at, which is
            float64 on CPUs and float32 on Ascend.
        threads: of the CPU device.

    Raises:
        DeviceError: another name, or a precision that the device does not have.

    >>> pick_device("reference").name
    'reference'
    """
    if isinstance(device, AbstractDevice):
        return device
    match device:
        case "reference":
            return ReferenceDevice()
        case "cpu":
            from pinnsolve.devices.cpu import CpuDevice  # llvmlite is imported on first use

            return CpuDevice(threads, precision or "float64")
        case "ascend" | "ascend:cpu":
            from pinnsolve.devices.ascend import AscendDevice

            return AscendDevice(device, precision or "float32")
    *some, last = map(repr, NAMES)
    raise DeviceError(
        f"there is no device {device!r}; choose {', '.join(some)} or {last}, or give a device "
        "object"
    )
