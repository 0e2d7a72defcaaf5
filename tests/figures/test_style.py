"""Widths, looks and files of figures."""

from __future__ import annotations

import itertools
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.figures.style import LOOKS, MOST_BOLD, NARROWEST, STYLE, WIDEST, Drawn, canvas, check_file, looks, styled, width_of


@pytest.mark.parametrize(("text", "expected"), [("column", 85), ("page", 175), ("120.5", 120.5)])
def test_widths(text: str, expected: float) -> None:
    assert width_of(text) == expected


@pytest.mark.parametrize("text", ["wide", "", "12", "501", "nan", "-1"])
def test_widths_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match=r"figure: width must be .*, got"):
        width_of(text)


@given(st.floats(NARROWEST, WIDEST))
def test_a_number_is_a_width(value: float) -> None:
    assert width_of(str(value)) == value


def test_looks_differ_in_colour_in_marker_and_beside_neighbours_in_dashes() -> None:
    assert len(LOOKS) == MOST_BOLD
    assert len({look.colour for look in LOOKS}) == len({look.marker for look in LOOKS}) == MOST_BOLD
    assert all(one.dashes != other.dashes for one, other in itertools.pairwise(LOOKS))


def test_looks_are_given_in_order() -> None:
    assert looks(["b", "a"]) == {"b": LOOKS[0], "a": LOOKS[1]}


@pytest.mark.parametrize("name", ["a.jpg", "a", "pdf", "a.pd"])
def test_files_of_other_kinds(name: str) -> None:
    with pytest.raises(UsageError, match=rf"figure {name}: expected a file that ends in \.pdf, \.svg, \.png, got"):
        check_file(Path(name))


def test_a_suffix_may_be_in_capitals_or_one_more() -> None:
    check_file(Path("a.PDF"))
    check_file(Path("a.json"), others=(".json",))


def test_the_style_is_of_the_drawing_alone() -> None:
    before = mpl.rcParams["font.size"]
    seen = []

    @styled
    def draw() -> Drawn:
        seen.append(mpl.rcParams["font.size"])
        return Drawn(canvas(85, 40)[0], "")

    draw()
    assert seen == [STYLE["font.size"]]
    assert mpl.rcParams["font.size"] == before


def test_a_notebook_shows_the_picture_and_its_caption() -> None:
    drawn = Drawn(canvas(60, 40)[0], "a < b")
    shown = drawn._repr_html_()
    assert shown.startswith("<figure><svg ")
    assert shown.endswith("</svg>\n<figcaption>a &lt; b</figcaption></figure>")
    assert shown == drawn._repr_html_()
