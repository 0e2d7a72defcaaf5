"""Public data from scenario to student, what FedEcho's run leaves in its record, and resuming
one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.checkpoint import restore
from fedbench.engine.public import PublicData
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.trainers.base import Assignment, Workload
from fedbench.engine.trainers.reference import ReferenceTrainer
from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.tasks import digits
from fedbench.tasks.model_library import make_model
from fedbench.tasks.task import Task
from fedbench.types import Job, LocalRule

from .conftest import digits_softmax

NONE = np.empty(0, np.float32)
START = np.linspace(-0.1, 0.1, 650, dtype=np.float32)
SMALL = ["clients=8", "budget.seconds=6", "local.steps=3", "task.model=softmax", "public.size=130"]


def run(selector: str, *overrides: str, store: Store | None = None, **options: Any) -> Record:
    spec = RunSpec(load("digits-demo", [*SMALL, *overrides]), registry.algorithm(selector), 0)
    return Run(spec, store, RunOptions(**options)).record()


# ---- the trainers


@pytest.fixture(scope="module")
def pair() -> tuple[TorchTrainer, ReferenceTrainer]:
    """Softmax regression on digits as a torch module and as numpy formulas, with rows 3, 13, 23, ..
    public."""
    task, shards, public, problem = digits_softmax()
    return (
        TorchTrainer(Workload(task, shards, batch_size=7, seed=3, public=task.dataset.train.x[public]), workers=2),
        ReferenceTrainer(problem, dtype="float32", seed=3, batch_size=7),
    )


def test_both_trainers_give_the_same_logits_and_gradients(pair: Any) -> None:
    rows = np.array([5, 0, 139, 5])
    slope = np.linspace(-1, 1, 40, dtype=np.float32).reshape(4, 10)
    (a, pull_a), (b, pull_b) = (PublicData(t).logits(START, NONE, rows, 0, training=False) for t in pair)
    assert a == pytest.approx(b, rel=1e-5, abs=1e-6)
    assert pull_a(slope) == pytest.approx(pull_b(slope), rel=1e-5, abs=1e-6)
    assert pair[0].public_shape == pair[1].public_shape == (140, 10)


@pytest.mark.parametrize("steps", [0, 5])
def test_a_jobs_logits_are_those_of_its_end_model(pair: Any, steps: int) -> None:
    rule = LocalRule(start=START, lr=0.1, wants=("full_gradient", "public_logits"))
    a, b = (trainer.train([Assignment(Job(2, 5, 0, steps), rule, NONE)])[0] for trainer in pair)
    everything = np.arange(140)
    assert a.public_logits == pytest.approx(b.public_logits, rel=1e-4, abs=1e-5)
    assert a.public_logits == pytest.approx(
        PublicData(pair[0]).logits(a.end, NONE, everything, 0, training=False)[0], rel=1e-6, abs=1e-6
    )
    assert a.server_seconds > 0
    assert pair[0].train([Assignment(Job(2, 5, 0, steps), LocalRule(start=START, lr=0.1), NONE)])[0].server_seconds == 0


def test_both_trainers_shuffle_alike(pair: Any) -> None:
    a, b = (np.concatenate(list(PublicData(trainer).batches(6, 50, None))) for trainer in pair)
    assert np.array_equal(a, b)
    assert sorted(a) == list(range(140))


def test_a_pullback_is_of_the_last_call(pair: Any) -> None:
    public, rows = PublicData(pair[0]), np.arange(3)
    _, early = public.logits(START, NONE, rows, 0, training=False)
    public.logits(START, NONE, rows, 0, training=False)
    with pytest.raises(RuntimeError, match="this pullback is of an earlier call"):
        early(np.ones((3, 10), np.float32))


def test_a_student_in_training_has_dropout_keyed_by_version() -> None:
    """Fashion-MNIST's CNN with dropout on blank and random images: the same masks for the same
    version, others for another."""
    from fedbench.tasks.data import Dataset, Examples

    x = np.random.default_rng(0).standard_normal((12, 1, 28, 28)).astype(np.float32)
    some = Examples(x, np.arange(12) % 10)
    task = Task("tiny", make_model("cnn_21840", (1, 28, 28), 10), Dataset("tiny", some, some, 10))
    x0 = task.model.x0(0)

    def student(version: int, *, training: bool) -> list[bytes]:
        trainer = TorchTrainer(Workload(task, [np.arange(8)], batch_size=4, seed=1, public=x[8:12]))
        rows = np.arange(4)
        return [PublicData(trainer).logits(x0, NONE, rows, version, training=training)[0].tobytes() for _ in range(2)]

    calm, drawn = student(0, training=False), student(0, training=True)
    assert calm == student(7, training=False)
    assert calm[0] == calm[1]
    assert drawn == student(0, training=True)
    assert len({calm[0], *drawn, *student(1, training=True)}) == 5


def test_no_public_data_no_logits() -> None:
    task = digits.load("softmax")
    trainer = TorchTrainer(Workload(task, [np.arange(9)], batch_size=7, seed=3))
    with pytest.raises(UsageError, match="needs unlabelled public examples, and there are none"):
        _ = trainer.public_shape


# ---- runs


def test_a_scenario_without_public_data_says_how_to_get_some() -> None:
    """And not more than it has: a tenth of the 1,442 training examples."""
    spec = RunSpec(load("digits-demo", ["public=null"]), registry.algorithm("fedecho"), 0)
    with pytest.raises(
        UsageError, match=r"needs public_data, which scenario digits-demo does not have; .* --set public.size=144$"
    ):
        Run(spec).record()


@pytest.mark.parametrize("options", ["", ",teacher=prob_mean,student=train", ",distill_optimizer=sgd,adam_state=reset"])
def test_workers_waves_and_replay_change_no_digest(options: str) -> None:
    selector = f"fedecho[buffer_size=2,concurrency=5,distill_lr=0.001{options}]"
    wanted = run(selector)
    assert run(selector, workers=2, wave_size=1).digests == wanted.digests
    assert run("fedbuff[buffer_size=2,concurrency=5]").digests.inputs == wanted.digests.inputs
    assert verify(wanted).verdict == "identical"


def test_without_steps_a_run_is_fedbuff_bit_for_bit() -> None:
    a, b = (run(s) for s in ("fedecho[buffer_size=2,concurrency=5,distill_steps=0]", "fedbuff[buffer_size=2,concurrency=5]"))
    for name in ("inputs", "plan", "model"):  # the ledger knows of the logits that FedEcho keeps
        assert a.digests.as_dict()[name] == b.digests.as_dict()[name], name
    assert a.curves["test_loss"].tobytes() == b.curves["test_loss"].tobytes()


def test_distillation_helps_where_classes_are_split_and_clients_late() -> None:
    setting = ["task.model=mlp", "clients=10", "budget.seconds=10", "local.steps=10", "public.size=200"]
    plain, distilled = (
        run(f"fedecho[buffer_size=3,concurrency=6,distill_lr=0.001,distill_steps={q}]", *setting).final.test_accuracy
        for q in (0, 4)
    )
    assert distilled > plain + 0.1


def test_a_diverging_run_is_recorded(tmp_path: Path) -> None:
    record = run("fedecho[buffer_size=2,concurrency=5,local_lr=3e38]", store=Store(tmp_path))
    assert record.state == "diverged"
    assert verify(record).verdict == "identical"


def interrupt(version: int, seconds: float, evaluated: object) -> None:
    """Ctrl-C after the fourth update."""
    if version == 4:
        raise KeyboardInterrupt


@pytest.mark.parametrize("options", ["", ",teacher=prob_mean,distill_optimizer=sgd"])
def test_interrupted_and_resumed(options: str, tmp_path: Path) -> None:
    """Logits, moments, models that clients still train from and the server's seconds survive; the
    end has the same bits."""
    selector = f"fedecho[buffer_size=2,concurrency=5,distill_lr=0.001{options}]"
    spec, store = RunSpec(load("digits-demo", SMALL), registry.algorithm(selector), 0), Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        Run(spec, store, progress=interrupt).record()
    again = Run(spec, store, RunOptions(resume=True))
    assert again.partial is not None
    trainer = again.backend
    try:
        execution = again._execution()
        restore(again.partial / "checkpoint.bin", spec.run_id, execution, again.grid)
    finally:
        trainer.close()
    assert execution.version == 4
    assert execution.state.Z.count > 2
    assert execution.state.Z.kind == ("probabilities" if options else "logits")
    assert execution.server_seconds > 0
    assert min(execution.messages) < 4
    assert again.record().digests == run(selector).digests


def test_what_the_server_keeps_is_in_the_record() -> None:
    """Softmax on digits has 650 parameters; 130 public rows of 10 classes; x, m and v."""
    record = run("fedecho[buffer_size=2,concurrency=5]", "budget.seconds=12")
    ledger, provenance = record.ledger, record.provenance
    assert ledger.server_state_bytes == 3 * 650 * 4
    assert ledger.public_logits_bytes == 8 * 130 * 10 * 4
    assert 1 < ledger.messages_peak <= 5
    assert ledger.checkpoint_bytes_peak == ledger.messages_peak * 650 * 4
    assert ledger.server_vectors == 3 + ledger.messages_peak
    assert provenance.server_seconds_per_update == pytest.approx(provenance.server_seconds / ledger.updates)
    assert 0 < provenance.server_seconds < provenance.wall_seconds * 2
    sgd = run("fedecho[buffer_size=2,concurrency=5,distill_optimizer=sgd]").ledger
    assert sgd.server_state_bytes == 650 * 4
    plain = run("fedbuff[buffer_size=2,concurrency=5]").ledger
    assert [getattr(plain, name) for name in ("server_vectors", "public_logits_bytes", "checkpoint_bytes_peak")] == [1, 0, 0]


def test_logits_cost_no_virtual_time() -> None:
    a, b = (run(f"{name}[buffer_size=2,concurrency=5]").ledger for name in ("fedecho", "fedbuff"))
    assert (a.end_seconds, a.bytes_up, a.updates) == (b.end_seconds, b.bytes_up, b.updates)
