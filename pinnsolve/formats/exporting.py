"""Export: a function as a file of data, and the function that such a file gives back.

Invariant: a loaded function needs nothing but its file; on the reference device it gives the
numbers of the one that was exported, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pinnsolve import formats
from pinnsolve.compiled import Compiled, jit
from pinnsolve.devices.base import AbstractDevice
from pinnsolve.diff import functions as ops
from pinnsolve.diff.export import function_from_data, function_to_data, stored_parameter
from pinnsolve.diff.graph import Graph, topological
from pinnsolve.diff.parameters import Parameter, initialize
from pinnsolve.diff.program import Body
from pinnsolve.diff.replay import replay
from pinnsolve.diff.trace import is_symbolic, resolve, trace
from pinnsolve.diff.trees import leaves, refill
from pinnsolve.errors import FileError, GraphError
from pinnsolve.formats.nesting import as_text, fitting, tree_from_data, tree_to_data
from pinnsolve.formats.traced import pointwise
from pinnsolve.nets.cell import Cell

STORED = (".h5", ".hdf5")  # what `load_function` reads


def export(
    function: Callable[..., Any],
    path: str | Path,
    *arguments: Any,
    parameters: Mapping[str, Parameter] | None = None,
    precision: str = "float64",
) -> Path:
    """Write a function to a file that runs anywhere without the code that defined it.

    A file .h5 is for :func:`pinnsolve.load`. The other formats, .onnx, .c, .py and .mindir, need no
    pinnsolve: what they hold is the function at every point of arrays that have points as a first
    axis, ``(n, *shape)``, so the examples are of one point.

    Args:
        function: of arrays and nested tuples, lists and dicts of them, written in
            :mod:`pinnsolve.ops`; a transform of one, a network, or what :func:`pinnsolve.jit`
            returned. It is traced once, derivatives and loops included.
        path: of the file, whose suffix tells the format; folders on the way are made.
        arguments: examples that fix the nesting and the shapes; their numbers do not matter.
        parameters: names for the parameters that the function uses, such as
            ``net.named_parameters()``, which is what they are for a network itself. Others go by
            their own names, or numbers.
        precision: in which a file without pinnsolve computes, "float64" or "float32".

    Parameters are stored with their present values. Named tuples come back as tuples. Returns the
    path; :func:`pinnsolve.load` reads it.

    Raises:
        GraphError: the function cannot be traced, or holds a custom operation, which is code; in
            the formats for others, it is no function of one point.
        FileError: an unknown suffix, a package that a format needs is missing, or the file cannot
            be written.

    >>> import tempfile
    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> slope = ps.diff.grad(lambda x: ps.ops.sum(ps.ops.sin(x)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = ps.export(slope, f"{folder}/slope.h5", np.zeros(2))
    ...     loaded = ps.load(path, device="reference")
    >>> loaded(np.array([0.0, np.pi]))
    array([ 1., -1.])
    """
    from pinnsolve.formats.function_file import write_function_file

    if any(is_symbolic(value) for value in leaves(arguments)):
        raise GraphError("export takes arrays as examples of the arguments, not traced values")
    traced = trace(function, arguments)
    body = Body(traced.inputs, traced.outputs)
    _check(body, function)
    names = _names(body, parameters or _parameters_of(function))
    initialize(names)
    if formats.check(path, precision, *STORED) not in STORED:
        at_points = pointwise(
            function, body, refill(arguments, body.inputs), refill(traced.form, body.outputs)
        )
        return formats.write(at_points, path, precision)
    data, constants = function_to_data(body, names)
    header = {
        "arguments": tree_to_data(refill(arguments, body.inputs)),
        "results": tree_to_data(refill(traced.form, body.outputs)),
        "parameters": [[name, parameter.requires_grad] for parameter, name in names.items()],
        "function": data,
    }
    arrays = {f"parameters/{name}": p.value for p, name in names.items() if p.value is not None}
    return write_function_file(
        path, header, arrays | {f"constants/{name}": a for name, a in constants.items()}
    )


def _check(body: Body, function: Callable[..., Any]) -> None:
    name = getattr(function, "__name__", type(function).__name__)
    order = topological(body.outputs)
    free = [n for n in order if n.primitive == "input" and n not in body.inputs]
    if free:
        raise GraphError(
            f"{name} depends on a traced value that is no argument of it; export it outside of the "
            "function that is being traced, or pass the value as an argument"
        )
    if not body.outputs or any(n.points for n in body.outputs):
        shapes = ", ".join(str(n.shape) for n in body.outputs) or "nothing"
        raise GraphError(f"{name} returns {shapes}; export needs a function that returns arrays")


def _parameters_of(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    cell = function.function if isinstance(function, Compiled) else function
    return cell.named_parameters() if isinstance(cell, Cell) else {}


def _names(body: Body, named: Mapping[str, Parameter]) -> dict[Parameter, str]:
    """A name of its own for each parameter of the body, in which no slash makes a folder."""
    known = {parameter: name for name, parameter in named.items()}
    found: dict[Parameter, str] = {}
    for node in topological(body.outputs):
        if node.primitive == "parameter":
            (parameter,) = node.attributes
            name = known.get(parameter) or parameter.name or f"parameter {len(found)}"
            found[parameter] = _distinct(name.replace("/", "."), set(found.values()))
    return found


def _distinct(name: str, taken: set[str]) -> str:
    name = name.strip(".") or "parameter"  # a dot alone is a folder in HDF5
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name} ({number})"
    return found


def load_function(path: str | Path, device: str | AbstractDevice = "cpu") -> LoadedFunction:
    """Read a function that :func:`export` wrote.

    Raises:
        FileError: the file is missing, damaged, foreign, or of a newer version.
        DeviceError: no such device.
    """
    from pinnsolve.formats.function_file import DAMAGE, read_function_file

    header, arrays = read_function_file(path)
    try:
        return _from_data(header, arrays, device)
    except FileError as error:
        raise FileError(f"{path}: {error}") from error
    except DAMAGE as error:
        raise FileError(f"{path} is damaged: {type(error).__name__}: {error}") from error


def _from_data(
    header: Any, arrays: Mapping[str, Any], device: str | AbstractDevice
) -> LoadedFunction:
    stored, constants = (
        {k.removeprefix(group): array for k, array in arrays.items() if k.startswith(group)}
        for group in ("parameters/", "constants/")
    )
    trained = dict(header["parameters"])
    if trained.keys() != stored.keys() or not all(type(v) is bool for v in trained.values()):
        raise FileError("the parameters are not those that the header names")
    parameters = {name: stored_parameter(value) for name, value in stored.items()}
    for name, parameter in parameters.items():
        parameter.name, parameter.requires_grad = name, trained[name]
    body = function_from_data(header["function"], parameters, constants)
    arguments, results = (tree_from_data(header[key]) for key in ("arguments", "results"))
    for tree, nodes in ((arguments, body.inputs), (results, body.outputs)):
        if [(0, v.shape) for v in leaves(tree)] != [(n.points, n.dims) for n in nodes]:
            raise FileError("the arguments or results are not those of the graph")
    if not isinstance(arguments, tuple):
        raise FileError("the arguments are no tuple")
    return LoadedFunction(body, arguments, results, parameters, device)


class LoadedFunction:
    """A function from a file; called on arrays, or on traced values inside other functions.

    It takes the nesting and shapes that it was exported with; in a map over points, those of one
    point. It can be differentiated, mapped and exported again.

    Attributes:
        arguments, results: zeros with the nesting and the shapes that it takes and gives.
        parameters: name -> Parameter. Set ``value`` to change one; it is read at every call.
        compiled: the same function as :func:`pinnsolve.jit` has it, with cost and profile.

    Raises:
        GraphError: when it is called with another nesting or other shapes.

    >>> import tempfile
    >>> import numpy as np
    >>> import pinnsolve as ps
    >>> net = ps.MLP(2, 1, 8, 1).initialize(seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     loaded = ps.load(ps.export(net, f"{folder}/net.h5", np.zeros(2)), device="reference")
    >>> loaded
    LoadedFunction((array(2,)) -> array(1,), 33 parameters, on reference)
    >>> points = np.random.default_rng(0).random((5, 2))
    >>> bool(np.allclose(ps.diff.vmap(loaded)(points), net(points)))
    True
    """

    def __init__(
        self,
        body: Body,
        arguments: tuple[Any, ...],
        results: Any,
        parameters: Mapping[str, Parameter],
        device: str | AbstractDevice,
    ) -> None:
        self.body, self.arguments, self.results = body, arguments, results
        self.parameters = dict(parameters)
        self.compiled = jit(self._traced, device)

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*fitting(self.arguments, arguments))

    def _traced(self, *arguments: Any) -> Any:
        values = leaves(arguments)
        nodes = self.body.outputs
        if any(is_symbolic(v) and ops.as_node(v).points for v in values):
            return refill(self.results, replay(self.body, [ops.as_node(v) for v in values]))
        known = dict(zip(self.body.inputs, values, strict=True))
        return refill(self.results, resolve(nodes, known))

    def on(self, device: str | AbstractDevice) -> LoadedFunction:
        """The same function, with the same parameters, on another device."""
        return LoadedFunction(self.body, self.arguments, self.results, self.parameters, device)

    @property
    def graph(self) -> Graph:
        """The graph of the file; printed as typed text."""
        return Graph({f"output {k}": node for k, node in enumerate(self.body.outputs)})

    def __repr__(self) -> str:
        size = sum(parameter.size for parameter in self.parameters.values())
        return (
            f"LoadedFunction({as_text(self.arguments)} -> {as_text(self.results)}, "
            f"{size} parameters, on {self.compiled.device.name})"
        )
