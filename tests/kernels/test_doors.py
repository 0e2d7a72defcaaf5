"""The core's doors: no rows, arrays changed or resized behind a trainer, a second caller, huge
draws and forged states."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import numpy as np
import pytest

from fedbench.kernels.random import Purpose, RandomStream, draw_batches, draw_per_client
from fedbench.kernels.scheduler import Duration, Scheduler, Timing
from fedbench.kernels.train import LayerSpec, LocalJob, LocalTrainer, Rule, score
from fedbench.types import Stream as Buffered

LONG = 2_000_000  # steps: long enough for `progress` to be told


class Enough(Exception):
    pass


def softmax(dtype: Any = np.float32) -> tuple[LocalTrainer, Any, Any]:
    """Of 4 features and 3 classes, with its 5 examples."""
    x, y = np.linspace(-1, 1, 20).astype(dtype).reshape(5, 4), np.array([0, 1, 2, 1, 0])
    return LocalTrainer([LayerSpec("linear", 4, 3)], x, y, seed=1, batch_size=2), x, y


def job(steps: int, dtype: Any = np.float32) -> LocalJob:
    return LocalJob(0, 0, steps, np.arange(5), Rule(np.zeros(15, dtype), 0.01), np.empty(15, dtype))


# ---- no rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("masks", [None, (1, 2, 3, 0)])
def test_no_rows_are_fine(dtype: Any, masks: Any) -> None:
    trainer, x, _ = softmax(dtype)
    model = np.ones(15, dtype)
    assert trainer.logits(model, x[:0], 3).shape == (0, 3)
    logits, words = trainer.forward(model, x[:0], 3, masks)
    assert (logits.shape, words) == ((0, 3), 0)
    assert trainer.pullback(logits).tolist() == [0] * 15
    assert trainer.forward(model, x, 3, masks)[0].tobytes() == trainer.logits(model, x, 3).tobytes()
    with pytest.raises(TypeError, match=r"dlogits: expected shape \(5, 3\) of the last forward, got .* \(0, 3\)"):
        trainer.pullback(logits)
    assert [values.shape for values in score(logits, np.empty(0, np.int64))] == [(0,), (0,)]


# ---- arrays behind the trainer's back


def test_labels_are_the_trainers_own() -> None:
    (trainer, _, y), (untouched, _, _) = softmax(), softmax()
    y[:] = 1 << 40
    got, want = job(9), job(9)
    trainer.train([got])
    untouched.train([want])
    assert got.end.tobytes() == want.end.tobytes()
    with pytest.raises(TypeError, match="y: expected"):
        LocalTrainer([LayerSpec("linear", 4, 3)], np.ones((5, 4)), y.astype(np.int32), seed=1, batch_size=2)  # type: ignore[arg-type]


def test_a_shard_that_changes_while_it_trains_is_not_looked_at() -> None:
    trainer, _, _ = softmax()
    runs, untouched, told = job(LONG), job(LONG), []

    def change(done: int) -> None:
        runs.shard[:] = 1 << 40
        told.append(done)

    trainer.train([runs], change)
    trainer.train([untouched])
    assert told
    assert runs.end.tobytes() == untouched.end.tobytes()
    with pytest.raises(IndexError, match="got row 1099511627776"):
        trainer.train([runs])


def test_the_arrays_of_a_trainer_are_not_resized() -> None:
    base = np.ones(20, np.float32)
    trainer = LocalTrainer([LayerSpec("linear", 4, 3)], base.reshape(5, 4), np.zeros(5, np.int64), seed=1, batch_size=2)
    runs = job(LONG)

    def resize(_: int) -> None:
        for array in (base, runs.rule.start, runs.end):
            with pytest.raises(ValueError, match="cannot resize"):
                array.resize(10**7, refcheck=False)
        raise Enough

    with pytest.raises(Enough):
        trainer.train([runs], resize)
    runs.end.resize(16, refcheck=False)
    del trainer
    base.resize(21, refcheck=False)


# ---- one caller at a time


def test_a_trainer_refuses_a_call_from_its_own_progress() -> None:
    trainer, x, _ = softmax()
    for call in (
        lambda: trainer.train([job(1)]),
        lambda: trainer.logits(np.zeros(15, np.float32), x, 3),
    ):
        with pytest.raises(RuntimeError, match="another call of the same object is under way; it serves one caller at a time"):
            trainer.train([job(LONG)], lambda _, call=call: call())
    done = job(3)
    trainer.train([done])
    assert np.isfinite(done.end).all()


def test_threads_get_right_results_from_one_trainer_or_none() -> None:
    trainer, x, _ = softmax(np.float64)
    models = [np.full(15, 0.1 * i) for i in range(4)]
    slopes = np.ones((5, 3))
    want = []
    for model in models:
        logits, _ = trainer.forward(model * np.arange(15), x, 3, None)
        want.append((logits, trainer.pullback(slopes * logits)))
    wrong, right = [], []

    def work(i: int) -> None:
        for _ in range(200):
            try:
                logits, _ = trainer.forward(models[i] * np.arange(15), x, 3, None)
                pulled = trainer.pullback(slopes * logits)
            except RuntimeError:
                continue
            same = np.array_equal(logits, want[i][0]) and np.array_equal(pulled, want[i][1])
            (right if same else wrong).append(i)

    in_threads(work, 4)
    assert not wrong
    assert right


def test_a_pullback_belongs_to_the_thread_of_the_forward() -> None:
    trainer, x, _ = softmax()
    logits, _ = trainer.forward(np.zeros(15, np.float32), x, 3, None)
    in_threads(lambda _: trainer.forward(np.ones(15, np.float32), x, 3, None), 1)
    with pytest.raises(RuntimeError, match="pullback: the last forward was another thread's"):
        trainer.pullback(logits)


def in_threads(work: Any, count: int) -> None:
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def scheduler(updates: int = 20_000) -> Scheduler:
    timing = Timing(clients=50, seed=3, compute=Duration.exponential(1.0), max_updates=updates)
    return Scheduler(timing, Buffered(concurrency=20, buffer_size=5))


def test_eight_threads_plan_what_one_does() -> None:
    alone, shared = scheduler(), scheduler()
    whole, chunks, refused = alone.next(1 << 30), [], []

    def work(_: int) -> None:
        while not (chunks and chunks[-1].done):
            try:
                chunk = shared.next(97)
                chunks.append(chunk)
                assert shared.outcome in {"running", "finished"}
            except RuntimeError as error:
                refused.append(str(error))

    in_threads(work, 8)
    chunks.sort(key=lambda chunk: chunk.first_version)
    kept = [chunk for chunk in chunks if len(chunk.time)]
    assert np.array_equal(np.concatenate([chunk.time for chunk in kept]), whole.time)
    assert np.array_equal(np.concatenate([chunk.client for chunk in kept]), whole.client)
    assert all("another call of the same object is under way" in message for message in refused)


def test_a_scheduler_is_not_read_while_it_plans() -> None:
    busy, refused = scheduler(400_000), set()

    def plan() -> None:
        done = False
        while not done:
            with contextlib.suppress(RuntimeError):  # it is being read
                done = busy.next(1 << 30).done

    planning = threading.Thread(target=plan)
    planning.start()
    while planning.is_alive():
        for name in ("missing", "ended_by", "available", "outcome"):
            try:
                _ = getattr(busy.core, name)
            except RuntimeError:
                refused.add(name)
    assert refused == {"missing", "ended_by", "available", "outcome"}
    assert busy.outcome == "finished"


# ---- bounds


def test_what_one_call_draws_is_bounded() -> None:
    with pytest.raises(
        ValueError, match="at most 268435456 rows are drawn in one call, got 1099511627776 steps of 5 of 10 examples"
    ):
        draw_batches(1, 0, 0, 10, 5, 1 << 40)
    with pytest.raises(ValueError, match="steps must be >= 0, got -1"):
        draw_batches(1, 0, 0, 10, 5, -1)
    with pytest.raises(ValueError, match="at most 268435456 rows"):
        draw_batches(1, 0, 0, (1 << 32) - 1, 5, 1)
    trainer, _, _ = softmax()
    with pytest.raises(ValueError, match="at most 268435456 rows"):
        trainer.train([job(1 << 60)])
    stream = RandomStream(1, Purpose.evaluation)
    for call in (stream.words, stream.uniform, stream.normal, stream.exponential, stream.permutation):
        with pytest.raises(ValueError, match="at most 268435456 values are drawn in one call, got 4294967295"):
            call((1 << 32) - 1)
    with pytest.raises(ValueError, match="at most 268435456 values"):
        draw_per_client(1, Purpose.speed, (1 << 32) - 1)
