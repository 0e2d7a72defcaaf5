"""CSV files as pandas and spreadsheets write them, in all dialects that the header tells apart."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fedbench.errors import UsageError
from fedbench.tasks.own import bounded, csv_table
from fedbench.tasks.own.choice import Wanted

from .reading_here import read

N = 30
FRAME = pd.DataFrame(
    {
        "age": np.linspace(-1, 1, N),
        "b;m,i": np.arange(N) / 7,
        "y": ["a b", 'says "no"', "x"] * (N // 3),
        "who": np.arange(N) // 3 + 8,
    }
)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"index": False},
        {"index": False, "sep": ";"},
        {"index": False, "sep": ";", "decimal": ","},
        {"index": False, "sep": "\t"},
        {"index": False, "sep": "|", "quoting": csv.QUOTE_ALL},
        {"index": False, "encoding": "utf-8-sig", "lineterminator": "\r\n"},
    ],
)
def test_what_pandas_writes(options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "BLOCK", 500)
    FRAME.to_csv(tmp_path / "mine.csv", **options)
    found = read(tmp_path / "mine.csv", "train", Wanted("y", "who"))
    assert found.features == ("age", "b;m,i")
    assert np.array_equal(found.x, FRAME[["age", "b;m,i"]].to_numpy().astype(np.float32))
    assert [found.labels.values[code] for code in found.labels.codes] == FRAME.y.tolist()
    assert found.owners is not None
    assert found.owners.values == list(range(8, 18))


def test_an_index_that_was_read_and_written_again(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "once.csv")
    pd.read_csv(tmp_path / "once.csv").to_csv(tmp_path / "mine.csv")
    assert read(tmp_path / "mine.csv", "train", Wanted("y", "who")).features == ("age", "b;m,i")


def test_tsv_and_cells_of_several_lines(tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text('x\tnote, ;;;\ty\n1\t"two\nlines"\tTrue\n\n 2.5 \t"a ""b"""\tfalse\n')
    found = read(tmp_path / "mine.tsv", "train", Wanted("y", features=("x",)))
    assert (found.x.tolist(), found.labels.values) == ([[1], [2.5]], ["True", "false"])
    assert read(tmp_path / "mine.tsv", "train", Wanted("x", features=("y",))).x.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        (["1", "0", "10"], [0, 1, 10]),
        (["1.0", "0.0", "2.0"], [0, 1, 2]),
        (["0", "1", "1.0", "0.00", "-0.0"], [0, 1]),
        (["1.0", "1", "one"], ["1", "one"]),
        (["-1", "1", "1"], [-1, 1]),
        (["01234", "1234", "1"], ["01234", "1", "1234"]),
        (["1", "one", "2"], ["1", "2", "one"]),
    ],
)
def test_labels_are_whole_numbers_if_all_are_written_like_some(labels: list[str], values: list[Any], tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("y,x\n" + "".join(f"{label},0\n" for label in labels))
    assert read(tmp_path / "mine.csv", "train", Wanted("y")).labels.values == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,y\n1,0\n,1\n", "column x, row 1 is empty"),
        ("x,y\n1,0\nNaN,1\n", "column x, row 1 is empty"),
        ("x,y\n1,0\n NULL ,1\n", "column x, row 1 is empty"),
        ("x,y\n1,0\n2,\n", "column y, row 1 is empty"),
        ("x,y\n1,0\ninf,1\n", "column x, row 1 is not finite"),
        ("x,y\n1,0\nno\x1b[2J,1\n", r"column x, row 1 must be a number, got 'no\\\\?x1b"),
        ('x,y\n1,0\n"1,5",1\n', "column x, row 1 must be a number, got '1,5'"),
        ("x,y\n1,0\n2\n", "cannot be read as CSV: row 1: Expected 2 columns, got 1: 2"),
        ('x,y\n1,0\n\n1,"0\n1"\n2\n', "cannot be read as CSV: row 2: Expected 2 columns, got 1"),
        ("x,y\ntrue,0\n\nfalse,1\ne,1\n", "column x, row 0 must be a number, got 'true'"),
        ("x,x,y\n1,1,0\n", "has 2 columns 'x'"),
        ("", "cannot be read as CSV: Empty CSV file"),
        ("x,y\n", "has no rows"),
        ("x,y\n1,\xff\n", "column y, row 0 must be texts in UTF-8, got other bytes"),
        ("x,\xe2ge,y\n1,0,0\n", "mine.csv: expected text in UTF-8, got the byte 0xe2 at 2"),
    ],
)
def test_what_is_wrong_is_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(UsageError, match=message) as error:
        read(tmp_path / "mine.csv", "train", Wanted("y"))
    assert str(error.value).isprintable()


@pytest.mark.parametrize("cell", ["NA", "nan", "NaN", "null", "NULL", "None", "N/A", "#N/A", '"NA"', " NA "])
@pytest.mark.parametrize("wanted", [Wanted("y"), Wanted("z", "y"), Wanted("z"), Wanted("y", real=True)])
def test_a_missing_value_is_one_in_every_column(cell: str, wanted: Wanted, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(f"x,y,z\n1,0,0\n1,1,1\n1,{cell},1\n")
    with pytest.raises(
        UsageError, match=r"column y, row 2 is (empty|[^ ]*, which stands for a missing value); remove the example"
    ):
        read(tmp_path / "mine.csv", "train", wanted)


@pytest.mark.parametrize("text", ["x" * (1 << 21), "x,y\n" + "1" * (9 << 20)])
def test_lines_without_end(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(UsageError, match=r"mine.csv: (expected a header of at most|cannot be read as CSV)"):
        read(tmp_path / "mine.csv", "train", Wanted("y"))


def test_the_row_of_a_late_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_table, "BLOCK", 500)
    for cell, column in (("e", "x"), ("NA ", "x"), ("\xff", "y")):
        line = f"{cell},1\n" if column == "x" else f"1,{cell}\n"
        (tmp_path / "mine.csv").write_bytes(("x,y\n" + "1,0\n" * 1000 + line).encode("latin-1"))
        with pytest.raises(UsageError, match=rf"column {column}, row 1000 (must be|is empty)"):
            read(tmp_path / "mine.csv", "train", Wanted("y"))


def test_a_decimal_point_between_semicolons_stays_one(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("x;y;n\n1.5;0;1\n2.25;1;2\n")
    assert read(tmp_path / "mine.csv", "train", Wanted("y")).x.tolist() == [[1.5, 1], [2.25, 2]]
    (tmp_path / "mine.csv").write_text("x;y;n\n1,5;0;1\n2,25;1;2\n")
    assert read(tmp_path / "mine.csv", "train", Wanted("y")).x.tolist() == [[1.5, 1], [2.25, 2]]


def test_only_columns_that_are_read_as_numbers_decide_the_decimal_sign(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("x;a;b;y\n1.5;1,2;3,4;0\n2.5;1;3;1,5\n")
    assert read(tmp_path / "mine.csv", "train", Wanted("y", features=("x",))).x.tolist() == [[1.5], [2.5]]
    assert read(tmp_path / "mine.csv", "train", Wanted("x", features=("b",))).x.tolist() == [[np.float32(3.4)], [3]]
    assert read(tmp_path / "mine.csv", "train", Wanted("y", features=("b",), real=True)).numbers is not None
    with pytest.raises(UsageError, match=r"column x, row 0 must be a number, got '1\.5'"):
        read(tmp_path / "mine.csv", "train", Wanted("y"))
    with pytest.raises(UsageError, match="column b, row 0 must be a number, got '3,4'"):
        read(tmp_path / "mine.csv", "train", Wanted("y", features=("x", "b")))


def test_many_columns_of_a_large_file_take_little_memory(tmp_path: Path) -> None:
    """Read by the process that bounds it: 300 columns, of which texts would take 300 times the size
    of a block."""
    line = ",".join(f"{i}.25" for i in range(300))
    header = ",".join(f"c{i}" for i in range(300))
    (tmp_path / "mine.csv").write_text(f"{header},y\n" + "".join(f"{line},{i % 2}\n" for i in range(6000)))
    found = bounded.read(tmp_path / "mine.csv", "train", Wanted("y"))
    assert found.x.shape == (6000, 300)
    assert found.x[-1, -1] == 299.25
