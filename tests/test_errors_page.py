"""docs/errors.md: every code that is raised anywhere is on it, with the message of an example."""

import ast
import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

import pinnsolve
from pinnsolve.errors import ProblemError
from pinnsolve.pde.codes import CODES

PACKAGE = Path(pinnsolve.__file__).parent
PAGE = PACKAGE.parent / "docs" / "errors.md"
FIRST, *SECTIONS = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
CODE = re.compile(r"PS-[EW]\d{3}")
BEYOND = {"PS-E031"}  # shapes refuse most such sets first
TRAINED = {"PS-W070", "PS-W071", "PS-W072"}  # numbers of these messages depend on the training


def block(section: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", section, flags=re.DOTALL)
    assert found is not None, section
    return found.group(1).strip()


def by_code() -> dict[str, str]:
    return {section.split(":")[0]: section for section in SECTIONS}


def raised() -> set[str]:
    """The codes in the text of programs, not of comments."""
    return {
        code
        for path in PACKAGE.rglob("*.py")
        if path.name != "codes.py"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for code in CODE.findall(node.value)
    }


def said(code: str, source: str) -> str:
    """The message of an example."""
    scope: dict[str, object] = {}
    exec(block(FIRST, "python"), scope)
    out = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(out):
        warnings.simplefilter("always")
        try:
            exec(source, scope)
        except ProblemError as error:
            return str(error)
    found = [str(w.message) for w in caught if code in str(w.message)]
    return found[0] if found else out.getvalue().strip()


def test_every_code_that_is_raised_is_on_the_page_and_in_the_table():
    missing = sorted(raised() - by_code().keys())
    assert not missing, f"add to docs/errors.md a section, an example and its message: {missing}"
    assert by_code().keys() == set(CODES)


def test_sections_are_in_order_and_have_the_titles_of_the_table():
    titles = [section.splitlines()[0] for section in SECTIONS]
    assert titles == [f"{code}: {CODES[code]}" for code in sorted(CODES, key=_order)]


def _order(code: str) -> tuple[bool, str]:
    return code.startswith("PS-W"), code


@pytest.mark.parametrize("code", sorted(by_code().keys() - BEYOND, key=_order))
def test_an_example_gives_the_message_on_the_page(code: str):
    section = by_code()[code]
    shown, found = block(section, "text"), said(code, block(section, "python"))
    if code in TRAINED:
        shown, found = (re.sub(r"-?\d[\d.e+-]*", "0", text) for text in (shown, found))
    assert found == shown


def test_an_error_on_the_page_says_how_to_fix_it():
    for code, section in by_code().items():
        if code not in BEYOND and code != "PS-W004":
            assert "fix: " in block(section, "text"), code
