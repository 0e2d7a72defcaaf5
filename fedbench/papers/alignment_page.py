"""Writes the part of a paper's page in docs/papers that compares the paper with our code, its
errata and what it does not print."""

from __future__ import annotations

from fedbench.documents.paper import Aligned, Paper
from fedbench.figures.tables.markdown import escaped
from fedbench.suites.findings.markdown import table

UP = "../../"
"""The way from a page in docs/papers to the root of the repository."""


def markdown(document: Paper) -> str:
    """Returns three sections of Markdown from a paper's document: places with links to their code,
    errata, and what the paper does not print. The text ends with a newline."""
    errata = [
        (*map(escaped, (one.place, one.printed, one.meant, one.why)), _link(one.where_we_follow)) for one in document.errata
    ]
    unprinted = [[*map(escaped, (one.what, one.taken, one.why))] for one in document.unprinted]
    sections = [
        ("The paper and our code", table(("Place", "The paper says", "Our code"), [*map(_code_row, document.alignment)])),
        ("Errata", table(("Place", "Printed", "Meant", "Why", "Followed in"), errata)),
        ("What the paper does not print", table(("What", "Taken here", "Why"), unprinted)),
    ]
    return "\n\n".join(f"## {title}\n\n{rows}" for title, rows in sections) + "\n"


def _code_row(one: Aligned) -> tuple[str, str, str]:
    place, says = escaped(one.place), escaped(one.says)
    if one.not_code:
        return place, says, escaped(f"No code. {one.not_code}")
    quoted = "<br>".join(_quoted(line) for line in one.holds.splitlines())
    return place, says, f"{_link(one.file)}<br>{quoted}"


def _link(path: str) -> str:
    """Returns a link to a file; empty if there is no path. Lines have no numbers, which would be
    others after the next change; the site, which is made of one commit, has them."""
    return f"[{path}]({UP}{path})" if path else ""


def _quoted(line: str) -> str:
    """Returns a line of code between backticks. Its indentation is left out, since Markdown does
    not show it. Bars are escaped, since a bar ends a cell even in code."""
    text = " ".join(line.split()).replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"
