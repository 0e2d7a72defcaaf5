"""What the native trainer refuses, with messages that name it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench import _core
from fedbench.errors import UsageError
from fedbench.kernels.train import JobColumns, LayerSpec, LocalJob, LocalTrainer, Rule, score

from .networks import FLATTEN, MLP, RELU, changed, conv, linear, pool, with_outputs

X, LABELS = MLP.data()
READ_ONLY = np.zeros(MLP.dim)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x": X.astype(np.float16)}, TypeError, "x: expected float32 or float64, got float16"),
        ({"x": X[:50]}, TypeError, r"x: expected shape \(53, 64\), a row per label, got float64 \(50, 64\)"),
        ({"y": LABELS.astype(np.int32)}, TypeError, r"y: expected int64 \(d,\) C-contiguous, got int32"),
        ({"y": LABELS[:, None]}, TypeError, "y: expected int64"),
        ({"y": np.full(53, 4)}, ValueError, r"y\[0\]: must be in 0 .. 3, got 4"),
        ({"y": np.array([0, -1] + [0] * 51)}, ValueError, r"y\[1\]: must be in 0 .. 3, got -1"),
        ({"batch_size": 0}, UsageError, "must be >= 1, got 0 and 1"),
        ({"threads": 0}, UsageError, "must be >= 1, got 7 and 0"),
        ({"isa": "neon"}, ValueError, "isa: expected one of portable.* got neon"),
    ],
)
def test_what_a_trainer_refuses(change: dict[str, Any], error: type[Exception], message: str) -> None:
    arguments = {"x": X, "y": LABELS, "seed": 5, "batch_size": 7} | change
    with pytest.raises(error, match=message):
        LocalTrainer(MLP.layers, **arguments)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([linear(64, 4)], r"layer 0 \(linear\): takes \(64,\), gets \(1, 8, 8\)"),
        ([FLATTEN, RELU, linear(63, 4)], r"layer 2 \(linear\): takes \(63,\), gets \(64,\)"),
        ([conv(2, 3, 3)], r"layer 0 \(conv2d\): takes 2 channels, gets \(1, 8, 8\)"),
        ([FLATTEN, conv(1, 3, 3)], r"layer 1 \(conv2d\): takes images, gets \(64,\)"),
        ([conv(1, 3, 11, 1, 1)], r"layer 0 \(conv2d\): has a kernel of 11, gets a side of only 10"),
        ([conv(1, 3, 3, 0)], r"layer 0 \(conv2d\): kernel and stride must be >= 1"),
        ([conv(1, 3, 3), pool(7)], r"layer 1 \(max_pool2d\): has a kernel of 7, gets a side of only 6"),
        ([FLATTEN, pool(2)], r"layer 1 \(max_pool2d\): takes images"),
        ([FLATTEN, LayerSpec("dropout2d", p=0.5)], r"layer 1 \(dropout2d\): takes images"),
        ([LayerSpec("dropout", p=1.0)], r"layer 0 \(dropout\): p must be in \[0, 1\), got 1"),
        ([LayerSpec("dropout", p=float("nan"))], r"layer 0 \(dropout\): p must be in \[0, 1\)"),
        ([LayerSpec("softplus")], "layers: unknown kind softplus"),
        ([conv(1, 4, 3)], r"layers: must end with a vector of logits, end with \(4, 6, 6\); add flatten"),
        ([FLATTEN], "layers: none of them has parameters"),
        ([], "layers: none of them has parameters"),
    ],
)
def test_layers_that_do_not_fit(layers: list[LayerSpec], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LocalTrainer(layers, X, LABELS, seed=5, batch_size=7)


VECTOR = r"expected float64 \(d,\) C-contiguous, got "


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"start": np.zeros(MLP.dim, np.float32)}, TypeError, f"start: {VECTOR}float32"),
        ({"start": np.zeros(MLP.dim - 1)}, TypeError, rf"start: expected length {MLP.dim}, got float64 \({MLP.dim - 1},\)"),
        ({"start": np.zeros((1, MLP.dim))}, TypeError, f"start: {VECTOR}"),
        ({"start": np.zeros(2 * MLP.dim)[::2]}, TypeError, f"start: {VECTOR}.*not C-contiguous"),
        ({"start": [0.0] * MLP.dim}, TypeError, f"start: {VECTOR}list"),
        ({"end": READ_ONLY}, TypeError, "end: expected a writeable array, got a read-only one"),
        ({"end": np.zeros(3)}, TypeError, f"end: expected length {MLP.dim}"),
        ({"first_gradient": READ_ONLY}, TypeError, "first_gradient: expected a writeable array"),
        ({"mean_gradient": np.zeros(3)}, TypeError, f"mean_gradient: expected length {MLP.dim}"),
        ({"full_gradient": np.zeros(MLP.dim, np.float32)}, TypeError, f"full_gradient: {VECTOR}float32"),
        ({"correction": np.zeros(3)}, TypeError, f"correction: expected length {MLP.dim}"),
        ({"shard": np.arange(5, dtype=np.int32)}, TypeError, "shard: expected int64"),
        ({"shard": np.arange(10)[::2]}, TypeError, "shard: expected int64.*not C-contiguous"),
        ({"shard": np.array([3, 53])}, IndexError, "shard: there are 53 examples, got row 53"),
        ({"shard": np.array([-1])}, IndexError, "shard: there are 53 examples, got row -1"),
        ({"shard": np.arange(0)}, IndexError, "shard: a client needs at least one example, got 0"),
    ],
)
def test_what_a_job_refuses(change: dict[str, Any], error: type[Exception], message: str) -> None:
    """Before any job of the wave starts."""
    y = np.zeros(MLP.dim)
    good, bad = (with_outputs(LocalJob(0, 0, 3, np.arange(5), Rule(y, 0.1), y)) for _ in range(2))
    with pytest.raises(error, match=message):
        MLP.trainer().train([good, changed(bad, **change)])
    assert np.isnan(good.end).all()


def test_what_other_calls_refuse() -> None:
    trainer, y = MLP.trainer(), MLP.start()
    with pytest.raises(TypeError, match=r"features: expected rows of 64, got float64 \(3, 63\)"):
        trainer.logits(y, X[:3].reshape(3, 64)[:, :63].copy(), 4)
    with pytest.raises(TypeError, match=r"out: expected shape \(3, 4\), got float64 \(3, 5\)"):
        trainer.logits(y, X[:3], 5)
    with pytest.raises(TypeError, match="features: expected float64"):
        trainer.logits(y, X[:3].astype(np.float32), 4)
    with pytest.raises(TypeError, match=f"x: expected rows of {MLP.dim}"):
        trainer.logits(y[:-1], X[:3], 4)
    with pytest.raises(TypeError, match=r"dlogits: expected shape \(0, 4\) of the last forward"):
        trainer.pullback(np.ones((3, 4)))
    with pytest.raises(RuntimeError, match="pullback: needs a forward before it"):
        trainer.pullback(np.ones((0, 4)))
    trainer.forward(y, X[:3], 4, None)
    with pytest.raises(TypeError, match=r"dlogits: expected shape \(3, 4\) of the last forward"):
        trainer.pullback(np.ones((2, 4)))
    with pytest.raises(ValueError, match=r"labels: must be in 0 .. 3, got 4"):
        score(np.zeros((1, 4)), np.array([4]))
    with pytest.raises(TypeError, match="logits: expected a row per label, 2"):
        score(np.zeros((1, 4)), np.array([1, 1]))
    with pytest.raises(ValueError, match="logits: expected at least one class, got none"):
        score(np.zeros((0, 0)), np.empty(0, np.int64))


def test_the_extension_refuses_what_is_no_array() -> None:
    """Also a text, whose first item is a text, and a list that holds itself."""
    itself: list[Any] = []
    itself.append(itself)
    for given in ("text", b"bytes", itself, [["a"]], {}, range(3)):
        with pytest.raises(TypeError, match=r"logits: expected float32 \(B, C\) C-contiguous, got"):
            _core.score(given, np.zeros(1, np.int64))  # type: ignore[arg-type]


# ---- many jobs as columns ----


def columns(**change: Any) -> JobColumns:
    """Two jobs of an MLP."""
    y = np.zeros(MLP.dim)
    fields: dict[str, Any] = {
        **{name: np.array([1, 0], np.int32) for name in ("client", "k", "steps")},
        "rules": [Rule(y, 0.1)],
        "rule": np.zeros(2, np.int64),
        "out": [np.full((2, MLP.dim), np.nan)],
        "matrix": np.zeros(2, np.int64),
        "row": np.array([1, 0]),
    }
    return JobColumns(**(fields | change))


ONE = np.zeros(1, np.int64)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"client": np.array([2, 0], np.int32)}, ValueError, r"client: must be in 0 .. 1, got 2"),
        ({"client": np.array([1, -1], np.int32)}, ValueError, r"client: must be in 0 .. 1, got -1"),
        ({"client": np.array([0, 1])}, TypeError, "client: expected int32"),
        ({"k": np.array([0, -1], np.int32)}, ValueError, "k: must be in"),
        ({"steps": np.array([-1, 1], np.int32)}, ValueError, "steps: must be in"),
        ({"rule": np.array([0, 1])}, ValueError, r"rule: must be in 0 .. 0, got 1"),
        ({"matrix": np.array([-1, 0])}, ValueError, r"matrix: must be in 0 .. 0, got -1"),
        ({"row": np.array([0, 2])}, ValueError, r"row: must be in 0 .. 1, got 2"),
        ({"row": np.array([1, 1])}, ValueError, "row: two jobs have the place 1 of matrix 0"),
        *(({name: ONE}, ValueError, f"{name}: expected 2 numbers, one per job, got 1") for name in ("rule", "matrix", "row")),
        ({"steps": ONE.astype(np.int32)}, ValueError, "steps: expected 2 numbers, one per job, got 1"),
        ({"rules": [(np.zeros(MLP.dim), 0.1)]}, AttributeError, "'tuple' object has no attribute"),
        ({"sends": "end"}, ValueError, "sends: expected delta, first_gradient or mean_gradient, got end"),
        ({"rules": [Rule(np.zeros(3), 0.1)]}, TypeError, f"start: expected length {MLP.dim}"),
        ({"rules": [Rule(np.zeros(MLP.dim), 0.1, correction=np.zeros(3))]}, TypeError, f"correction: expected length {MLP.dim}"),
        ({"rules": [Rule(np.zeros(MLP.dim), 0.1, anchor=np.zeros(3))]}, TypeError, f"anchor: expected length {MLP.dim}"),
        ({"out": [np.zeros((2, 3))]}, TypeError, f"out: expected rows of {MLP.dim}"),
        ({"out": [np.zeros((2, MLP.dim), np.float32)]}, TypeError, "out: expected float64"),
        ({"out": [np.zeros((4, MLP.dim))[::2]]}, TypeError, "out: expected float64.*not C-contiguous"),
        ({"out": [np.broadcast_to(np.zeros(MLP.dim), (1, MLP.dim))]}, TypeError, "out: expected a writeable array"),
    ],
)
def test_what_columns_refuse(change: dict[str, Any], error: type[Exception], message: str) -> None:
    """Before any job starts."""
    trainer = MLP.trainer()
    trainer.set_shards(np.arange(8), np.array([0, 2]), np.array([5, 6]))  # they overlap
    given = columns(**change)
    with pytest.raises(error, match=message):
        trainer.train_columns(given)
    if "out" not in change:
        assert np.isnan(given.out[0]).all()


@pytest.mark.parametrize(
    ("begin", "count", "message"),
    [
        ([0, 9], [5, 0], "client 1 must have some of the 8 rows, got 0 from 9 on"),
        ([0, 4], [5, 5], "client 1 must have some of the 8 rows, got 5 from 4 on"),
        ([-1], [2], "client 0 must have some of the 8 rows, got 2 from -1 on"),
        ([1], [-2], "client 0 must have some of the 8 rows, got -2 from 1 on"),
        ([1], [2**63 - 1], "client 0 must have some of the 8 rows"),
    ],
)
def test_shards_are_within_the_rows(begin: list[int], count: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MLP.trainer().set_shards(np.arange(8), np.array(begin), np.array(count))


def test_a_shard_that_is_empty_or_names_no_example() -> None:
    trainer = MLP.trainer()
    for rows, count, message in ((np.arange(8), 0, "a client needs at least one example"), (np.full(8, 53), 1, "got row 53")):
        trainer.set_shards(rows, np.array([0, 0]), np.array([1, count]))
        with pytest.raises(IndexError, match=message):
            trainer.train_columns(columns())
    trainer = MLP.trainer()  # that has no shards
    with pytest.raises(ValueError, match=r"client: must be in 0 .. -1, got 1"):
        trainer.train_columns(columns())
