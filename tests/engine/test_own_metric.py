"""Runs with metrics of the user's own: values by hand, targets in them, the same record however it
is computed, and nothing that is run because a record names it."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import fedbench as fb
from fedbench import own_metrics, own_models
from fedbench.analysis.hits import first_hit
from fedbench.analysis.metrics import about
from fedbench.cli.main import app
from fedbench.cli.outcome import print_outcome
from fedbench.engine.compare import verdict
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import OriginError, RecordError, UsageError
from fedbench.launch.runner import specs
from fedbench.launch.watchers.lines import COLUMNS as LINES
from fedbench.own_metrics import Measured
from fedbench.results import archive
from fedbench.results.record import COLUMNS, Record, with_results
from fedbench.results.store import Store, read, record_folders
from fedbench.scenarios.load import load, validate
from tests.conftest import GONE, altered

METRICS = """
import numpy as np
import fedbench as fb

print("the file is run")

class Zeros(fb.Metric):
    name = "zeros"

    def value(self, logits, labels, features):
        return (logits.argmax(1) == 0).mean()

class Brier(fb.Metric):
    name: str = "brier"
    higher_is_better = False

    def value(self, logits, labels, features):
        p = np.exp(logits.astype(np.float64))
        p /= p.sum(1, keepdims=True)
        return float(((p - np.eye(logits.shape[1])[labels]) ** 2).sum(1).mean())

class Right(fb.Metric):
    name = "right"

    def value(self, logits, labels, features):
        return (logits.argmax(1) == labels).mean()

class Shape(fb.Metric):
    name = "shape"
    value = lambda self, logits, labels, features: len(logits) + 1000 * features.shape[1] + 100000 * logits.shape[1]
"""
SMALL = ("clients=6", "budget.updates=12", "local.steps=10", "task.model=softmax")


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(METRICS)
    return tmp_path / "mine.py"


def settings(file: Path, *names: str, targets: str = "[{metric: brier, value: 0.8}]") -> list[str]:
    return [
        *SMALL,
        f"evaluation.metrics=[{', '.join(f'{file}:{name}' for name in names or ('Zeros', 'Brier'))}]",
        f"targets={targets}",
    ]


def record(changes: list[str], algorithm: str = "fedbuff[buffer_size=3]", store: Path | None = None, **options: Any) -> Record:
    (found,) = fb.run("digits-demo", algorithm, overrides=changes, store=store, options=RunOptions(**options))
    return found


def test_values_are_those_of_the_judged_models(file: Path) -> None:
    """At every evaluation; computed again here from the same logits, and for both trainers."""
    spec = specs("digits-demo", "fedbuff[buffer_size=3]", 1, settings(file, "Zeros", "Brier", "Shape"))[0]
    run = Run(spec)
    found = run.record()
    test = run.setup.task.dataset.test
    assert found.final.own["shape"] == len(test.y) + 64_000 + 1_000_000
    assert set(found.curves["shape"]) == {np.float32(found.final.own["shape"])}
    assert found.curves["brier"][0] != found.curves["brier"][-1]
    assert 0 <= found.final.own["zeros"] <= 1  # type: ignore[operator]
    plain = record([*SMALL, "targets=[]"])
    assert found.digests.model == plain.digests.model
    assert found.digests.inputs == plain.digests.inputs
    assert np.array_equal(found.curves["test_accuracy"], plain.curves["test_accuracy"])


@pytest.mark.extra("torch")
def test_both_trainers_give_the_same_logits(file: Path) -> None:
    one, other = (record(settings(file), trainer=trainer) for trainer in ("native", "torch"))
    assert one.curves["brier"] == pytest.approx(other.curves["brier"], rel=1e-4)
    assert verdict(one, other)[0] == "within tolerance"


def test_a_target_below_which_it_is_better(file: Path) -> None:
    found = record(
        settings(file, targets="[{metric: brier, value: 0.85}, {metric: brier, value: 0.001}, {metric: zeros, value: 0}]")
    )
    below = np.flatnonzero(found.curves["brier"] <= np.float32(0.85))
    assert below.size
    assert below[0] > 0
    reached = [one.seconds for one in found.time_to_target]
    assert reached == [found.curves["seconds"][below[0]], None, 0.0]
    assert first_hit(found, "brier", 0.85).reached == reached[0]
    pytest.importorskip("pandas")
    assert fb.Records([found]).frame()["seconds_to_brier_0.85"].tolist() == [reached[0]]


@pytest.mark.parametrize("hold", ["hold_points: 2", "hold: window"])
def test_a_run_stops_at_a_target_below_which_it_is_better(hold: str, file: Path, tmp_path: Path) -> None:
    """The lowest of the targets. Such a record is consistent, and is read again."""
    targets = "[{metric: brier, value: 0.87}, {metric: brier, value: 0.85}]"
    changes = [*settings(file, targets=targets), f"budget={{updates: 60, seconds: 60, stop_at_target: true, {hold}}}"]
    found = record(changes, store=tmp_path / "runs")
    assert found.outcome.ended_by == "target"
    assert found.curves["brier"][-1] <= np.float32(0.85)
    assert read(record_folders(tmp_path / "runs")[0]).digests.result == found.digests.result
    folder = Store(tmp_path / "bad").write(altered(found, {"time_to_target.1.seconds": 0.5}))
    with pytest.raises(RecordError, match="the rest of the record gives"):
        read(folder)


def test_the_same_record_however_it_is_computed(file: Path, tmp_path: Path) -> None:
    """Workers, waves of one, an interruption and a resume; and through store and archive."""
    changes = settings(file)
    found = [record(changes), record(changes, workers=4, wave_size=1)]
    (spec,) = specs("digits-demo", "fedbuff[buffer_size=3]", 1, changes)
    store, left = Store(tmp_path / "runs"), 3

    def stop(version: int, seconds: float, accuracy: float | None) -> None:
        if version == left:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Run(spec, store, RunOptions(checkpoint_seconds=0), stop).record()
    assert store.unfinished()
    found.append(Run(spec, store, RunOptions(resume=True)).record())
    found += list(store)
    archive.write(tmp_path / "archive", [found[0], record([*SMALL, "targets=[]"])])
    found += [one for one in archive.read(tmp_path / "archive") if one.run_id == spec.run_id]
    assert len(found) == 5
    assert {one.digests.result for one in found} == {found[0].digests.result}
    assert all(np.array_equal(one.curves["brier"], found[0].curves["brier"]) for one in found)


def test_a_checkpoint_of_other_metrics_is_refused(file: Path, tmp_path: Path) -> None:
    from fedbench.engine import checkpoint

    runs = [Run(specs("digits-demo", "fedavg[cohort_size=2]", 1, changes)[0]) for changes in (settings(file), list(SMALL))]
    executions = [run._execution() for run in runs]
    for run, execution in zip(runs, executions, strict=True):
        run.grid._fill(execution, 0, 1)
    checkpoint.save(tmp_path / "one.bin", "x", executions[0], runs[0].grid)
    with pytest.raises(RecordError, match=r"its rows have brier, seconds, .*; the run has test_accuracy, test_loss, train_loss"):
        checkpoint.restore(tmp_path / "one.bin", "x", executions[1], runs[1].grid)


def test_clients_that_are_alone_have_the_mean_of_theirs(file: Path) -> None:
    found = record(settings(file, "Right", targets="[]"), algorithm="local_only")
    assert found.curves["right"][0] != found.curves["right"][-1]
    assert np.array_equal(found.curves["right"], found.curves["test_accuracy"])
    assert found.final.own["right"] == pytest.approx(found.final.test_accuracy, rel=1e-12)


def test_a_run_travels_to_another_process(file: Path) -> None:
    spec = specs("digits-demo", "fedavg", 1, settings(file))[0]
    sent = pickle.dumps(spec)
    own_models._NAMED.clear()
    assert [one.name for one in pickle.loads(sent).own] == ["Zeros", "Brier"]
    own_metrics.made(**dict(spec.scenario.evaluation.metrics[0]))


def test_reading_a_scenario_runs_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Name and direction are read out of the text of the class."""
    scenario = load("digits-demo", settings(file))
    assert [(one.name, one.higher_is_better) for one in scenario.evaluation.metrics] == [("zeros", True), ("brier", False)]
    fb.plan("digits-demo", "fedavg[cohort_size=3]", overrides=settings(file))
    assert capsys.readouterr().out == ""


def test_a_record_s_scenario_runs_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = load("digits-demo", settings(file)).resolved()
    own_models._NAMED.clear()
    again = load(validate(content, "record"))
    with pytest.raises(
        OriginError, match=r"its metric is mine.py:Zeros with sha256 .*; say where it is with --metric path/to/mine.py:Zeros"
    ):
        fb.run(again, "fedavg[cohort_size=2]")
    assert capsys.readouterr().out == ""


def test_the_hash_has_the_sum_and_not_the_place(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere" / "renamed.py"
    other.parent.mkdir()
    other.write_text(METRICS)
    hashes = [load("digits-demo", settings(one)).content_hash() for one in (file, other)]
    file.write_text(METRICS + "\n")
    changed = load("digits-demo", settings(file)).content_hash()
    assert hashes[0] == hashes[1] != changed
    assert "metrics" not in load("digits-demo").resolved()["evaluation"]  # type: ignore[operator]


def test_verify_in_a_process_of_its_own(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Identical with both files named; refused without one, with another one, and with one too
    many."""
    found = record(settings(file), store=tmp_path / "runs")
    own_models._NAMED.clear()
    codes = [f"{file}:Zeros", f"{file}:Brier"]
    monkeypatch.setattr(own_metrics, "Measured", None)  # it is not run here
    result = verify(found, metrics=codes)
    assert result.verdict == "identical"
    assert result.confined is not None
    own_models._NAMED.clear()
    for given, message in (
        (codes[:1], r"its metric is mine.py:Brier with sha256"),
        ([*codes, f"{file}:Shape"], r"^record: it has no metric .*mine.py:Shape; it has mine.py:Zeros, mine.py:Brier$"),
    ):
        with pytest.raises(OriginError, match=message):
            verify(found, metrics=given)
    shown = CliRunner().invoke(app, ["verify", str(tmp_path / "runs"), *(word for one in codes for word in ("--metric", one))])
    assert (shown.exit_code, shown.output.split(": ")[-1]) == (0, "identical\n")
    file.write_text(METRICS.replace("== 0", "== 1"))
    with pytest.raises(OriginError, match=r"its metric is from a file with sha256 .* was not run$"):
        verify(found, metrics=codes)


def test_verify_with_classes_of_one_name(tmp_path: Path) -> None:
    """In whichever order their files are named."""
    codes = [f"{tmp_path}/{name}.py:F" for name in "fg"]
    for name, code in zip("fg", codes, strict=True):
        Path(code[:-2]).write_text(BODY.replace("'f'", f"'{name}'") + "return 1")
    found = record([*SMALL, "budget.seconds=2", f"evaluation.metrics=[{','.join(codes)}]"])
    for given in (codes, codes[::-1], [*codes, codes[0]]):
        own_models._NAMED.clear()
        assert verify(found, metrics=given).verdict == "identical"
    with pytest.raises(UsageError, match=r"^metric '\.': expected path/to/file.py:Class"):
        verify(found, metrics=["."])


def test_comparing_by_any_metric(file: Path, tmp_path: Path) -> None:
    changes = settings(file, targets="[{metric: brier, value: 0.88}, {value: 0.3}]")
    records = fb.run(
        "digits-demo", ["fedavg[cohort_size=3]", "fedavg[cohort_size=6]"], seeds=3, overrides=changes, store=tmp_path
    )
    shown = {}
    for metric in ("brier", "test_accuracy", None):
        words = ["compare", "fedavg[cohort_size=3]", "fedavg[cohort_size=6]", "--store", str(tmp_path), "--json"]
        result = CliRunner().invoke(app, [*words, *(["--metric", metric] if metric else [])])
        shown[metric] = [json.loads(line) for line in result.output.splitlines() if line.startswith("{")] or json.loads(
            result.output
        )
    assert {one["metric"] for one in shown["brier"]} == {"brier"}
    assert {one["target"] for one in shown["brier"]} - {None} == {0.88}
    assert shown["test_accuracy"] == shown[None]
    assert {one["target"] for one in shown[None]} - {None} == {0.3}
    bad = CliRunner().invoke(app, ["compare", "a", "b", "--store", str(tmp_path), "--metric", "brie"])
    assert "--metric: expected one that records" in str(bad.exception)
    assert about(records, "test_accuracy")[0].digests == records[0].digests


def test_a_table_of_its_targets_has_no_per_cent(file: Path, tmp_path: Path) -> None:
    changes = settings(file, targets="[{metric: brier, value: 0.88}, {metric: brier, value: 0.85}]")
    fb.run("digits-demo", "fedavg[cohort_size=3]", seeds=3, overrides=changes, store=tmp_path)
    shown = CliRunner().invoke(app, ["table", "--store", str(tmp_path)]).output
    assert "| algorithm | cost | regret | brier 0.85 | brier 0.88 |" in shown
    assert " %" not in shown.replace("95 %", "")


@pytest.mark.parametrize(("metric", "words"), [("brier", "at the target or better"), ("zeros", "at or above the target")])
def test_whether_targets_are_held_above(metric: str, words: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    print_outcome(fb.Records([record(settings(file, targets=f"[{{metric: {metric}, value: 0.5}}]"))]), Path("runs"))
    assert f"held: the seeds that stayed {words} for 20 % of the time" in capsys.readouterr().err


def test_names_that_are_taken_are_those_of_curves() -> None:
    assert set(own_metrics.TAKEN) - {"updates"} == {name for name in COLUMNS if not name.startswith("server_")}


def test_names_that_are_taken_are_those_of_columns() -> None:
    """Of a table of records, of curves, and of a watcher's file."""
    pytest.importorskip("pandas")
    (found,) = fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=[*SMALL, "budget.seconds=2"])
    records = fb.Records([found])
    columns = {*records.frame().columns, *records.curves().columns, *LINES}
    assert not [name for name in columns if own_metrics.is_free(name)]
    assert columns >= own_metrics.TAKEN_IN_FRAMES


BODY = """import fedbench as fb
import numpy as np

class F(fb.Metric):
    name = 'f'
    def value(self, logits, labels, features):
        """


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class G: pass", r"bad.py has no class 'F'"),
        ("class F(: pass", r"bad.py is no Python: "),
        ("class F: pass", r"the body of class F must state `name`, .* got none$"),
        ("class F:\n    name = 'Big F'", r"must state `name`, at most 60 small letters, digits and underscores, got 'Big F'$"),
        ("class F:\n    name = 'a' + 'b'", r"must state `name`, .* got none$"),
        ("class F:\n    name = 'test_loss'", r"expected a name that no other curve or column has, got 'test_loss'$"),
        ("class F:\n    name = 'seed'", r"expected a name that no other curve or column has, got 'seed'$"),
        ("class F:\n    name = 'client_f'", r"expected a name that no other curve or column has, got 'client_f'$"),
        ("class F:\n    name = 'f'\n    higher_is_better = 'yes'", r"higher_is_better must be True or False, got 'yes'$"),
        ("class F:\n    name = 'f'", r"expected a class that extends fedbench.Metric, got <class '.*F'>"),
        ("def F(): pass", r"bad.py has no class 'F'"),
        (BODY + "return 1\nF.name = 'g'", r"the text of its class states 'f' and True, the class has 'g' and True$"),
        (BODY + "return 'high'", r"value must give a number, got 'high'$"),
        (BODY + "return 1e39", r"value must be at most 3.4e\+38 in size, got 1e\+39$"),
        (BODY + "return True", r"value must give a number, got True$"),
        (BODY + "return logits.mean(1)", r"value must give a number, got array"),
        (BODY + "return 1 / 0", r"fails on logits \(\d+, 10\): .*bad.py, line 7, in value: ZeroDivisionError: division by zero"),
        (BODY + "labels[0] = 0", r"ValueError: assignment destination is read-only"),
        (BODY + "return np.random.random()", r"gives [\d.e-]+ and then [\d.e-]+ for the same logits; it must depend on"),
        ("import no_such_module\n" + BODY + "return 1", r"cannot be imported: .*ModuleNotFoundError"),
    ],
)  # fmt: skip
def test_code_that_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(UsageError, match=f"^metric {tmp_path}/bad.py:F: ") as error:
        record([*SMALL, f"evaluation.metrics=[{tmp_path}/bad.py:F]"])
    first = str(error.value).split("\n")[0]
    assert re.search(message, first), first


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("evaluation.metrics=[./nowhere.py:F]", r"evaluation.metrics \./nowhere.py: not on this machine"),
        ("evaluation.metrics=[f1]", r"evaluation.metrics: expected path/to/file.py:Class or a metric of the library, got 'f1'"),
        ("evaluation.metrics=[no.such.module:F]", r"metric no.such.module:F: no module no.such.module is installed"),
        ("evaluation.metrics=[3]", r"evaluation\S*metrics"),
        ("evaluation.metrics={a: b}", r"evaluation\S*metrics"),
        ("targets=[{metric: f1, value: 0.8}]", r"targets: expected a metric of test_accuracy, test_loss, got 'f1'"),
        ("targets=[{value: 1.5}]", r"value: expected a test accuracy above 0 and at most 1, got 1.5"),
        ("targets=[{value: .inf}]", r"targets"),
    ],
)
def test_settings_that_are_refused(setting: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        load("digits-demo", [setting])
    assert len(str(error.value).strip().split("\n")) == 1


def test_metrics_that_do_not_go_together(file: Path) -> None:
    for stated, message in (
        ("name: briar", "name 'brier', got 'briar'"),
        ("higher_is_better: true", "higher_is_better False, got True"),
    ):
        with pytest.raises(UsageError, match=rf"^evaluation.metrics: the class of {file}:Brier has {message}$"):
            load("digits-demo", [f"evaluation.metrics=[{{code: '{file}:Brier', {stated}}}]"])
    with pytest.raises(UsageError, match=r"metrics: expected every name once, got 'zeros' twice"):
        load("digits-demo", settings(file, "Zeros", "Zeros"))
    mixed = settings(file, targets="[{metric: brier, value: 0.5}, {value: 0.9}]")
    with pytest.raises(UsageError, match=r"budget.stop_at_target: expected targets of one metric"):
        load("digits-demo", [*mixed, "budget.stop_at_target=true"])


def test_nan_meets_no_target(tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(BODY + "return float('nan')")
    found = record([*SMALL, f"evaluation.metrics=[{tmp_path}/odd.py:F]", "targets=[{metric: f, value: -1}]"])
    assert np.isnan(found.curves["f"]).all()
    assert (found.final.own["f"], found.time_to_target[0].seconds) == (None, None)


def test_a_record_that_says_other_metrics_is_refused(file: Path, tmp_path: Path) -> None:
    found = record([*settings(file), "budget.seconds=5"])
    for change in ({"final.own.brier": 0.5}, {"digests.result": "0" * 32}):
        folder = Store(tmp_path / "runs").write(altered(found, change))
        with pytest.raises(RecordError, match=r"digests.result: the rest of the record gives"):
            read(folder)
    folder = Store(tmp_path / "runs").write(with_results(altered(found, {"final.own.brier": 0.5})))
    with pytest.raises(RecordError, match=r"final.brier: the rest of the record gives"):
        read(folder)
    with pytest.raises(RecordError, match=r"final.own: expected brier, zeros, got zeros"):
        altered(found, {"final.own.brier": GONE})


def test_a_metric_is_a_new_object_each_time(tmp_path: Path) -> None:
    """So it keeps nothing from one model to the next."""
    (tmp_path / "kept.py").write_text(BODY + "self.n = getattr(self, 'n', 0) + 1\n        return self.n")
    code = own_models.named(f"{tmp_path}/kept.py:F", kind="metric")
    measured = Measured(code, "f", higher_is_better=True)
    zeros = np.zeros((2, 2), np.float32)
    assert [measured(zeros, np.zeros(2, np.int64), zeros) for _ in range(3)] == [1, 1, 1]
    assert zeros.flags.writeable


def test_its_curve_is_in_the_digest(file: Path) -> None:
    found = record(settings(file))
    changed = found.model_copy(update={"curves": {**found.curves, "brier": found.curves["brier"] + 1}})
    assert with_results(changed).digests.result != found.digests.result


def test_spec_of_a_record(file: Path) -> None:
    found = record(settings(file))
    assert RunSpec.of(found.spec).run_id == found.run_id
