"""The page of complaints is whole, and its examples run as they stand."""

import doctest
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "complaints.md"
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_the_examples_run() -> None:
    parser = doctest.DocTestParser()
    examples = parser.get_doctest(PAGE.read_text().replace("```", ""), {}, PAGE.name, str(PAGE), 0)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(examples, out=said.append)
    assert result.attempted > 60
    assert result.failed == 0, "".join(said)


@pytest.mark.parametrize("number", range(1, 35))
def test_every_complaint_has_a_row_and_an_example(number: int) -> None:
    text = PAGE.read_text()
    (row,) = re.findall(rf"^\| {number} \|.*$", text, re.MULTILINE)
    (anchor,) = re.findall(r"\(#(.*?)\)", row)
    (title,) = re.findall(rf"^### ({number} .*)$", text, re.MULTILINE)
    assert anchor == title.lower().replace(" ", "-").replace("/", "")
    section = text.split(f"### {title}\n")[1].split("\n### ")[0]
    assert ">>>" in section
