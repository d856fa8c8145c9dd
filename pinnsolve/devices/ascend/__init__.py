"""The Ascend device: programs compiled by MindSpore, for Ascend or for its CPU target."""

from pinnsolve.devices.ascend.device import AscendDevice

__all__ = ["AscendDevice"]
