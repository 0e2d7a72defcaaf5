"""Tasks that are given in Python: arrays or data sets of torch, and a model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench import own_models
from fedbench.errors import MissingDataError, UsageError
from fedbench.tasks.data import Dataset, Examples
from fedbench.types import Array

PREFIX = "given:"
"""How the name of such a task begins; the sum of its examples follows."""
LARGEST_LABEL = 100_000
_HELD: dict[str, Dataset] = {}  # by name: the examples that were given in this process


@dataclass(frozen=True, init=False, eq=False)
class Task:
    """Examples and a model that are given in Python, in the place of a scenario's task.

    A record has the sum of the examples, and the name and the sum of the code of a model. To verify
    it later, make a Task of the same arrays first.

    Parameters
    ----------
    train, test : tuple of arrays, or a data set of torch
        Features (n, ..), labels (n,) from 0 and, in `train`, owners (n,) from 0 if the data have
        some. A data set of torch gives pairs of features and a label. Features become float32.
    model : str or callable
        A name of the library, ``path/to/mynet.py:Net``, or a class or function in a file that makes
        a torch.nn.Module.
    classes : int, optional
        The number of classes. Default: one more than the largest label.

    Attributes
    ----------
    name : str
        The task's name in records, ``given:`` and the sum of the examples.
    model : str
        The model's name in records.

    Raises
    ------
    UsageError
        The arrays do not fit together, or the model is in no file.

    Examples
    --------
    >>> import fedbench as fb
    >>> import numpy as np
    >>> x, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 2
    >>> task = fb.Task((x[:150], y[:150]), (x[150:], y[150:]), model="softmax")
    >>> small = ["clients=4", "budget.seconds=1", "partition.kind=iid", "public=null"]
    >>> records = fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=small, task=task)
    >>> records[0].state
    'finished'
    """

    name: str
    model: str

    def __init__(
        self, train: object, test: object, model: str | Callable[..., object] = "softmax", classes: int | None = None
    ) -> None:
        parts = _examples("train", train), _examples("test", test)
        most = max(int(part.y.max(initial=0)) for part in parts) + 1 if classes is None else classes
        if classes is None:
            _check_known(*parts)
        owners = 0 if parts[0].owner is None else int(parts[0].owner.max(initial=-1)) + 1
        name = f"{PREFIX}{_sum(parts, most)}"
        data = Dataset("given", *parts, classes=max(most, 2), owners=owners)
        data.check_apart("task test")
        _HELD[name] = data
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "model", model if isinstance(model, str) else own_models.given(model).selector)

    @property
    def setting(self) -> str:
        """The setting that makes a scenario one of this task."""
        return f"task={json.dumps({'name': self.name, 'model': self.model})}"


def is_given(name: str) -> bool:
    """Returns whether the name of a task is that of one that was given in Python."""
    return name.startswith(PREFIX)


def dataset(name: str) -> Dataset:
    """Returns the examples of a task. MissingDataError unless they were given in this process."""
    if name not in _HELD:
        raise MissingDataError(
            f"task {name[: len(PREFIX) + 16]}..: its examples were given in Python, and only their sum is known here; make "
            "fedbench.Task of the same arrays first"
        )
    return _HELD[name]


def held(name: str) -> dict[str, Dataset]:
    """Returns the examples of a task, by name, that another process needs too; empty for a task
    that was not given in Python."""
    return {name: _HELD[name]} if name in _HELD else {}


def remember(several: Mapping[str, Dataset]) -> None:
    """Takes over what another process was given."""
    _HELD.update(several)


def _sum(parts: Iterable[Examples], classes: int) -> str:
    digest = hashlib.sha256(f"{classes}".encode())
    for part in parts:
        arrays: list[Array] = [part.x, part.y, *([] if part.owner is None else [part.owner])]
        for array in arrays:
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(array.tobytes())
    return digest.hexdigest()


def _examples(what: str, found: Any) -> Examples:
    """Returns arrays, or what a data set of torch gives, as examples."""
    columns = found if isinstance(found, tuple) else _columns(what, found)
    if len(columns) not in (2, 3):
        raise UsageError(f"task {what}: expected (features, labels) or (features, labels, owners), got {len(columns)} arrays")
    try:
        x = np.ascontiguousarray(np.asarray(columns[0]), np.float32)
    except (TypeError, ValueError) as error:
        raise UsageError(f"task {what}: features must be numbers of one shape: {error}") from None
    whole = [_whole(f"task {what}: {name}", one) for name, one in zip(("labels", "owners"), columns[1:], strict=False)]
    if whole[0].size and not 0 <= whole[0].min() <= whole[0].max() < LARGEST_LABEL:
        raise UsageError(f"task {what}: labels must be from 0 to {LARGEST_LABEL - 1}, got {whole[0].min()} to {whole[0].max()}")
    return Examples(x, whole[0], whole[1] if len(whole) > 1 else None)


def _check_known(train: Examples, test: Examples) -> None:
    """Raises UsageError for a test label that no training example has."""
    unknown = np.setdiff1d(test.y, train.y)
    if unknown.size and train.y.size:
        raise UsageError(
            f"task test: label {unknown[0]} is that of no training example; if that is meant, say how many classes there are, such as "
            f"classes={int(max(train.y.max(initial=0), test.y.max())) + 1}"
        )


def _columns(what: str, found: Any) -> tuple[object, ...]:
    if not (hasattr(found, "__len__") and hasattr(found, "__getitem__")) or isinstance(found, np.ndarray | str | dict):
        raise UsageError(f"task {what}: expected arrays (features, labels), or a data set of torch, got {type(found).__name__}")
    pairs = [found[i] for i in range(len(found))]
    if wrong := [i for i, pair in enumerate(pairs) if not isinstance(pair, tuple | list) or len(pair) != 2]:
        raise UsageError(f"task {what}: example {wrong[0]} must be a pair of features and a label, got {pairs[wrong[0]]!r:.80}")
    return [np.asarray(x) for x, _ in pairs], [np.asarray(y) for _, y in pairs]


def _whole(what: str, column: Any) -> npt.NDArray[np.int64]:
    try:
        array = np.asarray(column)
    except ValueError as error:
        raise UsageError(f"{what} must be whole numbers: {error}") from None
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise UsageError(f"{what} must be whole numbers (n,), got {array.dtype} {array.shape}")
    return np.ascontiguousarray(array, np.int64)
