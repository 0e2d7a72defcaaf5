"""The papers that fedbench cites, by key, and how a citation reads as text and as BibTeX. They are
in literature.toml."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

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


def described(source: str | tuple[Cited, ...]) -> list[dict[str, object]]:
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


JOURNALS = ("Transactions", "Letters")
_SPECIAL = re.compile(r"[&%$#_]")


def bibtex(key: str) -> str:
    """Returns the BibTeX entry of a paper. It has the authors' family names, which are all that is
    kept of them. UsageError for an unknown key."""
    found = paper(key)
    arxiv = found.link.removeprefix("https://arxiv.org/abs/") if "arxiv.org" in found.link else ""
    if found.venue == "arXiv" or re.match("UCI|Technical", found.venue):
        kind, place = "misc", {} if found.venue == "arXiv" else {"howpublished": found.venue}
    else:
        is_journal = any(word in found.venue for word in JOURNALS)
        kind, place = ("article", {"journal": found.venue}) if is_journal else ("inproceedings", {"booktitle": found.venue})
    authors = " and ".join(f"{{{name}}}" if " " in name else name for name in found.authors)
    fields = {"author": authors, "title": f"{{{found.title}}}", **place, "year": str(found.year)}
    fields |= {"eprint": arxiv, "archiveprefix": "arXiv"} if arxiv else {}
    return entry(kind, key, fields | ({"url": found.link} if found.link else {}))


def entry(kind: str, key: str, fields: dict[str, str]) -> str:
    """Returns an entry of BibTeX with these fields; what TeX would take for a command is escaped,
    but in addresses."""
    safe = {name: text if name == "url" else _SPECIAL.sub(r"\\\g<0>", text) for name, text in fields.items()}
    lines = (f"  {name} = {{{text}}}," for name, text in safe.items())
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
