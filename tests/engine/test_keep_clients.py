"""What a run achieves on every client and class, kept beside its record."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import fedbench as fb
from fedbench.cli.main import app
from fedbench.engine.run import RunOptions
from fedbench.engine.setup import Setup
from fedbench.errors import RecordError, UsageError
from fedbench.launch.runner import specs
from fedbench.results import kept_parts
from fedbench.results.record import Record
from fedbench.results.store import record_folders

SMALL = ["clients=12", "budget.seconds=6", "local.steps=10", "task.model=softmax"]


def kept(store: Path, algorithm: str = "fedbuff[buffer_size=3]", *more: str, **options: Any) -> tuple[Record, Path]:
    how = RunOptions(keep_clients=True, **options)
    (record,) = fb.run("digits-demo", algorithm, overrides=[*SMALL, *more], store=store, options=how)
    (folder,) = record_folders(store)
    return record, folder


@pytest.mark.parametrize("algorithm", ["fedbuff[buffer_size=3]", "local_only"])
def test_rows_are_those_of_the_record(algorithm: str, tmp_path: Path) -> None:
    """Also of clients that are alone, each of which is judged by its own model."""
    record, folder = kept(tmp_path, algorithm)
    setup = Setup(specs("digits-demo", algorithm, 1, SMALL)[0])
    clients, classes = (pq.read_table(folder / name) for name in (kept_parts.CLIENTS, kept_parts.CLASSES))
    accuracy = clients.column("accuracy").to_numpy()
    assert clients.column("client").to_pylist() == list(range(12))
    assert clients.column("examples").to_pylist() == setup.shards.sizes.tolist()
    assert np.sort(accuracy).mean() == record.final.client_accuracy_mean
    assert accuracy.min() == record.final.client_accuracy_worst_decile
    assert classes.column_names == ["class", "examples", "accuracy", "loss"]
    examples = classes.column("examples").to_numpy()
    assert examples.tolist() == np.bincount(setup.task.dataset.test.y, minlength=10).tolist()
    for name in ("accuracy", "loss"):
        mean = examples @ classes.column(name).to_numpy() / examples.sum()
        assert mean == pytest.approx(getattr(record.final, f"test_{name}"))
    kept_parts.check(folder, record)
    assert CliRunner().invoke(app, ["verify", str(folder)]).output.endswith(": identical\n")


def test_the_record_is_the_same_however_it_is_computed(tmp_path: Path) -> None:
    (plain,) = fb.run("digits-demo", "fedbuff[buffer_size=3]", overrides=SMALL)
    ways: list[dict[str, Any]] = [{}, {"workers": 4}, {"wave_size": 1}, {"keep_model": True}]
    found = [kept(tmp_path / str(i), **way) for i, way in enumerate(ways)]
    assert {record.digests.result for record, _ in found} == {plain.digests.result}
    assert len({(folder / kept_parts.CLIENTS).read_bytes() for _, folder in found}) == 1
    assert {len(list(folder.iterdir())) for _, folder in found} == {4, 5}


def test_a_finished_record_without_them_is_made_again(tmp_path: Path) -> None:
    fb.run("digits-demo", "fedbuff[buffer_size=3]", overrides=SMALL, store=tmp_path)
    assert not (record_folders(tmp_path)[0] / kept_parts.CLIENTS).exists()
    _, folder = kept(tmp_path, resume=True)
    first = (folder / kept_parts.CLIENTS).stat().st_mtime_ns
    kept(tmp_path, resume=True)
    assert (folder / kept_parts.CLIENTS).stat().st_mtime_ns == first


def test_they_need_a_store() -> None:
    with pytest.raises(UsageError, match=r"^keep_clients: what is kept lies beside its record, so it needs a store, got none$"):
        fb.run("digits-demo", "fedavg", options=RunOptions(keep_clients=True))


def changed(change: Callable[[pa.Table], pa.Table]) -> Callable[[bytes], bytes]:
    def written(content: bytes) -> bytes:
        out = io.BytesIO()
        pq.write_table(change(pq.read_table(io.BytesIO(content))), out)
        return out.getvalue()

    return written


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content[:-3], r"cannot be read"),
        (lambda content: b"", r"cannot be read"),
        (
            changed(lambda table: table.slice(1)),
            r"the (mean|worst decile) of their accuracies is .*, the record says .*; delete it$",
        ),
        (changed(lambda table: table.slice(0, 0)), r"expected a row for every client, got none; delete it$"),
        (changed(lambda table: table.drop_columns(["loss"])), r"column 'loss': expected double, got none$"),
        (changed(lambda table: table.append_column("more", table.column("loss"))), r"column 'more': expected no such column"),
    ],
)
def test_changed_ones_are_found(change: Callable[[bytes], bytes], message: str, tmp_path: Path) -> None:
    record, folder = kept(tmp_path)
    file = folder / kept_parts.CLIENTS
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(RecordError, match=message) as error:
        kept_parts.check(folder, record)
    assert str(error.value).startswith(f"clients {file}: ")
    assert "\n" not in str(error.value)
