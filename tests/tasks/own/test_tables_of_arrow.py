"""Parquet and the folders of `datasets`: only what is asked for is read, and what pandas and
`datasets` write beside it is understood."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedbench.errors import UsageError
from fedbench.tasks import arrays
from fedbench.tasks.own.choice import Wanted

from .reading_here import read

N = 40
FRAME = pd.DataFrame({"x": np.linspace(-1, 1, N), "z": np.arange(N) / 7, "y": np.arange(N) % 2})


def write_parquet(folder: Path, table: pa.Table, **options: Any) -> Path:
    pq.write_table(table, folder / "mine.parquet", **options)
    return folder / "mine.parquet"


def write_saved(folder: Path, table: pa.Table, **options: Any) -> Path:
    place = folder / "mine"
    place.mkdir()
    with pa.ipc.new_stream(place / "data.arrow", table.schema) as stream:
        stream.write_table(table, max_chunksize=7)
    (place / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    return place


WRITERS = [write_parquet, write_saved]


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.sample(frac=1, random_state=0),
        FRAME.set_index(pd.Index(np.arange(N) % 2, name="patient")),
        FRAME.set_index(pd.MultiIndex.from_arrays([np.arange(N), np.arange(N) % 3], names=["site", None])),
        FRAME.set_index(pd.date_range("2020-01-01", periods=N)),
    ],
)
def test_an_index_of_pandas_is_no_feature(frame: pd.DataFrame, tmp_path: Path) -> None:
    frame.to_parquet(tmp_path / "mine.parquet")
    found = read(tmp_path / "mine.parquet", "train", Wanted("y"))
    assert found.features == ("x", "z")
    assert found.x.tolist() == frame[["x", "z"]].astype(np.float32).to_numpy().tolist()


@pytest.mark.parametrize("wanted", [Wanted("y", "h"), Wanted("h"), Wanted("y", features=("h",))])
def test_an_index_that_is_asked_for(wanted: Wanted, tmp_path: Path) -> None:
    FRAME.set_index(pd.Index(np.arange(N) % 2, name="h")).to_parquet(tmp_path / "mine.parquet")
    with pytest.raises(
        UsageError, match=r"mine.parquet: 'h' is the index of its data frame, .*; reset_index\(\) makes one of it"
    ):
        read(tmp_path / "mine.parquet", "train", wanted)
    assert read(tmp_path / "mine.parquet", "train", Wanted("y", "h", exact=("x", "z"))).owners is None  # those of test data


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(
    "unused",
    [
        ["a"] * N,
        [datetime(2020, 1, 1)] * N,
        [date(2020, 1, 1)] * N,
        [{"bytes": b"x", "path": None}] * N,
        [None, *[1.0] * (N - 1)],
        pa.nulls(N),
        [[1] * (i % 3) for i in range(N)],
        [b"a"] * N,
        [{"a": {"b": [1]}}] * N,
        pa.array([[("k", 1)]] * N, pa.map_(pa.string(), pa.int64())),
    ],
)
def test_unused_columns_do_not_matter(write: Any, unused: Any, tmp_path: Path) -> None:
    table = pa.Table.from_pandas(FRAME).append_column("unused", pa.array(unused))
    found = read(write(tmp_path, table), "train", Wanted("y", features=("x",)))
    assert (found.features, len(found.x)) == (("x",), N)


@pytest.mark.parametrize("write", WRITERS)
def test_a_row_in_a_message_is_the_file_s(write: Any, tmp_path: Path) -> None:
    values = [[1.0, 2.0, 3.0] for _ in range(N)]
    values[33][1] = float("nan")
    path = write(tmp_path, pa.table({"x": values, "y": FRAME.y}), row_group_size=5)
    with pytest.raises(UsageError, match="column x, row 33 is not finite"):
        read(path, "train", Wanted("y"))


def test_no_label_of_datasets(tmp_path: Path) -> None:
    about = {
        "info": {"features": {"y": {"names": ["a", "b"], "_type": "ClassLabel"}, "x": {"dtype": "float64", "_type": "Value"}}}
    }
    table = pa.table({"x": FRAME.x, "y": [-1] * 2 + [0, 1] * (N // 2 - 1)})
    assert read(write_parquet(tmp_path, table), "train", Wanted("y")).labels.values == [-1, 0, 1]
    noted = table.replace_schema_metadata({"huggingface": json.dumps(about)})
    for write in WRITERS:
        with pytest.raises(UsageError, match="column y, row 0 is -1, which stands for a missing value"):
            read(write(tmp_path, noted), "train", Wanted("y"))


@pytest.mark.parametrize(
    "metadata", [{"pandas": b"[" * 100_000}, {"pandas": b'{"index_columns": 3}', "huggingface": b"[]"}, {"pandas": b"\xff"}]
)
def test_notes_of_others_may_be_anything(metadata: Any, tmp_path: Path) -> None:
    table = pa.table({"x": FRAME.x, "y": FRAME.y}).replace_schema_metadata(metadata)
    assert read(write_parquet(tmp_path, table), "train", Wanted("y")).features == ("x",)


@pytest.mark.parametrize("write", WRITERS)
def test_equal_names(write: Any, tmp_path: Path) -> None:
    path = write(tmp_path, pa.table([FRAME.x, FRAME.x, FRAME.y], names=["x\n", "x\n", "y"]))
    with pytest.raises(UsageError, match=r"has 2 columns 'x\\n'; rename"):
        read(path, "train", Wanted("y"))


def test_a_footer_s_numbers_are_counted_before_anything_is_read(tmp_path: Path) -> None:
    rows = 20_000_000
    path = write_parquet(tmp_path, pa.table({"x": np.zeros(rows), "y": np.zeros(rows, np.int8)}), compression="zstd")
    with pytest.raises(UsageError, match=r"mine.parquet: its [\d,]+ bytes unpack to 240,000,000, expected at most 134,217,728"):
        read(path, "train", Wanted("y"))


def test_a_long_footer(tmp_path: Path) -> None:
    path = write_parquet(tmp_path, pa.table({"x": FRAME.x, "y": FRAME.y}))
    path.write_bytes(path.read_bytes()[:-8] + (1 << 31).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(UsageError, match="expected a footer of at most 16,777,216 bytes, got 2,147,483,648"):
        read(path, "train", Wanted("y"))


def test_texts_stay_in_their_dictionary(tmp_path: Path) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array(np.arange(N, dtype=np.int32) % 2), ["a" * 100, "b" * 100])
    path = write_parquet(tmp_path, pa.table({"x": FRAME.x, "y": column}))
    assert read(path, "train", Wanted("y")).labels.values == ["a" * 100, "b" * 100]


def test_shards_are_read_one_after_the_other(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for i in range(4):
        FRAME[10 * i : 10 * i + 10].to_parquet(folder / f"part-{i}.parquet")
    found = read(folder, "train", Wanted("y"))
    assert np.array_equal(found.x, FRAME[["x", "z"]].to_numpy().astype(np.float32))
    FRAME[:10].assign(z=np.nan).to_parquet(folder / "part-3.parquet")
    with pytest.raises(UsageError, match=r"column z, row 30 is (empty|not finite)"):
        read(folder, "train", Wanted("y"))


def test_a_column_that_is_read_is_in_every_shard(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for i in range(3):
        FRAME[10 * i : 10 * i + 10].to_parquet(folder / f"part-{i}.parquet")
    FRAME[20:30].drop(columns="z").assign(note="a").to_parquet(folder / "part-2.parquet")
    assert read(folder, "train", Wanted("y", features=("x",))).x[:, 0].tolist() == FRAME.x[:30].astype(np.float32).tolist()
    for features, message in (
        ((), "part-0.parquet: lacks note, which other files of its folder have; task.features names"),
        (("x", "z"), "part-2.parquet: lacks z"),
        (("x", "note"), "part-0.parquet: lacks note"),
        (("w",), "mine: has no column 'w'"),
    ):
        with pytest.raises(UsageError, match=message):
            read(folder, "train", Wanted("y", features=features))
    pq.write_table(pa.table([FRAME.x, FRAME.x, FRAME.y], names=["x", "x", "y"]), folder / "part-2.parquet")
    with pytest.raises(UsageError, match="has 2 columns 'x'"):
        read(folder, "train", Wanted("y", features=("x",)))


def test_an_arrow_file_is_no_stream(tmp_path: Path) -> None:
    place = write_saved(tmp_path, pa.Table.from_pandas(FRAME))
    with pa.ipc.new_file(place / "data.arrow", pa.schema([])):
        pass
    with pytest.raises(UsageError, match=r"data.arrow: expected a stream of Arrow, .*, got an Arrow file; write it as .parquet"):
        read(place, "train", Wanted("y"))


def test_splits_of_a_hub_are_the_parts(tmp_path: Path) -> None:
    for name, rows in (
        ("train-00000-of-00002", slice(0, 10)),
        ("train-00001-of-00002", slice(10, 30)),
        ("test-00000-of-00001", slice(30, 40)),
    ):
        FRAME[rows].to_parquet(tmp_path / f"{name}.parquet")
    source = arrays.Source(name="file:mine", file=str(tmp_path), label="y")
    data = arrays.dataset(source)
    assert (len(data.train), data.test.x.tolist()) == (30, FRAME[30:][["x", "z"]].astype(np.float32).to_numpy().tolist())
    with pytest.raises(UsageError, match=r"has a part for testing, so task.test and task.test_share must be left out"):
        arrays.dataset(replace(source, test_share=0.3))
