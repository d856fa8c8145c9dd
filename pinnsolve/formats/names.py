"""Names and comments that other languages accept."""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Collection, Iterable, Sequence

from pinnsolve.formats.pointwise import Pointwise

_RESERVED = (
    "auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch typedef "
    "union unsigned void volatile while size_t INFINITY NAN n "
    # what C++, which may include the header, reserves besides
    "and and_eq asm bitand bitor bool catch class compl const_cast delete dynamic_cast explicit "
    "export false friend mutable namespace new not not_eq operator or or_eq private protected "
    "public reinterpret_cast static_cast template this throw true try typeid typename using "
    "virtual wchar_t xor xor_eq"
)
C_WORDS = frozenset(_RESERVED.split())


def identifiers(names: Iterable[str], taken: Collection[str]) -> list[str]:
    """An ASCII identifier for each name, all different, none of them taken.

    >>> identifiers(["u", "θ", "u x", "1", "if"], {"if"})
    ['u', 'theta', 'u_x', '_1', 'if_']
    """
    found: list[str] = []
    for name in names:
        word = "".join(map(_ascii, name)) or "_"
        word = f"_{word}" if word[0].isdigit() else word
        while word in taken or word in found:
            word += "_"
        found.append(word)
    return found


def _ascii(letter: str) -> str:
    if letter.isascii():
        return letter if letter.isalnum() else "_"
    words = unicodedata.name(letter, "").split()
    spelled = words[-1] if words and letter.isalpha() else ""
    return spelled.lower() if spelled.isalnum() and "CAPITAL" not in words else spelled.title()


def python_names(names: Sequence[str]) -> list[str]:
    """The names themselves where Python takes them as arguments and fields, else identifiers.

    >>> python_names(["u", "θ", "lambda", "du/dx", "_v"])
    ['u', 'θ', 'lambda_', 'du_dx', 'v']
    """
    plain = [name for name in names if _is_python_name(name)]
    others = [name.lstrip("_") for name in names if name not in plain]
    made = iter(identifiers(others, {*plain, *keyword.kwlist}))
    return [name if name in plain else next(made).lstrip("_") for name in names]


def _is_python_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")


def comment(function: Pointwise, how: Iterable[str]) -> list[str]:
    """What a reader of the file should know, in lines."""
    lines = [function.title, "", *how, "", "Arguments:"]
    lines += [f"    {value}" for value in function.inputs]
    lines += ["", "Results:"]
    lines += [f"    {value}" for value in function.outputs]
    lines += ["", *(f"{name}: {text}" for name, text in function.notes.items())]
    return [line for text in lines for line in (text.splitlines() or [""])]
