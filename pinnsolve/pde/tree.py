"""Expressions and problems as plain data, for files.

Every node is a list that starts with its name: `["Add", [...], [...]]`. Only names in the tables
below are ever made again, by calling their class on rebuilt arguments; text is never evaluated.

Invariant: `from_data(to_data(e), names) == e`, and the data survives JSON.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from types import MappingProxyType
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray
from sympy.core import relational
from sympy.functions.elementary.piecewise import ExprCondPair

from pinnsolve.errors import FileError, ProblemWarning
from pinnsolve.geometry import Normal
from pinnsolve.pde.boundary import OnBoundary
from pinnsolve.pde.complex_fields import with_parts
from pinnsolve.pde.coordinates import Coordinate, Parameter
from pinnsolve.pde.fields import Field, FieldDerivative, NormalDerivative, field
from pinnsolve.pde.integrals import Nodes
from pinnsolve.pde.known import Known
from pinnsolve.pde.observations import Observations
from pinnsolve.pde.parts import OnPart, Where
from pinnsolve.pde.problem import Problem
from pinnsolve.pde.region_integrals import Over
from pinnsolve.pde.shape_tree import shape_from_data, shape_to_data
from pinnsolve.pde.tabulated import Table, tables
from pinnsolve.pde.unknowns import Unknown

FORMAT = 3

Array = NDArray[np.float64]

_NODES: dict[str, Callable[..., Any]] = {
    node.__name__: node
    for node in (
        *(sympy.Add, sympy.Mul, sympy.Pow, sympy.Tuple, sympy.Subs, sympy.Piecewise),
        *(sympy.sin, sympy.cos, sympy.tan, sympy.sec, sympy.csc, sympy.cot),
        *(sympy.asin, sympy.acos, sympy.atan, sympy.acot, sympy.atan2, sympy.sinc),
        *(sympy.sinh, sympy.cosh, sympy.tanh, sympy.sech, sympy.csch, sympy.coth),
        *(sympy.asinh, sympy.acosh, sympy.atanh, sympy.exp, sympy.log),
        *(sympy.erf, sympy.erfc, sympy.gamma, sympy.loggamma),
        *(sympy.besselj, sympy.bessely, sympy.besseli, sympy.besselk),
        *(sympy.Abs, sympy.sign, sympy.Min, sympy.Max, sympy.Heaviside),
        *(sympy.floor, sympy.ceiling, sympy.Mod),
        *(relational.Eq, relational.Ne, relational.Lt, relational.Le, relational.Gt, relational.Ge),
        *(sympy.And, sympy.Or, sympy.Not),
        *(ExprCondPair, OnBoundary, OnPart, NormalDerivative, Nodes, Over),
    )
}
_AS_MADE = (
    *("Tuple", "ExprCondPair", "Subs", "OnBoundary", "OnPart", "NormalDerivative", "Nodes", "Over"),
)
_CONSTANTS: dict[str, Any] = {
    "pi": sympy.pi,
    "E": sympy.E,
    "EulerGamma": sympy.EulerGamma,
    "GoldenRatio": sympy.GoldenRatio,
    "true": sympy.true,
    "false": sympy.false,
}
_CONSTANT_NAMES = {value: name for name, value in _CONSTANTS.items()}

Names = Mapping[str, Any]


def to_data(node: Any) -> list[Any]:
    """A sympy expression or equation as nested lists.

    Raises:
        FileError: it contains a node that has no name in the tables.
    """
    if isinstance(node, sympy.Integer):
        return ["Integer", str(int(node))]
    if isinstance(node, sympy.Rational):
        return ["Rational", str(node.p), str(node.q)]
    if isinstance(node, sympy.Float):
        sign, man, exp, _ = node._mpf_
        return ["Float", str(-int(man) if sign else int(man)), int(exp), int(node._prec)]
    if node in _CONSTANT_NAMES:
        return [_CONSTANT_NAMES[node]]
    if isinstance(node, sympy.Symbol):
        return _symbol_to_data(node)
    if isinstance(node, Where):
        return ["Where", shape_to_data(node.region, to_data)]
    if isinstance(node, Field):
        return ["Field", node.name, *map(to_data, node.args)]
    if isinstance(node, sympy.Derivative):
        pairs: Any = node.args[1:]
        counts = [[to_data(variable), int(count)] for variable, count in pairs]
        return ["Derivative", to_data(node.args[0]), counts]
    if isinstance(node, Known) and isinstance(type(node).source, Table):
        made = type(node)
        return ["Table", made.field, list(made.orders), *map(to_data, node.args)]
    if isinstance(node, sympy.Integral):
        triples: Any = node.limits
        limits = [[v.name, *map(to_data, ends)] for v, *ends in triples]
        return ["Integral", to_data(node.function), limits]
    name = type(node).__name__
    if _NODES.get(name) is not type(node):
        raise FileError(f"a file cannot hold {name}, as in {node}: use another function for it")
    return [name, *map(to_data, node.args)]


def _symbol_to_data(node: sympy.Symbol) -> list[Any]:
    if isinstance(node, Normal):
        return ["Normal", node.axis]
    named = next((kind for kind in (Coordinate, Unknown) if isinstance(node, kind)), None)
    # A plain symbol is the variable that a Subs binds.
    return ["Symbol" if named is None else named.__name__, node.name]


def from_data(data: Sequence[Any], names: Names) -> Any:
    """The expression of `to_data`.

    Args:
        data: nested lists.
        names: the coordinates, fields and unknown numbers by name.

    Raises:
        FileError: the data is not what `to_data` writes.
    """
    try:
        return _rebuild(data, names)
    except (TypeError, ValueError, IndexError, KeyError, AttributeError) as error:
        raise FileError(f"damaged expression in the file: {error}") from error


def problem_to_data(problem: Problem) -> dict[str, Any]:
    """A problem as plain data that JSON can hold, but for what `problem_arrays` gives.

    Raises:
        FileError: an equation contains a function that has no name in the tables.
    """
    exact = problem.exact
    return {
        "format": FORMAT,
        "coordinates": [
            [c.name, c.is_time, *interval]
            for c, interval in problem.domain
            if not isinstance(c, Parameter)
        ],
        "parameters": [[p.name, *p.settings] for p in problem.parameters],
        "shape": shape_to_data(problem.shape, to_data),
        "fields": [[f.name, *(c.name for c in f.coordinates)] for f in problem.fields],
        "positive": [f.name for f in problem.fields if f.exponential],
        "complex": list(problem.pairs),
        "unknowns": [[unknown.name, *unknown.settings] for unknown in problem.unknowns],
        "tables": [[t.name, len(t.axes), t.order] for t in problem_tables(problem).values()],
        "equations": [to_data(e) for e in problem.equations],
        "observations": [
            {
                "expressions": [to_data(e) for e in given.expressions],
                "coordinates": [c.name for c in given.coordinates],
                "noise": given.noise is not None,
            }
            for given in problem.observations
        ],
        "exact": None if exact is None else {name: to_data(e) for name, e in exact.items()},
    }


def shapes_text(problem: Problem) -> list[str]:
    """The shape of the domain, if it has one, and where each condition on one holds: in words, with
    a digest of all that the words leave out."""
    items = [] if problem.shape is None else [Where(problem.shape)]
    items += [w for e in problem.equations for w in e.atoms(Where)]
    return [f"{w.region!r} ({blake2b(repr(to_data(w)).encode()).hexdigest()[:8]})" for w in items]


def problem_arrays(problem: Problem) -> dict[str, Array]:
    """What is observed or tabulated, by name: arrays for a file, beside `problem_to_data`."""
    observed = {
        f"{k}/{name}": array
        for k, given in enumerate(problem.observations)
        for name, array in (("points", given.points), ("data", given.data))
    }
    return observed | {
        f"table {table.name}/{k}": array
        for table in problem_tables(problem).values()
        for k, array in enumerate((table.values, *table.axes))
    }


def problem_tables(problem: Problem) -> dict[str, Table]:
    """The tabulated functions of a problem by name."""
    stated = [*problem.equations, *(problem.exact or {}).values()]
    stated += [e for given in problem.observations for e in given.expressions]
    return {table.name: table for e in stated for table in tables(e).values()}


def problem_from_data(
    data: Mapping[str, Any], arrays: Mapping[str, Array] = MappingProxyType({})
) -> Problem:
    """The problem of `problem_to_data` and `problem_arrays`; its warnings are not repeated.

    Raises:
        FileError: the data is damaged, or of a newer format.
    """
    if data.get("format") != FORMAT:
        raise FileError(
            f"the file holds a problem of format {data.get('format')}, this version reads {FORMAT}"
        )
    try:
        domain = {
            Coordinate(name, is_time=time): (low, high)
            for name, time, low, high in data["coordinates"]
        }
        parameters = [Parameter(*settings) for settings in data["parameters"]]
        coordinates = {c.name: c for c in domain}
        positive = data["positive"]
        fields = [
            field(name, *(coordinates[c] for c in own), positive=name in positive)
            for name, *own in data["fields"]
        ]
        fields = with_parts(fields, data["complex"])
        unknowns = [Unknown(*settings) for settings in data["unknowns"]]
        equations, exact, shape = data["equations"], data["exact"], data["shape"]
        observed = list(enumerate(data["observations"]))
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"damaged problem in the file: {error}") from error
    names: dict[str, Any] = {
        thing.name: thing for thing in (*domain, *parameters, *fields, *unknowns)
    }
    for name, count, order in data.get("tables", ()):
        values, *axes = (arrays[f"table {name}/{k}"] for k in range(count + 1))
        names[f"table {name}"] = Table(name, axes, values, order)
    if shape is not None:
        made = shape_from_data(shape, lambda e: from_data(e, names))
        space = tuple(c for c in domain if c.is_space)[: made.dimension]
        domain = {space: made} | {c: i for c, i in domain.items() if c not in space}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProblemWarning)
        return Problem(
            *(from_data(e, names) for e in equations),
            *(_observations(header, names, arrays, k) for k, header in observed),
            domain=domain,
            exact=None if exact is None else {n: from_data(e, names) for n, e in exact.items()},
        )


def _observations(
    header: Mapping[str, Any], names: Names, arrays: Mapping[str, Array], position: int
) -> Observations:
    try:
        expressions = tuple(from_data(e, names) for e in header["expressions"])
        coordinates = tuple(names[name] for name in header["coordinates"])
        points, data = arrays[f"{position}/points"], arrays[f"{position}/data"]
        count, known = len(expressions), header["noise"]
    except (KeyError, TypeError) as error:
        raise FileError(f"damaged observations in the file: {error}") from error
    if points.shape != (len(data), len(coordinates)) or data.shape[1] != count * (1 + known):
        raise FileError(f"damaged observations in the file: arrays {points.shape}, {data.shape}")
    noise = data[:, count:] if known else None
    return Observations(expressions, coordinates, points, data[:, :count], noise)


def _symbol(kind: str, name: Any, names: Names) -> Any:
    if kind == "Normal":
        return Normal(int(name))
    return sympy.Symbol(str(name)) if kind == "Symbol" else names[name]


def _table(rest: Sequence[Any], names: Names) -> Any:
    table, orders = names[f"table {rest[0]}"], tuple(map(int, rest[1]))
    return table.function(orders)(*(_rebuild(a, names) for a in rest[2:]))


def _integral(rest: Sequence[Any], names: Names) -> Any:
    # A variable that is no coordinate of the problem is known in its integral only.
    variables = [names.get(name) or Coordinate(name) for name, *_ in rest[1]]
    inside = {**names, **{v.name: v for v in variables}}
    limits = [[_rebuild(end, inside) for end in ends] for _, *ends in rest[1]]
    limits = [(v, *ends) for v, ends in zip(variables, limits, strict=True)]
    return sympy.Integral(_rebuild(rest[0], inside), *limits)


def _rebuild(data: Sequence[Any], names: Names) -> Any:
    kind, *rest = data
    if kind == "Integer":
        return sympy.Integer(int(rest[0]))
    if kind == "Rational":
        return sympy.Rational(int(rest[0]), int(rest[1]))
    if kind == "Float":
        mantissa, exponent, precision = int(rest[0]), int(rest[1]), int(rest[2])
        bits = (int(mantissa < 0), abs(mantissa), exponent, abs(mantissa).bit_length())
        return sympy.Float(bits, precision=precision)
    if kind in ("Coordinate", "Unknown", "Normal", "Symbol"):
        return _symbol(kind, rest[0], names)
    if kind == "Where":
        return Where(shape_from_data(rest[0], lambda e: _rebuild(e, names)))
    if kind == "Field":
        return names[rest[0]].func(*(_rebuild(a, names) for a in rest[1:]))
    if kind == "Derivative":
        target = _rebuild(rest[0], names)
        make = FieldDerivative if isinstance(target, Field) else sympy.Derivative
        return make(target, *((_rebuild(v, names), int(n)) for v, n in rest[1]))
    if kind in ("Table", "Integral"):
        return (_table if kind == "Table" else _integral)(rest, names)
    if kind in _CONSTANTS:
        return _CONSTANTS[kind]
    if kind not in _NODES:
        raise FileError(f"the file contains {kind!r}, which is no known function")
    args = [_rebuild(a, names) for a in rest]
    if kind in _AS_MADE:
        return _NODES[kind](*args)
    # The tree must come back as it was, even where sympy would now write it in another way.
    return _NODES[kind](*args, evaluate=False)
