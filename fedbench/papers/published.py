"""What is committed of the papers, made of the committed records: the verdicts as JSON, and a page for each paper."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fedbench.figures import style
from fedbench.figures.curves import draw_curves
from fedbench.papers import orders_of_convergence
from fedbench.papers.cells import PAPERS, cells
from fedbench.papers.curves import curves
from fedbench.papers.document import document
from fedbench.papers.page import page
from fedbench.papers.reading import Find
from fedbench.papers.runs import in_archives
from fedbench.papers.verdicts import all_verdicts, orders
from fedbench.results.store import write_atomically

VERDICTS = "verdicts.json"
PAGES = Path("docs/papers")


def verdicts(archives: Path) -> dict[str, Any]:
    """Returns the verdicts on all cells and the orders of their numbers, from the records in `archives`; JSON-able."""
    found = all_verdicts(cells(), *_committed(archives))
    return {"schema": 1, "cells": [one.as_dict() for one in found], "orders": [one.as_dict() for one in orders(found)]}


def documents(archives: Path, root: Path | None = None) -> list[dict[str, Any]]:
    """Returns what is said of every paper, from the records in `archives`; with code beside it from the repository `root`, if given."""
    find, claims = _committed(archives)
    return [document(paper, find, claims, root) for paper in PAPERS]


def _committed(archives: Path) -> tuple[Find, orders_of_convergence.Claims]:
    return in_archives(archives, cells()), orders_of_convergence.load(archives)


def texts(root: Path, archives: Path) -> Iterator[tuple[Path, str]]:
    """Yields the committed files of text with their contents; `root` is the repository."""
    yield archives / VERDICTS, json.dumps(verdicts(archives), indent=1, allow_nan=False) + "\n"
    for one in documents(archives):
        yield root / PAGES / f"{one['key']}.md", page(one, root)


def write(root: Path, archives: Path) -> Iterator[Path]:
    """Writes all committed files, texts and pictures; yields their names."""
    for file, text in texts(root, archives):
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, text.encode())
        yield file
    find, _ = _committed(archives)
    for paper in PAPERS:
        for one in curves(paper, find):
            bold = [line.row for line in one.data.lines]
            style.write(draw_curves(one.data, bold, style.WIDTHS["column"]), root / PAGES / one.file)
            yield root / PAGES / one.file
