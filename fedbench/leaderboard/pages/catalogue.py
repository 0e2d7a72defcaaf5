"""The catalogue of algorithms as one HTML page: a pure function of their descriptions."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from fedbench.leaderboard.pages.frame import environment


@dataclass(frozen=True)
class Paragraph:
    """A part of a docstring; `is_code`: it was indented, as equations are."""

    text: str
    is_code: bool


def paragraphs(about: str) -> list[Paragraph]:
    """A docstring without its first line and its source, in parts."""
    parts = [part for part in about.split("\n\n")[1:] if part.strip() and not part.startswith("Source:")]
    return [Paragraph(textwrap.dedent(part), part.startswith(" ")) for part in parts]


def source(about: str) -> str:
    """What follows `Source:` in a docstring, departures included."""
    return " ".join(about.partition("Source:")[2].split())


def entry(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the facts of an algorithm with its docstring in parts."""
    return {
        **facts,
        "title": facts["about"].partition("\n\n")[0].replace("\n", " "),
        "paragraphs": paragraphs(facts["about"]),
        "source_text": source(facts["about"]),
    }


def render(algorithms: Sequence[Mapping[str, Any]], version: str) -> str:
    """The page of descriptions as `fedbench info --json` gives them; the same ones give the same
    bytes."""
    style = Markup(
        (files("fedbench.leaderboard") / "assets" / "style.css").read_text(encoding="utf-8")
    )  # one file, to be sent around
    template = environment().get_template("catalogue.html")
    return template.render(algorithms=[entry(facts) for facts in algorithms], version=version, style=style)
