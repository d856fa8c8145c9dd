"""Unknown numbers of a problem: coefficients to be found along with the fields.

Invariant: an `Unknown` is a real sympy symbol whose guess, bounds and scale are part of its
identity, so that they survive every sympy operation, hashing and pickling.
"""

import math
from collections.abc import Sequence
from typing import Any

import sympy

from pinnsolve.errors import ProblemError
from pinnsolve.pde.coordinates import split_names
from pinnsolve.pde.fields import is_finite_number
from pinnsolve.pde.symbolic import Symbolic

LATENT = sympy.Symbol("z", real=True)
PREFIX = "unknown "  # of the names of trained numbers; a space is in no other name


class Unknown(Symbolic, sympy.Symbol):
    """A number to be found; make it with `unknown`.

    Attributes:
        guess: the value to start from.
        low, high: the bounds, None where there is none.
        scale: how far the value moves when the trained number moves by 1 at the guess.
        mean, deviation: of the normal distribution that is known of it beforehand, None where
            nothing is.
    """

    __slots__ = ("deviation", "guess", "high", "low", "mean", "scale")
    guess: float
    low: float | None
    high: float | None
    scale: float
    mean: float | None
    deviation: float | None

    def __new__(
        cls,
        name: str,
        guess: float,
        low: float | None,
        high: float | None,
        scale: float,
        mean: float | None = None,
        deviation: float | None = None,
    ) -> "Unknown":
        self = sympy.Symbol.__xnew__(cls, name, real=True)
        self.guess, self.low, self.high, self.scale = guess, low, high, scale
        self.mean, self.deviation = mean, deviation
        return self

    @classmethod
    def class_key(cls) -> Any:
        return sympy.Symbol.class_key()  # printed in the order that plain symbols have

    @property
    def settings(self) -> tuple[float | None, ...]:
        """Guess, low, high, scale, mean, deviation."""
        return self.guess, self.low, self.high, self.scale, self.mean, self.deviation

    @property
    def prior(self) -> sympy.Expr | None:
        """What a prior makes 0: the distance from its mean, in standard deviations."""
        if self.mean is None or self.deviation is None:
            return None
        return (self - self.mean) / self.deviation  # pyright: ignore[reportOperatorIssue]

    def _hashable_content(self) -> tuple[Any, ...]:
        return (*super()._hashable_content(), *map(str, self.settings))

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.name, *self.settings), {}

    @property
    def formula(self) -> sympy.Expr:
        """The value as a function of the trained number `LATENT`, which starts at 0 and is free.

        With guess g and scale s: g + s z without bounds; low + (g - low) exp(s z / (g - low)) with
        a lower bound, and likewise for an upper one; for an interval of width w its middle plus
        w/2 tanh(a + b z), where a and b are such that value and slope at z = 0 are g and s.
        """
        g, low, high, s = self.guess, self.low, self.high, self.scale
        if low is None:
            if high is None:
                return g + s * LATENT
            return high - (high - g) * sympy.exp(-s / (high - g) * LATENT)
        if high is None:
            return low + (g - low) * sympy.exp(s / (g - low) * LATENT)
        half, place = (high - low) / 2, (2 * g - low - high) / (high - low)
        slope = s / (half * (1 - place**2))
        return (low + high) / 2 + half * sympy.tanh(float(sympy.atanh(place)) + slope * LATENT)

    def latent(self, value: float) -> float:
        """The trained number that gives a value; nan for one that is not between the bounds."""
        g, low, high, s = self.guess, self.low, self.high, self.scale
        if low is None and high is None:
            return (value - g) / s
        if low is not None and high is not None:
            half, middle = (high - low) / 2, (low + high) / 2
            place, start = (value - middle) / half, (g - middle) / half
            if not abs(place) < 1:
                return math.nan
            return (math.atanh(place) - math.atanh(start)) * half * (1 - start**2) / s
        end = high if low is None else low
        assert end is not None
        ratio = (value - end) / (g - end)
        return math.log(ratio) * (g - end) / s if ratio > 0 else math.nan

    def at(self, latent: float) -> tuple[float, float]:
        """Value and its slope by the trained number."""
        pair = (self.formula, self.formula.diff(LATENT))
        value, slope = (float(e.subs(LATENT, sympy.Float(latent))) for e in pair)
        return value, slope


def unknown(
    name: str,
    guess: float,
    bounds: Sequence[float | None] | None = None,
    scale: float | None = None,
    prior: Sequence[float] | None = None,
) -> Unknown:
    """Declare a number that is to be found along with the fields, for use in any equation.

    It needs data that determine it: `observations`, more conditions than the fields need, or a
    prior.
    `Solution.parameters` has the estimate and its standard error.

    Args:
        name: an identifier.
        guess: the value to start from, strictly between the bounds.
        bounds: (low, high), which the value never reaches; None for a side that is free.
        scale: the size of a change that matters; by default that of the guess, or 1 for a guess
            of 0, and with bounds at most the distance to the nearer one.
        prior: (mean, standard deviation) of what is known of the number without these data. It
            counts as one more observation, weighed against the others by their noise.

    Raises:
        ProblemError: the name is no identifier; a number is not finite; the bounds are reversed or
            do not contain the guess; the scale or the deviation is not positive.

    >>> import pinnsolve as ps
    >>> nu = ps.unknown("nu", guess=0.01, bounds=(0, None))
    >>> nu.formula
    0.01*exp(1.0*z)
    """
    found = split_names(name, "unknowns")
    shown = f"unknown({name!r}, guess={guess!r}, bounds={bounds!r}, scale={scale!r}"
    shown += f", prior={prior!r})" if prior is not None else ")"
    if len(found) != 1:
        raise ProblemError("PS-E016", "unknown() declares one number", shown, "give it one name")
    start = _number(guess, "the guess", shown)
    low, high = _pair(bounds, "the bounds are not a pair", shown, "write bounds=(low, high)")
    low = None if low is None else _number(low, "a bound", shown)
    high = None if high is None else _number(high, "a bound", shown)
    if not (low is None or low < start) or not (high is None or start < high):
        raise ProblemError(
            "PS-E006",
            f"the guess of {name} is not strictly between its bounds",
            shown,
            "write bounds=(low, high) with low < guess < high, and None for a side that is free",
        )
    room = [abs(start - end) for end in (low, high) if end is not None]
    size = min(room) if room else abs(start) or 1.0
    size = size if scale is None else _number(scale, "the scale", shown)
    if not size > 0:
        raise ProblemError("PS-E006", "the scale is not positive", shown, "leave it out")
    advice = "write prior=(mean, standard deviation)"
    mean, deviation = _pair(prior, "the prior is not a pair", shown, advice)
    if prior is not None:
        mean = _number(mean, "the mean of the prior", shown)
        deviation = _number(deviation, "the deviation of the prior", shown)
        if not deviation > 0:
            raise ProblemError("PS-E006", "the deviation is not positive", shown, advice)
    return Unknown(found[0], start, low, high, size, mean, deviation)


def _pair(given: Any, what: str, shown: str, fix: str) -> tuple[Any, Any]:
    """Two things, both None where nothing is given."""
    try:
        first, second = (None, None) if given is None else given
    except (TypeError, ValueError):
        raise ProblemError("PS-E006", what, shown, fix) from None
    return first, second


def _number(value: Any, what: str, shown: str) -> float:
    try:
        number = sympy.sympify(value, strict=True)
    except sympy.SympifyError:
        number = None
    if not is_finite_number(number):
        raise ProblemError(
            "PS-E007", f"{what} is not a finite real number", shown, "give it a number"
        )
    return float(number)  # type: ignore[arg-type]
