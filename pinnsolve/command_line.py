"""The command line of a problem file: solve, compare with the reference, write figure and solution.

Invariant: a problem file needs `problem` and `reference` only, and what of `solve` it sets; all
that it prints or writes is here.
"""

import argparse
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pinnsolve.devices.communication import pick_communicator
from pinnsolve.pde.problem import Problem
from pinnsolve.solutions.solution import Solution

Quantities = Callable[[Solution], Mapping[str, float]]


class AbstractReference(Protocol):
    """Known values on a regular grid; `error` is their own relative L2 error."""

    @property
    def axes(self) -> Mapping[str, NDArray[np.float64]]:
        """Coordinate name -> axis."""
        ...

    @property
    def values(self) -> Mapping[str, NDArray[np.float64]]:
        """Field name -> values on the grid, in the order of `axes`."""
        ...

    @property
    def error(self) -> float:
        """Relative L2 error of the values."""
        ...

    @property
    def unknowns(self) -> Mapping[str, float] | None:
        """Name of each number to be found, or other quantity -> its true value."""
        ...

    @property
    def source(self) -> str:
        """Where the values come from."""
        ...


def run(
    problem: Callable[[], Problem],
    reference: Callable[[], AbstractReference],
    *,
    arguments: Sequence[str] | None = None,
    quantities: Quantities | None = None,
    solve: Callable[..., Solution] | None = None,
    **settings: Any,
) -> Solution:
    """Solve the problem of a file as its command line asks; `--help` lists the options.

    Writes `<output>/<file>.png` and `<output>/<file>.h5`, named after the file of `problem`.
    Known values are what errors are measured against; training does not see them. Several processes
    that a launcher started solve the problem together, and one of them prints and writes.

    Args:
        problem: makes the problem.
        reference: makes the known values.
        arguments: of the command line; those of the process by default.
        quantities: numbers by name that a solution gives, such as a drag; their true values are
            among the unknowns of the reference.
        solve: takes the arguments of `Problem.solve` and solves the problem, where more than one
            call of that is needed.
        settings: arguments of `Problem.solve`, whose `seconds` the command line may change.
    """
    name = Path(inspect.getfile(problem)).stem
    parser = _parser(name, inspect.getmodule(problem), settings.pop("seconds", None))
    options = parser.parse_args(arguments)
    # Before anything can fail on one of several processes, so that it ends the others.
    settings["communicator"] = pick_communicator(settings.get("communicator", "auto"))
    known = reference()
    solution = (solve or problem().solve)(
        seed=options.seed, seconds=options.seconds, reference=known, **settings
    )
    if solution.rank > 0:  # of several processes, one tells and writes
        return solution
    found = {name: estimate.value for name, estimate in solution.parameters.items()}
    found |= quantities(solution) if quantities else {}
    of_numbers = errors_of_numbers(found, known)
    errors = solution.error(known) | of_numbers

    options.output.mkdir(parents=True, exist_ok=True)
    file, figure = options.output / f"{name}.h5", options.output / f"{name}.png"
    solution.save(file)
    solution.plot(reference=known, path=figure)

    print(solution.report())
    for number, error in of_numbers.items():
        print(f"{number}: relative error {error:.2e} of {found[number]:.10g}")
    for field, error in solution.error(known).items():
        own = f"(itself {known.error:.0e})"
        print(f"{field}: relative L2 error {error:.2e} against {known.source} {own}")
    print(f"wrote {file} and {figure}")
    if options.json:
        print(json.dumps(record(name, solution, known, errors)))
    return solution


def errors_of_numbers(found: Mapping[str, float], known: AbstractReference) -> dict[str, float]:
    """The relative error of each number whose true value is known."""
    return {name: abs(found[name] / true - 1) for name, true in (known.unknowns or {}).items()}


def record(
    name: str, solution: Solution, known: AbstractReference, errors: Mapping[str, float]
) -> dict[str, Any]:
    """What `--json` prints: one object a run, with the errors over time as "curve"."""
    history = solution.history
    return {
        "problem": name,
        "errors": {field: float(error) for field, error in errors.items()},
        "seconds": solution.seconds,
        "compile_seconds": solution.compile_seconds,
        "parameters": solution.network_size,
        "unknowns": {
            name: [e.value, None if e.error is None else _finite(e.error)]
            for name, e in solution.parameters.items()
        },
        "steps": solution.steps,
        "optimizer": solution.optimizer,
        "stop_reason": solution.stop_reason,
        "seed": solution.seed,
        "findings": [str(finding) for finding in solution.findings],
        "reference": known.source,
        "reference_error": known.error,
        "curve": {
            "seconds": [_rounded(value) for value in history.column("seconds")],
            "window": [record.window for record in history],
            "errors": {
                field: [_rounded(value) for value in column]
                for field, column in history.errors.items()
            },
        },
    }


def _rounded(value: float) -> float | None:
    """Four digits of a number; None where it is not finite."""
    return _finite(float(f"{value:.4g}"))


def _finite(value: float) -> float | None:
    """The number; None where it is not finite, for which JSON has no word."""
    return value if math.isfinite(value) else None


def _parser(name: str, module: object, seconds: float | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{name}.py",
        description=inspect.getdoc(module) if module else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object as the last line"
    )
    parser.add_argument("--seed", type=int, default=0, help="of points and weights (default 0)")
    shown = "until nothing is gained" if seconds is None else f"{seconds:g}"
    parser.add_argument(
        "--seconds", type=float, default=seconds, help=f"training time allowed (default {shown})"
    )
    parser.add_argument(
        "--output", type=Path, default=Path("outputs"), help="folder to write to (default outputs)"
    )
    return parser
