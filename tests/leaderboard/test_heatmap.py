"""The table of algorithms x points: systems, order, words and shades."""

from __future__ import annotations

from fedbench.leaderboard.decisions import decisions
from fedbench.leaderboard.heatmap import Cell, heat
from tests.leaderboard.suite import ALL, DOCUMENT, TEN


def cells() -> dict[str, tuple[Cell, ...]]:
    return {label: cells for system in heat(DOCUMENT, "tuned") for label, cells in system.lines}


def test_systems_and_order() -> None:
    found = heat(DOCUMENT, "tuned")
    assert [(one.title, [label for label, _ in one.lines]) for one in found] == [
        (TEN, ["fast", "near", "slow"]),
        ("All clients at work", ["crowd", "mob"]),
        ("References, not compared", ["pooled"]),
    ]
    assert [one.cheapest for one in found] == [("10.0 s", "20.0 s"), ("5.00 s", "–"), ()]


def test_cells() -> None:
    found = cells()
    assert [(cell.text, cell.interval, cell.note, cell.level, cell.is_best) for cell in found["fast"]] == [
        ("1.00", "[0.80, 1.20]", "", 0, True),
        ("1.00", "[0.80, 1.20]", "", 0, True),
    ]
    assert found["near"][0].is_best
    assert [(cell.text, cell.interval, cell.note, cell.level, cell.is_best) for cell in found["slow"]] == [
        ("≥ 4.10", "[3.28, ∞]", "", 6, False),
        ("–", "", "no target", None, False),
    ]
    assert (found["near"][1].text, found["near"][1].note) == ("–", "no row")
    assert (found["crowd"][1].text, found["crowd"][1].note, found["crowd"][1].level) == ("3.00 s", "no verdict", None)
    assert (found["pooled"][0].text, found["pooled"][0].note) == ("1.00 s", "")
    assert found["slow"][0].title == "slow at calm: ≥ 41.0 s; behind the best; 80 % by 5 seeds"


def test_a_step_of_the_shade_is_a_third_of_a_doubling() -> None:
    found = cells()
    assert [found[label][0].level for label in ("fast", "near", "mob", "slow")] == [0, 0, 0, 6]


def test_decisions() -> None:
    found = decisions(DOCUMENT, "tuned")
    assert found is not None
    assert found.columns == (TEN, ALL, f"fewest gradients, {TEN}", f"fewest bytes, {TEN}")
    calm, rough = (of_point for _, of_point in found.rows)
    assert [(cell.leader, cell.cost, cell.others) for cell in calm] == [
        ("fast", "10.0 s", (("near", "1.10"),)),
        ("crowd", "5.00 s", (("mob", "1.20"),)),
        ("fast", "1,000", (("near", "1.10"),)),
        ("fast", "1 kB", (("near", "1.10"),)),
    ]
    assert (rough[1].leader, rough[1].note) == ("", "no verdict")
    assert decisions(DOCUMENT, "default") is None
