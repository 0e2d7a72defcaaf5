"""The mean of the clients' logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from fedbench.kernels import TeacherMean, softmax
from tests.kernels import reference

DTYPES = [np.float32, np.float64]
KINDS = ["logits", "probabilities"]


def logits(seed: int, dtype: Any) -> npt.NDArray[Any]:
    return (np.random.default_rng(seed).standard_normal((6, 5)) * 3).astype(dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_teacher_mean_follows_replacements(dtype: Any, kind: Any) -> None:
    table, newest = TeacherMean(6, 5, dtype, kind), {}
    for turn in range(60):
        client = turn * 7 % 11
        newest[client] = logits(turn, dtype)
        table.replace(client, newest[client])
        store = [z if kind == "logits" else softmax(z) for z in newest.values()]
        want = reference.teacher_mean(list(store), [4, 0, 4])
        assert np.abs(table.mean([4, 0, 4]) - want).max() <= (1e-6 if dtype == np.float32 else 1e-12)
        assert table.count == len(newest)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_teacher_mean_is_restored_with_every_bit(dtype: Any, kind: Any) -> None:
    """Also after more replacements, and whether or not anybody has logits; the logits themselves
    are kept, whatever is averaged."""
    table = TeacherMean(6, 5, dtype, kind)
    assert TeacherMean.restore(table.snapshot()).count == 0
    for turn in range(9):
        table.replace(turn % 4, logits(turn, dtype))
    again = TeacherMean.restore(table.snapshot())
    for each in (table, again):
        each.replace(2, logits(99, dtype))
    assert again.mean().tobytes() == table.mean().tobytes()
    assert again.kind == kind
    assert again.bytes == table.bytes == 4 * 6 * 5 * np.dtype(dtype).itemsize
    assert np.array_equal(again.stored(3), logits(7, dtype))  # type: ignore[arg-type]
    assert again.stored(4) is None


REFUSED: list[tuple[type[Exception], str, Callable[[], Any]]] = [
    (ValueError, "at least one client with logits", lambda: TeacherMean(3, 4).mean()),
    (
        TypeError,
        r"logits: expected float32 \(3, 4\) C-contiguous, got float64",
        lambda: TeacherMean(3, 4).replace(0, np.ones((3, 4))),
    ),
    (ValueError, "logits: expected finite", lambda: TeacherMean(3, 4).replace(0, np.full((3, 4), np.nan, np.float32))),
    (ValueError, "rows: must be a whole number", lambda: TeacherMean(0, 4)),
    (ValueError, "kind: expected", lambda: TeacherMean(1, 4, kind="odds")),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("error", "message", "call"), REFUSED, ids=range(len(REFUSED)))
def test_refused(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=message):
        call()
