"""The order of a client's examples: shuffled, as they are stored, or class by class."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from fedbench.engine.trainers.base import Assignment, Workload
from fedbench.engine.trainers.native import NativeTrainer
from fedbench.engine.trainers.torch.one_by_one import TorchTrainer
from fedbench.kernels.random import draw_batches
from fedbench.scenarios.load import load
from fedbench.scenarios.local_parts import LocalPart
from fedbench.types import Job, LocalRule, Vector

from .conftest import digits_softmax

TASK, SHARDS, _, _ = digits_softmax()
START = np.linspace(-0.1, 0.1, 650, dtype=np.float32)
NONE = np.empty(0, np.float32)
BATCH = 7
TRAINERS = [NativeTrainer, TorchTrainer]


def trained(trainer: Any, shard: Any, order: Literal["shuffled", "as_stored", "by_class"], steps: int, k: int = 0) -> Vector:
    workload = Workload(TASK, [np.asarray(shard)], BATCH, seed=3, local=LocalPart(steps=1, order=order))
    found = trainer(workload).train([Assignment(Job(0, k, 0, steps), LocalRule(start=START, lr=0.1), NONE)])[0].end
    assert found is not None
    return found


def test_batches_follow_one_another_and_begin_again() -> None:
    rows, offsets = draw_batches(3, 0, 5, 10, 4, 5, shuffled=False)
    assert rows.tolist() == [*range(10), *range(8)]
    assert offsets.tolist() == draw_batches(3, 0, 5, 10, 4, 5)[1].tolist() == [0, 4, 8, 10, 14, 18]


@pytest.mark.parametrize("trainer", TRAINERS)
def test_every_job_takes_the_first_examples_first(trainer: Any) -> None:
    """Two steps see 14 examples; others behind them change no bit, and nor does the number of the
    job."""
    shard = np.asarray(SHARDS[2])
    few = trained(trainer, shard[: 2 * BATCH], "as_stored", 2)
    np.testing.assert_array_equal(trained(trainer, shard, "as_stored", 2, k=4), few)
    assert not np.array_equal(trained(trainer, shard, "shuffled", 2), few)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_class_by_class_is_a_shard_that_was_sorted(trainer: Any) -> None:
    shard = np.asarray(SHARDS[2])
    by_class = shard[np.argsort(TASK.dataset.train.y[shard], kind="stable")]
    assert by_class.tolist() != shard.tolist()
    found = trained(trainer, shard, "by_class", 60)
    np.testing.assert_array_equal(found, trained(trainer, by_class, "as_stored", 60))
    assert not np.array_equal(found, trained(trainer, shard, "as_stored", 60))


@pytest.mark.parametrize("order", ["as_stored", "by_class"])
def test_both_trainers_take_the_same_examples(order: Any) -> None:
    one, other = (trained(trainer, SHARDS[2], order, 60) for trainer in TRAINERS)
    np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)


def test_the_default_is_not_written() -> None:
    plain, shuffled = load("digits-demo"), load("digits-demo", ["local.order=shuffled"])
    assert "order" not in plain.resolved()["local"]  # type: ignore[operator]
    assert plain.content_hash() == shuffled.content_hash()
    assert load("digits-demo", ["local.order=as_stored"]).content_hash() != plain.content_hash()
