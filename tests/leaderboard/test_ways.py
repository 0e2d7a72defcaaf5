"""The links at the top of every page."""

from __future__ import annotations

import pytest

from fedbench.leaderboard.ways import FRONT, HOME, Way, ways

OVERVIEWS = {"axes": FRONT, "beyond": "beyond.html"}
PAGES = ("table", "algorithms", "rules", "papers")


def titles(several: tuple[Way, ...]) -> list[str]:
    return [one.title for one in several]


def current(several: tuple[Way, ...]) -> dict[str, str]:
    return {one.title: one.current for one in several if one.current}


def test_a_whole_site() -> None:
    found = ways(FRONT, FRONT, OVERVIEWS, PAGES, has_docs=True)
    assert titles(found.main) == ["fedbench", "Learn", "Findings", "Algorithms", "Papers", "Reference"]
    assert [one.address for one in found.main] == [
        HOME, "docs/learn/index.html", FRONT, "algorithms.html", "papers.html", "docs/reference/index.html",
    ]  # fmt: skip
    assert titles(found.findings) == ["axes", "beyond", "Table", "Rules"]
    assert [one.title for one in found.findings if one.is_apart] == ["Table"]


@pytest.mark.parametrize(
    ("here", "main", "findings"),
    [
        (HOME, {"fedbench": "page"}, None),
        (FRONT, {"Findings": "page"}, {"axes": "page"}),
        ("beyond.html", {"Findings": "true"}, {"beyond": "page"}),
        ("beyond/calm.html", {"Findings": "true"}, {"beyond": "true"}),
        ("beyond/calm/fedavg-tuned.html", {"Findings": "true"}, {"beyond": "true"}),
        ("rules.html", {"Findings": "true"}, {"Rules": "page"}),
        ("papers.html", {"Papers": "page"}, None),
        ("papers/wu2021.html", {"Papers": "true"}, None),
        ("algorithms/fedavg.html", {"Algorithms": "true"}, None),
    ],
)
def test_where_one_is(here: str, main: dict[str, str], findings: dict[str, str] | None) -> None:
    found = ways(here, FRONT, OVERVIEWS, PAGES, has_docs=False)
    assert current(found.main) == main
    assert (current(found.findings) if found.findings else None) == findings


def test_a_board_of_ones_own_has_no_home() -> None:
    found = ways(HOME, HOME, {}, ("table", "algorithms", "rules"), has_docs=False)
    assert titles(found.main) == ["fedbench", "Findings", "Algorithms"]
    assert current(found.main) == {"Findings": "page"}
    assert titles(found.findings) == ["Table", "Rules"]
    assert not any(one.is_apart for one in found.findings)
