"""Makes the page of all papers whose printed numbers were made again. Also finds the papers that an
algorithm is from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pictures.shares import shares
from fedbench.leaderboard.verdicts import ORDERS, WORDS

SAME, CLOSE, WIDEST, LIMIT = 0.15, 0.40, 0.40, 2.0
"""The numbers of `fedbench.papers.rules`, by which the documents were made, for the words of the
page. A test compares them."""


def index(site: Site) -> str:
    """Returns the page of all papers, with the rules of the verdicts."""
    whole = {word: sum(paper["counts"].get(word, 0) for paper in site.papers) for word in WORDS}
    return site.page(
        "papers.html",
        "papers.html",
        papers=[(paper, shares(paper["counts"]), count(paper)) for paper in site.papers],
        cells=sum(whole.values()),
        tables=sum(len(paper["tables"]) for paper in site.papers),
        whole=whole,
        found=[word for word in WORDS if whole[word]],
        bar=shares(whole),
        orders={word: sum(paper["orders"].get(word, 0) for paper in site.papers) for word in ORDERS},
        words=WORDS,
        order_words=ORDERS,
        same=SAME,
        close=CLOSE,
        widest=WIDEST,
        limit=LIMIT,
    )


def count(paper: Mapping[str, Any]) -> int:
    """Returns how many printed numbers a paper has."""
    return sum(len(table["cells"]) for table in paper["tables"])


def using(site: Site, label: str, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the papers that an algorithm is from, or whose tables name it. They are {paper,
    tables}, where `tables` are the names of the tables that name the algorithm."""
    name = label.partition("[")[0]
    keys = {source.get("key") for source in given["facts"]["sources"]} if given["facts"] else set()
    found = []
    for paper in site.papers:
        tables = [table["name"] for table in paper["tables"] if name in _algorithms(table)]
        if tables or paper["key"] in keys:
            found.append({"paper": paper, "tables": tables})
    return found


def _algorithms(table: Mapping[str, Any]) -> set[str]:
    """Returns the algorithms of a table's cells, with the names that the registry has for them."""
    if "algorithm" not in table["columns"]:
        return set()
    place = table["columns"].index("algorithm")
    return {cell["setting"][place].lower().replace("-", "_") for cell in table["cells"]}
