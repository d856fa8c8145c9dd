"""Complex fields: each stands for two real ones, and an equation of it for two equations.

Invariant: what `split` returns contains no complex field and no imaginary number, and holds if and
only if what was split does.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.boundary import OnBoundary
from pinnsolve.pde.fields import Field, FieldDerivative, NormalDerivative, field, part_names
from pinnsolve.pde.operators import placed
from pinnsolve.pde.parts import OnPart
from pinnsolve.pde.text import text

# What is real wherever it stands, once all fields are.
_REAL = (Field, sympy.Derivative, sympy.Subs, sympy.Integral, NormalDerivative)


def is_complex(item: sympy.Basic) -> bool:
    """Whether a complex field occurs."""
    return any(found.role == "complex" for found in item.atoms(Field))


def split(equation: sympy.Basic) -> tuple[sympy.Basic, ...]:
    """The real and the imaginary part of an equation of complex fields, without one that says
    0 = 0; any other equation as it is.

    Raises:
        ProblemError: the parts cannot be told from each other.

    >>> import pinnsolve as ps
    >>> from pinnsolve.pde.text import text
    >>> x, t = ps.coordinates("x t")
    >>> h = ps.field("h", x, t, complex=True)
    >>> [text(part) for part in split(sympy.I * h.dt + h.dxx)]
    ['-h_im.dt + h_re.dxx', 'h_im.dxx + h_re.dt']
    """
    if not is_complex(equation):
        return (equation,)
    if isinstance(equation, OnBoundary):
        return tuple(OnBoundary(part) for part in split(equation.equation))
    if isinstance(equation, OnPart):
        return tuple(OnPart(part, equation.where) for part in split(equation.equation))
    if not isinstance(equation, sympy.Eq):
        return tuple(part for part in real_and_imaginary(equation) if part != 0)
    sides: Any = [real_and_imaginary(side) for side in equation.args]
    return tuple(
        sympy.Eq(left, right, evaluate=False)
        for left, right in zip(*sides, strict=True)
        if left != right
    )


def real_and_imaginary(expression: Any) -> tuple[Any, Any]:
    """Both parts of an expression of complex and real fields, in real fields.

    Raises:
        ProblemError: they cannot be told from each other.
    """
    joined = _joined(expression)
    # Sympy does not know of a derivative that it is real, but of a symbol.
    names = {atom: sympy.Dummy(real=True) for atom in _outermost(joined)}
    parts = joined.xreplace(names).as_real_imag()
    unclear = (sympy.I, sympy.re, sympy.im, sympy.arg, sympy.conjugate)
    if any(part.has(*unclear) for part in parts):
        raise ProblemError(
            "PS-E090",
            "the real and the imaginary part cannot be told from each other",
            text(expression),
            "write the field as real and imaginary part there, re(h) and im(h), or two equations",
        )
    back = {name: atom for atom, name in names.items()}
    re, im = (sympy.expand(part).xreplace(back) for part in parts)
    return re, im


def _joined(node: Any) -> Any:
    """The same with h_re + I h_im in place of each complex field h."""
    if not isinstance(node, sympy.Basic) or not is_complex(node):
        return node
    if isinstance(node, Field):
        re, im = (part.func(*node.args) for part in node.parts)
        return re + sympy.I * im
    if isinstance(node, sympy.Derivative):
        inner, along = node.args[0], node.args[1:]
        if isinstance(inner, Field):
            re, im = (FieldDerivative(part.func(*inner.args), *along) for part in inner.parts)
            return re + sympy.I * im
        return _joined(inner).diff(*node.variables)
    if isinstance(node, sympy.Subs):
        variables, point = node.args[1].args, node.args[2].args
        values: Any = dict(zip(variables, point, strict=True))
        return placed(_joined(node.expr), values)
    if isinstance(node, NormalDerivative | sympy.Integral):
        re, im = real_and_imaginary(node.args[0])
        terms = ((sympy.S.One, re), (sympy.I, im))
        return sympy.Add(*(k * node.func(part, *node.args[1:]) for k, part in terms if part != 0))
    return node.func(*map(_joined, node.args))


def _outermost(node: Any) -> set[Any]:
    """The parts of an expression that are real for certain, and not inside of another one."""
    if isinstance(node, _REAL):
        return {node}
    return set().union(*(_outermost(argument) for argument in node.args))


def with_parts(fields: Sequence[Field], names: Iterable[str]) -> list[Field]:
    """Real fields, of which some are the parts of complex ones of these names."""
    found = {part.name: part for part in fields}
    for whole in names:
        re, im = part_names(whole)
        like = found[re if re in found else im]
        parts = field(whole, *like.coordinates, complex=True).parts
        found |= {part.name: part for part in parts if part.name in found}
    return list(found.values())


def split_known(given: Mapping[Any, Any], pairs: Mapping[str, tuple[str, str]]) -> dict[Any, Any]:
    """Known fields, where keys are fields or names: a complex one by its parts.

    Args:
        given: field -> an expression, a function, or an array.
        pairs: name of each complex field -> the names of its parts.
    """
    found: dict[Any, Any] = {}
    for key, value in given.items():
        name = key if isinstance(key, str) else getattr(key, "name", key)
        if name in pairs:
            found |= dict(zip(pairs[name], parts_of_value(value), strict=True))
        else:
            found[key] = value
    return found


def parts_of_value(value: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of an expression, a function, a number or an array."""
    if isinstance(value, sympy.Expr):
        return value.as_real_imag()
    if callable(value):
        call: Any = value
        return lambda *at: np.real(call(*at)), lambda *at: np.imag(call(*at))
    return np.real(value), np.imag(value)


def split_measured(values: Mapping[Any, Any], noise: Any) -> tuple[Mapping[Any, Any], Any]:
    """What was measured of complex fields by real and imaginary part, both with the same noise.

    Args:
        values: expression -> its values.
        noise: of all, or a mapping as `values`, or None.
    """
    if not any(isinstance(key, sympy.Basic) and is_complex(key) for key in values):
        return values, noise
    found, errors = {}, {}
    for key, measured in values.items():
        whole = isinstance(key, sympy.Basic) and is_complex(key)
        re, im = real_and_imaginary(key) if whole else (key, sympy.S.Zero)
        numbers = (measured, None) if im == 0 else parts_of_value(measured)
        for part, number in zip((re, im), numbers, strict=True):
            if part == 0:
                continue
            found[part] = number
            if isinstance(noise, Mapping) and key in noise:
                errors[part] = noise[key]
    return found, errors if isinstance(noise, Mapping) else noise
