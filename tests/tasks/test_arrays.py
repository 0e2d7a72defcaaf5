"""Own data in each of three formats: the same arrays, and one clear error for what is none."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from fedbench import places
from fedbench.errors import MissingDataError, UsageError
from fedbench.tasks import arrays
from fedbench.tasks.arrays import Source

from .own import reading_here


@pytest.fixture(autouse=True)
def _read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "read", reading_here.read)


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


def write_csv(folder: Path, columns: dict[str, Any]) -> Path:
    pyarrow.csv.write_csv(table(columns), folder / "mine.csv")
    return folder / "mine.csv"


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
    with pytest.raises(
        UsageError,
        match=r"column note must be numbers, images or lists of one length of them, got string; leave it out with task.features",
    ):
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
    with pytest.raises(
        UsageError, match=r"test/mine.npz: column animal, row 0 has 'dog', which the training examples do not have"
    ):
        arrays.dataset(source(train, test=str(other)))


@pytest.mark.parametrize(
    ("columns", "keys", "message"),
    [
        (COLUMNS, {"label": "animals"}, r"mine.npz: has no column 'animals'; did you mean 'animal'\?"),
        (COLUMNS, {"client": "owner"}, "mine.npz: has no column 'owner'"),
        (COLUMNS, {"features": ("z",)}, "mine.npz: has no column 'z'"),
        (COLUMNS | {"who": OWNERS[:7]}, {}, "its arrays must have one length, got x 20, animal 20, who 7"),
        (COLUMNS | {"x": np.where(X == 33, np.nan, X)}, {}, "column x, row 11 is not finite"),
        (COLUMNS | {"animal": X}, {}, r"column animal must be whole numbers or texts \(n,\), got float64 \(20, 3\)"),
        (COLUMNS | {"who": OWNERS / 2}, {}, r"column who, row 1 must be a whole number or a text, got 4.5"),
        (COLUMNS | {"x": np.array([{}] * 20)}, {}, "mine.npz: column x holds Python objects, which are not read"),
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
        pytest.param(
            {"animal": ["a", "b"], "x": [{"bytes": b""}, {"bytes": b""}]},
            "column x, row 0 cannot be decoded as an image: it is none of PNG, JPEG",
            marks=pytest.mark.extra("image"),
        ),
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
    (tmp_path / "mine.mat").write_text("animal,x\n")
    with pytest.raises(
        UsageError,
        match=r"mine.mat: expected .npz, .parquet, .csv, .tsv, .json, .tar, .*, or a folder of .* saved to disk, got '.mat'",
    ):
        arrays.load(source(tmp_path / "mine.mat"))
    (tmp_path / "splits" / "train").mkdir(parents=True)
    (tmp_path / "splits" / "dataset_dict.json").write_text("{}")
    with pytest.raises(UsageError, match=r"splits: has several splits; name one of its folders: train"):
        arrays.load(source(tmp_path / "splits"))


def test_data_that_have_moved_are_known_by_their_sum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record may name an absolute path; a file of the same name with another sum is none of its
    data."""
    for folder in ("before", "data", "here"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path / "here")
    file = write_npz(tmp_path / "before", COLUMNS)
    given = source(file, sha256=(places.sha256(file),))
    file.rename(tmp_path / "mine.npz")
    with pytest.raises(
        MissingDataError,
        match=rf"task.file {file}: not on this machine; looked for {file}, mine.npz, {tmp_path}/data/mine.npz. Put it there, or set "
        "FEDBENCH_DATA to a folder that has mine.npz",
    ):
        arrays.dataset(given)
    write_npz(tmp_path / "here", {"animal": LABELS[1:], "x": X[1:], "who": OWNERS[1:]})
    with pytest.raises(
        UsageError, match=rf"task file mine.npz: its sha256 must be {given.sha256[0][:16]}.., got .*: it is another one"
    ):
        arrays.dataset(given)
    (tmp_path / "mine.npz").rename(tmp_path / "data" / "mine.npz")
    assert len(arrays.dataset(given).train) == 16
    with pytest.raises(MissingDataError, match=rf"{file}: not on this machine; looked for {file}. Put it there$"):
        arrays.dataset(source(file))  # a user's own words are meant as they stand


@pytest.mark.parametrize("write", WRITERS)
def test_columns_of_the_test_file_are_matched_by_name(write: Callable[[Path, dict[str, Any]], Path], tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    train = write(tmp_path, {"y": [0, 1] * 10, "a": [1.0] * 20, "b": [2.0] * 20})
    test = write(tmp_path / "test", {"b": [20.0] * 2, "y": [1, 0], "a": [10.0] * 2})
    found = arrays.dataset(source(train, label="y", client=None, test=str(test)))
    assert (found.train.x[0].tolist(), found.test.x.tolist(), found.test.y.tolist()) == ([1, 2], [[10, 20]] * 2, [1, 0])
    only = source(train, label="y", client=None, test=str(test), features=("b",))
    assert arrays.dataset(only).test.x.tolist() == [[20]] * 2
    (tmp_path / "other").mkdir()
    other = write(tmp_path / "other", {"b": [20.0] * 2, "y": [1, 0], "c": [10.0] * 2})
    with pytest.raises(UsageError, match="columns of features of the training file, a, b; it lacks a and it has c beside them"):
        arrays.dataset(dataclasses.replace(only, features=(), test=str(other)))


@pytest.mark.parametrize(
    ("train", "test"),
    [
        (np.array([250, 3] * 10, np.uint8), np.array([3, 250], np.int64)),
        (np.array([0, 1] * 10, np.int64), np.array([1.0, 0.0])),
        (np.array([False, True] * 10), np.array([1, 0], np.int8)),
        (np.array([2**63, 2**63 + 1] * 10, np.uint64), np.array([2**63 + 1, 2**63], np.uint64)),
    ],
)
def test_labels_of_train_and_test_may_have_different_types(train: Any, test: Any, tmp_path: Path) -> None:
    (tmp_path / "test").mkdir()
    one = write_npz(tmp_path, {"y": train, "x": X})
    other = write_npz(tmp_path / "test", {"y": test, "x": X[:2]})
    found = arrays.dataset(source(one, label="y", client=None, test=str(other)))
    assert found.classes == 2
    assert found.test.y.tolist() == [sorted(set(train.tolist())).index(value) for value in test.tolist()]


@pytest.mark.parametrize("labels", [["1", "2", "a"], ["1.0", "2", "a"], ["1", "2"]])
def test_a_label_of_a_test_file_is_the_same_whatever_others_the_files_have(labels: list[str], tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("y,x\n" + "".join(f"{label},0\n" for label in labels))
    (tmp_path / "test.csv").write_text("y,x\n2.0,5\n1,5\n")
    csv, both = (str(tmp_path / f"{part}.csv") for part in ("train", "test"))
    parquet = str(write_parquet(tmp_path, {"y": ["2", "1"], "x": [0, 1]}))
    for train, test in ((csv, both), (csv, parquet), (parquet, both)):
        assert arrays.dataset(source(Path(train), label="y", client=None, test=test)).test.y.tolist() == [1, 0]


ONE_IN_COMMON = "has the 20 examples of the training data, so that a test accuracy would be one on training examples"


def test_training_examples_for_testing_are_refused(tmp_path: Path) -> None:
    """In another order or another format too."""
    (tmp_path / "test").mkdir()
    order = np.random.default_rng(1).permutation(20)
    columns = {"animal": LABELS.tolist(), "x": X.tolist(), "who": OWNERS.tolist()}
    one = write_npz(tmp_path, COLUMNS)
    for test in (
        write_npz(tmp_path / "test", {name: np.array(column)[order] for name, column in columns.items()}),
        write_parquet(tmp_path / "test", columns),
    ):
        with pytest.raises(UsageError, match=rf"task file {test}: {ONE_IN_COMMON}"):
            arrays.dataset(source(one, test=str(test)))
    most = write_npz(tmp_path / "test", {"animal": LABELS[1:], "x": X[1:], "who": OWNERS[1:]})
    assert len(arrays.dataset(source(one, test=str(most))).test) == 19


def test_equal_parts_of_a_folder_are_refused(tmp_path: Path) -> None:
    file = write_parquet(tmp_path, {"animal": LABELS.tolist(), "x": X.tolist(), "who": OWNERS.tolist()})
    shards = tmp_path / "shards"
    shards.mkdir()
    for part in ("train", "test"):
        shutil.copy(file, shards / f"{part}-0.parquet")
    with pytest.raises(UsageError, match=rf"task file {shards}, test: {ONE_IN_COMMON}"):
        arrays.dataset(source(shards))


def test_a_file_for_training_is_none_for_testing(tmp_path: Path) -> None:
    """A shard, under whatever name, a folder that holds the training file, or that file itself."""
    shards = tmp_path / "shards"
    shards.mkdir()
    for name, rows in (("a.parquet", slice(12)), ("b.parquet", slice(12, 20))):
        columns = {"animal": LABELS[rows].tolist(), "x": X[rows].tolist(), "who": OWNERS[rows].tolist()}
        write_parquet(tmp_path, columns).rename(shards / name)
    (tmp_path / "link.parquet").symlink_to(shards / "b.parquet")
    for train, test in (
        ("shards", "shards/b.parquet"),
        ("shards", "link.parquet"),
        ("link.parquet", "shards"),
        *[("shards",) * 2],
    ):
        with pytest.raises(
            UsageError, match=r"task.test: .*parquet is a file of the training data too; move it out of their folder"
        ):
            arrays.dataset(source(tmp_path / train, test=str(tmp_path / test)))


@pytest.mark.parametrize("write", [*WRITERS, write_csv])
def test_a_label_may_be_the_owner(write: Callable[[Path, dict[str, Any]], Path], tmp_path: Path) -> None:
    data = arrays.dataset(source(write(tmp_path, {"animal": LABELS, "x": X[:, 0]}), client="animal"))
    assert data.train.owner is not None
    assert (data.features, data.classes, data.owners) == (("x",), 3, 3)
    assert data.train.owner.tolist() == data.train.y.tolist()


def test_owners_keep_an_example_if_they_are_held_out_within(tmp_path: Path) -> None:
    """Owners of 1, 2, 3, 5 and 9 examples give none, none, one, one and two for testing."""
    owners = np.repeat([0, 1, 2, 3, 4], [1, 2, 3, 5, 9])
    file = write_npz(tmp_path, COLUMNS | {"who": owners})
    found = arrays.dataset(source(file, test_within="owner"))
    assert found.train.owner is not None
    assert np.bincount(found.train.owner).tolist() == [1, 2, 2, 4, 7]
    assert found.owners == 5
    assert len(arrays.dataset(source(file, test_within="owner", test_share=0.9)).train) == 5
    with pytest.raises(UsageError, match=r"task.test: within owner needs task.client"):
        arrays.dataset(source(file, client=None, test_within="owner"))


def test_how_many_owners_there_are_is_known_after_the_split(tmp_path: Path) -> None:
    file = write_npz(tmp_path, COLUMNS | {"who": np.arange(20)})
    found = arrays.dataset(source(file))
    assert found.train.owner is not None
    assert (found.owners, len(np.unique(found.train.owner))) == (20, 16)


@pytest.mark.parametrize(("shape", "model"), [((28, 28), "cnn_582026"), ((28, 28, 1), "cnn_582026"), ((32, 32, 3), "cnn_878538")])
def test_images_get_the_axes_that_a_model_asks_for(shape: tuple[int, ...], model: str, tmp_path: Path) -> None:
    images = np.random.default_rng(0).normal(size=(20, *shape)).astype(np.float32)
    file = write_npz(tmp_path, {"y": np.arange(20) % 10, "images": images})
    given = source(file, label="y", client=None, test_share=0.5)
    found, before = arrays.load(given, model).dataset, arrays.load(given, "mlp").dataset
    assert (found.shape, before.shape) == ((shape[2] if len(shape) == 3 else 1, *shape[:2]), shape)
    assert found.train.x[3, 0].tolist() == (before.train.x[3, :, :, 0] if len(shape) == 3 else before.train.x[3]).tolist()
    write_npz(tmp_path, {"y": np.arange(20) % 10, "images": images[:, :-1]})
    with pytest.raises(UsageError, match=rf"model {model}: takes images \(.*\) in 10 classes, got \("):
        arrays.load(given, model)


def test_very_different_scales_are_a_warning_that_standardising_takes_away(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=20)
    given = source(write_npz(tmp_path, {"y": np.arange(20) % 2, "age": x, "income": 1e5 * x}), label="y", client=None)
    (warning,) = arrays.load(given).warnings
    assert "income deviates by" in warning
    task = arrays.load(dataclasses.replace(given, standardize=True))
    assert task.warnings == ()
    assert np.allclose(task.dataset.train.x.std(axis=0), 1, atol=1e-5)
