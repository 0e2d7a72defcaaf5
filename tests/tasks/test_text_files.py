"""Tables of texts: three kinds of files with the same rows, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedbench.errors import RecordError
from fedbench.tasks import text_files
from fedbench.tasks.text_files import read_texts

ROWS = {"a": ['says "well, no', "è un film "], "n": [3, 4], "b": ["x", ""], "label": [1, 0]}


def write(folder: Path, ending: str, rows: dict[str, Any] = ROWS) -> Path:
    file = folder / f"texts.{ending}"
    table = pa.table(rows)
    if ending == "parquet":
        pq.write_table(table, file)
    elif ending == "arrow":
        with pa.OSFile(str(file), "wb") as out, pa.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table)
    else:
        lines = [rows, *zip(*rows.values(), strict=True)]
        file.write_bytes(("\ufeff" + "".join("\t".join(map(str, line)) + "\r\n" for line in lines)).encode())
    return file


@pytest.mark.parametrize("ending", ["tsv", "txt", "parquet", "arrow"])
def test_the_same_rows_of_every_kind(tmp_path: Path, ending: str) -> None:
    """TSV as in MRPC: a byte order mark, lines that end as on Windows, quotes that are part of the
    text."""
    found = read_texts(write(tmp_path, ending), ["b", "a"], "label")
    assert [list(column) for column in found.columns] == [ROWS["b"], ROWS["a"]]
    assert (found.labels.tolist(), found.labels.dtype) == ([1, 0], np.int64)


@pytest.mark.parametrize("ending", ["tsv", "parquet", "arrow"])
@pytest.mark.parametrize(
    ("columns", "label", "rows", "message"),
    [
        (["text"], "label", ROWS, r"must have one column 'text', has 0; its columns are \['a', 'n', 'b', 'label'\]"),
        (["a"], "y", ROWS, r"must have one column 'y', has 0"),
        (["a"], "b", ROWS, r"column b, row 0: a label must be a whole number from 0, got 'x'"),
        (["a"], "label", ROWS | {"label": [0, -1]}, r"column label, row 1: a label must be .*, got '?-1"),
        (["a"], "label", ROWS | {"label": [0.0, 0.5]}, r"column label, row 0: a label must be .*, got '?0\.0"),
    ],
)
def test_wrong_columns_and_labels(
    tmp_path: Path, ending: str, columns: list[str], label: str, rows: dict[str, Any], message: str
) -> None:
    with pytest.raises(RecordError, match=rf"texts\.{ending}: {message}"):
        read_texts(write(tmp_path, ending, rows), columns, label)


def test_what_is_no_text(tmp_path: Path) -> None:
    for column, got in (("n", "3"), ("a", "None")):
        with pytest.raises(RecordError, match=rf"column {column}, row \d: expected a text, got {got}"):
            read_texts(write(tmp_path, "parquet", ROWS | {"a": ["x", None]}), [column], "label")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\tlabel\nx\t1\ny\n", r"line 3 must have 2 fields, as the header has, got 1"),
        (b"a\tlabel\nx\ty\t1\n", r"line 2 must have 2 fields, as the header has, got 3"),
        (b"a\tlabel\nx\t1\n\n", r"line 3 must have 2 fields, .* got 1"),
        (b"a\ta\tlabel\n", r"must have one column 'a', has 2"),
        (b"", r"must have one column 'a', has 0"),
        (b"a\tlabel\n\xff\t1\n", r"expected text in UTF-8, got the byte 0xff"),
    ],
)
def test_lines_of_another_length(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "texts.tsv").write_bytes(content)
    with pytest.raises(RecordError, match=rf"texts\.tsv: {message}"):
        read_texts(tmp_path / "texts.tsv", ["a"], "label")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_cut_files(tmp_path: Path, ending: str) -> None:
    file = write(tmp_path, ending)
    whole = file.read_bytes()
    for content in (whole[: len(whole) // 2], b"\x80\x04N.", b""):
        file.write_bytes(content)
        with pytest.raises(RecordError, match=rf"texts\.{ending}: cannot be read as "):
            read_texts(file, ["a"], "label")


def test_files_of_other_kinds_and_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RecordError, match=r"texts\.pkl: the name must end with \.tsv, .*, got \.pkl"):
        read_texts(tmp_path / "texts.pkl", ["a"], "label")
    monkeypatch.setattr(text_files, "LARGEST", 100)
    with pytest.raises(RecordError, match=r"expected at most 100 bytes"):
        read_texts(write(tmp_path, "parquet"), ["a"], "label")


def test_no_rows(tmp_path: Path) -> None:
    (tmp_path / "texts.tsv").write_text("a\tlabel\n")
    assert read_texts(tmp_path / "texts.tsv", ["a"], "label").columns == ([],)


@pytest.mark.parametrize("ending", ["tsv", "parquet", "arrow"])
def test_long_texts(tmp_path: Path, ending: str) -> None:
    file = write(tmp_path, ending, ROWS | {"a": ["x", "y" * 100_001]})
    with pytest.raises(RecordError, match="column a, row 1: expected a text of at most 100,000 characters, got 100,001"):
        read_texts(file, ["a"], "label")


def test_lines_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "texts.tsv").write_bytes(b"a\tlabel\n" + b"x" * (2 << 20) + b"\t1")
    with pytest.raises(
        RecordError, match=r"expected at most 5,000,000 lines of at most 1,048,576 bytes, got 2 of up to 2,097,155"
    ):
        read_texts(tmp_path / "texts.tsv", ["a"], "label")
    monkeypatch.setattr(text_files, "MOST_ROWS", 2)
    (tmp_path / "texts.tsv").write_bytes(b"a\tlabel\nx\t1\nx\t1\n")
    with pytest.raises(RecordError, match=r"expected at most 2 lines of .*, got 4 of"):
        read_texts(tmp_path / "texts.tsv", ["a"], "label")


def test_a_packed_stream_of_equal_texts(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array(["x"]).take(pa.array(np.zeros(15_000_000, np.int8))), "label": np.zeros(15_000_000, np.int8)})
    with pa.ipc.new_stream(tmp_path / "texts.arrow", table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(table)
    with pytest.raises(RecordError, match=r"texts.arrow: .*cannot be read"):
        read_texts(tmp_path / "texts.arrow", ["a"], "label")
