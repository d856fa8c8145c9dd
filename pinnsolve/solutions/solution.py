"""The answer: a function of the coordinates that can be evaluated, differentiated, judged, saved.

Invariant: a `Solution` is frozen and needs nothing but itself; a loaded one gives the same values
as the one that was saved, to the last bit.
"""

from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, Self

from numpy.typing import NDArray

from pinnsolve.errors import FileError
from pinnsolve.pde.observations import Observations
from pinnsolve.pde.tree import problem_arrays, problem_from_data, problem_to_data
from pinnsolve.pde.unknowns import PREFIX
from pinnsolve.solutions.diagnosis import Finding
from pinnsolve.solutions.estimates import Estimate
from pinnsolve.solutions.field import AbstractEvaluator, Array
from pinnsolve.solutions.fitting import fit
from pinnsolve.solutions.history import History, Record
from pinnsolve.solutions.named_fields import AbstractFields
from pinnsolve.solutions.piecewise import Piecewise


@dataclass(frozen=True, eq=False, repr=False)
class Solution(AbstractFields):
    """The solution of a problem.

    ``solution(x=0.5, t=X)`` evaluates, ``solution.u(X, T)`` and ``solution.u.dx(X, T)`` evaluate
    and differentiate a field; see `AbstractFields`.

    Attributes:
        problem: what was solved.
        evaluator: the trained network.
        history: what training has seen, in the order of time.
        residual_names: the equations and conditions, in the order of `Record.losses`.
        points: label of each set of equations -> the points (n, d) it was last trained on, in the
            order of the problem's coordinates.
        held_out: name of each residual -> its root mean square on points never trained on.
        seconds: training time; `compile_seconds` is not part of it.
        compile_seconds: time spent on making code.
        network: the network in words.
        network_size: number of parameters.
        steps: optimizer steps taken.
        optimizer: the optimizer in words.
        stop_reason: why training ended.
        seed: of the points and the first parameters.
        parameters: name of each unknown number of the problem -> its estimate.
        findings: what kept the run from converging, one advice each; none where it converged.
        details: further rows of the report, such as device and precision.
        rank: of the process, where several have solved the problem together: all have the solution,
            and only rank 0 writes files.

    >>> import pinnsolve as ps
    >>> x = ps.coordinates("x")[0]
    >>> u = ps.field("u", x)
    >>> growth = ps.Problem(u.dx - u, u(0) - 1, domain={x: (0, 1)})
    >>> network = ps.MLP(1, 1, width=6, depth=1)
    >>> solution = growth.solve(network=network, steps=20, device="reference", progress=False)
    >>> round(float(solution.u(1.0)), 3)
    2.718
    >>> list(solution.weights)
    ['cells.0.weight', 'cells.0.bias', 'cells.1.weight', 'cells.1.bias']
    """

    history: History
    residual_names: tuple[str, ...]
    points: Mapping[str, Array]
    held_out: Mapping[str, float]
    seconds: float
    compile_seconds: float
    network: str
    network_size: int
    steps: int
    optimizer: str
    stop_reason: str
    seed: int
    parameters: Mapping[str, Estimate] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    details: Mapping[str, str] = field(default_factory=dict)
    rank: int = 0

    @property
    def weights(self) -> dict[str, NDArray[Any]]:
        """The trained parameters by name, as `Cell.set_values` takes them: after
        ``network.set_values(solution.weights)`` the network is that of the solution, a function of
        coordinates scaled to [-1, 1], the N of the ansatz where the report shows one; a part of it
        can be frozen, and the next solve starts from it. With a network for each of several fields
        names start with it, as ``u.cells.0.bias``; in windows of time, with the number of the
        window, as ``0/cells.0.bias``.
        """
        trained = self.evaluator.to_data()[1]
        return {name: w for name, w in trained.items() if not name.startswith(PREFIX)}

    def at(self, **values: float) -> Self:
        """The solution at values of parameters, which then are no arguments any more: of the
        problem with these numbers in their place, and the estimates in place of unknown numbers.

        Its history and residuals are those of the whole range.

        Raises:
            SolutionError: the problem has no such parameter, or the value is outside its range.

        >>> import pinnsolve as ps
        >>> x = ps.coordinates("x")[0]
        >>> u, k = ps.field("u", x), ps.parameter("k", 0.5, 2)
        >>> decay = ps.Problem(u.dx + k * u, u(0) - 1, domain={x: (0, 1)})
        >>> network = ps.MLP(2, 1, width=8, depth=1)
        >>> fast = decay.solve(network=network, steps=60, progress=False).at(k=2)
        >>> abs(float(fast.u(1.0)) - 0.13533528) < 1e-3
        True
        """
        view = super().at(**values)
        kept = [axis for axis, name in enumerate(self.coordinates) if name not in values]
        return replace(view, points={label: p[:, kept] for label, p in self.points.items()})

    def _estimates(self) -> dict[Any, float]:
        return {number: self.parameters[number.name].value for number in self.problem.unknowns}

    @property
    def kept(self) -> Record | None:
        """The record of the parameters kept: the last look at held-out points that is not known to
        be worse than the one with the smallest residual.

        Of a solution in windows of time it is that of the last window.
        """
        return self.history.kept

    def residuals(self) -> dict[str, float]:
        """Root mean square of each residual on points never trained on.

        It says how well the equations hold; it is not the error of the solution.
        """
        return dict(self.held_out)

    def fit(
        self, *observed: Observations, guess: Mapping[Any, float] | None = None
    ) -> dict[str, Estimate]:
        """The parameters of the problem that observations tell, without more training.

        Args:
            observed: what `observations` or `read_observations` returned, of fields of the problem
                or expressions of them; a parameter that is among their places is taken from there.
            guess: parameter -> where to look first; by default the whole range is looked at.

        Returns:
            Name of each parameter -> its estimate, with the standard error and the correlations
            that the observations let it have. The error of the solution itself is not in them.

        Raises:
            SolutionError: no parameter is to be found, too few observations, or no observations.
            ProblemError: observations outside the domain, or without places along a coordinate.

        Warns:
            ProblemWarning: a parameter is not determined, ended at an end of its range, or cannot
                be told from another.
        """
        return fit(self.problem, self.evaluator, observed, guess or {})

    def report(self) -> str:
        """A plain-text summary: what was trained, how long, why it ended, how well it holds, and
        what kept it from converging."""
        rows = {
            "network": self.network,
            "parameters": str(self.network_size),
            "optimizer": self.optimizer,
            "steps": str(self.steps),
            "training": f"{self.seconds:.1f} s",
            "compilation": f"{self.compile_seconds:.1f} s",
            "stopped": self.stop_reason,
            "seed": str(self.seed),
            **self.details,
            **{name: str(estimate) for name, estimate in self.parameters.items()},
            "correlations": self._correlations(),
        }
        if self.problem.exact is not None:
            errors = (f"{name} {error:.2e}" for name, error in self.error().items())
            rows["error (relative L2)"] = ", ".join(errors)
        width = max(map(len, rows))
        lines = [f"  {key:<{width}}  {value}" for key, value in rows.items() if value]
        lines = [f"Solution of {self._fields_text()}", *lines, "", *self._equations()]
        if self.findings:
            lines += ["", "  not converged:", *(f"  {finding}" for finding in self.findings)]
        return "\n".join(lines)

    def plot(
        self,
        reference: object = None,
        axes: Any = None,
        path: str | Path | None = None,
        show: bool = False,
    ) -> NDArray[Any]:
        """Draw the fields, the error if a reference is known, the convergence, and the points.

        Arguments and result are those of `pinnsolve.solutions.plot.plot`.
        """
        from pinnsolve.solutions.plot import plot

        # What several processes have solved together, one of them draws into a file.
        path, show = (path, show) if self.rank == 0 else (None, False)
        return plot(self, reference, axes=axes, path=path, show=show)

    def save(self, path: str | Path) -> Path:
        """Write the solution to an HDF5 file, whole or not at all; `load` reads it. Of several
        processes that have solved the problem together, only rank 0 writes.

        Raises:
            FileError: the file cannot be written.
        """
        from pinnsolve.solutions.file import write_file

        if self.rank > 0:
            return Path(path)
        header, arrays = to_data(self)
        return write_file(path, header, arrays)

    def export(self, path: str | Path, /, *, precision: str = "float64", **fields: Any) -> Path:
        """Write fields, or expressions of them, to a file that runs without pinnsolve.

        Args:
            path: of the file. The suffix tells the format: .onnx, .c (a C99 function, with a
                header), .py (a module that needs numpy alone) or .mindir (MindSpore). The name of
                a C function is that of the file.
            precision: in which the file computes, "float64" or "float32".
            fields: name in the file -> a field, its derivative, or an expression of fields,
                derivatives, coordinates, and unknown numbers, for which their estimates stand; a
                complex one becomes ``name_re`` and ``name_im``. By default all fields.

        Arguments in the file are the coordinates and parameters that these depend on, in the order
        of the problem, as arrays of one length. As in `SolutionField`, places outside of the domain
        are not refused, and values there are an extrapolation; but after the last window of a run
        that has not come to its end they are nan. Of several processes only rank 0 writes.

        Returns:
            The path.

        Raises:
            SolutionError: an expression is none of the fields of the problem.
            FileError: an unknown suffix, a package that a format needs is missing, or the file
                cannot be written.

        >>> import tempfile
        >>> import numpy as np
        >>> import pinnsolve as ps
        >>> x = ps.coordinates("x")[0]
        >>> u = ps.field("u", x)
        >>> growth = ps.Problem(u.dx - u, u(0) - 1, domain={x: (0, 1)})
        >>> network = ps.MLP(1, 1, width=6, depth=1)
        >>> solution = growth.solve(network=network, steps=2, device="reference", progress=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = solution.export(f"{folder}/growth.py", u=u, slope=u.dx)
        ...     module = {}
        ...     exec(path.read_text(), module)
        >>> X = np.linspace(0, 1, 5)
        >>> values = module["evaluate"](X)
        >>> bool(np.allclose(values.slope, solution.u.dx(X), rtol=1e-12))
        True
        """
        from pinnsolve.solutions.field_export import export_fields

        if self.rank > 0:
            return Path(path)
        numbers, notes = self._estimates(), self._notes()
        return export_fields(self.problem, self.evaluator, numbers, fields, path, precision, notes)

    def _notes(self) -> dict[str, str]:
        """How it was made, for those who find an exported file."""
        found = {
            "network": self.network,
            "training": f"{self.optimizer}, {self.steps} steps, {self.stop_reason}",
            "seed": str(self.seed),
            "residuals": ", ".join(f"{name} {r:.1e}" for name, r in self.held_out.items()),
            "numbers": ", ".join(f"{name} {e}" for name, e in self.parameters.items()),
        }
        return {name: text for name, text in found.items() if text}

    def _correlations(self) -> str:
        names = list(self.parameters)
        return ", ".join(
            f"{a} and {b} {self.parameters[a].correlations[b]:.3f}"
            for i, b in enumerate(names)
            for a in names[:i]
            if b in self.parameters[a].correlations
        )

    def _equations(self) -> list[str]:
        losses = self.kept.losses if self.kept else ()
        width = max((len(name) for name in (*self.residual_names, "equation")), default=0)
        lines = [f"  {'equation':<{width}}  {'loss':>8}  residual (held-out rms)"]
        for index, name in enumerate(self.residual_names):
            loss = f"{losses[index]:8.1e}" if index < len(losses) else " " * 8
            residual = f"{self.held_out[name]:.1e}" if name in self.held_out else ""
            lines.append(f"  {name:<{width}}  {loss}  {residual}".rstrip())
        return lines

    def _repr_html_(self) -> str:
        return f"{self.problem._repr_html_()}<pre>{escape(self.report())}</pre>"

    def __repr__(self) -> str:
        loss = f"loss {self.kept.loss:.2e}, " if self.kept else ""
        return (
            f"<Solution of {self._fields_text()}: {loss}{self.network_size} parameters, "
            f"{self.steps} steps in {self.seconds:.1f} s ({self.stop_reason})>"
        )


PLAIN = (
    "seconds", "compile_seconds", "network", "network_size", "steps", "optimizer", "stop_reason",
    "seed",
)  # fmt: skip


def load(
    path: str | Path,
    evaluator: Callable[[dict[str, Any], dict[str, NDArray[Any]]], AbstractEvaluator] | None = None,
) -> Solution:
    """Read a solution that `Solution.save` wrote; the script that made it is not needed.

    Args:
        path: the file.
        evaluator: makes the evaluator from its header and arrays; the library's own by default.

    Raises:
        FileError: the file is missing, damaged, foreign, or of a newer version.
    """
    from pinnsolve.solutions.file import read_file

    header, arrays = read_file(path)
    try:
        return from_data(header, arrays, evaluator)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise FileError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _evaluator_from_data(
    header: dict[str, Any], arrays: dict[str, NDArray[Any]]
) -> AbstractEvaluator:
    from pinnsolve.solutions.field_evaluator import FieldEvaluator

    if "pieces" in header:
        return Piecewise.from_data(header, arrays, FieldEvaluator.from_data)
    return FieldEvaluator.from_data(header, arrays)


def to_data(solution: Solution) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """A header that JSON can hold, and named arrays."""
    evaluator_header, evaluator_arrays = solution.evaluator.to_data()
    header = {name: getattr(solution, name) for name in PLAIN} | {
        "problem": problem_to_data(solution.problem),
        "evaluator": evaluator_header,
        "residual_names": list(solution.residual_names),
        "point_labels": list(solution.points),
        "held_out": dict(solution.held_out),
        "details": dict(solution.details),
        "parameters": {name: astuple(e) for name, e in solution.parameters.items()},
        "findings": [[f.name, f.text, f.advice] for f in solution.findings],
    }
    # Labels are text of the user's and may contain a slash, which would nest groups in the file.
    points = {f"points/{index}": array for index, array in enumerate(solution.points.values())}
    history = {f"history/{name}": array for name, array in solution.history.to_arrays().items()}
    network = {f"evaluator/{name}": array for name, array in evaluator_arrays.items()}
    observed = {f"problem/{name}": a for name, a in problem_arrays(solution.problem).items()}
    return header, points | history | network | observed


def from_data(
    header: dict[str, Any],
    arrays: dict[str, NDArray[Any]],
    evaluator: Callable[..., Any] | None = None,
) -> Solution:
    """The inverse of `to_data`."""
    evaluator = evaluator or _evaluator_from_data

    def group(prefix: str) -> dict[str, NDArray[Any]]:
        start = len(prefix) + 1
        return {k[start:]: array for k, array in arrays.items() if k.startswith(f"{prefix}/")}

    points = group("points")
    return Solution(
        problem=problem_from_data(header["problem"], group("problem")),
        evaluator=evaluator(header["evaluator"], group("evaluator")),
        history=History.from_arrays(group("history")),
        residual_names=tuple(header["residual_names"]),
        points={label: points[str(i)] for i, label in enumerate(header["point_labels"])},
        held_out=header["held_out"],
        details=header["details"],
        parameters={name: Estimate(*parts) for name, parts in header["parameters"].items()},
        findings=tuple(Finding(*parts) for parts in header["findings"]),
        **{name: header[name] for name in PLAIN},
    )
