"""Citations of papers by key, and how they read as text."""

from __future__ import annotations

from typing import Any, NamedTuple

from fedbench.errors import UsageError, nearest
from fedbench.literature import PAPERS, Paper


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
