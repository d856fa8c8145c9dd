"""The CPU device."""

from pinnsolve.devices.cpu.device import CpuDevice

__all__ = ["CpuDevice"]
