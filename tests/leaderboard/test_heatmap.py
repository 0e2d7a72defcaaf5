"""The table of algorithms x points: order, words and shades."""

from __future__ import annotations

from fedbench.leaderboard.heatmap import costs, times
from tests.leaderboard.suite import DOCUMENT, algorithm, row

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
        ("≥ 41.0", "50 % hit", 6),
        ("–", "no target", None),
    ]
    assert [(cell.text, cell.note, cell.level) for cell in lines["crowd"]] == [("5.0", "", 0), ("–", "no row", None)]
    assert lines["pooled"][0].level == 0, "a reference that is earlier than the earliest is no lighter"
    assert lines["slow"][0].title == "slow at calm: 41.0 s ± 0.5; behind, tie class 3; 80 % by 5 of 10 seeds"
    assert lines["slow"][0].interval == "± 0.5"


def test_what_a_point_costs() -> None:
    lines = {line.label: line.cells for group in costs(DOCUMENT, "tuned") for line in group.lines}
    assert [(cell.text, cell.level) for cell in lines["fast"]] == [("1.0", 0), ("2.0", 2)]
    assert [cell.text for cell in lines["slow"]] == ["? 1.0", "–"], "it misses targets at both, and reaches none at the second"
    assert [cell.text for cell in lines["crowd"]] == ["1.0", "–"]
    assert "≥" in costs(MISSED, "tuned")[0].lines[0].cells[1].text


def test_what_a_point_costs_has_an_interval() -> None:
    boards = {"tuned": {"calm": [row("fast", 10)], "rough": [{**row("fast", 20), "over_base": [1.8, 2.25]}]}, "published": {}}
    cells = costs({**DOCUMENT, "algorithms": [algorithm("fast")], "boards": boards}, "tuned")[0].lines[0].cells
    assert [(cell.text, cell.interval) for cell in cells] == [("1.0", ""), ("2.0", "[1.8, 2.2]")]


def test_a_target_that_is_met_at_once() -> None:
    """There is no time to divide by."""
    boards = {"tuned": {"calm": [row("fast", 0.0), row("slow", 5)], "rough": [row("fast", 0.0)]}, "published": {}}
    cells = {line.label: line.cells for group in times({**DOCUMENT, "boards": boards}, "tuned") for line in group.lines}
    assert [cell.level for cell in cells["fast"]] == [0, 0]
    assert cells["slow"][0].level == 6
    assert costs({**DOCUMENT, "boards": boards}, "tuned")[0].lines[0].cells[1].text == "1.0"
