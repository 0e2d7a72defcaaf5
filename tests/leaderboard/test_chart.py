import itertools
import xml.etree.ElementTree as ET

import pytest

from fedbench.leaderboard import chart


def line(name, seconds, mean):
    return chart.Series(name, chart.look_of(0), seconds, mean, mean, mean)


@pytest.mark.parametrize(("span", "step"), [(20.0, 5.0), (1.0, 0.2), (3600.0, 1000.0), (0.012, 0.002), (6.0, 1.0), (14.0, 2.5)])
def test_nice_step(span, step):
    assert chart.nice_step(span, 6) == pytest.approx(step)


def test_ticks_and_labels():
    axis = chart.Axis(0.0, 14.0, 2.5)
    assert [axis.label(tick) for tick in axis.ticks] == ["0.0", "2.5", "5.0", "7.5", "10.0", "12.5"]
    assert [chart.Axis(0, 3600, 1000).label(tick) for tick in (0, 1000)] == ["0", "1,000"]
    assert chart.Axis(0, 0.1, 0.025).label(0.025) == "0.025"


def test_the_value_axis_holds_bands_and_targets():
    axis = chart.value_axis([line("a", [0.0, 1.0], [0.42, 0.55])], [0.8])
    assert axis.low <= 0.42
    assert 0.8 <= axis.high <= 1.0


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_flat_line_has_a_picture(value):
    assert chart.draw([line("a", [0.0], [value])], [], "c", "t")


def test_points_are_where_they_belong():
    svg = chart.draw([line("a", [0.0, 10.0], [0.0, 1.0])], [0.5], "c", "t")
    assert 'd="M0,340L1000,0"' in svg
    root = ET.fromstring(svg)
    target = next(one for one in root if one.get("class") == "target")
    assert (target.get("y1"), target.get("x2")) == ("170", "100%")


def test_names_are_escaped_and_described():
    svg = chart.draw([line('<script>"&', [0.0, 1.0], [0.1, 0.2])], [], "c", "<b>")
    root = ET.fromstring(svg)
    assert root.find("title").text == "<b>"
    assert '<script>"&: 0.200 at 1 s' in root.find("desc").text


def test_nothing_to_draw():
    assert chart.draw([line("a", [], [])], [0.5], "c", "t") == ""


def test_looks_are_distinct():
    looks = [chart.look_of(i) for i in range(42)]
    assert len(set(looks)) == 42
    assert all(a.colour != b.colour and a.dash != b.dash for a, b in itertools.pairwise(looks[:6]))


def test_long_curves_are_thinned_but_keep_their_end():
    n = 1001
    given = {name: [float(i) for i in range(n)] for name in ("seconds", "mean", "low", "high")}
    thin = chart.series("a", chart.look_of(0), given)
    assert len(thin.seconds) <= chart.MOST_POINTS + 1
    assert (thin.seconds[0], thin.seconds[-1]) == (0.0, 1000.0)
