"""Printed numbers against ours as an inline picture."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from fedbench.analysis.pictures.agreement import Agreement, Panel, Point
from fedbench.leaderboard.pictures.agreement import HEIGHT, LEFT, SHAPES, SIDE, TOP, keys, pictures
from tests.leaderboard.reading import HOSTILE


def point(row: str, printed: float, ours: float, *, low: float | None = None, high: float | None = None, **more: bool) -> Point:
    return Point(row, "1", printed, ours, low, high, more.get("is_bound", False), more.get("inside", False))


def data(*points: Point, others: tuple[Point, ...] = ()) -> Agreement:
    return Agreement("rounds", 0.85, 1.18, (Panel("iid", points), *((Panel("not", others),) if others else ())))


def places(svg: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r'<g class="s\d" transform="translate\(([\d.]+) ([\d.]+)\)"', svg)]


def test_equal_numbers_lie_on_the_line_in_every_panel() -> None:
    first, second = pictures(data(point("a", 10, 10), point("a", 100, 100), others=(point("b", 10, 100),)), "Table T1")
    assert (first[0], second[0]) == ("iid", "not")
    (low, high), (above,) = places(first[1]), places(second[1])
    assert low[0] - LEFT == pytest.approx(TOP + SIDE - low[1])
    assert high[0] - LEFT == pytest.approx(TOP + SIDE - high[1])
    assert above == (low[0], high[1]), "both panels have the same scales, and larger is above"


def test_the_band_is_that_of_the_rules() -> None:
    """A point at its edge lies on the line from corner to corner of the band."""
    ((_, svg),) = pictures(data(point("a", 10, 8.5), point("a", 100, 118)), "T")
    corners = [tuple(map(float, one.split(","))) for one in re.findall(r'points="([^"]+)"', svg)[0].split()]
    (x, y), (right, top) = places(svg)
    upper, lower = corners[0], corners[-2]
    assert abs((x - lower[0]) - (lower[1] - y)) < 0.3
    assert abs((right - upper[0]) - (upper[1] - top)) < 0.3
    assert all(TOP <= one[1] <= TOP + SIDE < HEIGHT for one in corners)


def test_marks_say_what_is_known() -> None:
    points = (point("a", 10, 11, low=9, high=13, inside=True), point("b", 10, 40), point("b", 10, 90, is_bound=True))
    ((_, svg),) = pictures(data(*points), "T")
    groups = re.findall(r'<g class="s\d" .*?</g>', svg)
    assert [one.count("hollow") for one in groups] == [0, 1, 1]
    assert [one.count('class="reach"') for one in groups] == [1, 0, 1]
    assert SHAPES[0] in groups[0]
    assert SHAPES[1] in groups[1]
    assert (
        "<title>Cell 1, a: printed 10 rounds, ours 11, 95 % interval 9 to 13; 1.10 times the printed number</title>" in groups[0]
    )
    assert "ours &gt;90; 9.00 times" in groups[2]
    y, (up, down) = places(svg)[0][1], re.findall(r'"M0 (-?[\d.]+)V(-?[\d.]+)"', groups[0])[0]
    assert float(up) > 0 > float(down), "from the lower end of the interval, which is below, to the upper one"
    assert y + float(up) < TOP + SIDE


def test_an_interval_stays_in_the_frame() -> None:
    ((_, svg),) = pictures(data(point("a", 10, 11, low=-4, high=26)), "T")
    ((up, _),) = re.findall(r'"M0 (-?[\d.]+)V(-?[\d.]+)"', svg)
    assert abs(places(svg)[0][1] + float(up) - (TOP + SIDE)) < 0.2


def test_the_legend_has_what_is_drawn() -> None:
    always = ["a", "0.85 to 1.18 times the printed number", "in the band", "outside of it"]
    assert [key.words for key in keys(data(point("a", 10, 11)))] == always
    all_of_it = keys(data(point("a", 10, 11, low=9, high=13), point("a", 10, 20, is_bound=True)))
    assert [key.words for key in all_of_it] == [*always, "95 % interval over seeds", "larger: a seed ended without its target"]


def test_names_are_no_markup() -> None:
    found = Agreement(HOSTILE, 0.85, 1.18, (Panel(HOSTILE, (Point(HOSTILE, HOSTILE, 1, 2, None, None, False, False),)),))
    ((_, svg),) = pictures(found, HOSTILE)
    assert "<script>" not in svg
    ElementTree.fromstring(str(svg))
