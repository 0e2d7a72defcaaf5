"""Makes the catalogue of algorithms, which is one HTML page, from their descriptions alone."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from markupsafe import Markup

from fedbench.documents.suite import Facts
from fedbench.leaderboard.pages.frame import environment


@dataclass(frozen=True)
class Paragraph:
    """A part of a docstring. `is_code` says that it was indented, as equations are."""

    text: str
    is_code: bool


def paragraphs(about: str) -> list[Paragraph]:
    """Returns the parts of a docstring without its first line and its source."""
    parts = [part for part in about.split("\n\n")[1:] if part.strip() and not part.startswith("Source:")]
    return [Paragraph(textwrap.dedent(part), part.startswith(" ")) for part in parts]


def source(about: str) -> str:
    """Returns what follows `Source:` in a docstring, including how we depart from the source."""
    return " ".join(about.partition("Source:")[2].split())


@dataclass(frozen=True)
class Entry:
    """The facts of an algorithm, with its docstring in parts."""

    facts: Facts

    @property
    def title(self) -> str:
        return self.facts.about.partition("\n\n")[0].replace("\n", " ")

    @property
    def paragraphs(self) -> list[Paragraph]:
        return paragraphs(self.facts.about)

    @property
    def source(self) -> str:
        return source(self.facts.about)


def render(algorithms: Sequence[Facts], version: str) -> str:
    """Returns the page of descriptions that `fedbench info --json` gives. It has the style sheet in
    it, so that it is one file. The same descriptions give the same bytes."""
    style = Markup((files("fedbench.leaderboard") / "assets" / "style.css").read_text(encoding="utf-8"))
    template = environment().get_template("catalogue.html")
    return template.render(algorithms=[Entry(facts) for facts in algorithms], version=version, style=style)
