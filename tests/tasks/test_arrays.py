"""Own data in each of three formats: the same arrays, and one clear error for what is none."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from fedbench import places
from fedbench.errors import MissingDataError, UsageError
from fedbench.tasks import arrays
from fedbench.tasks.arrays import Source

LABELS = np.array(["cat", "ant", "cat", "bee"] * 5)
OWNERS = np.array([70, 9, 9, 12] * 5)
X = np.arange(60, dtype=np.float64).reshape(20, 3)
COLUMNS: dict[str, Any] = {"animal": LABELS, "who": OWNERS, "x": X}


def write_npz(folder: Path, columns: dict[str, Any]) -> Path:
    np.savez(folder / "mine.npz", **columns)
    return folder / "mine.npz"


def table(columns: dict[str, Any]) -> pa.Table:
    return pa.table({name: column.tolist() if isinstance(column, np.ndarray) else column for name, column in columns.items()})


def write_parquet(folder: Path, columns: dict[str, Any]) -> Path:
    pyarrow.parquet.write_table(table(columns), folder / "mine.parquet")
    return folder / "mine.parquet"


def write_saved(folder: Path, columns: dict[str, Any], rows_a_file: int = 7) -> Path:
    """As `datasets.Dataset.save_to_disk` lays it out: Arrow streams, and their order in
    state.json."""
    place = folder / "mine"
    place.mkdir()
    whole = table(columns)
    starts = range(0, len(whole), rows_a_file)
    names = [f"data-{i:05}-of-{len(starts):05}.arrow" for i in range(len(starts))]
    for name, start in zip(names, starts, strict=True):
        with pa.ipc.new_stream(place / name, whole.schema) as stream:
            stream.write_table(whole.slice(start, rows_a_file))
    (place / "state.json").write_text(json.dumps({"_data_files": [{"filename": name} for name in names], "_fingerprint": "0"}))
    (place / "dataset_info.json").write_text("{}")
    return place


WRITERS: list[Callable[[Path, dict[str, Any]], Path]] = [write_npz, write_parquet, write_saved]


def source(file: Path, **keys: Any) -> Source:
    return Source(**({"name": "file:mine", "file": str(file), "label": "animal", "client": "who"} | keys))


@pytest.mark.parametrize("write", WRITERS)
def test_all_formats_give_the_same_task(write: Callable[[Path, dict[str, Any]], Path], tmp_path: Path) -> None:
    """Of ten cats, five ants and five bees a fifth is held out: two, one and one. Labels and owners
    are numbered in order."""
    file = write(tmp_path, COLUMNS)
    task = arrays.load(source(file, sha256=(places.sha256(file),)), "mlp")
    train, test = task.dataset.train, task.dataset.test
    assert (task.name, task.model.name, task.dataset.classes, task.dataset.shape) == ("file:mine", "mlp", 3, (3,))
    assert np.bincount(test.y).tolist() == [1, 1, 2]
    assert train.owner is not None
    assert test.owner is not None
    held = np.concatenate([train.x, test.x])[:, 0].astype(int) // 3
    assert sorted(held.tolist()) == list(range(20))
    assert [["ant", "bee", "cat"][label] for label in np.concatenate([train.y, test.y])] == LABELS[held].tolist()
    assert np.array([9, 12, 70])[np.concatenate([train.owner, test.owner])].tolist() == OWNERS[held].tolist()
    assert task.dataset.train.x.tolist() == X[held[:16]].tolist()


def test_columns_are_joined_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    file = write_parquet(tmp_path, {"y": [0, 1] * 5, "a": list(range(10)), "b": [[1, 2]] * 10, "note": ["text"] * 10})
    given = source(file, label="y", client=None, features=("b", "a"))
    train = arrays.dataset(given).train
    assert train.owner is None
    assert train.x[:2].tolist() == [[1, 2, train.x[0, 2]], [1, 2, train.x[1, 2]]]
    with pytest.raises(UsageError, match=r"column note must be numbers, got <U4; leave it out with task.features"):
        arrays.dataset(dataclasses.replace(given, features=()))


def test_images_keep_their_shape(tmp_path: Path) -> None:
    images = np.arange(10 * 2 * 4 * 4, dtype=np.uint8).reshape(10, 2, 4, 4)
    file = write_npz(tmp_path, {"y": np.arange(10) % 2, "images": images})
    assert arrays.dataset(source(file, label="y", client=None)).shape == (2, 4, 4)


def test_a_file_of_its_own_for_testing(tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    train, test = (
        write_npz(tmp_path, COLUMNS),
        write_npz(tmp_path / "test", {"animal": LABELS[:2], "x": X[:2], "who": OWNERS[:2]}),
    )
    data = arrays.dataset(source(train, test=str(test)))
    assert (len(data.train), data.test.y.tolist(), data.classes) == (20, [2, 0], 3)
    other = write_npz(tmp_path / "test", {"animal": np.array(["dog"]), "x": X[:1], "who": OWNERS[:1]})
    with pytest.raises(UsageError, match=r"test/mine.npz: column animal has 'dog', which the training examples do not have"):
        arrays.dataset(source(train, test=str(other)))


@pytest.mark.parametrize(
    ("columns", "keys", "message"),
    [
        (COLUMNS, {"label": "animals"}, r"mine.npz: has no column 'animals'; did you mean 'animal'\?"),
        (COLUMNS, {"client": "owner"}, "mine.npz: has no column 'owner'"),
        (COLUMNS, {"features": ("z",)}, "mine.npz: has no column 'z'"),
        (COLUMNS | {"who": OWNERS[:7]}, {}, "its arrays must have one length, got animal 20, who 7, x 20"),
        (COLUMNS | {"x": np.where(X == 33, np.nan, X)}, {}, "column x, row 11 is not finite"),
        (COLUMNS | {"animal": X}, {}, r"column animal must be whole numbers or texts \(n,\), got float64 \(20, 3\)"),
        (COLUMNS | {"who": OWNERS / 2}, {}, r"column who must be whole numbers or texts \(n,\), got float64 \(20,\)"),
        (COLUMNS | {"x": np.array([{}] * 20)}, {}, "mine.npz: cannot be read as .npz: Object arrays cannot be loaded"),
        (COLUMNS | {"animal": np.array(["cat"] * 20)}, {}, "classes must be >= 2, got 1"),
        ({"animal": LABELS, "who": OWNERS}, {}, "has no column of features beside animal"),
        (COLUMNS, {"test_share": 0.01}, "test_share 0.01 leaves 0 of 20 examples for testing"),
        (COLUMNS, {"sha256": ("0" * 64,)}, r"its sha256 must be 0000000000000000\.\., got [0-9a-f]{16}\.\.: it is another one"),
    ],
)
def test_what_is_no_table_of_numbers_with_labels(
    columns: dict[str, Any], keys: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message):
        arrays.load(source(write_npz(tmp_path, columns), **keys))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"animal": ["a", None], "x": [1, 2]}, "column animal, row 1 is empty"),
        ({"animal": ["a", "b"], "x": [[1, 2], [3]]}, "column x must hold lists of one length, got lengths 1, 2"),
        ({"animal": ["a", "b"], "x": [{"bytes": b""}, {"bytes": b""}]}, "column x must be numbers, texts or lists of one length"),
    ],
)
def test_columns_of_arrow_that_are_no_arrays(columns: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        arrays.load(source(write_parquet(tmp_path, columns), client=None))


@pytest.mark.parametrize("write", WRITERS)
def test_files_that_end_early(write: Callable[[Path, dict[str, Any]], Path], tmp_path: Path) -> None:
    file = write(tmp_path, COLUMNS)
    cut = file if file.is_file() else file / "data-00001-of-00003.arrow"
    cut.write_bytes(cut.read_bytes()[:-200])
    with pytest.raises(UsageError, match=f"task file .*{file.name}: cannot be read as "):
        arrays.load(source(file))


def test_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path / "data"))
    with pytest.raises(MissingDataError, match=r"task.file mine.npz: not on this machine; looked for mine.npz, .*data/mine.npz"):
        arrays.load(source(Path("mine.npz")))
    write_npz(tmp_path / "data", COLUMNS)
    assert len(arrays.dataset(source(Path("mine.npz"))).train) == 16
    (tmp_path / "mine.csv").write_text("animal,x\n")
    with pytest.raises(
        UsageError, match=r"mine.csv: expected .npz, .parquet or a folder that datasets saved to disk, got '.csv'"
    ):
        arrays.load(source(tmp_path / "mine.csv"))
    (tmp_path / "splits" / "train").mkdir(parents=True)
    (tmp_path / "splits" / "dataset_dict.json").write_text("{}")
    with pytest.raises(UsageError, match=r"splits: has several splits; name one of its folders: train"):
        arrays.load(source(tmp_path / "splits"))
