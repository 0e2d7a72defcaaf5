"""Tasks whose labels are real numbers: what is read, learned, measured and refused."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import fedbench as fb
from fedbench.algorithms.fedbuff import FedBuff
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Assignment, Workload
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.kernels.random import draw_batches
from fedbench.launch.watch import evaluations
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.tasks import arrays
from fedbench.tasks.arrays import Source
from fedbench.types import Job, LocalRule

TORCH = pytest.mark.extra("torch")
OWNERS, EXAMPLES, SHARD = 6, 240, np.arange(40)
TRUE = np.array([1, -2, 0.5])
SCENARIO: dict[str, Any] = {
    "schema": 1,
    "name": "houses",
    "about": "Prices in six towns.",
    "task": {"file": "houses.csv", "label": "price", "kind": "regression", "client": "town"},
    "partition": {"kind": "natural"},
    "clients": OWNERS,
    "local": {"steps": 6, "batch_size": 8},
    "compute": {"kind": "per_step", "step_seconds": 0.1, "slowdown": {"low": 1, "high": 4}},
    "budget": {"updates": 1000, "seconds": 20},
    "evaluation": {"every_seconds": 1},
    "targets": [{"metric": "test_loss", "value": 0.1}],
}
ROWS = ["a", "b", "c", "price", "town"]
METRIC = """
import numpy as np
import fedbench as fb

class R2(fb.Metric):
    name = "r2"
    def value(self, logits, labels, features):
        assert logits.shape == labels.shape == (len(features),) and labels.dtype == np.float32
        return float(1 - ((logits - labels) ** 2).sum() / ((labels - labels.mean()) ** 2).sum())
"""


def table() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(EXAMPLES, 3)).astype(np.float32)
    y = (x @ TRUE + 0.3 + 0.1 * rng.normal(size=EXAMPLES)).astype(np.float32)
    return x, y, np.arange(EXAMPLES) % OWNERS


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_houses()


def write_houses() -> None:
    """Writes the table, its scenario and a metric into the working directory."""
    x, y, owner = table()
    lines = [
        ",".join(ROWS),
        *(",".join(map(repr, [*map(float, row), float(of), f"t{i}"])) for row, of, i in zip(x, y, owner, strict=True)),
    ]
    Path("houses.csv").write_text("\n".join(lines).replace("'", "") + "\n")
    Path("houses.yaml").write_text(json.dumps(SCENARIO))
    Path("r2.py").write_text(METRIC)


def spec(*overrides: str, algorithm: Any = None) -> RunSpec:
    return RunSpec(load(Path("houses.yaml"), overrides), algorithm or FedBuff(buffer_size=2, local_lr=0.02), 0)


def source(**changes: Any) -> Source:
    fields: dict[str, Any] = {"name": "it", "file": "houses.csv", "label": "price", "real": True, "client": "town"}
    return Source(**(fields | changes))


def _npz(x: Any, y: Any, owner: Any) -> str:
    np.savez("houses.npz", **dict(zip("abc", x.T, strict=True)), price=y, town=owner)  # type: ignore[arg-type]
    return "houses.npz"


def _parquet(x: Any, y: Any, owner: Any) -> str:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "price": y, "town": owner}), "houses.parquet")
    return "houses.parquet"


def _leaf(x: Any, y: Any, owner: Any) -> str:
    users = {
        f"t{i}": {
            **{name: column[owner == i].tolist() for name, column in zip("abc", x.T, strict=True)},
            "price": y[owner == i].tolist(),
        }
        for i in range(OWNERS)
    }
    sizes = [int((owner == i).sum()) for i in range(OWNERS)]
    Path("houses.json").write_text(json.dumps({"users": [*users], "num_samples": sizes, "user_data": users}))
    return "houses.json"


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet", "leaf"])
def test_real_labels_of_a_file(kind: str) -> None:
    x, y, owner = table()
    writers = {"npz": _npz, "parquet": _parquet, "leaf": _leaf}
    file = writers[kind](x, y, owner) if kind in writers else "houses.csv"
    data = arrays.dataset(source(file=file, client="user" if kind == "leaf" else "town", features=("a", "b", "c")))
    assert (data.classes, data.owners, data.shape) == (1, OWNERS, (3,))
    assert (len(data.train), len(data.test)) == (192, 48)
    found = {
        tuple(row): of for part in (data.train, data.test) for row, of in zip(part.x.tolist(), part.labels.tolist(), strict=True)
    }
    assert found == {tuple(row): of for row, of in zip(x.tolist(), y.tolist(), strict=True)}
    assert data.train.labels.dtype == np.float32
    assert not data.train.y.any()


def test_a_second_file_has_other_numbers() -> None:
    Path("more.csv").write_text("c,b,a,price\n3,2,1,17.25\n")
    test = arrays.dataset(source(test="more.csv")).test
    assert (test.x.tolist(), test.labels.tolist()) == ([[1, 2, 3]], [17.25])


@TORCH
@pytest.mark.parametrize("side_by_side", [False, True], ids=["one by one", "side by side"])
def test_steps_by_hand(side_by_side: bool) -> None:
    """The gradient of the mean of (w x + b - y)^2 is 2 / n times the sum of (w x + b - y) (x,
    1)."""
    from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
    from fedbench.engine.trainers.torch.stacked import StackedTrainer

    task = arrays.load(source())
    workload = Workload(task, [SHARD, SHARD], 7, 3)
    trainer = (
        StackedTrainer(workload, dtype=np.float64, device="cpu", lanes=3)
        if side_by_side
        else TorchTrainer(workload, dtype=np.float64)
    )
    starts = [task.model.x0(i, np.float64) for i in range(2)]
    wave = [Assignment(Job(i, i, 0, 6 - i), LocalRule(start=start, lr=0.1), np.empty(0)) for i, start in enumerate(starts)]
    works, (full,) = trainer.train(wave), trainer.gradients([0], starts[0], np.empty(0))
    trainer.close()
    train = task.dataset.train

    def gradient(w: npt.NDArray[np.float64], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        x, y = train.x[rows].astype(np.float64), train.labels[rows].astype(np.float64)
        away = x @ w[:3] + w[3] - y
        return 2 / len(rows) * np.array([*(away @ x), away.sum()])

    for work, assignment in zip(works, wave, strict=True):
        job, y = assignment.job, assignment.rule.start.copy()
        rows, offsets = draw_batches(3, job.client, job.k, len(SHARD), 7, job.steps)
        for begin, end in itertools.pairwise(offsets.tolist()):
            y = y - 0.1 * gradient(y, SHARD[rows[begin:end]])
        np.testing.assert_allclose(work.end, y, rtol=0, atol=1e-12)
    np.testing.assert_allclose(full, gradient(starts[0], SHARD), rtol=0, atol=1e-12)


@TORCH
def test_a_run_is_judged_by_its_loss() -> None:
    record = Run(
        spec("evaluation.metrics=[./r2.py:R2]", "targets=[{metric: test_loss, value: 0.1}, {metric: r2, value: 0.9}]")
    ).record()
    assert np.isnan(record.curves["test_accuracy"]).all()
    assert record.final.test_accuracy is record.final.client_accuracy_mean is record.final.client_accuracy_worst_decile is None
    assert record.curves["test_loss"][0] > 0.1 > record.curves["test_loss"][-1]
    loss, r2 = record.time_to_target
    below = np.flatnonzero(record.curves["test_loss"] <= 0.1)[0]
    assert loss.seconds == record.curves["seconds"][below] > 0
    assert r2.seconds is not None
    assert "test_accuracy" not in evaluations(record)[-1].metrics
    data = arrays.dataset(source())
    assert record.final.own["r2"] == pytest.approx(1 - record.final.test_loss / float(data.test.labels.var()), abs=1e-4)


@TORCH
def test_the_loss_is_the_mean_of_all_test_examples() -> None:
    record = Run(spec("budget.updates=1", "budget.seconds=1e-3")).record()
    task = arrays.load(source())
    x0 = task.model.x0(0).astype(np.float64)
    test = task.dataset.test
    away = test.x @ x0[:3] + x0[3] - test.labels
    assert record.curves["test_loss"][0] == pytest.approx((away**2).mean(), rel=1e-5)


@TORCH
def test_a_run_stops_at_its_loss() -> None:
    record = Run(spec("budget.stop_at_target=true")).record()
    assert (record.outcome.ended_by, record.final.test_loss <= 0.1) == ("target", True)
    assert (record.curves["test_loss"][:-1] > 0.1).all()


@TORCH
def test_the_same_bits_however_a_run_is_computed(tmp_path: Path) -> None:
    one = spec("task.model=mlp", "evaluation.metrics=[./r2.py:R2]")
    record = Run(one).record()
    for options in (*(RunOptions(workers=n) for n in (2, 3, 4)), RunOptions(wave_size=1)):
        assert Run(one, options=options).record().digests == record.digests

    def interrupt(version: int, seconds: float, evaluated: object) -> None:
        if seconds > 4:
            raise KeyboardInterrupt

    store = Store(tmp_path / "runs")
    store.prepare()
    with pytest.raises(KeyboardInterrupt):
        Run(one, store, RunOptions(checkpoint_seconds=0), interrupt).record()
    assert Run(one, store, RunOptions(resume=True)).record().digests == record.digests
    assert verify(record).verdict == "identical"


@TORCH
@pytest.mark.parametrize("partition", ["{kind: iid}", "{kind: natural}", "{kind: overlapping, examples_per_client: 20}"])
def test_partitions_that_do_not_go_by_classes(partition: str) -> None:
    assert Run(spec(f"partition={partition}")).record().state == "finished"


@TORCH
def test_clients_alone_have_losses_too() -> None:
    (record,) = fb.run("houses.yaml", "local_only", store=None)
    assert record.final.test_accuracy is None
    assert record.curves["test_loss"][-1] < record.curves["test_loss"][0]


def test_the_trainer_is_torch_and_says_why() -> None:
    planned = plan(spec())
    why = "the scenario has task.kind=regression, which the native trainer does not take"
    assert (planned.trainer, planned.trainer_reason, planned.classes) == ("torch", why, "")
    with pytest.raises(UsageError, match=rf"^trainer native: {why}; use --trainer torch$"):
        Run(spec(), options=RunOptions(trainer="native")).record()


@TORCH
def test_what_is_told_of_a_run(capsys: pytest.CaptureFixture[str]) -> None:
    from fedbench.cli.outcome import print_outcome
    from fedbench.launch.progress import _ended

    records: fb.Records = fb.run("houses.yaml", "fedavg[cohort_size=4,local_lr=0.1]", seeds=2, store=None)
    record: Record = records[0]
    assert _ended(record, reused=False).startswith(f"finished, loss {record.final.test_loss:.4f}, 0.1 reached at")
    print_outcome(records, Path("runs"))
    out, err = capsys.readouterr()
    assert "final loss" in out
    assert "accuracy" not in out
    assert "final loss: mean, 95 % interval" in err


def test_a_scenario_without_the_key_stays_as_it_is() -> None:
    plain = load(Path("houses.yaml"), ["task.kind=classification", "task.label=town", "task.client=null", "partition.kind=iid"])
    task = plain.resolved()["task"]
    assert isinstance(task, dict)
    assert "kind" not in task
    assert spec().scenario.resolved()["task"]["kind"] == "regression"  # type: ignore[index, call-overload]


GOES_BY = "goes by the classes of labels, got task.kind regression, whose labels are real numbers"
REFUSED = {
    "partition={kind: dirichlet, alpha: 0.5}": f"partition.kind dirichlet {GOES_BY}",
    "partition={kind: two_class}": f"partition.kind two_class {GOES_BY}",
    "partition={kind: shards, classes_per_client: 2}": f"partition.kind shards {GOES_BY}",
    "local.label_smoothing=0.1": f"local.label_smoothing {GOES_BY}",
    "compute.slowdown.by_label={rare_classes: 2, strength: 1}": f"compute.slowdown.by_label {GOES_BY}",
    "evaluation.metrics=[client_loss_mean]": f"evaluation.metrics client_loss_mean {GOES_BY}",
    "evaluation.metrics=[class_accuracy_0]": f"evaluation.metrics class_accuracy_0 {GOES_BY}",
    "targets=[{value: 0.5}]": "targets: expected a metric of test_loss, got 'test_accuracy'",
    "task.kind=real": "task.kind must be one of 'classification', 'regression', got 'real'",
    "task={name: digits, kind: regression}": "kind belong to a file of your own data, got none; give task.file",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_a_setting_that_is_refused(setting: str) -> None:
    with pytest.raises(UsageError) as caught:
        load(Path("houses.yaml"), [setting])
    assert REFUSED[setting] in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "town"}, "task file houses.csv: column town, row 0 must be a number, got 't0'"),
        ({"label": "cost"}, "task file houses.csv: has no column 'cost'"),
        (
            {"real": False},
            r"test_share 0.2 leaves 0 of 240 .* both sides; label price has 240 values: numbers to predict have task.kind regression",
        ),
    ],
)
def test_files_that_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        arrays.dataset(source(**({"client": None, "features": ("a",)} | changes)))


def test_labels_that_are_no_numbers() -> None:
    np.savez("bad.npz", x=np.zeros((9, 2)), y=np.zeros((9, 2)), z=np.full(9, np.nan))
    for label, message in (("y", r"must hold one number in a row with task.kind regression, got \(2,\)"), ("z", "is not finite")):
        with pytest.raises(UsageError, match=f"^task file bad.npz: column {label}.* {message}"):
            arrays.dataset(source(file="bad.npz", label=label, client=None, features=("x",)))


def test_real_numbers_are_no_classes() -> None:
    np.savez("real.npz", x=np.zeros((9, 2)), y=np.linspace(0, 1, 9))
    with pytest.raises(
        UsageError, match=r"column y, row 1 must be a whole number or a text, got .*; numbers to predict have task.kind"
    ):
        arrays.dataset(source(file="real.npz", label="y", client=None, real=False))


@TORCH
def test_what_needs_classes_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"^algorithm fedecho is not applicable: it distils the probabilities of classes, .* regression$"
    ):
        fb.plan("houses.yaml", "fedecho", overrides=["public.size=20"])
    with pytest.raises(
        UsageError, match=r"^keep_clients: clients are judged by their classes, and task file:houses has task.kind"
    ):
        Run(spec(), options=RunOptions(keep_clients=True)).record()
    with pytest.raises(UsageError, match=r"^keep_clients: "):
        Run(spec(), options=RunOptions(keep_clients_at=(1.0,))).record()
