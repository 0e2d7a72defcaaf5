"""Gives the addresses of a site's pages, relative to its folder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fedbench.documents.parts import Kind
from fedbench.documents.suite import Document

PAGES = ("table", "compare", "algorithms", "rules", "papers", "speed", "submissions", "changes")
"""The pages that a site has once, in the order of the links to them."""
RESERVED = frozenset({"index", *PAGES, "data", "assets", "site", "files", "findings", "docs"})
"""Names that no document may have, since the site uses them itself."""


def slug(text: str) -> str:
    """Returns a text as a part of an address, which has at most 80 lower case letters, digits and
    hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:80].strip("-") or "x"


def free(name: str) -> str:
    """Returns a name, changed if it is one of RESERVED."""
    return f"{name}-records" if name in RESERVED else name


def slugs(texts: Iterable[str]) -> dict[str, str]:
    """Returns distinct slugs of distinct texts. Where two would be the same, the second ends in
    -2."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for text in texts:
        plain = slug(text)
        own = next(one for n in range(1, len(taken) + 2) if (one := plain if n == 1 else f"{plain}-{n}") not in taken)
        taken.add(own)
        found[text] = own
    return found


class Places:
    """The addresses of the pages of some documents, and the full names of their algorithms. `front`
    is the address of the overview of the first document."""

    def __init__(self, documents: Sequence[Document], front: str = "index.html") -> None:
        self._first, self._front = documents[0].name, front
        self._labels = slugs(sorted({one.label for document in documents for one in document.algorithms}))
        self._full_names: dict[str, str] = {
            one.label: one.full_name for document in reversed(documents) for one in document.algorithms if one.full_name
        }
        self._points = {document.name: slugs(point.name for point in document.points) for document in documents}

    def overview(self, name: str) -> str:
        return self._front if name == self._first else f"{name}.html"

    def scenario(self, name: str, point: str) -> str:
        return f"{name}/{self._points[name][point]}.html"

    def record(self, name: str, point: str, label: str, kind: Kind) -> str:
        return f"{name}/{self._points[name][point]}/{self._labels[label]}-{kind}.html"

    def algorithm(self, label: str) -> str:
        return f"algorithms/{self._labels[label]}.html"

    def full_name(self, label: str) -> str:
        """Returns the name of a row's algorithm as papers write it, such as `FedBuff`; empty if it
        has none."""
        return self._full_names.get(label, "")

    def title(self, label: str) -> str:
        """Returns a row's name in one piece: the full name, with the label beside it if that has
        options; the label if there is no full name."""
        full = self.full_name(label)
        return f"{full} {label}" if full and "[" in label else full or label

    def paper(self, key: str) -> str:
        return f"papers/{key}.html"
