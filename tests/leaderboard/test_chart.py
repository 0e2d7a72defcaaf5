import itertools
import xml.etree.ElementTree as ET

import pytest

from fedbench.leaderboard.pictures import chart

SECONDS = {"name": "seconds", "title": "virtual time (s)", "unit": "s"}


def line(name, at, mean):
    return chart.Series(name, chart.look_of(0), at, mean, mean, mean)


def draw(lines, targets=(), title="t", horizon=None, axis=SECONDS):
    return chart.draw(lines, chart.Picture("c", title, targets, axis, horizon))


@pytest.mark.parametrize(("span", "step"), [(20.0, 5.0), (1.0, 0.2), (3600.0, 1000.0), (0.012, 0.002), (6.0, 1.0), (14.0, 2.5)])
def test_nice_step(span, step):
    assert chart.nice_step(span, 6) == pytest.approx(step)


def test_ticks_and_labels():
    scale = chart.Scale(0.0, 14.0, 2.5)
    assert [scale.label(tick) for tick in scale.ticks] == ["0.0", "2.5", "5.0", "7.5", "10.0", "12.5"]
    assert [chart.Scale(0, 3600, 1000).label(tick) for tick in (0, 1000)] == ["0", "1,000"]
    assert chart.Scale(0, 0.1, 0.025).label(0.025) == "0.025"


def test_the_value_scale_holds_bands_and_targets():
    scale = chart.value_scale([line("a", [0.0, 1.0], [0.42, 0.55])], [0.8])
    assert scale.low <= 0.42
    assert 0.8 <= scale.high <= 1.0


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_flat_line_has_a_picture(value):
    assert draw([line("a", [0.0], [value])])


def test_points_are_where_they_belong():
    svg = draw([line("a", [0.0, 10.0], [0.0, 1.0])], [0.5])
    assert 'd="M0,340L1000,0"' in svg
    root = ET.fromstring(svg)
    target = next(one for one in root if one.get("class") == "target")
    assert (target.get("y1"), target.get("x2")) == ("170", "100%")


def test_names_are_escaped_and_described():
    svg = draw([line('<script>"&', [0.0, 1.0], [0.1, 0.2])], title="<b>")
    root = ET.fromstring(svg)
    assert root.find("title").text == "<b>"
    assert '<script>"&: 0.200 at 1.00 s' in root.find("desc").text


def test_large_numbers_have_short_labels():
    assert chart.Scale(0, 85e6, 25e6).label(25e6) == "25.0 M"


def test_the_axis_is_named():
    traffic = {"name": "bytes", "title": "traffic (B)", "unit": "B"}
    svg = draw([line("a", [0.0, 2e6], [0.1, 0.2])], axis=traffic)
    assert ">traffic (B)</text>" in svg
    assert 'data-unit="B"' in svg
    assert "a: 0.200 at 2 MB" in svg


@pytest.mark.parametrize(("horizon", "at"), [(2.5, "25.00%"), (None, None), (10.0, None)])
def test_where_accuracies_are_compared_is_marked_unless_it_is_the_end(horizon, at):
    root = ET.fromstring(draw([line("a", [0.0, 10.0], [0.1, 0.2])], horizon=horizon))
    marks = [one.get("x1") for one in root if one.get("class") == "horizon" and one.tag == "line"]
    assert marks == ([at] if at else [])


def test_nothing_to_draw():
    assert draw([line("a", [], [])], [0.5]) == ""


def test_looks_are_distinct():
    looks = [chart.look_of(i) for i in range(42)]
    assert len(set(looks)) == 42
    assert all(a.colour != b.colour and a.dash != b.dash for a, b in itertools.pairwise(looks[:6]))


def test_long_curves_are_thinned_but_keep_their_end():
    n = 1001
    given = {name: [float(i) for i in range(n)] for name in ("at", "mean", "low", "high")}
    thin = chart.series("a", chart.look_of(0), given)
    assert len(thin.at) <= chart.MOST_POINTS + 1
    assert (thin.at[0], thin.at[-1]) == (0.0, 1000.0)
