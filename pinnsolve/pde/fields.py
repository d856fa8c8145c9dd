"""Fields: the unknown functions, callable at a place and differentiable by name.

`u = field("u", x, t)` is a sympy applied function, so all of sympy works on it. It can also be
evaluated at a place, `u(x, 0)`, differentiated by attributes built from its own coordinates,
`u.dxx`, and both, `u.dx(0, t)`.

Invariant: a `Field` made by calling another one has, at every position, either the coordinate
declared there or a finite real number.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import sympy
from sympy.core.function import AppliedUndef, UndefinedFunction

from pinnsolve.errors import ProblemError
from pinnsolve.geometry import Normal
from pinnsolve.pde.coordinates import Coordinate, Parameter, split_names
from pinnsolve.pde.derivative_names import parse_derivative, uniquely_readable
from pinnsolve.pde.symbolic import ONE_PLACE, Symbolic, as_expression


class NormalDerivative(Symbolic, sympy.Expr):
    """A derivative along the outward normal of the boundary that a condition is on: `u.dn`.

    Its arguments are what is differentiated, a field or its derivative, and how often; the normal
    is constant in that, so `u.dnn` is n_i n_j u_ij.
    """

    is_commutative = True
    is_real = True

    @property
    def target(self) -> Any:
        """What is differentiated."""
        return self.args[0]

    @property
    def order(self) -> int:
        """How often."""
        return int(self.args[1])  # pyright: ignore[reportArgumentType]

    @property
    def expanded(self) -> sympy.Expr:
        """In derivatives along the coordinates and the components of the normal."""
        target, order = self.target, self.order
        found: Any = target
        along = [c for c in _field_of(target).coordinates if c.is_space]
        for _ in range(order):
            found = sympy.Add(*(Normal(k) * found.diff(c) for k, c in enumerate(along))).expand()
        return found

    def _latex(self, printer: Any) -> str:
        power = "" if self.order == 1 else f"^{{{self.order}}}"
        along = rf"\frac{{\partial{power}}}{{\partial n{power}}}"
        return f"{along} {printer._print(self.target)}"

    def _eval_derivative(self, s: Any) -> Any:
        return NormalDerivative(self.target.diff(s), self.args[1])


class FieldDerivative(Symbolic, sympy.Derivative):
    """A derivative of a field that can be evaluated at a place: `u.dx(0, t)`.

    Equal to the `sympy.Derivative` that sympy itself would build.
    """

    def __call__(self, *arguments: Any) -> sympy.Expr:
        """The derivative at a place; same arguments, same errors as the call of the field."""
        field = self.expr
        assert isinstance(field, Field)
        place = place_of(field, arguments)
        moved = [(old, new) for old, new in zip(field.args, place, strict=True) if old != new]
        if not moved:
            return self
        return sympy.Subs(self, *map(tuple, zip(*moved, strict=True)))

    def __getattr__(self, name: str) -> Any:
        target: Any = self.expr
        along = parse_derivative(name, target.coordinates)
        if along is None:
            return _normal_derivative(self, name) or super().__getattr__(name)
        return derivative(self, along)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, sympy.Derivative):
            return self.args == other.args
        return super().__eq__(other)

    def __hash__(self) -> int:
        return super().__hash__()


# Sympy hashes and sorts by the name of the class: equal expressions must have the same.
FieldDerivative.__name__ = "Derivative"


class Field(Symbolic, AppliedUndef):
    """An unknown function of coordinates, at a place; make them with `field`.

    Attributes:
        name: its name.
        coordinates: the coordinates it was declared with, also when it is at a fixed place.
        exponential: whether it is positive by construction: the exponential of a network.
        role: "real"; "complex", for one that stands for two real ones; or "part", for these.
    """

    name: str
    coordinates: tuple[Coordinate, ...]
    exponential = False
    role = "real"

    @property
    def parts(self) -> tuple["Field", "Field"]:
        """The real and the imaginary part of a complex field, as declared."""
        names = part_names(self.name)
        re, im = (_rebuild(n, self.coordinates, self.coordinates, False, "part") for n in names)
        return re, im

    @property
    def declared(self) -> "Field":
        """The field at its free coordinates, as it was declared."""
        return self.func(*self.coordinates)

    def __call__(self, *arguments: Any) -> "Field":
        """The field at a place.

        Args:
            arguments: one per declared coordinate: the coordinate itself, or a number.

        Raises:
            ProblemError: wrong number or order of arguments, or something else than these.
        """
        return self.func(*place_of(self, arguments))

    def __getattr__(self, name: str) -> Any:
        along = parse_derivative(name, self.coordinates)
        if along is None:
            return _normal_derivative(self, name) or super().__getattr__(name)
        value = derivative(self.declared, along)
        return value if self == self.declared else value(*self.args)

    def diff(self, *symbols: Any, **assumptions: Any) -> Any:
        """As in sympy, but refuses the derivative along a fixed coordinate.

        Sympy takes `u(0, t).diff(x)` for the derivative of a function of t, which is silently 0.

        Raises:
            ProblemError: a variable is a declared coordinate that is fixed here.
        """
        for number in (item for symbol in symbols for item in _flat(symbol)):
            if isinstance(number, Parameter):
                raise ProblemError(
                    "PS-E018",
                    f"{self} is not differentiated by the parameter {number}, which it depends on",
                    f"{self}.diff({', '.join(map(str, symbols))})",
                    f"declare {number} as a coordinate, if its derivatives are in the equations",
                )
        names = {str(symbol) for item in symbols for symbol in _flat(item)}
        for coordinate, value in zip(self.coordinates, self.args, strict=True):
            if coordinate.name in names and value != coordinate and value.is_number:
                place = ", ".join(map(str, self.args))
                raise ProblemError(
                    "PS-E018",
                    f"{self} does not depend on {coordinate}, so sympy takes its derivative for 0",
                    f"{self}.diff({', '.join(map(str, symbols))})",
                    f"write {self.name}.d{coordinate}({place}) for the derivative at that place",
                )
        return super().diff(*symbols, **assumptions)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # The class of a field is made at run time, so pickle cannot find it by name.
        return _rebuild, (self.name, self.coordinates, self.args, self.exponential, self.role)


def part_names(name: str) -> tuple[str, str]:
    """What the real and the imaginary part of a complex field are called."""
    return f"{name}_re", f"{name}_im"


def field(
    name: str,
    *coordinates: Coordinate,
    positive: bool = False,
    complex: bool = False,  # noqa: A002
) -> Field:
    """Declare an unknown function of the given coordinates.

    Args:
        name: an identifier.
        coordinates: that it depends on.
        positive: make it positive everywhere by construction, as a coefficient that is to be found
            may have to be: it is the exponential of a network.
        complex: let it have complex values. `I`, `conjugate`, `Abs`, `re` and `im` of sympy may
            then stand in its equations, each of which is one for the real and one for the imaginary
            part; the parts are the real fields h_re and h_im of the solution.

    Raises:
        ProblemError: the name is not an identifier or clashes with a coordinate, or the coordinates
            are not coordinates, repeated, or make derivative names ambiguous; a field is to be both
            positive and complex.

    >>> from pinnsolve.pde.coordinates import coordinates
    >>> x, t = coordinates("x t")
    >>> u = field("u", x, t)
    >>> u.dt - u.dxx, u(x, 0)
    (Derivative(u(x, t), t) - Derivative(u(x, t), (x, 2)), u(x, 0))
    """
    found = split_names(name, "fields")
    if len(found) != 1:
        raise ProblemError(
            "PS-E016", "field() declares one field", repr(name), f"write fields({name!r}, ...)"
        )
    _check_declaration(found[0], coordinates)
    if positive and complex:
        raise ProblemError(
            "PS-E016",
            f"the field {name} cannot be both positive and complex",
            f"field({name!r}, ..., positive=True, complex=True)",
            "leave one of them out",
        )
    return _rebuild(found[0], coordinates, coordinates, positive, "complex" if complex else "real")


def fields(
    names: str,
    *coordinates: Coordinate,
    positive: bool = False,
    complex: bool = False,  # noqa: A002
) -> tuple[Field, ...]:
    """Declare several unknown functions of the same coordinates.

    Raises:
        ProblemError: as in `field`.

    >>> import pinnsolve as ps
    >>> x, y = ps.coordinates("x y")
    >>> u, v, p = ps.fields("u v p", x, y)
    >>> p.dx
    Derivative(p(x, y), x)
    """
    found = split_names(names, "fields")
    return tuple(field(name, *coordinates, positive=positive, complex=complex) for name in found)


def derivative(expression: Any, along: Iterable[Coordinate]) -> FieldDerivative:
    """The derivative of a field, or of its derivative, once along each of the coordinates given."""
    counts: Any = list(Counter(along).items())
    if isinstance(expression, sympy.Derivative):
        counts = [*expression.variable_count, *counts]
        expression = expression.expr
    return FieldDerivative(expression, *sympy.Derivative._sort_variable_count(counts))


def _normal_derivative(target: Any, name: str) -> NormalDerivative | None:
    """`u.dn` and `u.dnn`; None for other names."""
    if len(name) < 2 or name != "d" + "n" * (len(name) - 1):
        return None
    return NormalDerivative(target, sympy.Integer(len(name) - 1))


def _field_of(target: Any) -> Field:
    found = target.expr if isinstance(target, sympy.Derivative) else target
    assert isinstance(found, Field)
    return found


def place_of(target: Field, arguments: Sequence[Any]) -> tuple[sympy.Expr, ...]:
    """Check and sympify the arguments of a call of a field.

    Raises:
        ProblemError: wrong number or order of arguments, or one that is neither the coordinate
            declared at its position nor a finite real number.
    """
    declared = target.coordinates
    call = f"{target.name}({', '.join(map(str, arguments))})"
    signature = f"{target.name}({', '.join(map(str, declared))})"
    if len(arguments) != len(declared):
        raise ProblemError(
            "PS-E003",
            f"{target.name} has {len(declared)} arguments, not {len(arguments)}",
            call,
            f"it was declared as {signature}: give a coordinate or a number for each",
        )
    place = tuple(_sympify(argument, target, call) for argument in arguments)
    if any(a in declared and a != c for a, c in zip(place, declared, strict=True)):
        raise ProblemError(
            "PS-E003",
            f"the arguments of {target.name} are in the wrong order",
            call,
            f"it was declared as {signature}: write {target.name}({_reordered(place, declared)})",
        )
    for argument, coordinate in zip(place, declared, strict=True):
        other = isinstance(argument, Coordinate) and argument.name not in map(str, declared)
        if argument == coordinate or other:
            continue  # another one is the variable of an integral, or an error found with it
        if not is_finite_number(argument):
            raise ProblemError("PS-E003", *_wrong_argument(target, argument, coordinate, call))
    return place


def is_finite_number(value: object) -> bool:
    """Whether a sympy object is a finite real number."""
    return isinstance(value, sympy.Expr) and bool(
        value.is_number and value.is_real and value.is_finite
    )


def _wrong_argument(
    target: Field, argument: object, coordinate: Coordinate, call: str
) -> tuple[str, str, str]:
    if isinstance(argument, sympy.Symbol) and argument.name == coordinate.name:
        return (
            f"{argument} is another symbol than the coordinate {coordinate} of {target.name}",
            call,
            f"use the object that coordinates() returned when {target.name} was declared",
        )
    return (
        f"{target.name} cannot be taken at {coordinate} = {argument}",
        call,
        f"write {coordinate} itself or a finite real number there",
    )


def _sympify(argument: Any, target: Field, call: str) -> Any:
    # Text is never turned into an expression: that would run it as code.
    if isinstance(argument, str):
        return argument
    return as_expression(argument, "PS-E003", f"an argument of {target.name}", call, ONE_PLACE)


def _reordered(place: Sequence[Any], declared: Sequence[Coordinate]) -> str:
    """The same arguments with every coordinate at its own position."""
    others = iter([argument for argument in place if argument not in declared])
    return ", ".join(str(c if c in place else next(others, c)) for c in declared)


def _flat(item: Any) -> Iterable[Any]:
    return item if isinstance(item, tuple | list | sympy.Tuple) else (item,)


def _rebuild(
    name: str,
    coordinates: Sequence[Coordinate],
    args: Sequence[Any],
    exponential: bool,
    role: str,
) -> Any:
    # Not an assumption of sympy's, which makes classes of one declaration differ.
    known = {"coordinates": tuple(coordinates), "exponential": exponential, "role": role}
    number = {"complex": True} if role == "complex" else {"real": True}
    make = UndefinedFunction(name, bases=(Field,), **number, **known)
    return make(*args)


def _check_declaration(name: str, coordinates: Sequence[Any]) -> None:
    shown = f"field({name!r}, {', '.join(map(str, coordinates))})"
    if not coordinates or not all(isinstance(c, Coordinate) for c in coordinates):
        raise ProblemError(
            "PS-E016",
            f"the field {name} needs coordinates as its arguments",
            shown,
            'make them first, for example x, t = coordinates("x t")',
        )
    if extra := [c for c in coordinates if isinstance(c, Parameter)]:
        raise ProblemError(
            "PS-E016",
            f"the field {name} cannot be declared with the parameter {extra[0]}",
            shown,
            f"leave {extra[0]} out: every field depends on the parameters of the problem",
        )
    names = [c.name for c in coordinates]
    if len(set(names)) < len(names) or name in names:
        raise ProblemError(
            "PS-E016",
            "a field and its coordinates need distinct names",
            shown,
            "rename one of them",
        )
    taken = [c for c in names if hasattr(Field, f"d{c}")]
    if taken:
        raise ProblemError(
            "PS-E016",
            f"the derivative along {taken[0]} would be called d{taken[0]}, which sympy uses itself",
            shown,
            f"rename the coordinate {taken[0]}",
        )
    if not uniquely_readable(names):
        raise ProblemError(
            "PS-E016",
            f"derivative names are ambiguous with the coordinates {', '.join(names)}",
            shown,
            "rename a coordinate that others can be put together to",
        )
