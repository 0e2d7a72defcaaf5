"""Clients that are held out: who they are, that nothing is trained on their examples, and how
models do on these."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import fedbench as fb
from fedbench.cli.main import app
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.trainers.base import Snapshot, train_loss_sample
from fedbench.errors import UsageError
from fedbench.launch.runner import specs
from fedbench.results import kept_parts
from fedbench.results.record import Record
from fedbench.results.store import record_folders
from fedbench.scenarios.held_out import shared
from fedbench.scenarios.load import load, validate
from fedbench.scenarios.partition import partition

UNSEEN = "evaluation.metrics=[unseen_accuracy, unseen_loss]"
SMALL = ["clients=9", "partition={kind: dirichlet, alpha: 1, held_out_clients: 3}", "budget.seconds=6", "local.steps=10", UNSEEN]
SMALL += ["task.model=softmax"]
FEDBUFF = "fedbuff[buffer_size=3]"


def record(algorithm: str = FEDBUFF, *more: str, **options: Any) -> Record:
    (found,) = fb.run("digits-demo", algorithm, overrides=[*SMALL, *more], options=RunOptions(**options))
    return found


def setup(algorithm: str = FEDBUFF, *more: str) -> Setup:
    return Setup(specs("digits-demo", algorithm, 1, [*SMALL, *more])[0])


@pytest.mark.parametrize("kind", ["iid", "two_class", "dirichlet, alpha: 1", "shards, classes_per_client: 2"])
def test_all_clients_are_dealt_to_and_some_are_held_out(kind: str) -> None:
    """Those of the same partition of 12 clients, in its order, and other ones for another seed."""
    labels = np.arange(600) % 10
    scenario = load("digits-demo", ["clients=9", f"partition={{kind: {kind}, held_out_clients: 3}}", "public=null"])
    whole = load("digits-demo", ["clients=12", f"partition={{kind: {kind}}}", "public=null"])
    left_out = []
    for seed in range(6):
        everybody = [rows.tolist() for rows in partition(whole, labels, seed)]
        clients, held_out = ([rows.tolist() for rows in one] for one in shared(scenario, labels, seed))
        assert (len(clients), len(held_out)) == (9, 3)
        assert clients == [rows for rows in everybody if rows not in held_out]
        assert held_out == [rows for rows in everybody if rows not in clients]
        left_out.append(tuple(everybody.index(rows) for rows in held_out))
    assert len(set(left_out)) > 3


def test_owners_are_held_out() -> None:
    scenario = load("digits-demo", ["clients=3", "partition={kind: natural, held_out_clients: 2}", "public=null"])
    owner = np.repeat(np.arange(7), [5, 1, 4, 3, 2, 6, 1])
    clients, held_out = shared(scenario, np.zeros(len(owner), np.int64), 0, owner)
    assert sorted(int(owner[rows[0]]) for rows in [*clients, *held_out]) == [0, 2, 3, 4, 5]
    with pytest.raises(
        UsageError, match=r"^partition natural: 8 clients need as many owners with at least 1 training examples each"
    ):
        shared(load(scenario, ["clients=6"]), np.zeros(len(owner), np.int64), 0, owner)


def test_speeds_and_model_are_those_of_a_run_without() -> None:
    without, held = setup(FEDBUFF, "partition.held_out_clients=0", "evaluation.metrics=[]"), setup()
    assert np.array_equal(without.step_seconds, held.step_seconds)
    assert np.array_equal(without.x0(), held.x0())
    assert held.scenario.clients == held.info.clients == len(held.shards) == 9
    assert len(without.unseen) == 0
    assert without.inputs_digest() != held.inputs_digest()


@pytest.mark.parametrize("algorithm", [FEDBUFF, "centralised", "local_only"])
def test_nothing_is_trained_on_their_examples(algorithm: str) -> None:
    """Features of theirs that are no numbers leave every model as it is."""
    found = []
    for spoiled in (False, True):
        run = Run(specs("digits-demo", algorithm, 1, [*SMALL, "evaluation.metrics=[]"])[0])
        train = run.setup.task.dataset.train
        assert not np.isin(run.setup.shards.rows, run.setup.unseen.rows).any()
        kept = train.x[run.setup.unseen.rows].copy()
        try:
            train.x.flags.writeable = True
            train.x[run.setup.unseen.rows] *= 1e3 if spoiled else 1
            found.append(run.record())
        finally:
            train.x[run.setup.unseen.rows] = kept
            train.x.flags.writeable = False
    assert found[0].digests.model == found[1].digests.model
    assert np.array_equal(found[0].curves["train_loss"], found[1].curves["train_loss"])


def test_the_training_loss_leaves_them_out() -> None:
    unseen = np.arange(0, 50, 3)
    assert train_loss_sample(3, 50, unseen).tolist() == [row for row in range(50) if row % 3]
    assert train_loss_sample(3, 50, unseen[:0]).tolist() == list(range(50))


@pytest.mark.parametrize("trainer", ["native", pytest.param("torch", marks=pytest.mark.extra("torch"))])
def test_metrics_are_means_over_their_examples(trainer: str) -> None:
    spec = specs("digits-demo", FEDBUFF, 1, SMALL)[0]
    found = Run(spec, options=RunOptions(trainer=trainer)).record()
    assert len(found.curves["unseen_accuracy"]) == 7
    assert len(set(found.curves["unseen_accuracy"].tolist())) > 3
    again = Run(spec, options=RunOptions(trainer=trainer))
    x = again.setup.x0()
    loss, right = again.backend.unseen_scores([Snapshot(x, again.backend.initial_buffers())])[0]
    assert len(right) == again.setup.unseen.sizes.sum()
    assert found.curves["unseen_accuracy"][0] == np.float32(right.mean())
    assert found.curves["unseen_loss"][0] == np.float32(loss.mean())
    logits = (
        again.setup.task.dataset.train.x[again.setup.unseen.rows].reshape(len(right), -1) @ x[:-10].reshape(10, -1).T + x[-10:]
    )
    assert right.tolist() == (logits.argmax(1) == again.setup.task.dataset.train.y[again.setup.unseen.rows]).tolist()


def test_the_same_bits_for_workers_and_waves() -> None:
    assert record(workers=4, wave_size=1).digests.result == record().digests.result


def test_targets_on_them() -> None:
    targets = "targets=[{metric: unseen_loss, value: 2.0}, {metric: unseen_accuracy, value: 0.99}]"
    below, above = record(FEDBUFF, targets, "budget.stop_at_target=false").time_to_target
    assert below.seconds is not None
    assert below.seconds > 0
    assert above.seconds is None


def test_clients_that_are_alone_have_the_mean_over_their_models() -> None:
    run = Run(specs("digits-demo", "local_only", 1, SMALL)[0])
    run.options = RunOptions(keep_clients=True)
    found, sizes = run.record(), run.setup.unseen.sizes
    table = pq.read_table(io.BytesIO(run.beside[kept_parts.CLIENTS])).slice(9)
    for name in ("accuracy", "loss"):
        mean = sizes @ table.column(name).to_numpy() / sizes.sum()
        assert found.final.own[f"unseen_{name}"] == pytest.approx(mean)


def test_they_are_marked_in_the_file_of_clients(tmp_path: Path) -> None:
    how = RunOptions(keep_clients=True)
    (found,) = fb.run("digits-demo", FEDBUFF, overrides=SMALL, store=tmp_path, options=how)
    (folder,) = record_folders(tmp_path)
    table, run = pq.read_table(folder / kept_parts.CLIENTS), setup()
    assert table.column("unseen").to_pylist() == [False] * 9 + [True] * 3
    assert table.column("client").to_pylist() == list(range(12))
    examples, accuracy = (table.column(name).to_numpy() for name in ("examples", "accuracy"))
    assert examples.tolist() == [*run.shards.sizes, *run.unseen.sizes]
    assert examples[9:] @ accuracy[9:] / examples[9:].sum() == pytest.approx(found.final.own["unseen_accuracy"])
    assert accuracy[:9].mean() == pytest.approx(found.final.client_accuracy_mean)
    assert CliRunner().invoke(app, ["verify", str(folder)]).output.endswith(": identical\n")


def test_a_plan_says_how_many_take_part() -> None:
    assert fb.plan("digits-demo", FEDBUFF, overrides=SMALL).held_out_clients == "3 of 12, so 9 take part"
    assert fb.plan("digits-demo", FEDBUFF).held_out_clients == ""


def test_hashes_without_them_stay() -> None:
    plain = load("digits-demo")
    assert load("digits-demo", ["partition.held_out_clients=0"]).content_hash() == plain.content_hash()
    assert "held_out_clients" not in plain.resolved()["partition"]  # type: ignore[operator]
    held = load("digits-demo", SMALL)
    assert held.content_hash() != load("digits-demo", [*SMALL, "partition.held_out_clients=4"]).content_hash()
    assert validate(held.resolved(), "record").content_hash() == held.content_hash()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (["evaluation.metrics=[unseen_loss]"], "evaluation.metrics: unseen_loss needs partition.held_out_clients, got none"),
        (["partition.held_out_clients=-1"], "partition.held_out_clients must be >= 0, got -1"),
        (["partition.held_out_clients=0.2"], "partition.held_out_clients must be an integer, got 0.2"),
        (["partition.held_out_clients=true"], "partition.held_out_clients must be an integer, got True"),
        (["evaluation.metrics=[unseen_acuracy]"], "got 'unseen_acuracy'; did you mean 'unseen_accuracy'?"),
        (
            ["partition={kind: overlapping, examples_per_client: 9, held_out_clients: 2}"],
            "unknown key partition.held_out_clients",
        ),
        (
            ["clients=600000", "partition.held_out_clients=600000"],
            "partition.held_out_clients: expected at most 1,000,000 clients with those that take part, got 1,200,000",
        ),
        (
            ["public={source: digits, size: 50}", "partition.held_out_clients=2"],
            "public.source: expected no examples of held-out clients, got digits, all of its training examples",
        ),
    ],
)
def test_what_cannot_be(changes: list[str], message: str) -> None:
    with pytest.raises(UsageError) as error:
        load("digits-demo", changes)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
