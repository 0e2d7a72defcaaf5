"""The table of algorithms x points: order, words and shades."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from fedbench.errors import UsageError
from fedbench.leaderboard import build_suites
from fedbench.leaderboard.heatmap import costs, times
from fedbench.leaderboard.suite_page import render

POINTS = [
    {
        "name": name,
        "axis": "delay",
        "about": f"It is {name}.",
        "sentence": "First: `fast`.",
        "budget_seconds": 100.0,
        "scenario_hash": "c0ffee",
        "resolution": {"tuned": 2.0},
    }
    for name in ("calm", "rough")
]


def row(
    label: str, mean: float, *, solved: float = 1.0, first: bool = False, alike: bool = False, place: int | None = 0
) -> dict[str, Any]:
    targets = [{"target": 0.8, "hits": round(10 * solved), "median": mean, "bytes": 1.0}]
    return {
        "label": label, "mean": mean, "half_width": 0.5, "solved": solved, "first": first, "first_alike": alike, "place": place,
        "seconds": {str(seed): mean for seed in range(10)}, "targets": targets, "unfinished": 0,
    }  # fmt: skip


def algorithm(label: str, *advantages: str, family: str = "asynchronous") -> dict[str, Any]:
    return {"label": label, "selector": label, "family": family, "advantages": list(advantages)}


DOCUMENT: dict[str, Any] = {
    "suite": {
        "name": "made-up", "hash": "ab", "about": "It is made up.", "runs": 40, "seeds": 10, "trials": 5, "rules": 1,
        "commits": ["0123456789abcdef"],
    },
    "definitions": ["**First** is the earliest."],
    "sentences": ["`a` is first; <b>never</b> run."],
    "points": POINTS,
    "algorithms": [
        algorithm("slow"), algorithm("fast"), algorithm("crowd", "more than 10 clients at work at a time"),
        algorithm("pooled", family="reference"), algorithm("untried"),
    ],
    "boards": {
        "tuned": {
            "calm": [
                row("pooled", 1, place=None), row("crowd", 5, first=True), row("fast", 10, alike=True),
                row("slow", 41, solved=0.5, place=2),
            ],
            "rough": [row("fast", 20, first=True), row("slow", 100, solved=0.0, place=1)],
        },
        "published": {},
    },
    "profiles": {"factors": [0.5, 1.0, 2.0, 4.0], "shares": {"tuned": {"fast": [0, 0.5, 1, 1], "slow": [0, 0, 0, 0.25]}, "published": {}}},
    "absent": {"no run": ["untried at calm"]},
}  # fmt: skip


MISSED = {
    **DOCUMENT,
    "algorithms": [algorithm("fast")],
    "boards": {"tuned": {"calm": [row("fast", 10)], "rough": [row("fast", 90, solved=0.25)]}, "published": {}},
}


def test_groups_and_order() -> None:
    found = times(DOCUMENT, "tuned")
    assert [(one.title, [line.label for line in one.lines]) for one in found] == [
        ("Like for like", ["fast", "slow"]),
        ("More than 10 clients at work at a time", ["crowd"]),
        ("Pooled data, not ranked", ["pooled"]),
    ]


def test_cells() -> None:
    lines = {line.label: line.cells for group in times(DOCUMENT, "tuned") for line in group.lines}
    assert [(cell.text, cell.note, cell.level, cell.mark) for cell in lines["fast"]] == [
        ("10.0", "", 2, "alike"),
        ("20.0", "", 0, "first"),
    ]
    assert [(cell.text, cell.note, cell.level) for cell in lines["slow"]] == [
        ("41.0", "50 % hit", 6),
        ("–", "no target", None),
    ]
    assert [(cell.text, cell.note, cell.level) for cell in lines["crowd"]] == [("5.0", "", 0), ("–", "no row", None)]
    assert lines["pooled"][0].level == 0, "a reference that is earlier than the earliest is no lighter"
    assert lines["slow"][0].title == "slow at calm: 41.0 s ± 0.5 s; 80 % by 5 of 10 seeds"


def test_what_a_point_costs() -> None:
    lines = {line.label: line.cells for group in costs(DOCUMENT, "tuned") for line in group.lines}
    assert [(cell.text, cell.level) for cell in lines["fast"]] == [("1.0", 0), ("2.0", 2)]
    assert [cell.text for cell in lines["slow"]] == ["? 1.0", "–"], "it misses targets at both, and reaches none at the second"
    assert [cell.text for cell in lines["crowd"]] == ["1.0", "–"]
    assert "≥" in costs(MISSED, "tuned")[0].lines[0].cells[1].text


def test_a_target_that_is_met_at_once() -> None:
    """There is no time to divide by."""
    boards = {"tuned": {"calm": [row("fast", 0.0), row("slow", 5)], "rough": [row("fast", 0.0)]}, "published": {}}
    cells = {line.label: line.cells for group in times({**DOCUMENT, "boards": boards}, "tuned") for line in group.lines}
    assert [cell.level for cell in cells["fast"]] == [0, 0]
    assert cells["slow"][0].level == 6
    assert costs({**DOCUMENT, "boards": boards}, "tuned")[0].lines[0].cells[1].text == "1.0"


def test_the_page_says_it_without_colour_and_escapes_texts() -> None:
    page = render(DOCUMENT, {"made-up": "index.html", "other": "other.html"})
    assert "<code>a</code> is first; &lt;b&gt;never&lt;/b&gt; run." in page
    assert '<span class="hidden">first, like for like: </span>10.0' in page
    assert '<span class="hidden">first: </span>5.0' in page
    assert "<code>fast</code>." in page
    assert "<strong>First</strong> is the earliest." in page
    assert (
        '<th scope="row">slow</th><td class="number">41.0 ± 0.5</td><td class="number">5 of 10</td><td class="number">41</td>'
        in page
    )
    assert "Left out, no run: untried at calm." in page
    assert "Published options" not in page, "there is no such board"
    assert '<a href="other.html">other</a>' in page


def test_the_site(tmp_path: Path) -> None:
    other = {**DOCUMENT, "suite": {**DOCUMENT["suite"], "name": "other"}}
    page = build_suites([DOCUMENT, other], tmp_path)
    assert page == tmp_path / "index.html"
    names = {"index.html", "made-up.json", "other.html", "other.json", "rules.html"}
    assert {file.name for file in tmp_path.iterdir()} == names
    for names_taken in ([], [DOCUMENT, DOCUMENT], [{**DOCUMENT, "suite": {**DOCUMENT["suite"], "name": "rules"}}]):
        with pytest.raises(UsageError, match="expected suites with names of their own"):
            build_suites(names_taken, tmp_path / "other")
    links = set(re.findall(r'href="([^"#]+)"', page.read_text()))
    assert links < names, "nothing is linked that is not there"
    assert json.loads((tmp_path / "other.json").read_text()) == other
