"""A scenario of own data: what the file holds is in its hash, where it lies is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fedbench import own_files, own_models, places
from fedbench.errors import MissingDataError, UsageError
from fedbench.scenarios import device_files, trace_files, windows
from fedbench.scenarios.load import load, validate


def write(folder: Path, *, shift: float = 0.0, **task: Any) -> Path:
    """A data file, and a scenario beside it."""
    folder.mkdir(exist_ok=True)
    np.savez(folder / "mine.npz", x=np.arange(40.0).reshape(20, 2) + shift, y=np.arange(20) % 2, who=np.arange(20) % 5)
    content = load("digits-demo").resolved() | {"task": {"file": "mine.npz", "label": "y"} | task, "public": None}
    (folder / "mine.yaml").write_text(yaml.safe_dump(content))
    return folder / "mine.yaml"


def test_the_same_content_elsewhere_is_the_same_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, same, other = (load(write(tmp_path / name, shift=shift)) for name, shift in (("a", 0), ("b", 0), ("c", 1)))
    assert one.content_hash() == same.content_hash() != other.content_hash()
    assert one.task.sha256 == (places.sha256(tmp_path / "a" / "mine.npz"),)
    assert one.task.name == "file:mine"
    monkeypatch.chdir(tmp_path / "a")
    here = load("mine.yaml")
    assert (here.task.file, here.content_hash()) == ("mine.npz", one.content_hash())
    assert load(write(tmp_path / "a", client="who")).content_hash() != one.content_hash()


def test_a_link_says_what_its_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stores of DVC and of Hugging Face have files without an ending."""
    file, blobs = write(tmp_path / "a"), tmp_path / "blobs"
    net = tmp_path / "a" / "net.py"
    net.write_text("def plain(shape, classes): ...\n")
    blobs.mkdir()
    for one in (tmp_path / "a" / "mine.npz", net):
        one.rename(blobs / one.stem)
        one.symlink_to(blobs / one.stem)
    monkeypatch.chdir(tmp_path / "a")
    scenario = load(file, ["task.model=net.py:plain"])
    assert (scenario.task.name, scenario.task.file, scenario.task.model) == ("file:mine", "mine.npz", "net.py:plain")
    assert scenario.task.model_sha256 == places.sha256(net)
    assert own_models.of(scenario.task.model, places.sha256(net)).found().__name__ == "plain"
    assert own_files.kind_of(Path(scenario.task.file)) == "npz"


def test_a_record_s_scenario_is_read_without_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "a")
    scenario = load(file)
    (tmp_path / "a" / "mine.npz").unlink()
    again = validate(scenario.resolved(), "record")
    assert again == scenario
    assert load(again) == scenario
    with pytest.raises(MissingDataError, match=r"task.file mine.npz: not on this machine; looked for .*a/mine.npz"):
        load(file)


def test_a_task_without_a_file_has_no_keys_of_one() -> None:
    assert load("digits-demo").resolved()["task"] == {"name": "digits", "model": "mlp", "augmentation": None}


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"label": None}, r"task: a file needs label, the name of its column of classes or numbers, got none"),
        ({"name": "digits"}, r"task: give a name or a file, got name 'digits' and file '.*mine.npz'"),
        ({"test": "mine.npz", "test_share": 0.5}, r"task: give test or test_share, got '.*mine.npz' and 0.5"),
        ({"test_share": 1}, r"task.test_share must be < 1, got 1"),
        ({"test": {"share": 0.1}, "test_share": 0.5}, r"task: give test or test_share, got \{'share': 0.1, .* and 0.5"),
        ({"test": {"within": "owner"}}, r"task: test: within owner needs client, the name of the column of owners, got none"),
        (
            {"kind": "regression", "client": "y"},
            r"task: client must be another column than that of the numbers, got 'y' for",
        ),
        ({"test": {"within": "clients"}}, r"task.test.*within must be"),
        ({"sha256": ["0" * 64] * 2}, r"task: sha256 must have one sum for each of 1 files, got 2"),
        ({"sha256": ["x"]}, r"task.sha256.0 must be text that matches \^"),
        ({"labels": "y"}, r"unknown key task.labels; did you mean 'label'\?"),
        ({"file": ""}, r"task.file: must name a file or a folder, got ''"),
        ({"test": ""}, r"task.test: must name a file or a folder, got ''"),
        ({"test": "other.npz"}, r"task.test other.npz: not on this machine"),
    ],
)
def test_what_does_not_go_together(task: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        load(write(tmp_path / "a", **task))


def test_keys_of_a_file_need_one() -> None:
    with pytest.raises(UsageError, match=r"task: label, client belong to a file of your own data, got none; give task.file"):
        load("digits-demo", ["task.label=y", "task.client=who"])


def test_a_file_has_no_texts(tmp_path: Path) -> None:
    texts = {"train": "a.tsv", "test": "b.tsv", "columns": ["t"], "label": "y", "sha256": ["0" * 64] * 2}
    file = write(tmp_path / "a", text=texts)
    with pytest.raises(UsageError, match=r"text belong to tasks of texts, got a file of your own data"):
        load(file)


def test_older_hashes_stay_and_new_keys_are_hashed_where_they_are_given(tmp_path: Path) -> None:
    """A hash of the version before there were `standardize` and shares within owners."""
    content = load(write(tmp_path / "a")).resolved() | {"name": "old"}
    content["task"]["sha256"] = ["0" * 64]
    plain = validate(content, "here")
    assert plain.content_hash() == "d833f097450cbc32"
    others = [
        {"standardize": True},
        {"test": {"share": 0.2, "within": "owner"}, "client": "who"},
        {"test": {"share": 0.3, "within": "owner"}, "client": "who"},
        {"client": "who"},
    ]
    hashes = {validate(content | {"task": content["task"] | more}, "here").content_hash() for more in others}
    assert len(hashes | {plain.content_hash()}) == 5


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("a.csv", "client,on,off\r\n0,0,5\r\n", windows.read_windows),
        ("a.json", "[[0, 0, 5]]", windows.read_windows),
        ("a.csv", "client,seconds_per_example,megabit_per_second\n0,0.01,5\n", device_files.read_devices),
        ("a.csv", "duration_seconds,megabit_per_second,latency_seconds\n1,2,0.1\n", trace_files.read_trace),
        ("a.json", '[{"duration_ms":1000,"bandwidth_kbps":2000,"latency_ms":50}]', trace_files.read_trace),
    ],
)
def test_a_byte_order_mark_before_a_text_does_not_matter(name: str, text: str, read: Any, tmp_path: Path) -> None:
    """Excel's "CSV UTF-8" begins with one."""
    (tmp_path / name).write_text(text)
    plain = read(tmp_path / name)
    (tmp_path / name).write_text("\ufeff" + text)
    assert str(read(tmp_path / name)) == str(plain)
