"""A scenario of own data: what the file holds is in its hash, where it lies is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from fedbench import places
from fedbench.errors import MissingDataError, UsageError
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
        ({"label": None}, r"task: a file needs label, the name of its column of classes, got none"),
        ({"name": "digits"}, r"task: give a name or a file, got name 'digits' and file '.*mine.npz'"),
        ({"test": "mine.npz", "test_share": 0.5}, r"task: give test or test_share, got '.*mine.npz' and 0.5"),
        ({"test_share": 1}, r"task.test_share must be < 1, got 1"),
        ({"sha256": ["0" * 64] * 2}, r"task: sha256 must have one sum for each of 1 files, got 2"),
        ({"sha256": ["x"]}, r"task.sha256.0 must be text that matches \^"),
        ({"labels": "y"}, r"unknown key task.labels; did you mean 'label'\?"),
        ({"test": "other.npz"}, r"task.test other.npz: not on this machine"),
    ],
)
def test_what_does_not_go_together(task: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message):
        load(write(tmp_path / "a", **task))


def test_keys_of_a_file_need_one() -> None:
    with pytest.raises(UsageError, match=r"task: label, client belong to a file of your own data, got none; give task.file"):
        load("digits-demo", ["task.label=y", "task.client=who"])
