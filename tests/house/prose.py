"""Docstrings and comments have at most 100 columns. Usage: python -m tests.house.prose [--fix]

A paragraph with a longer line is refilled. Tables and equations are not prose: a paragraph in which
two spaces stand between words, or a bar, stays as it is, and so do code and what is said to tools.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("fedbench", "csrc", "tests", "benchmarks")
WIDTH = 100
ALIGNED = re.compile(r"\S {2,}\S|\||\S <- \S")
COMPUTATION = re.compile(r"( = .*){3}")  # worked through by hand, a line a step
BEGINS = re.compile(
    r"- |\* |\d+\. |>>> |\.\.\. |```|[A-Z]\w*:$|-{3,}$|\*{0,2}\w+(, \w+)* : "
)  # an item, code, or a section and its names
NAMED = re.compile(r"[\w`*., =\[\]]+: ")  # an argument with what it is
FOR_TOOLS = re.compile(r"type:|noqa|ruff:|mypy:|NOLINT|codespell|clang-format| ")
COMMENT = re.compile(r"(\s*(?:#|///|//) )(.*)")
QUOTES = re.compile(r'\s*[rR]?"""')


@dataclass
class Paragraph:
    """Lines of text with what stands before the first one and before all others."""

    first: str
    rest: str
    lines: list[str]
    end: str = ""

    def _is_no_prose(self) -> bool:
        return any(map(ALIGNED.search, self.lines)) or COMPUTATION.search(" ".join(self.lines)) is not None

    def refilled(self) -> list[str]:
        """Its lines, in one piece as they are or filled up to the width."""
        as_they_are = [
            before + line
            for before, line in zip(itertools.chain([self.first], itertools.repeat(self.rest)), self.lines, strict=False)
        ]
        as_they_are[-1] += self.end
        if max(map(len, as_they_are)) <= WIDTH or self._is_no_prose() or self.lines[0].startswith((">>>", "```")):
            return as_they_are
        words = " ".join(self.lines).split()
        words[-1] += self.end
        filled = [self.first + words[0]]
        for word in words[1:]:
            if len(filled[-1]) + 1 + len(word) > WIDTH:
                filled.append(self.rest + word)
            else:
                filled[-1] += " " + word
        return filled


def comments(lines: list[str]) -> list[str]:
    """The lines of a file with its comments refilled; a comment behind code is the code's."""
    found: list[str] = []
    paragraph: Paragraph | None = None
    for line in lines:
        begin = COMMENT.fullmatch(line)
        if begin is None or FOR_TOOLS.match(begin[2]) or not begin[2]:
            found += paragraph.refilled() if paragraph else []
            paragraph = None
            found.append(line)
        elif paragraph is not None and begin[1] == paragraph.first and not BEGINS.match(begin[2]):
            paragraph.lines.append(begin[2])
        else:
            found += paragraph.refilled() if paragraph else []
            paragraph = Paragraph(begin[1], begin[1] + ("  " if begin[2].startswith("- ") else ""), [begin[2]])
    return found + (paragraph.refilled() if paragraph else [])


def docstring(lines: list[str]) -> list[str]:
    """The lines of a docstring, refilled."""
    quotes = QUOTES.match(lines[0])
    if quotes is None or not lines[-1].endswith('"""'):
        return lines
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    ends_alone = lines[-1].strip() == '"""'
    text = [lines[0][quotes.end() :], *lines[1:]]
    text[-1] = text[-1][: -len('"""')]
    paragraphs = list(_paragraphs(text[:-1] if ends_alone else text, quotes[0], indent))
    if not paragraphs:
        return lines
    if not ends_alone:
        paragraphs[-1].end = '"""'
    filled = [line for paragraph in paragraphs for line in paragraph.refilled()]
    return [*filled, indent + '"""'] if ends_alone else filled


def _paragraphs(text: list[str], quotes: str, indent: str) -> Iterator[Paragraph]:
    """Pieces of a docstring that are filled for themselves; an empty one for an empty line."""
    paragraph: Paragraph | None = None
    for number, line in enumerate(text):
        words, before = line.strip(), line[: len(line) - len(line.lstrip())]
        if not words and number > 0:
            if paragraph:
                yield paragraph
            yield Paragraph("", "", [""])
            paragraph = None
        elif (
            paragraph is not None
            and before == paragraph.rest
            and not BEGINS.match(words)
            and not _is_named(before, words, indent)
        ):
            paragraph.lines.append(words)
        else:
            if paragraph:
                yield paragraph
            hangs = "    " if _is_named(before, words, indent) else "  " if words.startswith(("- ", "* ")) else ""
            paragraph = Paragraph(quotes, indent, [words]) if number == 0 else Paragraph(before, before + hangs, [words])
    if paragraph:
        yield paragraph


def _is_named(before: str, words: str, indent: str) -> bool:
    return len(before) > len(indent) and NAMED.match(words) is not None


def refilled(name: str, source: str) -> str:
    """A file's text as it should be."""
    lines = source.splitlines()
    if name.endswith(".py"):
        bodies = (body for node in ast.walk(ast.parse(source)) if isinstance(body := getattr(node, "body", None), list))
        texts = [e.value for body in bodies for e in body if isinstance(e, ast.Expr) and isinstance(e.value, ast.Constant)]
        for text in sorted(texts, key=lambda text: -text.lineno):
            if isinstance(text.value, str) and text.end_lineno is not None:
                lines[text.lineno - 1 : text.end_lineno] = docstring(lines[text.lineno - 1 : text.end_lineno])
    return "\n".join(comments(lines)) + "\n"


def files() -> Iterator[Path]:
    for room in ROOMS:
        yield from (file for file in sorted((ROOT / room).rglob("*")) if file.suffix in {".py", ".cpp", ".hpp", ".cu", ".cuh"})


def main() -> int:
    fix, wrong = "--fix" in sys.argv, 0
    for file in files():
        source = file.read_text()
        wanted = refilled(file.name, source) if source else source
        if wanted == source:
            continue
        if fix:
            file.write_text(wanted)
        else:
            wrong += 1
            print(f"{file.relative_to(ROOT)}: a docstring or comment has over {WIDTH} columns: python -m tests.house.prose --fix")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
