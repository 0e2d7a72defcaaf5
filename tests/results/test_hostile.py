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
from fedbench.results.record import SCHEMA, Record, of_json, with_results
from fedbench.results.store import Store, _sealed, read
from tests.changes import GONE, put
from tests.conftest import alter, altered, sealed

Make = Callable[..., Record]


def changed(record: Record, path: str, value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = json.loads(json.dumps(record.as_dict()))
    put(copy, path, value)
    return copy


def seal(folder: Path, sections: dict[str, Any]) -> None:
    (folder / "record.json").write_bytes(_sealed(sections, (folder / "curves.parquet").read_bytes()))


MALFORMED = [
    ("run_id", ".."),
    ("more", {}),
    ("spec.task", {}),
    ("spec.scenario", {}),
    ("spec", []),
    ("spec", None),
    ("spec.scenario", 1),
    ("spec.scenario_hash", "x"),
    ("spec.algorithm", "fedavg"),
    ("spec.algorithm.name", "a.py:X"),
    ("spec.algorithm.name", "../../a"),
    ("spec.algorithm.options", []),
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
    ("warnings", GONE),
    ("curves", {}),
]


@pytest.mark.parametrize(("path", "value"), MALFORMED)
def test_another_form_is_refused(storable: Make, tmp_path: Path, path: str, value: Any) -> None:
    folder = Store(tmp_path).write(storable())
    seal(folder, changed(storable(), path, value))
    field = path.partition(".")[0]
    with pytest.raises(RecordError, match=rf"record .*: {field}.*it is not what a run writes") as error:
        read(folder)
    assert len(str(error.value)) < 1000


LIES = [
    ("run_id", "0" * 16, "run_id"),
    ("spec.seed", 7, "run_id"),
    ("spec.algorithm.options", {"local_lr": 9.0}, "run_id"),
    ("spec.scenario.clients", 21, "spec.scenario_hash"),
    ("spec.scenario.clients", -1, "spec.scenario: it is no scenario"),
    ("spec.scenario", [], "spec.scenario: it is no scenario"),
    ("spec.scenario_hash", "0" * 16, "spec.scenario_hash"),
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
    has_form = not field.endswith("no scenario")
    seal(folder, with_results(altered(record, {path: value})).as_dict() if has_form else changed(record, path, value))
    with pytest.raises(RecordError, match=rf"record .*: {field}"):
        read(folder)


def test_the_digest_over_everything_is_computed_again(storable: Make, tmp_path: Path) -> None:
    folder = Store(tmp_path).write(storable())
    seal(folder, changed(storable(), "ledger.bytes_up", 1))
    with pytest.raises(RecordError, match=r"digests\.result: the rest of the record gives"):
        read(folder)


@pytest.mark.parametrize("selector", ["fedavg[local_lr=9]", "fedavg[more=1]", "fedavg["])
def test_options_in_the_name_of_a_built_in_algorithm(storable: Make, tmp_path: Path, selector: str) -> None:
    """They are those of the record, which reads where they are."""
    record = storable()
    built_in = record.spec.algorithm.model_copy(update={"origin": None})
    record = sealed(record.model_copy(update={"spec": record.spec.model_copy(update={"algorithm": built_in})}))
    for given in ("fedavg[local_lr=0.05]", selector):
        folder = Store(tmp_path).write(altered(record, {"spec.selector": given}))
        if given != selector:
            assert read(folder).spec.selector == given
    with pytest.raises(RecordError, match=r"record .*: spec.selector"):
        read(folder)


CURVES = {
    "curves.seconds": {"seconds": [0.0, 5.0, 10.0, 14.0]},
    "curves.bytes": {"bytes": [0, 5, 4, 6]},
    "curves.steps": {"steps": [-1, 0, 1, 2]},
    "final.version": {"version": [0, 10, 20, 31]},
    "final.test_accuracy": {"test_accuracy": [0.1, 0.5, 0.8, 0.99]},
    "time_to_target": {"test_accuracy": [0.1, 0.9, 0.8, 0.9]},
    "curves.parquet: column 'more': expected no such column": {"more": [0.0] * 4},
    "curves.parquet: column 'bytes': expected int64": {"bytes": ["a"] * 4},
    "curves.parquet: column bytes: expected a value in every row": {"bytes": [1, 2, 3, None]},
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
    seal(folder, changed(record, "digests.result", GONE))
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
    alter(later, "final", {"version": 35, "seconds": 17.0, "test_accuracy": 0.99})
    alter(later, "ledger", {"updates": 35, "end_seconds": 17.0})
    alter(later, "time_to_target.0.censored_at", 17.0)
    good = [storable(), sealed(later), storable(seed=2, state="diverged"), storable(seed=3, curve=(0.1, np.nan))]
    folders = [Store(tmp_path).write(one) for one in good]
    assert [one.seed for one in Store(tmp_path).readable()[0]] == [one.seed for one in sorted(good, key=lambda one: one.run_id)]
    seal(folders[0], changed(good[0], "final", {}))
    records, (problem,) = Store(tmp_path).readable()
    assert len(records) == 3
    assert str(folders[0]) in str(problem)


def test_an_older_record_gets_the_defaults_of_later_keys(storable: Make, tmp_path: Path) -> None:
    record = storable()
    folder = Store(tmp_path).write(record)
    seal(folder, changed(record, "spec.scenario.budget.stop_at_target", GONE))
    assert read(folder).as_dict() == record.as_dict()


def of_schema_2(record: Record) -> dict[str, Any]:
    """The sections as fedbench wrote them before a record had one place for its task."""
    sections = changed(record, "schema", 2)
    sections["spec"]["task"] = sections["spec"]["scenario"]["task"]
    return sections


def test_a_record_of_the_schema_before_is_read(storable: Make, tmp_path: Path) -> None:
    folder = Store(tmp_path).write(storable())
    seal(folder, of_schema_2(storable()))
    again = read(folder)
    assert again.as_dict() == storable().as_dict()
    assert again.as_dict()["schema"] == SCHEMA


@pytest.mark.parametrize("task", [GONE, {"name": "cifar10"}, None])
def test_its_two_tasks_are_one(storable: Make, tmp_path: Path, task: Any) -> None:
    folder = Store(tmp_path).write(storable())
    sections = of_schema_2(storable())
    put(sections, "spec.task", task)
    seal(folder, sections)
    with pytest.raises(RecordError, match=r"record .*: spec\.task: the rest of the record gives"):
        read(folder)


@pytest.mark.parametrize(
    ("schema", "why"),
    [(1, "it was made by an older version .* run it again"), (4, "got 4"), ("3", "got '3'"), (None, "got None")],
)
def test_other_schemas_are_named(storable: Make, tmp_path: Path, schema: Any, why: str) -> None:
    folder = Store(tmp_path).write(storable())
    seal(folder, changed(storable(), "schema", schema))
    with pytest.raises(RecordError, match=rf"record .*: expected schema 3 or 2, got .*{why.removeprefix('got ')}"):
        read(folder)


def test_curves_of_two_lengths(storable: Make) -> None:
    record = storable()
    with pytest.raises(RecordError, match=r"it: record: .*expected curves seconds, .* of one length"):
        of_json(record.as_dict(), {**record.curves, "steps": np.zeros(1)}, "it")
