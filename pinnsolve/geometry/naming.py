"""Names of parts of a boundary."""

from typing import Any

from pinnsolve.errors import ProblemError
from pinnsolve.geometry.shape import AbstractShape


def checked_name(name: Any, shown: str) -> str:
    """A name that a part can have: an identifier that shapes use for nothing else.

    Raises:
        ProblemError: it is none.
    """
    if not isinstance(name, str) or not name.isidentifier() or name.startswith("_"):
        raise ProblemError(
            "PS-E016",
            "a part of a boundary needs a name that is an identifier",
            f"{shown}, name={name!r}",
            'write for example name="hole"',
        )
    if hasattr(AbstractShape, name):
        raise ProblemError(
            "PS-E016",
            f"shapes have another meaning for {name!r}",
            f"{shown}, name={name!r}",
            f'write for example name="{name}_part"',
        )
    return name


def checked_names(name: Any, default: tuple[str, ...], shown: str) -> tuple[str, ...]:
    """One name for each of several pieces, from one for all, one for each, or None.

    Raises:
        ProblemError: a wrong name, or a wrong number of them.
    """
    if name is None:
        return default
    if isinstance(name, str):
        return (checked_name(name, shown),) * len(default)
    names = tuple(checked_name(n, shown) for n in name)
    if len(names) != len(default):
        raise ProblemError(
            "PS-E016",
            f"{len(names)} names for {len(default)} sides",
            f"{shown}, name={name!r}",
            "give one name for all, or one for each side",
        )
    return names


def shown_names(names: tuple[str, ...], default: tuple[str, ...]) -> str:
    """The names of pieces as they are printed: nothing for the default ones."""
    if names == default:
        return ""
    return f", name={names[0]!r}" if len(set(names)) == 1 else f", name={names!r}"
