"""Pictures of labels, of clients' work and of trials."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from fedbench.leaderboard.pictures.bars import bar
from fedbench.leaderboard.pictures.labels import label_map
from fedbench.leaderboard.pictures.sensitivity import pictures
from fedbench.leaderboard.pictures.timeline import timeline

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
    assert bar({"regret": None, "against": {"other": None}}) == ""
    assert bar({"regret": [1.0, 1.0, 1.0], "against": {}}) == "", "it is alone"


def places(picture: str) -> tuple[float, float, float]:
    low, high = (float(found) for found in re.findall(r'class="range" x1="([\d.]+)" x2="([\d.]+)"', picture)[0])
    return low, float(re.findall(r'cx="([\d.]+)"', picture)[0]), high


def test_a_bar_is_on_a_logarithmic_scale_and_hollow_for_a_bound() -> None:
    row = {"regret": [2.0, 1.0, 4.0], "against": {"other": [1.0, 0.5, 2.0]}}
    full, bound = bar(row), bar({**row, "regret": [2.0, 1.0, None]})
    assert ('class="dot"' in full, 'class="dot hollow"' in bound) == (True, True)
    low, middle, high = places(full)
    assert middle - low == pytest.approx(high - middle, abs=0.11)
    assert places(bound)[2] == 92.0, "an end that is not known is at the end"
    assert places(bar({**row, "regret": [100.0, 0.01, 1000.0]})) == (4.0, 92.0, 92.0)
    few = places(bar({**row, "regret": [2.0, 0.0, None]}))
    assert few[0] == few[1] == few[2], "too few seeds for an interval"


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
    assert "the default options" in svg
