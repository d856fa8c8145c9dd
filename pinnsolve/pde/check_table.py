"""What was checked of a problem, and what was found: a table for people.

Invariant: rows are plain text, made while the checks ran; nothing is checked again to show them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from pinnsolve.errors import ProblemError

VERDICTS = ("ok", "note", "warning", "-")
HEAD = ("code", "what", "verdict", "where")
WIDE = 72  # characters of the last column


@dataclass(frozen=True)
class Outcome:
    """What a check found that is no refusal.

    Attributes:
        where: what was looked at, in words.
        verdict: "ok", "note", or "-" where there was nothing to check.
        warnings: what is probably not meant.
    """

    where: str = ""
    verdict: str = "ok"
    warnings: tuple[ProblemError, ...] = ()


@dataclass(frozen=True)
class Row:
    """One check: its codes, what it asks for, the verdict, and where that was found.

    >>> print(Row("PS-E008", "as many equations as fields", "ok", "u"))
    PS-E008  as many equations as fields  ok  u
    """

    code: str
    what: str
    verdict: str
    where: str = ""

    @property
    def cells(self) -> tuple[str, str, str, str]:
        return self.code, self.what, self.verdict, self.where

    def __str__(self) -> str:
        return "  ".join(self.cells).rstrip()


@dataclass(frozen=True)
class CheckTable:
    """The rows of all checks that a problem has passed; `print` shows it.

    >>> import pinnsolve as ps
    >>> x = ps.coordinates("x")[0]
    >>> u = ps.field("u", x)
    >>> table = ps.Problem(u.dx - u, u(0) - 1, domain={x: (0, 1)}).check()
    >>> table["PS-E008"].verdict, table.passed
    ('ok', True)
    """

    rows: tuple[Row, ...]

    @property
    def passed(self) -> bool:
        """Whether there is no warning."""
        return all(row.verdict != "warning" for row in self.rows)

    def __getitem__(self, code: str) -> Row:
        """The first row with a code; KeyError where there is none."""
        for row in self.rows:
            if code in row.code.split():
                return row
        raise KeyError(code)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        # A row with several codes shows the first: the others are named where they are raised.
        rows = [HEAD, *((r.code.split()[0], *r.cells[1:]) for r in self.rows)]
        widths = [max(len(row[k]) for row in rows) for k in range(3)]
        return "\n".join(
            "  ".join(
                [*(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), _short(row[3])]
            ).rstrip()
            for row in rows
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{name}</th>" for name in HEAD)
        rows = "".join(
            "<tr>"
            + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in row.cells)
            + "</tr>"
            for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDE else line[: WIDE - 3].rstrip() + "..."
