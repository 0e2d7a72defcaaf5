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
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.errors import RecordError, UsageError
from fedbench.launch.runner import specs
from fedbench.results import kept_parts
from fedbench.results.record import Record
from fedbench.results.store import Store, record_folders

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


def test_the_models_of_chosen_times(tmp_path: Path) -> None:
    """Of the newest version at or before each, as a run has it that ends there; the end is last,
    and times after it are left out."""
    at = "fedbuff[buffer_size=3]"
    record, folder = kept(tmp_path / "all", at, keep_clients_at=(4.0, 2.5, 6.0, 4.0))
    clients, classes = (pq.read_table(folder / name) for name in (kept_parts.CLIENTS, kept_parts.CLASSES))
    assert clients.column("seconds").to_pylist() == [2.5] * 12 + [4.0] * 12 + [6.0] * 12
    assert classes.column("seconds").to_pylist() == [2.5] * 10 + [4.0] * 10 + [6.0] * 10
    assert clients.column_names == ["seconds", "version", "client", "examples", "accuracy", "loss"]
    curve = dict(zip(record.curves["seconds"].tolist(), record.curves["version"].tolist(), strict=True))
    assert clients.column("version").to_pylist()[12::12] == [curve[4.0], record.final.version]
    for place, seconds in enumerate((2.5, 4.0, 6.0)):
        _, alone = kept(tmp_path / str(place), at, f"budget.seconds={seconds}", "evaluation.every_seconds=0.5")
        ended = pq.read_table(alone / kept_parts.CLIENTS)
        for name in ("client", "examples", "accuracy", "loss"):
            assert clients.slice(12 * place, 12).column(name).to_pylist() == ended.column(name).to_pylist()
    _, plain = kept(tmp_path / "plain", at)
    assert pq.read_table(plain / kept_parts.CLIENTS).column_names == ["client", "examples", "accuracy", "loss"]
    assert CliRunner().invoke(app, ["verify", str(folder)]).output.endswith(": identical\n")


def test_a_run_that_stops_has_the_times_before_its_end(tmp_path: Path) -> None:
    stop = ["budget.stop_at_target=true", "targets=[{metric: test_accuracy, value: 0.3}]"]
    record, folder = kept(tmp_path, "fedbuff[buffer_size=3]", *stop, keep_clients_at=(0.0, 5.5))
    assert record.final.seconds < 5
    assert kept_parts.times(kept_parts.tables(folder)[kept_parts.CLIENTS]) == (0.0, record.final.seconds)
    assert CliRunner().invoke(app, ["verify", str(folder)]).output.endswith(": identical\n")


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [
        ("fedbuff[buffer_size=3]", ["partition={kind: iid, held_out_clients: 2}"]),
        ("local_only", []),
    ],
)
def test_a_run_that_was_cut_short_gives_the_same_file(algorithm: str, more: list[str], tmp_path: Path) -> None:
    chosen = (1.0, 3.0, 5.0)
    _, whole = kept(tmp_path / "whole", algorithm, *more, keep_clients_at=chosen)
    store = Store(tmp_path / "cut")
    (spec,) = specs("digits-demo", algorithm, 1, [*SMALL, *more])

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if seconds > 3.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Run(spec, store, RunOptions(keep_clients_at=chosen), interrupt).record()
    for other, words in (((1.0, 5.0), "1, 5 s"), ((2.0,), "2 s")):
        with pytest.raises(RecordError, match=rf"\(it keeps clients at 1, 3, 5 s, this run at {words}\); delete it"):
            Run(spec, store, RunOptions(keep_clients_at=other, resume=True)).record()
    run = Run(spec, store, RunOptions(keep_clients_at=chosen, resume=True, workers=3))
    scored = []
    made = run.evaluator.parts
    run.evaluator.parts = lambda *model: scored.append(run.grid.rows[-1]) or made(*model)  # type: ignore[method-assign,func-returns-value]
    run.record()
    (folder,) = record_folders(store.root)
    assert len(scored) < len(chosen) + 2  # those before the checkpoint come from it
    for name in kept_parts.COUNTED:
        assert (folder / name).read_bytes() == (whole / name).read_bytes()


def test_a_checkpoint_without_times_is_not_gone_on_from(tmp_path: Path) -> None:
    store = Store(tmp_path)
    (spec,) = specs("digits-demo", "fedbuff[buffer_size=3]", 1, SMALL)

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if seconds > 3.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Run(spec, store, RunOptions(), interrupt).record()
    with pytest.raises(RecordError, match=r"\(it keeps clients at no time, this run at 2 s\); delete it to start the run again"):
        Run(spec, store, RunOptions(keep_clients_at=(2.0,), resume=True)).record()


def test_a_record_that_lacks_a_time_is_made_again(tmp_path: Path) -> None:
    _, folder = kept(tmp_path)
    for chosen, is_new in (((2.0,), True), ((2.0,), False), ((2.0, 4.0), True), ((4.0, 6.0), False), ((), False)):
        before = (folder / kept_parts.CLIENTS).stat().st_mtime_ns
        kept(tmp_path, resume=True, keep_clients_at=chosen)
        assert ((folder / kept_parts.CLIENTS).stat().st_mtime_ns != before) is is_new


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ((-1.0,), "keep_clients_at: expected virtual seconds >= 0, got -1"),
        ((float("nan"),), "keep_clients_at: expected virtual seconds >= 0, got nan"),
        ((float("inf"),), "keep_clients_at: expected virtual seconds >= 0, got inf"),
        ((3.0, 7.0), "keep_clients_at: expected at most the 6 seconds of the budget, got 7"),
        (tuple(range(1001)), "keep_clients_at: expected at most 1,000 times, got 1,001"),
    ],
)
def test_times_that_are_none(chosen: tuple[float, ...], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as error:
        kept(tmp_path, keep_clients_at=chosen)
    assert str(error.value).endswith(message)
    assert "\n" not in str(error.value)


def test_too_many_rows(tmp_path: Path) -> None:
    many = ["clients=500000", "partition={kind: overlapping, examples_per_client: 2}"]
    with pytest.raises(
        UsageError, match=r"keep_clients_at: expected at most 2,000,000 rows of clients, got 2,500,000; name fewer"
    ):
        kept(tmp_path, "fedavg[cohort_size=3]", *many, keep_clients_at=(1.0, 2.0, 3.0, 4.0))


@pytest.mark.parametrize("given", ["10,x", "", "1;2", ","])
def test_times_on_the_command_line(given: str, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["run", "digits-demo", "-a", "fedavg", "--store", str(tmp_path), "--keep-clients-at", given])
    assert isinstance(found.exception, UsageError)
    assert str(found.exception) == f"--keep-clients-at: expected seconds such as 10,20, got {given!r}"


def test_the_command_line_keeps_them(tmp_path: Path) -> None:
    settings = [one for setting in SMALL for one in ("--set", setting)]
    line = ["run", "digits-demo", "-a", "fedavg[cohort_size=3]", "--store", str(tmp_path), "--keep-clients-at", "2, 4", *settings]
    assert CliRunner().invoke(app, line).exit_code == 0
    assert kept_parts.times(kept_parts.tables(record_folders(tmp_path)[0])[kept_parts.CLASSES]) == (2.0, 4.0, 6.0)


def column(name: str, change: Callable[[Any], Any]) -> Callable[[bytes], bytes]:
    def of(table: pa.Table) -> pa.Table:
        values = change(table.column(name).to_numpy().copy())
        return table.set_column(table.column_names.index(name), name, pa.array(values))

    return changed(of)


def first_plus_one(values: Any) -> Any:
    values[1] += 1
    return values


@pytest.mark.parametrize(
    ("file", "change", "where"),
    [
        (kept_parts.CLIENTS, column("loss", lambda values: values * 2), "clients.loss[0]"),
        (kept_parts.CLIENTS, column("accuracy", lambda values: values[[1, 0, *range(2, len(values))]]), "clients.accuracy[0]"),
        (kept_parts.CLIENTS, column("client", lambda values: values[::-1]), "clients.client[0]"),
        (kept_parts.CLIENTS, column("examples", first_plus_one), "clients.examples[1]"),
        (kept_parts.CLIENTS, column("version", first_plus_one), "clients.version[1]"),
        (kept_parts.CLIENTS, column("seconds", lambda values: np.where(values == 2, 3, values)), "clients.version[0]"),
        (kept_parts.CLASSES, column("accuracy", lambda values: 1 - values), "classes.accuracy[0]"),
        (kept_parts.CLASSES, column("loss", first_plus_one), "classes.loss[1]"),
        (kept_parts.CLASSES, changed(lambda table: table.slice(0, 7)), "classes.seconds"),
        (kept_parts.CLASSES, changed(lambda table: table.drop_columns(["seconds", "version"])), "classes.seconds"),
    ],
)
def test_verify_compares_every_number(file: str, change: Callable[[bytes], bytes], where: str, tmp_path: Path) -> None:
    """Also where mean and worst decile are those of the record."""
    _, folder = kept(tmp_path, keep_clients_at=(2.0,))
    (folder / file).write_bytes(change((folder / file).read_bytes()))
    found = CliRunner().invoke(app, ["verify", str(folder)])
    assert found.exit_code == 1
    assert found.output.endswith(f": differs (first in {where})\n")
