"""Lines of a table are the board's, and mark lower bounds."""

from __future__ import annotations

from fedbench.analysis.board import board
from fedbench.analysis.board_table import board_lines
from tests.analysis.pictures.test_boards import runs


def test_lines_are_the_boards() -> None:
    found = {
        "calm": board(
            {"a": runs("a", 1, "calm"), "c": runs("c", None, "calm"), "p": runs("p", 2, "calm")}, references=frozenset("p")
        )
    }
    lines = board_lines(found)
    assert [(line.row, line.target) for line in lines] == [(row, target) for row in ("a", "p", "c") for target in (None, 0.8)]
    whole, own = lines[:2]
    standing = found["calm"].standings[0]
    assert (whole.mean, whole.half_width, whole.place) == (standing.mean.mean, standing.mean.half_width, 0)
    assert (own.mean, own.median, own.bytes) == (2.0, 2.0, 1000.0)
    assert whole.median is None
    assert whole.first
    assert [line.is_bound for line in lines] == [False] * 4 + [True] * 2
    assert (lines[-1].hits, lines[-1].attempts, lines[-1].mean) == (0, 3, 20.0)
    assert lines[2].place is None
    assert {line.first_alike for line in lines} == {None}


def test_only_some_rows_are_shown_and_first_is_said_of_all() -> None:
    found = {"calm": board({"a": runs("a", 1, "calm"), "b": runs("b", 15, "calm")})}
    alike = {"calm": board({"b": runs("b", 15, "calm")})}
    lines = board_lines(found, alike, only=["b"])
    assert {(line.row, line.first, line.first_alike) for line in lines} == {("b", False, True)}
