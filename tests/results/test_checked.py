"""An archive is checked once a machine, and again when it or the code that checks is another
one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedbench.errors import RecordError
from fedbench.launch.runner import run
from fedbench.results import archive, checked
from tests.conftest import alter

OVERRIDES = ["budget.seconds=2"]


@pytest.fixture(name="looked_at")
def _looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The ids of records that are checked, in an empty cache."""
    monkeypatch.setenv("FEDBENCH_CACHE", str(tmp_path / "cache"))
    ids: list[str] = []
    check = archive.check_consistent

    def counted(record: Any, where: str) -> None:
        ids.append(record.run_id)
        check(record, where)

    monkeypatch.setattr(archive, "check_consistent", counted)
    return ids


def test_once(looked_at: list[str], tmp_path: Path) -> None:
    (record,) = run("digits-demo", "fedavg", overrides=OVERRIDES)
    archive.write(tmp_path / "a", [record])
    first, second = (archive.read(tmp_path / "a")[0] for _ in range(2))
    assert looked_at == [record.run_id]
    assert first.as_dict() == second.as_dict()


def test_another_content_or_another_code_is_checked_anew(
    looked_at: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = run("digits-demo", "fedavg", seeds=2, overrides=OVERRIDES)
    archive.write(tmp_path / "a", records)
    archive.read(tmp_path / "a")
    alter(records[0], "warnings", ["another text"])
    archive.write(tmp_path / "a", records)
    with pytest.raises(RecordError, match=r"digests\.result"):
        archive.read(tmp_path / "a")
    with pytest.raises(RecordError, match=r"digests\.result"):  # what was found faulty is not remembered
        archive.read(tmp_path / "a")
    archive.write(tmp_path / "b", records[1:])
    del looked_at[:]
    archive.read(tmp_path / "b")
    monkeypatch.setattr(checked, "_code", lambda: b"other checks")
    archive.read(tmp_path / "b")
    assert looked_at == [records[1].run_id] * 2


def test_nothing_is_remembered_where_that_is_off(looked_at: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEDBENCH_CACHE", "off")
    archive.write(tmp_path / "a", run("digits-demo", "fedavg", overrides=OVERRIDES))
    for _ in range(2):
        archive.read(tmp_path / "a")
    assert len(looked_at) == 2
