"""Pictures of labels, of clients' work and of trials."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from fedbench.leaderboard.pictures import degradation
from fedbench.leaderboard.pictures.bars import bar, end_of
from fedbench.leaderboard.pictures.labels import label_map
from fedbench.leaderboard.pictures.sensitivity import pictures
from fedbench.leaderboard.pictures.timeline import timeline
from tests.leaderboard.suite import DOCUMENT, row

JOBS = {
    "client": [4, 4, 7], "begin": [0.0, 5.0, 2.0], "end": [5.0, 10.0, 4.0], "fate": ["used", "lost", "late"], "staleness": [3, None, None],
}  # fmt: skip
TIMELINE = {
    "end_seconds": 10.0, "clients": [4, 7], "of_clients": 100, "jobs": JOBS, "updates": [5.0, 11.0],
    "absences": {"client": [7], "begin": [6.0], "end": [8.0]},
}  # fmt: skip


def test_a_map_shades_shares() -> None:
    found = {"clients": [3, 1], "counts": [[10, 0, 0], [5, 4, 1]], "step_seconds": [0.1, 0.5]}
    root = ET.fromstring(label_map(found))
    shades = {path.get("class"): (path.get("d") or "").count("M") for path in root if path.tag == "path"}
    assert shades == {"l4": 1, "l3": 1, "l2": 1, "l1": 1}, "all, a half, two fifths and a tenth; nothing for none"
    assert root.get("aria-label") == "2 clients with 10 to 10 examples, of 2.0 of 3 classes on average"


def test_a_timeline_says_what_becomes_of_jobs() -> None:
    root = ET.fromstring(timeline(TIMELINE))
    bars = {one.get("class"): one for one in root if one.tag == "rect"}
    assert set(bars) == {"used", "lost", "late", "away"}
    titles = [title.text for title in root.iter("title")]
    assert "0 to 5 s: used, staleness 3" in titles
    assert "2 to 4 s: late" in titles
    widths = {name: float(one.get("width") or 0) for name, one in bars.items()}
    assert abs(widths["used"] - widths["lost"]) < 0.2, "both take five seconds"
    marks = next(one for one in root if one.get("class") == "updates").get("d") or ""
    assert marks.count("M") == 1, "an update behind the end is not drawn"


def test_nothing_to_see() -> None:
    assert timeline({**TIMELINE, "jobs": {name: [] for name in JOBS}}) == ""
    assert bar({"solved": 0, "mean": 9.0, "half_width": 1.0}, 10.0) == ""
    assert end_of([{"solved": 0, "mean": 9.0, "half_width": 1.0}]) == 0.0


def test_a_bar_is_hollow_where_targets_are_missed() -> None:
    row = {"solved": 1, "mean": 5.0, "half_width": 2.0}
    full, hollow = bar(row, 10.0), bar({**row, "solved": 0.5}, 10.0)
    assert ('class="dot"' in full, 'class="dot hollow"' in hollow) == (True, True)
    low, high = (float(found) for found in re.findall(r'class="range" x1="([\d.]+)" x2="([\d.]+)"', full)[0])
    middle = float(re.findall(r'cx="([\d.]+)"', full)[0])
    assert middle - low == pytest.approx(high - middle)
    assert end_of([row, {"solved": 1, "mean": 6.0, "half_width": None}]) == 7.0


def test_trials_lie_on_the_scale_of_their_option() -> None:
    trials = [
        {"trial": number, "options": {"lr": value}, "seconds": 10.0, "misses": misses, "attempts": 8, "unfinished": 0}
        for number, (value, misses) in enumerate([(0.001, 0), (0.1, 0), (10.0, 2), (1e6, 0), (-1.0, 0)])
    ]
    sought = [{"name": "lr", "low": 0.001, "high": 10.0, "scale": "log"}]
    ((name, svg),) = pictures({"sought": sought, "trials": trials, "chosen": 1})
    dots = [one for one in ET.fromstring(svg) if one.tag == "circle"]
    places = [float(one.get("cx") or 0) for one in dots]
    assert name == "lr"
    assert len(dots) == 4, "a value that has no logarithm is left out"
    assert places[1] - places[0] == pytest.approx(places[2] - places[1], abs=0.2)
    assert places[3] == places[2], "beyond the interval: at its end"
    assert [one.get("class") for one in dots] == ["dot", "dot chosen", "dot hollow", "dot"]
    assert "lr=10: at least 10.0 s, 2 of 8 targets and seeds missed" in svg
    assert "the published options" in svg


def test_what_changes_from_the_base_is_drawn_on_a_logarithmic_scale() -> None:
    """`fast` takes twice as long, `slow` reaches no target there, `crowd` has no row there."""
    (one,) = degradation.pictures(DOCUMENT, "tuned", ["fast", "slow", "crowd", "untried"])
    assert (one.label, one.within) == ("fast", "most at rough: 2.0")
    points = [*DOCUMENT["points"], {"name": "wild", "axis": "", "about": ""}]
    boards = {"tuned": {"calm": [row("a", 10)], "rough": [row("a", 20)], "wild": [row("a", 100, solved=0.0)]}}
    (one,) = degradation.pictures({**DOCUMENT, "points": points, "boards": boards}, "tuned", ["a"])
    assert one.within == "most at rough: 2.0; no target at wild", "the worst point is not left out"
    assert 'class="cross"' in one.svg
    boards = {"tuned": {"calm": [row("a", 10), row("b", 10, solved=0.5)], "rough": [row("a", 40), row("b", 5)]}}
    a, b = degradation.pictures({**DOCUMENT, "boards": boards}, "tuned", ["a", "b"])
    assert (a.within, b.within) == ("most at rough: 4.0", "most at rough: ≤ 0.5")
    heights = [float(re.findall(r'class="dot[^"]*" cx="[\d.]+" cy="([\d.]+)"', small.svg)[0]) for small in (a, b)]
    ticks = [float(y) for y in re.findall(r'class="(?:rule|axis)" x1="26" x2="212" y1="([\d.]+)"', a.svg)]
    assert heights[0] == ticks[2], "at the line of 4"
    assert ticks[1] < heights[1] < ticks[0], "between 1 and a quarter"
    assert "hollow" in b.svg
    assert 'href="#degradation-context-tuned"' in b.svg
