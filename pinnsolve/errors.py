"""The exceptions of pinnsolve: every message says what is wrong, where, and how to fix it.

Invariant: all of them derive from `PinnsolveError`, so that one `except` clause catches the
library's own refusals and nothing else. This module imports nothing of the library.
"""


class PinnsolveError(Exception):
    """Base of every error that the library raises on purpose."""


class ProblemError(PinnsolveError, ValueError):
    """A declaration that cannot be solved as it stands.

    Args:
        code: stable identifier such as ``"PS-E012"``.
        message: what is wrong.
        expression: the user's own expression; its text is what is kept.
        fix: what to write instead.

    >>> print(ProblemError("PS-E001", "arguments swapped", "u(t, x)", "write u(x, t)"))
    [PS-E001] arguments swapped
      in: u(t, x)
      fix: write u(x, t)
    """

    def __init__(self, code: str, message: str, expression: object = "", fix: str = "") -> None:
        super().__init__(code, message, expression, fix)
        self.code = code
        self.message = message
        self.expression = str(expression)
        self.fix = fix

    def __str__(self) -> str:
        lines = [f"[{self.code}] {self.message}"]
        if self.expression:
            lines.append(f"  in: {self.expression}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)


class ExpressionError(ProblemError, TypeError):
    """An expression where a number is needed, which Python and sympy say by a TypeError, too."""


class ProblemWarning(UserWarning):
    """A declaration that can be solved but is probably not what was meant."""


class GraphError(PinnsolveError):
    """A computation graph that breaks the rules of `pinnsolve.diff`."""


class NetworkError(PinnsolveError):
    """A network that does not fit the problem, or was put together wrongly."""


class DeviceError(PinnsolveError):
    """A device that is unknown, missing, or cannot run a graph."""


class DeviceWarning(UserWarning):
    """A device that is not what was asked for, or runs otherwise than it was asked to."""


class OptimizerError(PinnsolveError):
    """Settings that an optimizer cannot work with."""


class FileError(PinnsolveError):
    """A file that is missing, damaged, foreign, or written by a newer version."""


class SolutionError(PinnsolveError, ValueError):
    """A question that a solution cannot answer: an unknown name, shapes that do not fit."""
