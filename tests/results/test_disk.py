"""A disk that refuses a result: what is lost, and how to get it again."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import BinaryIO

import pytest
from typer.testing import CliRunner

import fedbench as fb
from fedbench.cli.main import app
from fedbench.errors import FedbenchError
from fedbench.results import held
from fedbench.results.disk import storing

SMALL = ["clients=6", "budget.seconds=1", "local.steps=1", "task.model=softmax"]


def full(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """No space is left for files of this name."""
    write = held.sync

    def refused(file: BinaryIO, *content: bytes | memoryview) -> None:
        if Path(file.name).name.startswith(name):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(file, *content)

    monkeypatch.setattr(held, "sync", refused)


@pytest.mark.parametrize("name", ["curves.parquet", "record.json"])
def test_a_full_disk_says_what_is_lost(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        full(patch, name)
        with pytest.raises(FedbenchError) as error:
            fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=SMALL, store=tmp_path)
    assert f"store {tmp_path}: No space left on device: " in str(error.value)
    assert f"{name}; the result of this run is lost. Make room and give the same command again" in str(error.value)
    assert "\n" not in str(error.value)
    assert len(fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=SMALL, store=tmp_path)) == 1
    assert not list(tmp_path.glob("*/*/*.writing-*"))


def test_where_a_checkpoint_is_left_the_run_goes_on_from_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full(monkeypatch, "record.json")
    command = ["run", "digits-demo", "-a", "fedavg[cohort_size=2]", "--checkpoint-seconds", "0", "--store", str(tmp_path)]
    error = CliRunner().invoke(app, [*command, *(word for one in SMALL for word in ("--set", one))]).exception
    assert "(`fedbench run` with --resume): it goes on from the last checkpoint" in str(error)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file stands where the records of the scenario belong."""
    (tmp_path / "digits-demo").write_text("")
    with pytest.raises(FedbenchError, match=r"digits-demo.*; the result of this run is lost"):
        fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=SMALL, store=tmp_path)


def test_errors_of_other_places_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), storing(tmp_path / "store", tmp_path / "none"):
        (tmp_path / "elsewhere").read_text()
