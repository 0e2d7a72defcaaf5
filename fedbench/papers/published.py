"""Makes the files about the papers that are committed: the verdicts as JSON, and a page with its
pictures for each paper. They are made from the committed records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from fedbench.documents.paper import Paper
from fedbench.figures import style
from fedbench.figures.agreement import draw_agreement
from fedbench.figures.curves import draw_curves
from fedbench.papers import challenge, orders_of_convergence, queue, rules
from fedbench.papers.cells import PAPERS, cells
from fedbench.papers.document import document
from fedbench.papers.page import page
from fedbench.papers.reading import Find
from fedbench.papers.runs import in_archives
from fedbench.papers.verdicts import all_verdicts, orders
from fedbench.results.store import write_atomically

VERDICTS = "verdicts.json"
PAGES = Path("docs/papers")


@dataclass(frozen=True)
class Committed:
    """What verdicts are made from: the committed records of all cells, and the committed lines of
    `fedbench theory`."""

    find: Find
    claims: orders_of_convergence.Claims

    @classmethod
    def read(cls, archives: Path) -> Committed:
        """Returns what is committed in a folder. Raises RecordError if some of it is damaged."""
        return cls(in_archives(archives, cells()), orders_of_convergence.load(archives))

    def verdicts(self) -> dict[str, object]:
        """Returns the verdicts on all cells and the orders of their numbers, which can be written
        as JSON."""
        found = all_verdicts(cells(), self.find, self.claims)
        ordered = [one.as_dict() for one in orders(found)]
        return {"schema": 1, "rules": rules.VERSION, "cells": [one.as_dict() for one in found], "orders": ordered}

    def documents(self, root: Path | None = None) -> list[Paper]:
        """Returns the document of every paper, with the code from the repository `root` if one is
        given."""
        return [document(paper, self.find, self.claims, root) for paper in PAPERS]

    def texts(self, root: Path, archives: Path) -> Iterator[tuple[Path, str]]:
        """Yields the text files that are committed, with their contents. `root` is the repository,
        and `archives` the folder of the records."""
        yield archives / VERDICTS, json.dumps(self.verdicts(), indent=1, allow_nan=False) + "\n"
        for one in self.documents(root):
            yield root / PAGES / f"{one.key}.md", page(one)
        yield root / PAGES / challenge.FILE, challenge.page(self.find, queue.spent(archives))


def write(root: Path, archives: Path) -> Iterator[Path]:
    """Writes all committed files, both texts and pictures, and yields their names. `root` is the
    repository, and `archives` the folder of the records."""
    committed = Committed.read(archives)
    for file, text in committed.texts(root, archives):
        write_atomically(file, text.encode())
        yield file
    for paper in committed.documents():
        for pictured in filter(None, (table.picture for table in paper.tables)):
            style.write(draw_agreement(pictured.data, style.WIDTHS["page"]), root / PAGES / pictured.file)
            yield root / PAGES / pictured.file
        for one in paper.figures:
            bold = [line.row for line in one.data.lines]
            style.write(draw_curves(one.data, bold, style.WIDTHS["column"]), root / PAGES / one.file)
            yield root / PAGES / one.file
