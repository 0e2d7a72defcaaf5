"""Records that are sealed and lie, or are none: each is refused in one line that names the
field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fedbench.errors import RecordError
from fedbench.results.record import Record, result_digest, run_id
from fedbench.results.store import Store, _sealed, read
from tests.changes import GONE, put

Make = Callable[..., Record]


def changed(meta: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(meta))
    put(copy, path, value)
    return copy


def seal(folder: Path, meta: dict[str, Any]) -> None:
    (folder / "record.json").write_bytes(_sealed(meta, (folder / "curves.parquet").read_bytes()))


MALFORMED = [
    ("spec", []),
    ("spec", None),
    ("spec.scenario", 1),
    ("spec.scenario_hash", "x"),
    ("spec.algorithm", "fedavg"),
    ("spec.algorithm.name", "a.py:X"),
    ("spec.algorithm.name", "../../a"),
    ("spec.algorithm.options", []),
    ("spec.algorithm.origin", None),
    ("spec.algorithm.origin", []),
    ("spec.algorithm.origin", {"kind": "file", "class": "X"}),
    ("spec.algorithm.origin", {"kind": "url", "class": "X"}),
    ("spec.algorithm.origin", {"kind": "file", "class": "X", "file": "../x.py", "sha256": "0" * 64}),
    ("spec.algorithm.origin", {"kind": "object"}),
    ("spec.selector", 3),
    ("spec.selector", "x" * 100_000),
    ("spec.seed", -1),
    ("spec.seed", 2**63),
    ("spec.seed", "0"),
    ("spec.seed", True),
    ("spec.overrides", "a=1"),
    ("provenance", {}),
    ("provenance.trainer", GONE),
    ("provenance.libraries", []),
    ("outcome", "finished"),
    ("outcome.state", "won"),
    ("outcome.message", None),
    ("final.version", 1.5),
    ("final.test_accuracy", 1.5),
    ("final.test_accuracy", -0.1),
    ("final.test_accuracy", "0.9"),
    ("final.test_loss", GONE),
    ("final.seconds", -1),
    ("time_to_target", {}),
    ("time_to_target.0.metric", "__class__"),
    ("time_to_target.0.seconds", GONE),
    ("ledger", []),
    ("ledger.bytes_up", -1),
    ("ledger.bytes_up", None),
    ("ledger.bytes_down", 10**400),
    ("ledger.updates", "1"),
    ("ledger.more", {"deep": {}}),
    ("digests", {"plan": "\n"}),
    ("digests.model", 0),
    ("warnings", "none"),
    ("warnings", ["x" * 20_000]),
]


@pytest.mark.parametrize(("path", "value"), MALFORMED)
def test_another_form_is_refused(storable: Make, tmp_path: Path, path: str, value: Any) -> None:
    folder = Store(tmp_path).write(storable())
    seal(folder, changed(storable().meta, path, value))
    field = path.partition(".")[0]
    with pytest.raises(RecordError, match=rf"record .*: {field}.*it is not what a run writes") as error:
        read(folder)
    assert len(str(error.value)) < 1000


LIES = [
    ("run_id", "0" * 16, "run_id"),
    ("run_id", "..", "run_id"),
    ("spec.seed", 7, "run_id"),
    ("spec.algorithm.options", {"local_lr": 9.0}, "run_id"),
    ("spec.scenario.clients", 21, "spec.scenario_hash"),
    ("spec.scenario.clients", -1, "its scenario is none"),
    ("spec.scenario", {}, "its scenario is none"),
    ("spec.scenario_hash", "0" * 16, "spec.scenario_hash"),
    ("spec.task", {"name": "cifar10"}, "spec.task"),
    ("spec.selector", "best", "spec.selector"),
    ("final.test_accuracy", 0.999, "final.test_accuracy"),
    ("final.test_accuracy", None, "final.test_accuracy"),
    ("final.test_loss", 1e300, "final.test_loss"),
    ("final.version", 1, "ledger.updates"),
    ("ledger.updates", 1, "ledger.updates"),
    ("final.seconds", 99.0, "final.seconds"),
    ("time_to_target.0.seconds", 0.0, "time_to_target"),
    ("time_to_target.0.censored_at", 1.0, "time_to_target"),
    ("time_to_target", [], "time_to_target"),
    ("outcome.state", "diverged", "final.test_accuracy"),
]


@pytest.mark.parametrize(("path", "value", "field"), LIES)
def test_what_does_not_fit_itself_is_refused(storable: Make, tmp_path: Path, path: str, value: Any, field: str) -> None:
    """Also with a digest over everything that fits."""
    record = storable()
    folder = Store(tmp_path).write(record)
    meta = changed(record.meta, path, value)
    meta["digests"]["result"] = result_digest(meta, record.curves)
    seal(folder, meta)
    with pytest.raises(RecordError, match=rf"record .*: {field}"):
        read(folder)


def test_the_digest_over_everything_is_computed_again(storable: Make, tmp_path: Path) -> None:
    folder = Store(tmp_path).write(storable())
    seal(folder, changed(storable().meta, "ledger.bytes_up", 1))
    with pytest.raises(RecordError, match=r"digests\.result: the rest of the record gives"):
        read(folder)


@pytest.mark.parametrize("selector", ["fedavg[local_lr=9]", "fedavg[more=1]", "fedavg["])
def test_options_in_the_name_of_a_built_in_algorithm(storable: Make, tmp_path: Path, selector: str) -> None:
    """They are those of the record, which reads where they are."""
    meta = changed(storable().meta, "spec.algorithm.origin", GONE)
    meta["run_id"] = run_id(meta["spec"]["scenario_hash"], meta["spec"]["algorithm"], 0)
    for given in ("fedavg[local_lr=0.05]", selector):
        again = changed(meta, "spec.selector", given)
        again["digests"]["result"] = result_digest(again, storable().curves)
        folder = Store(tmp_path).write(Record(again, storable().curves))
        if given != selector:
            assert read(folder).meta["spec"]["selector"] == given
    with pytest.raises(RecordError, match=r"record .*: spec.selector"):
        read(folder)


CURVES = {
    "curves.seconds": {"seconds": [0.0, 5.0, 10.0, 14.0]},
    "curves.bytes": {"bytes": [0, 5, 4, 6]},
    "curves.steps": {"steps": [-1, 0, 1, 2]},
    "final.version": {"version": [0, 10, 20, 31]},
    "final.test_accuracy": {"test_accuracy": [0.1, 0.5, 0.8, 0.99]},
    "time_to_target": {"test_accuracy": [0.1, 0.9, 0.8, 0.9]},
    "curves.parquet: expected": {"more": [0.0] * 4},
    "curves.parquet: expected ": {"bytes": ["a"] * 4},
    "curves.parquet: expected a number": {"bytes": [1, 2, 3, None]},
}


@pytest.mark.parametrize("field", CURVES)
def test_curves_that_do_not_fit(storable: Make, tmp_path: Path, field: str) -> None:
    record = storable()
    folder = Store(tmp_path).write(record)
    columns = {name: pa.array(column) for name, column in record.curves.items()}
    columns |= {
        name: pa.array(column, columns[name].type if name in columns and name != "bytes" else None)
        for name, column in CURVES[field].items()
    }
    pq.write_table(pa.table(columns), folder / "curves.parquet")
    meta = dict(record.meta, digests={k: v for k, v in record.meta["digests"].items() if k != "result"})
    seal(folder, meta)
    with pytest.raises(RecordError, match=rf"record .*: {field}"):
        read(folder)


def test_a_small_file_that_promises_many_rows(storable: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedbench.results.store.MOST_POINTS", 3)
    monkeypatch.setattr(pq.ParquetFile, "read", lambda self, **_: pytest.fail("rows were read"))
    with pytest.raises(RecordError, match=r"at most 3 rows, got 4"):
        read(Store(tmp_path).write(storable()))


def test_a_folder_of_another_name_and_a_device(storable: Make, tmp_path: Path) -> None:
    folder = Store(tmp_path).write(storable())
    copy = folder.rename(folder.with_name("0" * 16))
    with pytest.raises(RecordError, match="expected a folder of the name"):
        read(copy)
    (copy / "record.json").unlink()
    (copy / "record.json").symlink_to("/dev/zero")
    with pytest.raises(RecordError, match="it is no plain file"):
        read(copy)
    (copy / "record.json").unlink()
    (copy / "record.json").write_text("[" * 100_000)
    with pytest.raises(RecordError, match="not a record"):
        read(copy)


def test_the_others_are_read(storable: Make, tmp_path: Path) -> None:
    """A run that ended behind the last point of the grid fits itself, and so does one that
    diverged."""
    later = storable(seed=1)
    later.meta["final"] |= {"version": 35, "seconds": 17.0, "test_accuracy": 0.99}
    later.meta["ledger"] |= {"updates": 35, "end_seconds": 17.0}
    later.meta["time_to_target"][0]["censored_at"] = 17.0
    later.meta["digests"]["result"] = result_digest(later.meta, later.curves)
    good = [storable(), later, storable(seed=2, state="diverged"), storable(seed=3, curve=(0.1, np.nan), test_accuracy=None)]
    good[3].meta["final"]["test_accuracy"] = None
    good[3].meta["digests"]["result"] = result_digest(good[3].meta, good[3].curves)
    folders = [Store(tmp_path).write(one) for one in good]
    assert [one.seed for one in Store(tmp_path).readable()[0]] == [one.seed for one in sorted(good, key=lambda one: one.run_id)]
    seal(folders[0], changed(good[0].meta, "final", {}))
    records, (problem,) = Store(tmp_path).readable()
    assert len(records) == 3
    assert str(folders[0]) in str(problem)


def test_an_older_record_gets_the_defaults_of_later_keys(storable: Make, tmp_path: Path) -> None:
    record = storable()
    folder = Store(tmp_path).write(record)
    seal(folder, changed(record.meta, "spec.scenario.budget.stop_at_target", GONE))
    assert read(folder).meta == record.meta
    assert run_id(record.meta["spec"]["scenario_hash"], record.meta["spec"]["algorithm"], 0) == folder.name
