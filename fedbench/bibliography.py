"""The papers that fedbench cites, by key, and how a citation reads as text. They are in
literature.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from fedbench.errors import UsageError, nearest


@dataclass(frozen=True)
class Paper:
    """One paper. `authors` are family names in order, and `link` is empty if none is known.

    `method` is the name of what the paper proposes. It is given only where authors and year alone
    would be ambiguous.
    """

    authors: tuple[str, ...]
    year: int
    title: str
    venue: str
    link: str = ""
    method: str = ""

    @property
    def short(self) -> str:
        """Returns authors and year as texts cite them: `Nguyen et al. 2022`, `Wang et al. 2024
        (FADAS)`."""
        first, *others = self.authors
        names = first if not others else f"{first} and {others[0]}" if len(others) == 1 else f"{first} et al."
        return f"{names} {self.year}" + (f" ({self.method})" if self.method else "")


FILE = Path(__file__).with_name("literature.toml")

PAPERS = {
    key: Paper(**{**row, "authors": tuple(row["authors"])})
    for key, row in tomllib.loads(FILE.read_text(encoding="utf-8")).items()
}


class Cited(NamedTuple):
    """A paper's key and the place in it, such as `Alg. 1`; the place may be empty."""

    key: str
    place: str


def cited(**places: str) -> tuple[Cited, ...]:
    """Returns the sources in the given order: `cited(mcmahan2017="Alg. 1")`. UsageError if a key
    has no paper."""
    for key in places:
        paper(key)
    return tuple(Cited(key, place) for key, place in places.items())


def paper(key: str) -> Paper:
    """Returns the paper of a key; UsageError with the nearest key if there is none."""
    if key not in PAPERS:
        raise UsageError(f"bibliography: unknown paper {key!r}{nearest(key, PAPERS)}")
    return PAPERS[key]


def sentence(one: Cited) -> str:
    """Returns one source as text: authors, year, title, place, link."""
    found = paper(one.key)
    return ", ".join(part for part in (f"{found.short}, {found.title}", one.place, found.link) if part)


def described(source: str | tuple[Cited, ...]) -> list[dict[str, Any]]:
    """Returns the sources as rows for JSON: key, place, short, authors, year, title, venue, link,
    method and text.

    An algorithm outside the package may give plain text as its source, which makes one row with
    `text` only.
    """
    if isinstance(source, str):
        return [{"text": source}]
    return [
        {**vars(paper(one.key)), "authors": list(paper(one.key).authors), **one._asdict()}
        | {"short": paper(one.key).short, "text": sentence(one)}
        for one in source
    ]
