"""Names in lines that have room, and every kind of figure whose texts stay on it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from unittest.mock import patch

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from fedbench.analysis.board import Board, board
from fedbench.analysis.pictures.boards import heat, solved_profiles
from fedbench.analysis.pictures.learning_curves import learning_curves
from fedbench.analysis.pictures.ledgers import participation, staleness
from fedbench.analysis.pictures.sensitivity import Sensitivity, Sought, Tried
from fedbench.engine.label_map import LabelMap
from fedbench.engine.timeline import Absence, ClientTimeline, Job
from fedbench.figures.curves import draw_curves, draw_profiles
from fedbench.figures.design import draw_design
from fedbench.figures.heat import draw_heat
from fedbench.figures.labels import draw_labels
from fedbench.figures.ledgers import draw_participation, draw_staleness
from fedbench.figures.sensitivity import draw_sensitivity
from fedbench.figures.style import STYLE, WIDTHS, Drawn
from fedbench.figures.timeline import draw_timelines
from fedbench.figures.words import fitted, height, widest, width
from fedbench.results.record import Record
from fedbench.suites.design.picture import picture
from fedbench.suites.suite import load
from tests.figures.conftest import runs

pytestmark = pytest.mark.extra("plot")
LONG = "fedbuff[buffer_size=3,concurrency=10,local_lr=0.0501,server_lr=0.331,weights=examples]"
POINT = "digits-demo-with-many-classes (0123456789ab)"
FATES = ("used", "unused", "late", "lost")


def _timeline() -> ClientTimeline:
    jobs = tuple(Job(i, 0.0, 0.1, 1.0, 1.2, 1.2, fate, 0) for i, fate in enumerate(FATES))  # type: ignore[arg-type]
    return ClientTimeline(LONG, POINT, 0, 4.0, (0, 1, 2, 3), 100, jobs, (Absence(3, 2.0, 3.0),), (1.2, 2.4))


def _sensitivity() -> Sensitivity:
    sought = tuple(Sought(name, 0.001, 1, "log") for name in ("local_lr", "server_lr", "buffer_size"))
    return Sensitivity(LONG, POINT, 20.0, sought, (Tried(0, {one.name: 0.1 for one in sought}, 4.0, 0, 4, 0),), 0)


@functools.cache
def _rows() -> dict[str, list[Record]]:
    names = [LONG, *(f"{LONG[:-1]},staleness={i}]" for i in range(7))]
    return {name: runs(name, second) for name, second in zip(names, (2, 3, 4, 5, 6, 7, 12, None), strict=True)}


@functools.cache
def _board() -> Board:
    return board({**_rows(), "one_more": runs("one_more", 3)})


KINDS: dict[str, Callable[[float], Drawn]] = {
    "curves": lambda width: draw_curves(learning_curves({**_rows(), "one_more": runs("one_more", 3)}), list(_rows()), width),
    "profiles": lambda width: draw_profiles(solved_profiles({POINT: _board()}, None), list(_rows()), width),
    "heat with numbers": lambda width: draw_heat(heat({POINT: _board()}), width),
    "heat without": lambda width: draw_heat(heat({f"{POINT} {i}": _board() for i in range(13)}), width),
    "staleness": lambda width: draw_staleness(staleness(_rows()), width),
    "participation": lambda width: draw_participation(participation(_rows()), width),
    "timeline": lambda width: draw_timelines([_timeline(), dataclasses.replace(_timeline(), algorithm="short")], width),
    "labels": lambda width: draw_labels(LabelMap(POINT, 3, (1, 0), ((500, 0), (100, 4)), (0.1, 0.4)), width),
    "sensitivity": lambda width: draw_sensitivity([_sensitivity()] * 2, width),
    "design": lambda width: draw_design(picture(load("map")), width),
}


@pytest.mark.parametrize("millimetres", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_text_leaves_the_figure(kind: str, millimetres: float) -> None:
    assert beyond(KINDS[kind](millimetres)) == []


def test_a_text_that_leaves_the_figure_is_noticed() -> None:
    drawn = draw_timelines([_timeline()], 85)
    drawn.figure.axes[0].set_title(LONG, loc="left")
    assert beyond(drawn) == [LONG]


def beyond(drawn: Drawn) -> list[str]:
    """Returns the texts that are drawn and do not lie on the figure."""
    shown: set[Text] = set()
    draw = Text.draw

    def noted(text: Text, *args: object, **more: object) -> None:
        shown.add(text)
        draw(text, *args, **more)  # type: ignore[arg-type]

    with mpl.rc_context(STYLE), patch.object(Text, "draw", noted):
        canvas = FigureCanvasAgg(drawn.figure)
        canvas.draw()
        page, renderer = drawn.figure.bbox, canvas.get_renderer()
        boxes = {text: text.get_window_extent(renderer) for text in shown if text.get_text()}
    assert boxes
    return [
        text.get_text()
        for text, box in boxes.items()
        if box.x0 < page.x0 or box.y0 < page.y0 or box.x1 > page.x1 or box.y1 > page.y1
    ]


@given(st.text("ab[,= ]", max_size=60), st.floats(3, 40))
def test_lines_have_room_and_lose_no_letter(text: str, most: float) -> None:
    lines = fitted(text, most, 6).split("\n")
    assert all(width(line, 6) <= most for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_lines_end_where_a_selector_may() -> None:
    assert fitted("fedbuff[buffer_size=3,server_lr=0.331]", 30, 7) == "fedbuff[buffer_size=3,\nserver_lr=0.331]"
    assert fitted("short", 30, 7) == "short"
    assert fitted("", 30, 7) == ""


def test_sizes_of_texts() -> None:
    assert width("mm", 6) == pytest.approx(2 * width("m", 6), rel=0.05)
    assert width("m", 12) == pytest.approx(2 * width("m", 6), rel=0.05)
    assert widest(["a", "aa\na"], 6) == width("aa", 6)
    assert height(["a", "a\nb\nc"], 7.2) == pytest.approx(2 * 1.4 * 2.54)
    assert height([], 7) == widest([], 7) == 0
