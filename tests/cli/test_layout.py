"""Texts and tables in a number of columns: nothing is lost, no word is broken, and no line is wider
than it must be."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from fedbench.cli.layout import reflowed, table, wrapped

WORD = st.text("abc=.", min_size=1, max_size=12)
SENTENCE = st.lists(WORD, min_size=1, max_size=20).map(" ".join)
CELLS = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(st.just("") | SENTENCE, min_size=n, max_size=n), min_size=1, max_size=4)
)


@given(SENTENCE, st.integers(20, 80), st.integers(0, 4), st.integers(0, 6))
@example("= = ============", 20, 3, 6)
def test_a_line_is_broken_at_spaces(text: str, width: int, hang: int, before: int) -> None:
    lines = wrapped(" " * before + text, width, hang)
    assert " ".join(line.strip() for line in lines) == text
    assert max(map(len, lines)) <= width
    for line in lines[1:]:
        assert len(line) - len(line.lstrip()) == min(before + hang, width - len(line.split()[0]))
    for line, following in itertools.pairwise(lines):
        assert len(line) + 1 + len(following.split()[0]) > width, "as much as fits stands on a line"


def test_what_has_no_space_stays_whole_but_for_selectors() -> None:
    path, selector = "/a/rather/long/path,with/commas", "fedbuff[buffer_size=5,local_lr=0.1]"
    assert wrapped(f"in {path} it is", 20) == ["in", f"  {path}", "  it is"]
    assert wrapped(f"row {selector} it is", 30) == ["row fedbuff[buffer_size=5,", "  local_lr=0.1] it is"]
    assert wrapped("ok   check   value of it", 20, 13) == ["ok   check   value", "          of it"], "at most half of the width"


def test_prose_is_filled_anew_and_equations_are_not() -> None:
    text = "One sentence that is\nlong.\n\n    x <- x + y\n    y <- 2 y\n\n- an item of a list\n- another"
    assert reflowed(text, 100) == text.split("\n")
    assert reflowed(text, 14) == [
        "One sentence", "that is long.", "", "    x <- x + y", "    y <- 2 y", "", "- an item of a", "  list", "- another",
    ]  # fmt: skip


@given(CELLS, st.integers(20, 100))
def test_a_table_fits_and_has_all_words(cells: list[list[str]], width: int) -> None:
    assume(len({row[0] for row in cells}) == len(cells))  # a name is shown once above its rows
    columns = [f"column{i}" for i in range(len(cells[0]))]
    laid = table(columns, cells, width)
    assert max(map(len, [*laid.head, *laid.body])) <= width
    shown = sorted(word for line in laid.body for word in line.split())
    labels = [f"{name}:" for name in columns]
    assert sorted(word for word in shown if word not in labels) == sorted(
        word for row in cells for cell in row for word in cell.split()
    )


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (60, ["name   size  about", "small  1     a few words that are here to be broken again"]),
        (44, ["name   size  about", "small  1     a few words that are here to be", "             broken again"]),
        (30, ["name   size", "small  1", "  a few words that are here to", "  be broken again"]),
    ],
)
def test_a_table_is_turned_as_it_gets_narrower(width: int, lines: list[str]) -> None:
    laid = table(["name", "size", "about"], [["small", "1", "a few words that are here to be broken again"]], width)
    assert [*laid.head, *laid.body] == lines


def test_a_long_name_stands_above_its_numbers() -> None:
    rows = [["fedbuff[buffer_size=5]", "0.8", "12 s"], ["fedbuff[buffer_size=5]", "0.9", "24 s"], ["fedavg", "0.8", "40 s"]]
    laid = table(["algorithm", "target", "time"], rows, 24)
    assert laid.head == ["algorithm", "  target  time"]
    assert laid.body == ["fedbuff[buffer_size=5]", "  0.8     12 s", "  0.9     24 s", "fedavg", "  0.8     40 s"]


def test_what_does_not_fit_has_a_label() -> None:
    laid = table(["name", "source", "about"], [["small", "a paper of somebody", "words"], ["large", "", "more words"]], 20)
    assert laid.head == ["name   about"]
    assert laid.body == ["small  words", "  source: a paper of", "    somebody", "large  more words"]
