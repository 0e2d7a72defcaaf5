"""Columns: what is declared once is in every table and file."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from fedbench.leaderboard import columns
from fedbench.leaderboard.cells import Cell, Column, Seen
from fedbench.leaderboard.columns import DECLARED
from fedbench.leaderboard.site import build
from fedbench.results.record import Record
from tests.leaderboard.reading import data_file, document

SCENARIO = "fedbench-leaderboard/slow-tail.html"


def rows_of(folder: Path) -> dict[str, list[object]]:
    """The fields of the table's rows, by name."""
    text = (folder / "data" / "rows.js").read_text().removeprefix("window.fedbench = ").rstrip().rstrip(";")
    found = json.loads(text)
    fields = dict(zip(found["fields"], zip(*found["rows"], strict=True), strict=True))
    fields["columns"] = [one["name"] for one in found["columns"]]
    return fields


def test_names_are_apart_and_csv_columns_exist(board: list[Record], tmp_path: Path) -> None:
    build(board, tmp_path)
    with data_file(tmp_path).with_suffix(".csv").open(newline="") as file:
        head = next(csv.reader(file))
    assert len({one.name for one in DECLARED}) == len(DECLARED)
    absent = {one.csv or one.name for one in DECLARED} - set(head)
    assert absent == {"lost_share_mean"}, "no job can be lost here"


@pytest.mark.parametrize("column", DECLARED, ids=lambda one: one.name)
def test_the_csv_has_what_the_cell_says(column: Column, board: list[Record], tmp_path: Path) -> None:
    build(board, tmp_path)
    data = document(tmp_path)
    with data_file(tmp_path).with_suffix(".csv").open(newline="") as file:
        lines = {(line["point"], line["algorithm"]): line for line in csv.DictReader(file)}
    for point in data.points:
        for row in data.rows("given", point.name):
            standing = data.board("given", point.name).get(row.label)
            worth = column.cell(Seen(data, point.name, "given", row, standing, data.sections["given"][point.name])).worth
            said = lines[point.name, row.label].get(column.csv or column.name, "")
            if column.name in ("system", "in_set", "outcomes", "options", "regret"):  # which files have in another form
                continue
            assert said == ("" if worth is None else str(worth)), (point.name, row.label)


def test_a_new_column_is_everywhere(board: list[Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twice = Column("twice", "Twice the updates", lambda seen: Cell("2x", sort=2.5), page=("Twice", "the updates"))
    for module in (columns, *(__import__(f"fedbench.leaderboard.{name}", fromlist=["x"]) for name in ("browse", "flat"))):
        monkeypatch.setattr(module, "DECLARED", (*DECLARED, twice))
    build(board, tmp_path)
    assert '<span class="label">Twice<' in (tmp_path / SCENARIO).read_text()
    fields = rows_of(tmp_path)
    assert set(fields["twice"]) == {2.5}
    assert "twice" in fields["columns"]
    with data_file(tmp_path).with_suffix(".csv").open(newline="") as file:
        assert {line["twice"] for line in csv.DictReader(file)} == {"2.5"}
