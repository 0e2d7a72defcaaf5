"""Small pictures of shares reached within factors of the reference times."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from fedbench.documents.suite import Profiles
from fedbench.leaderboard.pictures.profiles import pictures

PROFILES = Profiles.model_validate(
    {
        "factors": [0.25, 0.5, 1.0, 2.0, 4.0, 32.0],
        "shares": {"tuned": {"a": [0, 0, 0.5, 0.75, 1, 1], "b<": [0, 0, 0, 0, 0.25, 0.5]}, "default": {}},
    }
)


def test_one_picture_an_algorithm() -> None:
    (label, first, within), (_, second, of_second) = pictures(PROFILES, "tuned", ["a", "b<", "untried"])
    assert (label, within) == ("a", "50 % within the reference time, 100 % within 4x")
    assert of_second == "0 % within the reference time, 25 % within 4x"
    for one in (first, second):
        assert len(ElementTree.fromstring(str(one)).findall(".//*[@class='own']")) == 1
    assert str(first).count("<polyline") == 3, "both lines in grey, and its own"
    assert '<use href="#profiles-context-tuned"/>' in second
    assert 'aria-label="b&lt;: ' in second
    ((_, quoted, _),) = pictures(
        PROFILES.model_copy(update={"shares": {"tuned": {'x" onload="y': (0.0,) * 6}}}), "tuned", ['x" onload="y']
    )
    assert set(ElementTree.fromstring(str(quoted)).keys()) == {"class", "width", "height", "viewBox", "role", "aria-label"}


def test_lines_rise_within_the_frame() -> None:
    (own,) = re.findall(r'class="own" points="([^"]+)"', str(pictures(PROFILES, "tuned", ["a"])[0][1]))
    points = [tuple(map(float, point.split(","))) for point in own.split()]
    assert points == [(26.0, 78.0), (48.7, 42.0), (71.3, 24.0), (94.0, 6.0), (162.0, 6.0)]


def test_without_reference_times_there_is_no_picture() -> None:
    assert pictures(Profiles(factors=(), shares={"tuned": {}, "default": {}}), "tuned", ["a"]) == []
