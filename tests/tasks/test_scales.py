"""One scale for all features, by the training examples alone."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.tasks import scales
from fedbench.tasks.data import Dataset, Examples


def data(x: object, features: tuple[str, ...] = ()) -> Dataset:
    rows = np.asarray(x, np.float32)
    y = np.arange(len(rows)) % 2
    return Dataset("mine", Examples(rows, y), Examples(rows[:2] + 1, y[:2]), 2, owners=3, features=features)


def test_mean_and_deviation_by_hand() -> None:
    """Means 3 and 7, deviations 1 and 0: the constant feature becomes 0, and what a test example
    has more than it stays."""
    found = scales.standardized(data([[2, 7], [4, 7], [2, 7], [4, 7]], ("a", "b")))
    assert found.train.x.tolist() == [[-1, 0], [1, 0], [-1, 0], [1, 0]]
    assert found.test.x.tolist() == [[0, 1], [2, 1]]
    assert (found.owners, found.features) == (3, ("a", "b"))


@pytest.mark.parametrize(("shape", "axis"), [((3, 8, 8), 1), ((8, 8, 3), 3), ((1, 3, 3), 1), ((8, 8), 1), ((5,), 1)])
def test_a_channel_of_images_is_one_feature(shape: tuple[int, ...], axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scales, "ROWS", 3)
    x = np.random.default_rng(0).normal(5, 2, (20, *shape))
    found = scales.standardized(data(x)).train.x
    others = tuple(i for i in range(found.ndim) if i != axis)
    assert np.allclose(found.mean(axis=others), 0, atol=1e-5)
    assert np.allclose(found.std(axis=others), 1, atol=1e-4)


def test_features_of_very_different_scale_are_named() -> None:
    x = np.random.default_rng(0).normal(0, 1, (100, 3)) * [1, 5000, 0]
    (warning,) = scales.warnings(data(x, ("age", "in\ncome", "none")))
    assert warning.startswith("features of very different scale: in\\ncome deviates by 5")
    assert "task.standardize: true" in warning
    assert scales.warnings(data(x)) != ()
    for calm in (x / [1, 5000, 1], x[:, :1], x[:, 2:], x[:, :, None]):
        assert scales.warnings(data(calm)) == ()
    assert scales.warnings(scales.standardized(data(x))) == ()
