"""Records on disk: complete or not at all, damage detected, nothing lost."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import RecordError, UsageError
from fedbench.results.digests import ColumnDigest, Digest
from fedbench.results.record import Record, first_at_least
from fedbench.results.store import Store, read, record_folders, write_atomically

Make = Callable[..., Record]


def test_a_record_comes_back_as_it_was(storable: Make, tmp_path: Path) -> None:
    written = storable("fedbuff", 3)
    folder = Store(tmp_path).write(written)
    again = read(folder)
    assert again.as_dict() == written.as_dict()
    assert all(np.array_equal(again.curves[name], column) for name, column in written.curves.items())
    assert read(folder / "record.json").run_id == written.run_id
    assert Store(tmp_path).find(written.scenario, "fedbuff", written.run_id) is not None
    assert Store(tmp_path).find(written.scenario, "fedbuff", "other") is None


def test_writing_again_replaces_and_leaves_no_rubbish(storable: Make, tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(storable(curve=(0.1, 0.2)))
    folder = store.write(storable(curve=(0.1, 0.3)))
    assert [r.curves["test_accuracy"][1] for r in store] == [np.float32(0.3)]
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize("length", [0, 1, 100, -2])
def test_a_truncated_record_is_detected(storable: Make, tmp_path: Path, length: int) -> None:
    file = Store(tmp_path).write(storable()) / "record.json"
    file.write_bytes(file.read_bytes()[:length])
    with pytest.raises(RecordError, match=r"record.json: cannot be read, it is truncated"):
        list(Store(tmp_path))


def test_a_changed_number_breaks_the_seal(storable: Make, tmp_path: Path) -> None:
    file = Store(tmp_path).write(storable()) / "record.json"
    sections = json.loads(file.read_text())
    sections["final"]["test_accuracy"] = 0.99
    file.write_text(json.dumps(sections))
    with pytest.raises(RecordError, match="its seal does not fit"):
        read(file.parent)


def test_damaged_or_missing_curves_are_detected(storable: Make, tmp_path: Path) -> None:
    folder = Store(tmp_path).write(storable())
    curves = folder / "curves.parquet"
    content = curves.read_bytes()
    curves.write_bytes(content[:-1])
    with pytest.raises(RecordError, match=r"curves.parquet is damaged"):
        read(folder)
    curves.unlink()
    with pytest.raises(RecordError, match=r"curves.parquet is missing"):
        read(folder)


def test_a_run_that_was_cut_short_is_not_a_record(storable: Make, tmp_path: Path) -> None:
    store = Store(tmp_path)
    folder = store.write(storable())
    partial = folder.with_name(f"{folder.name}.partial")
    folder.rename(partial)
    assert list(store) == []
    assert store.unfinished() == [partial]
    with pytest.raises(RecordError, match=r"did not finish; continue it with .*--resume"):
        read(partial)


def test_a_folder_that_cannot_be_written_is_said_before_anything_runs(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    with pytest.raises(UsageError, match=r"cannot be written \(.*\); choose another folder with --store"):
        Store(in_the_way / "runs").prepare()
    with pytest.raises(UsageError, match="there is no such folder"):
        list(Store(tmp_path / "nothing"))


@pytest.mark.parametrize("name", ["runs-2025-11-22T19:00", "runs-2025.11", ".runs", "s3:x", "[b]runs[/b]"])
def test_a_store_of_any_name(storable: Make, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also a relative one that looks like an address."""
    monkeypatch.chdir(tmp_path)
    Store(name).write(storable())
    assert [record.run_id for record in Store(name)] == [storable().run_id]
    assert [folder.name for folder in record_folders(name)] == [storable().run_id]


def test_what_a_killed_process_left_is_mended_by_the_next_runner(storable: Make, tmp_path: Path) -> None:
    """Killed between the two renames, behind them, before the first, and after the record was in
    its place."""
    store, records = Store(tmp_path), [storable(seed=seed) for seed in range(4)]
    between, behind, before, ended = (store.write(record) for record in records)
    between.rename(f"{between}.replaced-12")
    shutil.copytree(behind, f"{between}.writing-12")
    shutil.copytree(behind, f"{behind}.replaced-12")
    shutil.copytree(behind, f"{before}.writing-12")
    (ended.with_name(f"{ended.name}.partial")).mkdir()
    unfinished = ended.with_name("0123456789abcdef.partial")
    unfinished.mkdir()
    (unfinished / "checkpoint.bin").write_bytes(b"")
    (unfinished / "checkpoint.bin.writing-12").write_bytes(b"")
    (tmp_path / ".write-test-12").write_bytes(b"")
    assert store.unfinished() == [unfinished]
    store.prepare()
    assert sorted(record.seed for record in store) == [0, 1, 2, 3]
    assert {path.name for path in between.parent.iterdir()} == {record.run_id for record in records} | {unfinished.name}
    assert [path.name for path in unfinished.iterdir()] == ["checkpoint.bin"]
    assert not list(tmp_path.glob(".write-test-*"))


def test_what_another_process_is_writing_is_left_alone(storable: Make, tmp_path: Path) -> None:
    store = Store(tmp_path)
    folder = store.write(storable())
    writing = Path(f"{folder}.writing-12")
    writing.mkdir()
    store.prepare()
    assert not writing.exists()
    writing.mkdir()
    with store.lock_of(folder.name):
        store.prepare()
    assert writing.exists()


THREADS = """
import os, sys
from fedbench.results.store import Store
before = len(os.listdir("/proc/self/task"))
assert len(list(Store(sys.argv[1]))) == 1
print(len(os.listdir("/proc/self/task")) - before)
"""


def test_reading_starts_no_thread(storable: Make, tmp_path: Path) -> None:
    """One that lets go of a Python object while the interpreter ends takes the program down."""
    Store(tmp_path).write(storable())
    command = [sys.executable, "-c", THREADS, str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"


def test_atomic_replacement_keeps_the_old_content_until_the_end(tmp_path: Path) -> None:
    file = tmp_path / "a"
    write_atomically(file, b"old")
    write_atomically(file, b"new")
    assert file.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [file]


def test_a_record_is_shown_as_what_ran(record: Make) -> None:
    one = record("fedbuff", 3)
    assert f"{one}" == str(one) == repr(one) == "Record(slow_tail, fedbuff, seed 3, finished)"


def test_first_at_least_is_a_grid_value() -> None:
    seconds, values = np.array([0.0, 1.0, 2.0]), np.array([0.1, 0.8, 0.7])
    assert first_at_least(seconds, values, 0.8) == 1.0
    assert first_at_least(seconds, values, 0.5) == 1.0
    assert first_at_least(seconds, values, 0.9) is None


def test_digests_see_dtype_shape_and_bits_but_not_cuts() -> None:
    a = np.arange(6.0)
    digests = {Digest().add(v).hex() for v in (a, a.reshape(2, 3), a.astype(np.float32), np.nextafter(a, 9.0))}
    assert len(digests) == 4
    whole, parts = ColumnDigest("ab"), ColumnDigest("ab")
    whole.add(a=a, b=a)
    parts.add(a=a[:2], b=a[:2])
    parts.add(a=a[2:], b=a[2:])
    assert whole.hex() == parts.hex()
