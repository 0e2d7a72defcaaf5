"""Gives the links at the top of every page: those to the parts of the site, and below them, on
pages of findings, those to the suites and to what belongs to all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

HOME, FRONT = "index.html", "findings.html"
LEARN, REFERENCE = "docs/learn/index.html", "docs/reference/index.html"
PARTS = ("algorithms", "papers")
"""The parts of a site beside the findings. Each has a page of this name and a folder with more."""


@dataclass(frozen=True)
class Way:
    """A link. `current` is `page` if it leads to the page itself, `true` if it leads to the part of
    the site that the page belongs to, and empty otherwise. `is_apart` says that a gap is before
    it."""

    title: str
    address: str
    current: str = ""
    is_apart: bool = False


@dataclass(frozen=True)
class Ways:
    """The links of a page. `findings` is empty on pages that are no findings."""

    main: tuple[Way, ...]
    findings: tuple[Way, ...]


def ways(here: str, front: str, overviews: Mapping[str, str], pages: Sequence[str], *, has_docs: bool) -> Ways:
    """Returns the links of a page.

    Args:
        here: its address.
        front: the address of the first overview.
        overviews: the addresses of the overviews by the names of their documents, if there are
            several.
        pages: the names of the pages that the site has once.
        has_docs: whether the site has the documentation.
    """
    part = here.partition("/")[0].removesuffix(".html")
    is_home = here == HOME != front
    is_finding = part not in PARTS and not is_home
    main = [Way("fedbench", HOME, "page" if is_home else "")]
    main += [Way("Learn", LEARN)] if has_docs else []
    main += [Way("Findings", front, _current(front, here, is_within=is_finding))]
    main += [
        Way(one.title(), f"{one}.html", _current(f"{one}.html", here, is_within=part == one)) for one in PARTS if one in pages
    ]
    main += [Way("Reference", REFERENCE)] if has_docs else []
    if not is_finding:
        return Ways(tuple(main), ())
    within = [Way(title, at, _current(at, here, is_within=part == title)) for title, at in overviews.items()]
    others = [one for one in pages if one not in PARTS]
    within += [
        Way(one.title(), f"{one}.html", _current(f"{one}.html", here), is_apart=bool(within) and one == others[0])
        for one in others
    ]
    return Ways(tuple(main), tuple(within))


def _current(address: str, here: str, *, is_within: bool = False) -> str:
    return "page" if address == here else "true" if is_within else ""
