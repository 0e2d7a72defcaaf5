"""What the front doors say, word by word, where the random tests of tests/properties only ask for
words; and the smallest inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fedbench import kernels as k
from fedbench.errors import UsageError
from fedbench.kernels.scheduler import Duration, LocalSteps, Scheduler, Timing
from fedbench.tables import ClientTable
from fedbench.types import Dispatch, Poll, Rounds, Stream

Array = npt.NDArray[Any]
V = np.ones((3, 4), np.float32)
X, M, S = (np.ones(4, np.float32) for _ in range(3))
T = ClientTable(3, np.zeros(4, np.float32))
RULE = k.AdamRule(0.1)


def unaligned() -> Array:
    return np.frombuffer(bytearray(17), np.float32, 4, offset=1)


REFUSED: list[tuple[str, Callable[[], Any]]] = [
    ("vectors: expected a (K, d) array or a sequence of K vectors, got int", lambda: k.mean(3)),
    ("vectors: expected a (K, d) array or a sequence of K vectors, got str", lambda: k.mean("abc")),
    ("vectors: expected float32 or float64 (K, d) C-contiguous, got float64 ()", lambda: k.mean(np.array(1.0))),
    ("vectors[0]: expected float32 or float64 (d,) C-contiguous, got list", lambda: k.mean([[1.0, 2.0]])),
    ("vectors: expected float32 or float64 (K, d) C-contiguous, got MaskedArray float32 (3, 4)", lambda: k.mean(np.ma.array(V))),
    ("vectors: expected float32 or float64 (K, d) C-contiguous, got matrix float32 (3, 4)", lambda: k.mean(V.view(np.matrix))),
    ("vectors: expected float32 or float64 (K, d) C-contiguous, got >f4 (3, 4)", lambda: k.mean(V.astype(">f4"))),
    ("weights: expected float64 (K,) C-contiguous, got float32 (3,)", lambda: k.weighted_sum(np.ones(3, np.float32), V)),
    ("weights[1]: expected a number, got str", lambda: k.weighted_sum([1, "1", 1], V)),
    ("weights: expected float64 (K,) C-contiguous, got NoneType", lambda: k.weighted_sum(None, V)),
    ("out: must not overlap the weights", lambda: k.weighted_sum(W, np.ones((3, 3)), out=W)),
    ("a: expected float32 or float64 (d,) C-contiguous, got float32 (4,) not aligned", lambda: k.norm(unaligned())),
    ("b: expected float32 (d,) C-contiguous, got MaskedArray float32 (4,)", lambda: k.dot(X, np.ma.array(X))),
    ("dot: expected vectors of one length, got 4 and 0", lambda: k.dot(X, X[:0])),
    ("delta: expected length 4, got float32 (0,)", lambda: k.movement(X, X, X[:0])),
    ("clients: expected integers (n,), got float64 (1,)", lambda: k.newest_mean(T, np.ones(1), V[:1], divisor=3)),
    ("divisor: must be a whole number between 1 and 9223372036854775807, got 0", lambda: k.newest_mean(T, [0], V[:1], divisor=0)),
    ("rate: expected a number, got str", lambda: k.clip_sgd(X, M, "1")),
    ("rate: must be finite, got nan", lambda: k.clip_sgd(X, M, math.nan)),
    ("clip: expected a number, got list", lambda: k.clip_sgd(X, M, 1, [1])),
    ("rate: must be finite, got inf", lambda: k.AdamRule(math.inf)),
    ("beta1: must be >= 0 and < 1, got 1", lambda: k.AdamRule(0.1, beta1=1)),
    ("epsilon: must be finite and >= 0, got -1", lambda: k.AdamRule(0.1, epsilon=-1)),
    ("step: expected a whole number, got float", lambda: k.AdamRule(0.1, step=1.0)),
    ("v: expected float32 (d,) C-contiguous, got matrix float32 (1, 4)", lambda: k.clip_adam(X, M, S.view(np.matrix), V[0], RULE)),
    ("alpha_max: must be finite, got nan", lambda: k.distill(V, V, 0, math.nan)),
    ("logits: expected float32 or float64 (B, C) C-contiguous, got list", lambda: k.softmax([[1.0, 2.0]])),
    ("dtype: expected float32 or float64, got int64", lambda: k.TeacherMean(3, 4, np.int64)),
    ("client: expected a whole number, got str", lambda: k.TeacherMean(3, 4).replace("0", V)),
    ("logits: expected float32 (3, 4) C-contiguous, got float32 (3, 4) not C-contiguous", lambda: filled(np.asfortranarray(V))),
    ("batch: expected integers (n,), got float64 (1,)", lambda: filled(V).mean([0.5])),
    ("batch: expected rows 0 .. 2, got 3", lambda: filled(V).mean([0, 3])),
    ("batch: expected rows 0 .. 2, got -1", lambda: filled(V).mean(np.array([-1]))),
    ("tau: expected numbers, got <U1 ()", lambda: k.staleness_weight("poly", "3")),
    ("tau: expected finite values >= 0, got [-1]", lambda: k.staleness_weight("poly", [-1])),
    ("a: must be finite and >= 0, got nan", lambda: k.staleness_weight("poly", 1, a=math.nan)),
    ("steps: must be a whole number between 1 and 2147483647, got 0", lambda: k.steps_by_speed(W, 0)),
    ("steps: expected a whole number, got float", lambda: k.steps_by_speed(W, 2.0)),
    ("step_seconds: expected float64 (N,) C-contiguous, got list", lambda: k.steps_by_speed([1.0, 2.0], 4)),
    ("step_seconds: expected float64 (N,) C-contiguous, got float64 (3, 1)", lambda: k.steps_by_speed(W[:, None], 4)),
    ("step_seconds: expected finite values > 0, got [1.0, 0.0]", lambda: k.steps_by_speed(np.array([1.0, 0.0]), 4)),
    ("step_seconds: expected finite values > 0, got [inf, 1.0]", lambda: k.steps_by_speed(np.array([math.inf, 1.0]), 4)),
    ("step_seconds: expected finite values > 0, got []", lambda: k.steps_by_speed(W[:0], 4)),
]  # fmt: skip
W = np.ones(3)


def filled(logits: Array) -> k.TeacherMean:
    table = k.TeacherMean(3, 4)
    table.replace(0, logits)
    return table


MASKED = np.ma.ones(3)


@pytest.mark.parametrize(("message", "call"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(message: str, call: Callable[[], Any]) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        call()
    assert str(caught.value) == message
    assert all(array.tolist() == [1] * len(array) for array in (X, M, S, W))


THREE = {"clients": 3, "compute": Duration.constant(1.0)}
TIMES: list[tuple[str, dict[str, Any], Dispatch]] = [
    ("clients: must be a whole number between 0 and 2147483647, got 2147483648", {"clients": 1 << 31}, Rounds()),
    ("clients: expected a whole number, got bool", {"clients": True}, Rounds()),
    ("seed: must be a whole number between 0 and 18446744073709551615, got -1", {"seed": -1}, Rounds()),
    ("start_seconds: must be between 0 and 1e9 seconds, got nan", {"start_seconds": math.nan}, Rounds()),
    ("start_seconds: must be between 0 and 1e9 seconds, got inf", {"start_seconds": math.inf}, Rounds()),
    ("budget.seconds: expected a number, got str", {"max_seconds": "9"}, Rounds()),
    ("compute: a: expected a number, or float64 (N,), got float32 (3,)", {"compute": Duration.constant(np.ones(3, np.float32))}, Rounds()),
    ("compute: a: expected a number, or float64 (N,), got MaskedArray float64 (3,)", {"compute": Duration.constant(MASKED)}, Rounds()),
    ("compute: b: must be finite, got inf (client 0)", {"compute": Duration.lognormal(0, math.inf)}, Rounds()),
    ("compute[1][0]: expected a number, got str", {"compute": Duration.table([[1], ["1"], [1]])}, Rounds()),
    ("steps: expected (mean, variance), got float", {"steps": LocalSteps(normal=1.0)}, Rounds()),
    ("steps[0][0]: expected a whole number, got float", {"steps": LocalSteps(rows=[[1.5]] * 3)}, Rounds()),
    ("stream: concurrency: expected a whole number, got float", {}, Stream(concurrency=1.5)),
    ("poll: period_seconds: expected a number, got NoneType", {}, Poll(period_seconds=None, max_steps=1)),
    ("poll: max_steps: expected a whole number, got NoneType", {}, Poll(period_seconds=1.0)),
]  # fmt: skip


@pytest.mark.parametrize(("message", "changes", "dispatch"), TIMES, ids=[row[0] for row in TIMES])
def test_the_scheduler_refuses(message: str, changes: dict[str, Any], dispatch: Dispatch) -> None:
    with pytest.raises(UsageError) as caught:
        Scheduler(Timing(**(THREE | changes)), dispatch)
    assert str(caught.value) == message


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_vectors_without_elements(dtype: Any) -> None:
    empty = np.ones((2, 0), dtype)
    assert k.weighted_sum([1, 2], empty).shape == (0,)
    assert k.mean(list(empty)).dtype == dtype
    assert (k.dot(empty[0], empty[1]), k.norm(empty[0]), k.movement(empty[0], empty[0], empty[1])) == (0, 0, (0, 0, 0, 0))
    x, m, v, vhat = (np.ones(0, dtype) for _ in range(4))
    assert k.clip_sgd(x, empty[0], 0.1, 1.0) == (0, 1)
    k.adaptive_step(x, m, v, vhat, empty[0], RULE)
    k.sum_adaptive_step(x, m, v, vhat, [1, 2], empty, RULE)
    assert k.staleness_weight("poly", []).shape == (0,)


@pytest.mark.parametrize(
    "value", [10**5000, [1.5] * 100, np.ma.ones(300), "long" * 99], ids=["integer", "list", "masked array", "text"]
)
def test_a_message_is_one_short_line(value: Any) -> None:
    for changes in ({"clients": value}, {"steps": LocalSteps(values=value)}, {"compute": Duration(kind=value)}):
        with pytest.raises(UsageError) as caught:
            Scheduler(Timing(**(THREE | changes)), Rounds())
        assert len(str(caught.value)) < 200
        assert "\n" not in str(caught.value)
