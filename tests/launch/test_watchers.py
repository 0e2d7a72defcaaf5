"""Watchers that have a name: what they write, and what is refused."""

from __future__ import annotations

import csv
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedbench as fb
from fedbench import extras
from fedbench.engine.run import RunOptions
from fedbench.errors import UsageError
from fedbench.launch import watchers
from fedbench.launch.watch import WatchersFailed
from fedbench.results.record import Record
from tests.cli.commands import fedbench

SMALL = ["clients=6", "budget.seconds=4", "local.steps=1", "task.model=softmax"]
TWO = ["fedavg[cohort_size=2]", "fedbuff[buffer_size=2]"]


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as opened:
        return list(csv.DictReader(opened))


def check_rows(found: list[dict[str, str]], record: Record) -> None:
    """The lines of a run are its curves, bit for bit."""
    mine = [row for row in found if row["run_id"] == record.run_id]
    assert {(row["scenario"], row["algorithm"], row["seed"]) for row in mine} == {
        ("digits-demo", record.selector, str(record.seed))
    }
    assert [int(row["point"]) for row in mine] == list(range(len(record.curves["seconds"])))
    for name in ("seconds", "version", "test_accuracy", "test_loss", "train_loss"):
        column = record.curves[name]
        np.testing.assert_array_equal(np.array([row[name] for row in mine]).astype(column.dtype), column)


def test_lines_of_csv(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    records = fb.run("digits-demo", TWO, overrides=SMALL, watch=f"csv:{file}")
    assert len(rows(file)) == 10
    for record in records:
        check_rows(rows(file), record)


def test_lines_of_csv_stay(tmp_path: Path) -> None:
    """A second command adds to them. What a killed one left of a line is cut off."""
    file, store = tmp_path / "points.csv", tmp_path / "runs"
    (first,) = fb.run("digits-demo", TWO[0], overrides=SMALL, watch=f"csv:{file}", store=store)
    whole = file.read_text()
    file.write_text(whole + "b7d31a89e613d874,digits-demo,fed")
    (second,) = fb.run("digits-demo", TWO[1], overrides=SMALL, watch=f"csv:{file}")
    assert file.read_text().startswith(whole)
    check_rows(rows(file), first)
    check_rows(rows(file), second)
    fb.run("digits-demo", TWO[0], overrides=SMALL, watch=f"csv:{file}", store=store, options=RunOptions(resume=True))
    assert rows(file)[10:] == rows(file)[:5], "lines of one run and point are always the same"


def test_a_torn_header_is_made_whole(tmp_path: Path) -> None:
    file = tmp_path / "points.csv"
    file.write_text("run_id,scen")
    (record,) = fb.run("digits-demo", TWO[0], overrides=SMALL, watch=f"csv:{file}")
    check_rows(rows(file), record)


def test_lines_of_csv_have_all_metrics(tmp_path: Path) -> None:
    """Runs with others do not go into the same file, and are not lost."""
    file = tmp_path / "points.csv"
    more = [*SMALL, "evaluation.metrics=[client_loss_spread, class_accuracy_3]"]
    (record,) = fb.run("digits-demo", TWO[0], overrides=more, watch=f"csv:{file}")
    check_rows(rows(file), record)
    for name in ("client_loss_spread", "class_accuracy_3"):
        np.testing.assert_array_equal(np.array([row[name] for row in rows(file)]).astype(np.float32), record.curves[name])
    assert record.curves["client_loss_spread"].any()
    whole = file.read_text()
    with pytest.raises(WatchersFailed) as caught:
        fb.run("digits-demo", TWO[0], overrides=SMALL, watch=f"csv:{file}")
    message = "the file has columns for client_loss_spread, class_accuracy_3 beside accuracy and losses, the run has nothing"
    assert str(caught.value).endswith(message)
    assert caught.value.records is not None
    assert file.read_text() == whole
    fb.run("digits-demo", TWO[1], overrides=more, watch=f"csv:{file}")
    assert file.read_text().startswith(whole)


REFUSED = {
    "": "watch '': expected one of csv:FILE, mlflow:URI_OR_DIR, tensorboard:DIR, wandb:PROJECT; known: csv, mlflow, tensorboard, wandb",
    "points.csv": "watch 'points.csv': expected one of ",
    "cvs:points.csv": "did you mean 'csv'?",
    "CSV:points.csv": "watch 'CSV:points.csv': expected one of ",
    "csv": "watch 'csv': expected csv:FILE, got no FILE",
    "csv:": "watch 'csv:': expected csv:FILE, got no FILE",
    "csv: ": "watch 'csv: ': expected csv:FILE, got no FILE",
    "csv:nowhere/points.csv": "watch 'csv:nowhere/points.csv': No such file or directory",
    "csv:.": "watch 'csv:.': Is a directory",
    "csv:other.csv": "watch 'csv:other.csv': the file is there and has other columns; name another one",
    "tensorboard:": "watch 'tensorboard:': expected tensorboard:DIR, got no DIR",
    "mlflow": "watch 'mlflow': expected mlflow:URI_OR_DIR, got no URI_OR_DIR",
    "wandb:": "watch 'wandb:': expected wandb:PROJECT, got no PROJECT",
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_name_is_one_line(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UsageError) as caught:
        watchers.named(name)
    assert REFUSED[name] in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert Path("other.csv").read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([print], "watch: expected a fedbench.Watcher or a name such as csv:points.csv, got <built-in function print>"),
        ([fb.Watcher], "watch: expected a fedbench.Watcher or a name such as csv:points.csv, got <class"),
        (["csv:a", "csv:a"], "watch 'csv:a': expected once, got it 2 times"),
    ],
)
def test_what_is_no_watcher_is_refused_before_a_run(given: Any, expected: str) -> None:
    with pytest.raises(UsageError, match=r"^watch") as caught:
        fb.run("digits-demo", TWO, overrides=SMALL, watch=given)
    assert str(caught.value).startswith(expected)


def test_a_file_is_closed_if_another_name_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[fb.Watcher] = []
    close = watchers.Csv.on_close
    monkeypatch.setattr(watchers.Csv, "on_close", lambda self: (closed.append(self), close(self)))
    with pytest.raises(UsageError, match="did you mean 'csv'"):
        watchers.made([f"csv:{tmp_path}/a.csv", fb.Watcher(), "cvs:b.csv"])
    assert len(closed) == 1


@pytest.mark.parametrize("kind", ["tensorboard", "mlflow", "wandb"])
def test_a_package_that_is_missing_is_one_line(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=rf'^--watch {kind}:here needs {kind}, which is not installed; .*\[{kind}\]"$'):
        watchers.named(f"{kind}:here")


@pytest.mark.extra("tensorboard")
def test_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util import tensor_util

    targets = "targets=[{metric: test_accuracy, value: 0.15}]"
    records = fb.run("digits-demo", TWO, overrides=[*SMALL, targets], watch=f"tensorboard:{tmp_path}")
    for record in records:
        (folder,) = (tmp_path / "digits-demo").glob(f"*_{record.run_id[:8]}")
        assert folder.name.startswith(f"{record.selector}_seed_0_")
        events = EventAccumulator(str(folder)).Reload()
        for name in ("test_accuracy", "test_loss", "train_loss"):
            points = events.Tensors(name)
            values = np.array([tensor_util.make_ndarray(one.tensor_proto) for one in points])
            np.testing.assert_array_equal(values, record.curves[name])
            assert [one.step for one in points] == record.curves["version"].tolist()
            assert [one.wall_time for one in points] == record.curves["seconds"].tolist()
    (hit,) = records[1].time_to_target
    (reached,) = events.Tensors("seconds_to_test_accuracy_0.15")
    assert tensor_util.make_ndarray(reached.tensor_proto) == hit.seconds


FAKE_WANDB = """
opened = []
def Settings(**keys): return keys
class Run:
    def __init__(self, **keys): self.keys, self.points, self.summary, self.exit_code = keys, [], {}, None
    def define_metric(self, name, step_metric): self.axis = (name, step_metric)
    def log(self, point): self.points.append(point)
    def finish(self, exit_code): self.exit_code = exit_code
def init(**keys):
    opened.append(Run(**keys))
    return opened[-1]
"""


@pytest.fixture
def wandb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A module that keeps what it is asked for."""
    (tmp_path / "wandb.py").write_text(FAKE_WANDB)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    import wandb

    yield wandb
    del sys.modules["wandb"]


def test_a_run_of_wandb_for_each_run(wandb: Any) -> None:
    targets = "targets=[{metric: test_accuracy, value: 0.15}]"
    records = fb.run("digits-demo", TWO, overrides=[*SMALL, targets], watch="wandb:us/ours")
    for one, record in zip(wandb.opened, records, strict=True):
        assert (one.keys["entity"], one.keys["project"], one.keys["name"]) == ("us", "ours", f"{record.selector} seed 0")
        assert one.keys["config"]["run_id"] == record.run_id
        assert one.keys["config"]["option.local_lr"] == str(record.spec.algorithm.options["local_lr"])
        assert one.axis == ("*", "seconds")
        assert [point["seconds"] for point in one.points] == record.curves["seconds"].tolist()
        assert [np.float32(point["test_loss"]) for point in one.points] == record.curves["test_loss"].tolist()
        assert one.exit_code == 0
        hits = {
            f"seconds_to_test_accuracy_{hit.value:g}": hit.seconds for hit in record.time_to_target if hit.seconds is not None
        }
        assert one.summary == hits


def test_a_tracker_knows_of_runs_that_did_not_end(wandb: Any) -> None:
    class Stops(fb.Watcher):
        def on_end(self, run: Any, record: Record) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fb.run("digits-demo", TWO[0], overrides=SMALL, watch=[Stops(), "wandb:ours"])
    (one,) = wandb.opened
    assert one.keys["entity"] is None
    assert one.exit_code == 1
    fb.run("digits-demo", "fedavg[cohort_size=2,local_lr=3e38]", overrides=SMALL, watch="wandb:ours")
    assert wandb.opened[-1].exit_code == 1, "it diverged"


@pytest.mark.slow
@pytest.mark.extra("mlflow")
def test_mlflow(tmp_path: Path) -> None:
    mlflow = pytest.importorskip("mlflow")
    records = fb.run("digits-demo", TWO, overrides=SMALL, watch=f"mlflow:{tmp_path}")
    client = mlflow.MlflowClient(f"sqlite:///{tmp_path}/mlflow.db")
    found = {
        run.data.params["run_id"]: run for run in client.search_runs([client.get_experiment_by_name("fedbench").experiment_id])
    }
    for record in records:
        run = found[record.run_id]
        assert (run.info.run_name, run.info.status) == (f"{record.selector} seed 0", "FINISHED")
        points = sorted(client.get_metric_history(run.info.run_id, "test_accuracy"), key=lambda one: one.timestamp)
        assert [one.timestamp / 1000 for one in points] == record.curves["seconds"].tolist()
        assert [one.step for one in points] == record.curves["version"].tolist()
        assert [np.float32(one.value) for one in points] == record.curves["test_accuracy"].tolist()


@pytest.mark.slow
@pytest.mark.extra("wandb")
def test_wandb_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    fb.run("digits-demo", TWO, overrides=SMALL, watch="wandb:ours")
    files = list(tmp_path.glob("wandb/offline-run-*/*.wandb"))
    assert len(files) == 2
    for file in files:
        assert file.read_bytes().count(b"test_accuracy") >= 5


def test_the_command_line_watches_runs_and_suites(tmp_path: Path) -> None:
    sets = [part for one in SMALL for part in ("--set", one)]
    done = fedbench("run", "digits-demo", "-a", TWO[0], *sets, "--watch", "csv:a.csv", "--watch", "csv:b.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert len(rows(tmp_path / "a.csv")) == 5
    refused = fedbench("run", "digits-demo", "-a", TWO[0], *sets, "--watch", "cvs:a.csv", cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].endswith("did you mean 'csv'?")
