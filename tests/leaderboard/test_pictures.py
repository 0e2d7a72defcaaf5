"""Pictures of labels, of clients' work and of trials."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from typing import Any

import pytest

from fedbench.analysis.pictures.sensitivity import Sensitivity, Sought, Tried
from fedbench.documents.pictures import Labels, Timeline
from fedbench.leaderboard.pictures.bars import bar
from fedbench.leaderboard.pictures.labels import label_map
from fedbench.leaderboard.pictures.sensitivity import pictures
from fedbench.leaderboard.pictures.timeline import timeline
from fedbench.written import Ratio

SOUGHT = Sought("lr", 0.001, 10.0, "log")
JOBS: dict[str, Any] = {
    "client": [4, 4, 7], "begin": [0.0, 5.0, 2.0], "end": [5.0, 10.0, 4.0], "fate": ["used", "lost", "late"], "staleness": [3, None, None],
}  # fmt: skip
TIMELINE: dict[str, Any] = {
    "algorithm": "a", "scenario": "s", "seed": 0,
    "end_seconds": 10.0, "clients": [4, 7], "of_clients": 100, "jobs": JOBS, "updates": [5.0, 11.0],
    "absences": {"client": [7], "begin": [6.0], "end": [8.0]},
}  # fmt: skip


def drawn(**changes: Any) -> str:
    return timeline(Timeline.model_validate(TIMELINE | changes))


def test_a_map_shades_shares() -> None:
    found = Labels(scenario="s", seed=0, clients=(3, 1), counts=((10, 0, 0), (5, 4, 1)), step_seconds=(0.1, 0.5))
    root = ET.fromstring(label_map(found))
    shades = {path.get("class"): (path.get("d") or "").count("M") for path in root if path.tag == "path"}
    assert shades == {"l4": 1, "l3": 1, "l2": 1, "l1": 1}, "all, a half, two fifths and a tenth; nothing for none"
    assert root.get("aria-label") == "2 clients with 10 to 10 examples, of 2.0 of 3 classes on average"


def test_a_timeline_says_what_becomes_of_jobs() -> None:
    root = ET.fromstring(drawn())
    bars = {one.get("class"): one for one in root if one.tag == "path" and one.get("class") not in ("updates", "rule")}
    assert set(bars) == {"used", "lost", "late", "away"}
    titles = [title.text for title in root.iter("title")]
    assert "client 4: 1 job used, staleness 3" in titles
    assert "client 7: 1 job late" in titles
    assert "client 7: away, 1 time" in titles
    widths = {name: float((one.get("d") or "").partition("h")[2].partition("v")[0]) for name, one in bars.items()}
    assert abs(widths["used"] - widths["lost"]) < 0.2, "both take five seconds"
    marks = next(one for one in root if one.get("class") == "updates").get("d") or ""
    assert marks.count("M") == 1, "an update behind the end is not drawn"


def test_the_jobs_of_a_client_with_one_fate_are_one_path() -> None:
    jobs = {**JOBS, "client": [4, 4, 4], "fate": ["used", "used", "used"], "staleness": [3, 0, 5]}
    (bars,) = (one for one in ET.fromstring(drawn(jobs=jobs)) if one.get("class") == "used")
    assert (bars.get("d") or "").count("z") == 3
    assert [title.text for title in bars] == ["client 4: 3 jobs used, staleness 0 to 5"]


def test_updates_are_marked_until_the_end_however_many_there_are() -> None:
    root = ET.fromstring(drawn(updates=[i / 1000 for i in range(10_001)]))
    marks = next(one for one in root if one.get("class") == "updates").get("d") or ""
    assert marks.count("M") < 700, "one for each pixel"
    assert "M760 " in marks


def test_nothing_to_see() -> None:
    assert drawn(jobs={name: [] for name in JOBS}) == ""
    assert bar(None) == ""


def places(picture: str) -> tuple[float, float, float]:
    low, high = (float(found) for found in re.findall(r'class="range" d="M([\d.]+) 5H([\d.]+)"', picture)[0])
    return low, float(re.findall(r'cx="([\d.]+)"', picture)[0]), high


def test_a_bar_is_on_a_logarithmic_scale_and_hollow_for_a_bound() -> None:
    full, bound = bar(Ratio(2.0, 1.0, 4.0)), bar(Ratio(2.0, 1.0, math.inf))
    assert ('class="dot"' in full, 'class="dot hollow"' in bound) == (True, True)
    low, middle, high = places(full)
    assert middle - low == pytest.approx(high - middle, abs=0.11)
    assert places(bound)[2] == 92.0, "an end that is not known is at the end"
    assert places(bar(Ratio(100.0, 0.01, 1000.0))) == (4.0, 92.0, 92.0)
    few = places(bar(Ratio(2.0, 0.0, math.inf)))
    assert few[0] == few[1] == few[2], "too few seeds for an interval"


def test_trials_lie_on_the_scale_of_their_option() -> None:
    trials = [
        Tried(number, {"lr": value}, 10.0, misses, attempts=8, unfinished=0)
        for number, (value, misses) in enumerate([(0.001, 0), (0.1, 0), (10.0, 2), (1e6, 0), (-1.0, 0)])
    ]
    ((name, svg),) = pictures(Sensitivity("a", "calm", 100.0, (SOUGHT,), tuple(trials), chosen=1))
    root = ET.fromstring(svg)
    named = {one.get("class"): one for one in root if one.tag == "circle"}
    full, hollow, inner = (
        [(float(x), float(y)) for x, y in re.findall(r"M(\S+) (\S+?)h0", one.get("d") or "")] for one in root if one.tag == "path"
    )
    assert name == "lr"
    assert root.get("aria-label") == "lr: 4 trials", "a value that has no logarithm is left out"
    assert hollow == inner, "a hollow dot is a smaller one in the ground's colour on a full one"
    default, chosen = (float(named[kind].get("cx") or 0) for kind in ("dot", "dot chosen"))
    assert chosen - default == pytest.approx(hollow[0][0] - chosen, abs=2)
    assert full[0][0] == hollow[0][0], "beyond the interval: at its end"
    assert "<title>default options: 0.001, 10.0 s</title>" in svg
    assert "<title>chosen: 0.1, 10.0 s</title>" in svg


def test_a_chosen_trial_that_misses_targets_says_so() -> None:
    trial = Tried(0, {"lr": 0.1}, 10.0, misses=2, attempts=8, unfinished=0)
    ((_, svg),) = pictures(Sensitivity("a", "calm", 100.0, (SOUGHT,), (trial,), chosen=0))
    assert "<title>chosen; default options: 0.1, at least 10.0 s, 2 of 8 missed</title>" in svg
    assert 'class="dot hollow chosen"' in svg
