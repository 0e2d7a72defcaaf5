import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.analysis.axes import AXES, SECONDS
from fedbench.leaderboard.pictures import chart


def line(name, at, mean):
    return chart.Series(name, chart.look_of(0), at, mean, mean, mean)


def draw(lines, targets=(), title="t", horizon=None, axis=SECONDS):
    return chart.draw(lines, chart.Picture("c", title, targets, axis, horizon))


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_flat_line_has_a_picture(value):
    assert draw([line("a", [0.0], [value])])


def read(path, high):
    """The places and the values of a path, as the page's script reads them."""
    numbers = [int(one) for one in re.findall(r"-?\d+", path)]
    xs, ys = itertools.accumulate(numbers[::2]), itertools.accumulate(numbers[1::2])
    return [(x, round(high - chart.UNIT * y, 6)) for x, y in zip(xs, ys, strict=True)]


def test_points_are_where_they_belong():
    """From 1 to 100 on a logarithmic axis, 10 is in the middle. What is before it is at the left
    edge."""
    svg = ET.fromstring(draw([line("a", [0.0, 1.0, 10.0, 100.0], [0.1, 0.1, 0.6543, 0.8])], [0.5]))
    (path,) = (one for one in svg.iter() if one.get("class") == "line s0")
    assert read(path.get("d"), 0.85) == [(0, 0.1), (chart.WIDTH // 2, 0.6543), (chart.WIDTH, 0.8)]
    (target,) = (one for one in svg.iter() if one.get("class") == "target")
    assert target.get("d") == f"M0 3500h{chart.WIDTH}"


@given(
    st.lists(st.floats(0.1, 0.9).map(lambda value: float(f"{value:.4f}")), min_size=2, max_size=50),
    st.floats(0.01, 1e6),
    st.floats(1.3, 3),
)
def test_values_are_read_back_to_four_digits(values, first, ratio):
    at = [first * ratio**i for i in range(len(values))]
    svg = ET.fromstring(draw([line("a", at, values), line("b", at, values[::-1])]))
    (path,) = (one for one in svg.iter() if one.get("data-name") == "a" and "line" in one.get("class"))
    found = read(path.get("d"), float(svg.get("data-high")))
    assert [value for _, value in found] == pytest.approx(values[-len(found) :], abs=1e-9)
    end, start = float(svg.get("data-end")), float(svg.get("data-from"))
    places = [start * (end / start) ** (x / chart.WIDTH) for x, _ in found[1:]]
    assert places == pytest.approx(at[len(at) - len(found) + 1 :], rel=2e-3)


def test_points_that_a_screen_does_not_tell_apart_are_one():
    """The places of a linear grid are crowded at the end of a logarithmic axis."""
    at = [1.0, *(float(i) for i in range(2, 2000))]
    svg = ET.fromstring(draw([line("a", at, [0.1, *([0.5] * 1998)])]))
    (path,) = (one for one in svg.iter() if one.get("class") == "line s0")
    found = [x for x, _ in read(path.get("d"), 1)]
    assert len(found) < 200
    assert (found[0], found[-1]) == (0, chart.WIDTH)
    assert all(b - a >= chart.CLOSEST for a, b in itertools.pairwise(found[:-1]))


def test_a_picture_is_cut_where_it_should_end():
    lines = [line("a", [1.0, 2.0, 3.0, 50.0], [0.1, 0.5, 0.7, 0.9]), line("b", [1.0, 2.0, 4.0], [0.1, 0.2, 0.6])]
    svg = ET.fromstring(chart.draw(lines, chart.Picture("c", "t", [0.6], SECONDS, until=5.0)))
    assert float(svg.get("data-end")) == 5.0
    (path,) = (one for one in svg.iter() if one.get("data-name") == "a" and "line" in one.get("class"))
    assert len(read(path.get("d"), 1)) == 3, "the last point is behind the end"


def test_words_at_targets_do_not_overlap():
    svg = draw([line("a", [1.0, 10.0], [0.1, 0.9])], [0.8, 0.79, 0.5])
    assert re.findall(r">target ([\d.]+)<", svg) == ["0.8", "0.5"]
    assert svg.count(f"h{chart.WIDTH}M") >= 2, "their lines are all there"


def test_names_are_escaped_and_described():
    one, other = line('<script>"&', [1.0, 2.0], [0.1, 0.2]), line("b", [1.0], [0.3])
    told = ET.fromstring(draw([one, other], [0.5], title="<b>")).get("aria-label")
    assert told == '<b>. Mean test accuracy at the end of the runs. <script>"&: 0.200 at 2.00 s; b: 0.300 at 1.00 s. Target: 0.5.'
    assert ET.fromstring(draw([one], [0.5], title="<b>")).get("aria-label") == "<b>. At the end: 0.200 at 2.00 s."


def test_the_axis_is_named():
    svg = draw([line("a", [0.0, 2e6], [0.1, 0.2]), line("b", [0.0, 5e6], [0.1, 0.3])], axis=AXES["bytes"])
    assert ">traffic (B), logarithmic</text>" in svg
    assert 'data-unit="B"' in svg
    assert ">2 MB</text>" in svg
    assert "a: 0.200 at 2 MB" in svg


@pytest.mark.parametrize(("horizon", "at"), [(10.0, "50.00%"), (None, None), (100.0, None), (0.5, None)])
def test_where_accuracies_are_compared_is_marked_unless_it_is_an_end(horizon, at):
    root = ET.fromstring(draw([line("a", [1.0, 100.0], [0.1, 0.2])], horizon=horizon))
    marks = [one.get("x1") for one in root if one.get("class") == "horizon" and one.tag == "line"]
    assert marks == ([at] if at else [])


def test_a_single_line_has_nothing_for_a_script():
    """Beside it is no legend that could show its values."""
    assert "data-from" not in draw([line("a", [1.0, 2.0], [0.1, 0.2])])
    assert "data-from" in draw([line("a", [1.0, 2.0], [0.1, 0.2]), line("b", [1.0, 2.0], [0.1, 0.2])])


def test_nothing_to_draw():
    assert draw([line("a", [], [])], [0.5]) == ""


def test_looks_are_distinct():
    looks = [chart.look_of(i) for i in range(42)]
    assert len(set(looks)) == 42
    assert all(a.colour != b.colour and a.dash != b.dash for a, b in itertools.pairwise(looks[:6]))


def test_long_curves_are_thinned_but_keep_their_end():
    n = 1001
    thin = chart.series("a", chart.look_of(0), *[[float(i) for i in range(n)]] * 4)
    assert len(thin.at) <= chart.MOST_POINTS + 1
    assert (thin.at[0], thin.at[-1]) == (0.0, 1000.0)
