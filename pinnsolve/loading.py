"""Load: what a file of the library holds."""

from __future__ import annotations

from pathlib import Path

from pinnsolve import solution
from pinnsolve.devices.base import AbstractDevice
from pinnsolve.errors import DeviceError
from pinnsolve.exporting import LoadedFunction, load_function
from pinnsolve.solution import Solution


def load(path: str | Path, device: str | AbstractDevice | None = None) -> Solution | LoadedFunction:
    """Read what :meth:`Solution.save` or :func:`pinnsolve.export` wrote.

    Args:
        path: the file; the script that made it is not needed, and nothing in it is executed.
        device: where an exported function runs: "cpu" (if not given), "reference" or a device
            object. A solution takes none.

    Returns:
        A `Solution`, or for an exported function a callable with its parameters.

    Raises:
        FileError: the file is missing, damaged, foreign, or of a newer version.
        DeviceError: no such device, or one for a solution.
    """
    from pinnsolve import function_file

    if function_file.format_of(path) == function_file.FORMAT:
        return load_function(path, "cpu" if device is None else device)
    if device is not None:
        raise DeviceError(f"{path} is not an exported function, and takes no device")
    return solution.load(path)
