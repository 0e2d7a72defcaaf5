"""The scales of features: a warning if they differ much, and the same scale for all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench.errors import shown
from fedbench.tasks.data import Dataset, Floats

FAR_APART = 1000.0
"""How many times as much as another one a feature may deviate before there is a warning. Local
steps of one size then move one weight and leave the other where it is."""
ROWS = 100_000  # at a time


def warnings(data: Dataset) -> tuple[str, ...]:
    """Returns a sentence if examples are single numbers side by side of very different scale."""
    if len(data.shape) != 1 or data.shape[0] < 2:
        return ()
    deviation = _moments(data.train.x)[1]
    varying = np.flatnonzero(deviation > 0)
    if len(varying) < 2:
        return ()
    low, high = (int(varying[pick(deviation[varying])]) for pick in (np.argmin, np.argmax))
    if deviation[high] <= FAR_APART * deviation[low]:
        return ()
    names = data.features if len(data.features) == data.shape[0] else tuple(f"number {i}" for i in range(data.shape[0]))
    return (
        f"features of very different scale: {shown(names[high], 60)} deviates by {deviation[high]:.3g}, {shown(names[low], 60)} by "
        f"{deviation[low]:.3g}; task.standardize: true gives all one scale",
    )


def standardized(data: Dataset) -> Dataset:
    """Returns the data set with features of mean 0 and deviation 1 over the training examples; a
    feature that is the same everywhere becomes 0. Of images, whose channels come first or last, a
    channel is one feature."""
    axis = _axis_of_features(data.shape)
    moved = np.moveaxis(data.train.x, axis, -1)
    mean, deviation = _moments(moved.reshape(-1, moved.shape[-1]))
    scale = np.where(deviation > 0, deviation, 1.0)
    shape = [1] * data.train.x.ndim
    shape[axis] = -1

    def changed(x: Floats) -> Floats:
        found = np.empty_like(x)
        for begin in range(0, len(x), ROWS):
            found[begin : begin + ROWS] = (x[begin : begin + ROWS] - mean.reshape(shape)) / scale.reshape(shape)
        return found

    return data.with_features(changed)


def _axis_of_features(shape: tuple[int, ...]) -> int:
    """Returns the axis of an array of examples of this shape along which features stand."""
    is_last = len(shape) == 3 and shape[2] in (1, 3, 4) and shape[0] not in (1, 3, 4)
    return 3 if is_last else 1


def _moments(x: Floats) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Returns means and deviations of the columns of x (n, f), in float64 and in two passes."""
    pieces = range(0, len(x), ROWS)
    mean = sum(x[begin : begin + ROWS].sum(axis=0, dtype=np.float64) for begin in pieces) / len(x)
    squares = sum(np.square(x[begin : begin + ROWS] - mean).sum(axis=0) for begin in pieces)
    return np.asarray(mean), np.sqrt(np.asarray(squares) / len(x))
