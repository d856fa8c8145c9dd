"""Load: what a file of the library holds."""

from __future__ import annotations

from pathlib import Path

from pinnsolve.devices.base import AbstractDevice
from pinnsolve.errors import DeviceError, FileError
from pinnsolve.formats.exporting import LoadedFunction, load_function
from pinnsolve.solutions import solution
from pinnsolve.solutions.ensemble import KIND, Ensemble, ensemble_from_data
from pinnsolve.solutions.solution import Solution


def load(
    path: str | Path, device: str | AbstractDevice | None = None
) -> Solution | Ensemble | LoadedFunction:
    """Read what :meth:`Solution.save`, :meth:`Ensemble.save` or :func:`pinnsolve.export` wrote.

    Args:
        path: the file; the script that made it is not needed, and nothing in it is executed.
        device: where an exported function runs: "cpu" (if not given), "reference" or a device
            object. Solutions take none.

    Returns:
        A `Solution`, an `Ensemble`, or for an exported function a callable with its parameters.

    Raises:
        FileError: the file is missing, damaged, foreign, or of a newer version.
        DeviceError: no such device, or one for a solution.

    >>> import tempfile
    >>> import pinnsolve as ps
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = ps.export(lambda x, y: {"sum": x + y}, f"{folder}/sum.h5", 0.0, 0.0)
    ...     loaded = ps.load(path, device="reference")
    >>> float(loaded(1.0, 2.0)["sum"])
    3.0
    """
    from pinnsolve.formats import function_file
    from pinnsolve.solutions import file

    match function_file.format_of(path):
        case function_file.FORMAT:
            return load_function(path, "cpu" if device is None else device)
        case file.FORMAT:
            if device is not None:
                raise DeviceError(f"{path} holds a solution, which takes no device")
            header, arrays = file.read_file(path)
            if header.get("kind") == KIND:
                return ensemble_from_data(header, arrays)
            return solution.load(path)
    raise FileError(f"{path} is an HDF5 file, but neither a solution nor an exported function")
