"""How often algorithms are among the best, in words and as a picture."""

from __future__ import annotations

import copy
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from fedbench.documents.suite import Document
from fedbench.leaderboard.pictures.standings import pictures
from fedbench.leaderboard.standings import MOST, Panel, Standing, headline, listed, panels, sentence
from tests.leaderboard.suite import ALL, CONTENT, TEN, read

AVERAGES = {
    "tuned": {
        TEN: [
            {"row": "near", "ratio": [1.2, 1.1, 1.3], "worst": 2.0, "worst_at": "calm", "points": 2, "is_bound": False},
            {"row": "slow", "ratio": [3.0, 2.0, 4.0], "worst": 5.0, "worst_at": "rough", "points": 2, "is_bound": True},
        ]
    }
}


@pytest.fixture(name="content")
def _content() -> dict[str, Any]:
    return copy.deepcopy({**CONTENT, "averages": AVERAGES})


@pytest.fixture(name="document")
def _document(content: dict[str, Any]) -> Document:
    return read(content)


def test_the_best_come_first_and_the_baseline_is_kept(document: Document) -> None:
    ten, everybody = panels(document, "tuned", "slow")
    assert (ten.system, ten.points, everybody.system, everybody.points) == (TEN, 2, ALL, 1)
    assert [(row.label, row.best) for row in ten.rows] == [("fast", 2), ("near", 1), ("slow", 0)]
    assert ten.rows[0].average is None, "it is not in the table of averages"
    near, slow = (row.average for row in ten.rows[1:])
    assert near is not None
    assert slow is not None
    assert near.ratio == (1.2, 1.1, 1.3)
    assert slow.is_bound
    assert ten.more == 0
    assert [row.label for row in panels(document, "tuned")[0].rows] == ["fast", "near"]
    assert panels(document, "tuned")[0].more == 1


def test_a_document_without_averages_has_counts(content: dict[str, Any]) -> None:
    del content["averages"]
    document = read(content)
    ten, _ = panels(document, "tuned")
    assert [row.average for row in ten.rows] == [None, None]
    ((_, svg), _) = pictures(panels(document, "tuned"))
    assert "always used" not in svg
    assert panels(document.model_copy(update={"groups": {"tuned": {}}}), "tuned") == []


def test_at_most_so_many_rows(content: dict[str, Any]) -> None:
    for groups in content["groups"]["tuned"].values():
        for group in groups:
            if group["kind"] == TEN:
                group["rows"] = [f"a{i}" for i in range(MOST + 3)]
                group["axes"]["seconds"]["best"] = group["rows"][:-1]
    ten, _ = panels(read(content), "tuned", f"a{MOST + 2}")
    assert [row.label for row in ten.rows] == [*(f"a{i}" for i in range(MOST)), f"a{MOST + 2}"]
    assert ten.more == 2


def panel(*best: int, points: int = 3, system: str = TEN) -> Panel:
    return Panel(system, points, tuple(Standing(f"a{i}", count, None) for i, count in enumerate(best)), 0)


def test_what_panels_show_in_words() -> None:
    assert sentence([panel(2, 1), panel(1, 1, system=ALL)]) == (
        "With 10 clients at work, `a0` is the best, within the noise, at 2 of 3 points; with all clients at work, `a0` and `a1` at 1."
    )
    assert (
        sentence([panel(2, 2)], "under", "kinds")
        == "With 10 clients at work, `a0` and `a1` are the best, within the noise, under 2 of 3 kinds."
    )
    assert sentence([panel(2, 1), panel(1, points=2)]).endswith("; with 10 clients at work, `a0` at 1 of 2.")
    assert sentence([]) == ""
    assert headline([panel(2, 1), panel(2)]) == "No algorithm is the best everywhere"
    assert headline([panel(1, points=1), panel(2, 1)]) == "No algorithm is the best everywhere"
    assert headline([panel(3, 1)]) == "a0 is among the best everywhere"
    assert headline([panel(3, 3)]) == "Some algorithms are among the best everywhere"
    assert [listed(list("abc"[:n])) for n in range(4)] == ["", "a", "a and b", "a, b and c"]


def test_the_picture_says_its_numbers_and_shares_a_scale(document: Document) -> None:
    (first, svg), (_, other) = pictures(panels(document, "tuned", "slow"))
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    assert (
        "near is among the best at 1 of 2 points; always used, it costs 1.20 times the best’s cost, 95 % interval 1.10 to 1.30"
        in (root.get("aria-label") or "")
    )
    widths = [float(one.get("width", "").rstrip("%")) for one in root.iter("rect")]
    assert widths == [pytest.approx(2 * widths[1]), widths[1], 0], "bars are as long as the counts"
    assert len(list(root.iter("circle"))) == sum(row.average is not None for row in first.rows)
    hollow = [one.get("class") for one in root.iter("circle")]
    assert hollow == ["dot", "dot hollow"]
    lines = re.findall(r'class="range" x1="([\d.]+)%" x2="([\d.]+)%"', svg)
    dots = re.findall(r'cx="([\d.]+)%"', svg)
    assert all(float(low) < float(dot) < float(high) <= 86 for (low, high), dot in zip(lines, dots, strict=True))
    assert "≥ 3.00" in svg
    assert svg.count("not run at all points") == 1, "of the first row"
    assert "always used" not in other, "nobody has an average there"


def test_names_are_text(content: dict[str, Any]) -> None:
    for group in content["groups"]["tuned"]["calm"]:
        group["rows"] = ["<b>", *group["rows"]]
        group["axes"]["seconds"]["best"] = ["<b>"]
    for _, svg in pictures(panels(read(content), "tuned")):
        ET.fromstring(svg)
        assert "<b>" not in svg
