"""The pages for contributors are short, name the files that are there, and their picture is that of
the contract."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fedbench.cli.new_in_package import FILES, listed

from . import floors

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("CONTRIBUTING.md", "ARCHITECTURE.md", "AGENTS.md")
MOST_WORDS, MOST_WORDS_OF_A_SENTENCE, MOST_LINES = 120, 25, 60
BEGIN = re.compile(r"\s*(?:\d+\.|-) ")
QUESTION = re.compile(r"^#+ (?:What|Which|Who|How|Why|When|Where|Is|Are|Does|Do|Can)\b|\?$")


def paragraphs(text: str) -> list[str]:
    """Paragraphs, items of lists and rows of tables, without headings and blocks of code."""
    found: list[list[str]] = [[]]
    for line in text.splitlines():
        is_code = line.startswith("    ") and not (found[-1] and BEGIN.match(found[-1][0]))
        if not line.strip() or line.startswith(("#", "|", "!")) or is_code or BEGIN.match(line):
            found.append([])
        if line.strip() and not line.startswith(("#", "!")) and not is_code:
            found[-1].append(line)
    return [" ".join(" ".join(lines).split()) for lines in found if lines]


def sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; a list behind a colon or semicolons counts part by part."""
    return [] if paragraph.startswith("|") else re.split(r"(?<=[.:;!?])\s+", re.sub(r"\([^()]*\)|`[^`]*`", "x", paragraph))


@pytest.mark.parametrize("page", PAGES)
def test_paragraphs_and_sentences_are_short(page: str) -> None:
    found = paragraphs((ROOT / page).read_text())
    assert [one for one in found if len(one.split()) > MOST_WORDS] == []
    assert [one for text in found for one in sentences(text) if len(one.split()) > MOST_WORDS_OF_A_SENTENCE] == []


def test_long_ones_are_found() -> None:
    assert paragraphs("# Head\n\nOne two.\nThree.\n\n- four\n  five\n- six\n\n    code\n| a | b |\n") == [
        "One two. Three.", "- four five", "- six", "| a | b |",
    ]  # fmt: skip
    assert sentences("One two. Three (four. five): `six. seven` eight") == ["One two.", "Three x:", "x eight"]


@pytest.mark.parametrize("page", PAGES)
def test_headings_are_no_questions(page: str) -> None:
    headings = [line for line in (ROOT / page).read_text().splitlines() if line.startswith("#")]
    assert len(headings) >= 4
    assert list(filter(QUESTION.search, headings)) == []


def test_the_page_for_agents_fits_on_a_screen() -> None:
    assert len((ROOT / "AGENTS.md").read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "AGENTS.md"])
def test_the_files_of_an_algorithm_are_those_that_the_command_writes(page: str) -> None:
    section = re.split(r"^## ", (ROOT / page).read_text(), flags=re.MULTILINE)
    (text,) = (one for one in section if one.startswith("Add an algorithm"))
    assert "fedbench new algorithm NAME --in-package" in text
    named = re.findall(r"^\s*\| `([^`]+)` \|", text, re.MULTILINE)
    assert sorted(named) == sorted([*(file.format("<name>") for file in FILES), *listed()])


def test_the_picture_of_the_floors_is_that_of_the_contract() -> None:
    """Every floor that import-linter enforces, in its order, and nothing else."""
    assert list(floors.ABOUT) == floors.floors()
    assert floors.FILE.read_text() == floors.picture(), "python -m tests.house.floors"
    drawn = re.findall(r'class="name"[^>]*>([^<]+)<', floors.picture())
    assert drawn == [name for floor in floors.floors() for name in floor.split(" | ")] + ["csrc"]
    assert "docs/floors.svg" in (ROOT / "ARCHITECTURE.md").read_text()
