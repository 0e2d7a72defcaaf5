"""Many records in two files: what is put in comes out, and damage is noticed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedbench.errors import RecordError
from fedbench.launch.runner import run
from fedbench.results import archive
from fedbench.results.record import Record
from fedbench.results.store import Store
from tests.conftest import altered

OVERRIDES = ["budget.seconds=4"]


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return [
        *run("digits-demo", ["fedbuff", "fedavg"], seeds=2, overrides=OVERRIDES),
        *run("digits-flaky", "fedavg[local_lr=1e9]", overrides=OVERRIDES),
    ]


def test_what_is_put_in_comes_out(tmp_path: Path, records: list[Record]) -> None:
    assert archive.write(tmp_path / "some" / "suite", records) == 5
    found = archive.read(tmp_path / "some" / "suite")
    assert [one.run_id for one in found] == [
        one.run_id for one in sorted(records, key=lambda r: (r.scenario, r.selector, r.seed))
    ]
    for one in found:
        (same,) = (other for other in records if other.run_id == one.run_id)
        assert one.as_dict() == same.as_dict()
        for name, column in same.curves.items():
            assert one.curves[name].dtype == column.dtype
            assert np.array_equal(one.curves[name], column, equal_nan=True)
    assert archive.is_archive(tmp_path / "some" / "suite")
    assert not archive.is_archive(tmp_path)


def test_a_store_gets_what_it_lacks(tmp_path: Path, records: list[Record]) -> None:
    """What it has stays as it is."""
    store = Store(tmp_path / "runs")
    kept = store.write(records[0])
    before = kept.stat().st_mtime_ns, (kept / "record.json").read_bytes()
    archive.write(tmp_path / "a", records)
    assert archive.unpack(tmp_path / "a", store) == (4, 5)
    assert (kept.stat().st_mtime_ns, (kept / "record.json").read_bytes()) == before
    assert {one.run_id for one in store} == {one.run_id for one in records}
    assert archive.unpack(tmp_path / "a", store) == (0, 5)


def test_the_order_of_the_records_does_not_show(tmp_path: Path, records: list[Record]) -> None:
    archive.write(tmp_path / "a", records)
    archive.write(tmp_path / "b", records[::-1])
    for name in (archive.RUNS, archive.CURVES_FILE):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_damage_is_noticed(tmp_path: Path, records: list[Record]) -> None:
    archive.write(tmp_path / "a", records)
    archive.write(tmp_path / "b", records[:2])
    file = tmp_path / "a" / archive.CURVES_FILE
    whole = file.read_bytes()
    file.write_bytes((tmp_path / "b" / archive.CURVES_FILE).read_bytes())
    with pytest.raises(RecordError, match=r"curves.parquet is damaged, or of another archive"):
        archive.read(tmp_path / "a")
    file.write_bytes(whole[:-100])
    with pytest.raises(RecordError, match=r"curves.parquet is damaged"):
        archive.read(tmp_path / "a")
    runs = tmp_path / "a" / archive.RUNS
    runs.write_bytes(runs.read_bytes()[:-100])
    with pytest.raises(RecordError, match=r"runs.parquet: cannot be read"):
        archive.read(tmp_path / "a")
    file.unlink()
    with pytest.raises(RecordError, match=r"archive .*curves.parquet"):
        archive.read(tmp_path / "a")


def test_a_record_that_does_not_fit_itself(tmp_path: Path, records: list[Record]) -> None:
    first = records[0]
    changed = altered(first, {"final.test_accuracy": 0.999})
    archive.write(tmp_path, [changed])
    with pytest.raises(RecordError, match=f"run {first.run_id}.*final.test_accuracy|digests.result"):
        archive.read(tmp_path)
    assert archive.read(tmp_path, check=False)[0].final.test_accuracy == 0.999
