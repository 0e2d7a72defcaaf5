"""Lines of a table are the board's, and mark lower bounds."""

from __future__ import annotations

import pytest

from fedbench.analysis.board import board
from fedbench.analysis.board_table import board_lines
from tests.analysis.pictures.test_boards import ALL, TEN, runs


def test_lines_are_the_boards() -> None:
    rows = {name: runs(name, second, "calm") for name, second in (("a", 2), ("b", 6), ("c", None), ("d", 3), ("p", 1))}
    groups = {"a": TEN, "b": TEN, "c": TEN, "d": ALL, "p": TEN}
    found = board(rows, references=frozenset("p"), groups=groups)
    lines = board_lines({"calm": found})
    assert [(line.row, line.target) for line in lines] == [(row, target) for row in "pabcd" for target in (None, 0.8)]
    whole = {line.row: line for line in lines if line.target is None}
    assert {row: line.system for row, line in whole.items()} == {
        "p": "", "a": "10 clients at work", "b": "10 clients at work", "c": "10 clients at work", "d": "all clients at work",
    }  # fmt: skip
    standing = found.of("b")
    assert standing is not None
    assert standing.regret is not None
    assert (whole["b"].cost, whole["b"].regret) == (standing.cost, standing.regret.numbers)
    assert [line.row for line in lines if line.is_best] == ["a"], "who is alone is not marked"
    assert (whole["d"].regret, whole["c"].regret, whole["p"].regret) == (None, None, None)
    assert (whole["c"].hits, whole["c"].attempts, whole["c"].is_bound) == (0, 3, True)
    assert whole["a"].bytes == pytest.approx(2000), "two evaluations of a thousand bytes until then"
    assert (lines[3].target, lines[3].median, lines[3].regret) == (0.8, 2.5, None)


def test_only_some_rows_are_shown_and_regrets_are_those_of_all() -> None:
    found = {"calm": board({"a": runs("a", 2, "calm"), "b": runs("b", 12, "calm")})}
    (line, _) = board_lines(found, only=["b"])
    assert line.regret is not None
    assert line.regret[0] > 4
    assert not line.is_best
