"""The alignment of a paper as Markdown, for the pages in docs/papers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from fedbench.papers.alignment import Located, load

UP = "../../"
"""From a page in docs/papers to the repository."""


def markdown(key: str, root: Path) -> str:
    """Returns three sections: places and code with links to its lines, errata, and what the paper does not print.

    `root` is the repository. The text ends with a newline. Errors are those of `load` and of `Alignment.located`.
    """
    paper = load(key)
    errata = [(*map(escaped, (e.place, e.printed, e.meant, e.why)), _link(e.where_we_follow)) for e in paper.errata]
    unprinted = [tuple(map(escaped, (u.what, u.taken, u.why))) for u in paper.unprinted]
    sections = [
        ("The paper and our code", table(("Place", "The paper says", "Our code"), map(_code_row, paper.located(root)))),
        ("Errata", table(("Place", "Printed", "Meant", "Why", "Followed in"), errata)),
        ("What the paper does not print", table(("What", "Taken here", "Why"), unprinted)),
    ]
    return "\n\n".join(f"## {title}\n\n{table}" for title, table in sections) + "\n"


def _code_row(found: Located) -> tuple[str, str, str]:
    row = found.row
    if row.not_code:
        return escaped(row.place), escaped(row.says), escaped(f"No code. {row.not_code}")
    lines = f"L{found.first}" + (f"-L{found.last}" if found.last > found.first else "")
    quoted = "<br>".join(_quoted(line) for line in row.holds.splitlines())
    return escaped(row.place), escaped(row.says), f"{_link(row.file, lines)}<br>{quoted}"


def _link(path: str, lines: str = "") -> str:
    """Returns a link to a file, or to lines of it; empty if there is no path."""
    anchor = f"#{lines}" if lines else ""
    return f"[{path}{anchor}]({UP}{path}{anchor})" if path else ""


def escaped(text: str) -> str:
    """Returns plain text such that Markdown shows every character of it."""
    return re.sub(r"([\\`*_<>\[\]])", r"\\\1", text)


def _quoted(line: str) -> str:
    """Returns a line of code between backticks; spaces before it would not be shown."""
    text = line.strip()
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a Markdown table. A cell is one line, and its bars are escaped, also within code."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
