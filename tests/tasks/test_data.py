"""What Examples and Dataset refuse, and in which words; and a Task whose parts do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.model_library import make_model
from fedbench.tasks.task import Task


def examples(n: int = 4, *, at: dict[int, float] | None = None, labels: list[int] | None = None) -> Examples:
    x = np.arange(n * 3, dtype=np.float32).reshape(n, 3)
    for row, value in (at or {}).items():
        x[row, 1] = value
    return Examples(x, np.array([0, 1] * (n // 2) if labels is None else labels, np.int64))


def test_subset_keeps_order_and_layout() -> None:
    part = examples(6).subset(np.array([4, 0]))
    np.testing.assert_array_equal(part.x, [[12, 13, 14], [0, 1, 2]])
    np.testing.assert_array_equal(part.y, [0, 0])
    assert examples(6).subset(slice(1, None, 2)).x.flags.c_contiguous


def test_subset_and_split_keep_owners() -> None:
    some = Examples(examples(4).x, examples(4).y, np.array([7, 0, 7, 3]))
    part = some.subset(np.array([3, 0])).owner
    assert part is not None
    assert part.tolist() == [3, 7]
    data = Dataset("toy", some, examples(), 2).split(np.array([1]))
    assert data.train.owner is not None
    assert data.train.owner.tolist() == [7, 7, 3]


@pytest.mark.parametrize(
    ("owner", "message"),
    [
        (np.zeros(3, np.int64), r"owner must be \(4,\), one owner per row of x, got \(3,\)"),
        (np.zeros(4, np.int32), "owner must be int64 .* got int32"),
        (np.array([0, 1, -2, 0]), r"toy, train: owner\[2\] must be at least 0, got -2"),
    ],
)
def test_owners_are_numbers_from_0(owner: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Dataset("toy", Examples(examples().x, examples().y, owner), examples(), 2)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (np.zeros((2, 3)), np.zeros(2, np.int64), r"x must be float32 and C-contiguous, got float64 \(2, 3\)"),
        (np.zeros((3, 2), np.float32).T, np.zeros(2, np.int64), r"\(2, 3\), not C-contiguous"),
        (np.zeros((2, 3), np.float32), np.zeros(2, np.int32), r"y must be int64 .* got int32"),
        (np.zeros((2, 3), np.float32), np.zeros(5, np.int64), r"y must be \(2,\), one label per row .* got \(5,\)"),
        (np.zeros(2, np.float32), np.zeros(2, np.int64), r"x must be \(n, features, \.\.\), got \(2,\)"),
        ([[1.0]], np.zeros(1, np.int64), "x must be a numpy array, got list"),
    ],
)
def test_examples_refuse(x: Any, y: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Examples(x, y)


@pytest.mark.parametrize(
    ("train", "test", "classes", "message"),
    [
        (examples(4, at={2: np.nan}), examples(), 2, r"data set toy, train: x\[2\] is not finite \(nan\); remove"),
        (examples(), examples(4, at={3: -np.inf}), 2, r"data set toy, test: x\[3\] is not finite \(-inf\)"),
        (examples(4, labels=[0, 1, 2, 0]), examples(), 2, r"toy, train: y\[2\] must be in 0 \.\. 1, got 2"),
        (examples(4, labels=[0, -1, 0, 0]), examples(), 2, r"toy, train: y\[1\] must be in 0 \.\. 1, got -1"),
        (examples(), examples().subset(slice(0, 0)), 2, "toy, test: has no examples"),
        (examples(), examples(), 1, "classes must be >= 2, got 1"),
        (examples(), Examples(np.zeros((1, 4), np.float32), np.zeros(1, np.int64)), 2, r"\(3,\) in train, \(4,\) in test"),
    ],
)
def test_dataset_refuses(train: Examples, test: Examples, classes: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Dataset("toy", train, test, classes)


def test_task_refuses_a_model_for_other_data() -> None:
    data = Dataset("toy", examples(), examples(), 2)
    assert Task("toy", make_model("mlp", (3,), 2), data).spec() == {"name": "toy", "model": "mlp"}
    with pytest.raises(UsageError, match=r"task toy: the model must take examples of shape \(3,\) .* softmax has \(4,\)"):
        Task("toy", make_model("softmax", (4,), 2), data)
    with pytest.raises(UsageError, match=r"must give logits of shape \(2,\) .* softmax has \(5,\)"):
        Task("toy", make_model("softmax", (3,), 5), data)
