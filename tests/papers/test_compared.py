"""Pictures of printed numbers against ours."""

from __future__ import annotations

import math

import pytest

from fedbench.analysis.pictures.agreement import told
from fedbench.documents.paper import Picture
from fedbench.figures.agreement import draw_agreement
from fedbench.papers.cells import chosen
from fedbench.papers.compared import picture
from fedbench.papers.document import document
from fedbench.papers.verdicts import all_verdicts
from tests.papers.test_verdicts import gives, nothing


def test_points_are_the_measured_cells() -> None:
    """With the interval of their seeds; one seed has none."""
    find = gives({("000:T1", 1): (50, 51, 54), ("000:T1", 3): (300,), ("000:T1", 45): (50, 60, 70)})
    made = picture(all_verdicts(chosen("000:T1"), find, {}))
    assert made is not None
    found = made.data
    assert [panel.title for panel in found.panels] == ["iid", "non-iid"]
    one, three, other = found.points
    assert (one.label, one.row, one.printed, one.inside, one.is_bound) == ("1", "FedAvg", 51.89, True, False)
    assert one.low is not None
    assert one.high is not None
    assert one.ours == pytest.approx(155 / 3)
    assert one.high - one.ours == pytest.approx(one.ours - one.low) == pytest.approx(5.17, abs=0.01)
    assert (three.ours, three.low, three.high, three.inside) == (300, None, None, False)
    assert (other.row, other.inside) == ("DeFedAvg-nIID", False)
    assert found.unit == "virtual seconds"
    assert "1 of 3 points lie in it" in told(found)


def test_a_bound_is_in_the_band_from_below_only() -> None:
    """Printed as 1K+: everything from there on agrees."""
    (point,) = picture(all_verdicts(chosen("001:T1", "7"), gives({("001:T1", 7): (3000, 3001, 3002)}), {})).data.points  # type: ignore[union-attr]
    assert point.inside
    (point,) = picture(all_verdicts(chosen("001:T1", "7"), gives({("001:T1", 7): (300, 301, 302)}), {})).data.points  # type: ignore[union-attr]
    assert not point.inside


def test_substitutes_accuracies_and_other_hardware_are_no_points() -> None:
    assert picture(all_verdicts(chosen("000:T1"), nothing, {})) is None
    assert picture(all_verdicts(chosen("001:T1", "1"), gives({("001:T1", 1): (50, 51, 52)}), {})) is None
    assert picture(all_verdicts(chosen("001:T2", "5"), gives({("001:T2", 5): (25,)}), {})) is None
    assert all(table.picture is None for table in document("004", nothing, {}).tables)


def test_the_picture_has_scales_that_are_alike_and_every_name() -> None:
    found = picture(all_verdicts(chosen("000:T1"), gives({("000:T1", 1): (50, 51, 54), ("000:T1", 45): (50, 60, 70)}), {}))
    assert found is not None
    assert found.file == "000-t1-printed-and-ours.svg"
    drawn = draw_agreement(found.data, 175)
    first, second = drawn.figure.axes
    assert first.get_xlim() == first.get_ylim() == second.get_xlim() == second.get_ylim()
    assert (first.get_xscale(), first.get_yscale()) == ("log", "log")
    assert [text.get_text() for axes in (first, second) for text in axes.texts] == ["1", "45"]
    ends = [max(line.get_ydata()) for line in first.lines]
    assert all(math.isfinite(float(end)) for end in ends)
    assert drawn.caption == found.about


def test_a_document_has_no_endless_picture() -> None:
    found = picture(all_verdicts(chosen("000:T1"), gives({("000:T1", 1): (50, 51, 54)}), {}))
    assert found is not None
    many = found.data.panels[0].points * 1001
    data = type(found.data)(found.data.unit, 0.85, 1.18, (type(found.data.panels[0])("", many),))
    with pytest.raises(ValueError, match="1 to 1,000 points"):
        Picture(about="A picture.", file="a.svg", data=data)
