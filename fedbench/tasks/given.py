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
from fedbench.errors import MissingDataError, UsageError, one_line
from fedbench.kernels.checks import is_whole
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
        The number of classes, from 2. Default: one more than the largest label.

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
        if classes is None:
            _check_known(*parts)
            classes = max(int(part.y.max()) for part in parts) + 1
        elif not (is_whole(classes) and 2 <= classes <= LARGEST_LABEL):
            raise UsageError(f"task classes: expected a whole number from 2 to {LARGEST_LABEL}, got {classes!r:.60}")
        owners = 0 if parts[0].owner is None else len(np.unique(parts[0].owner))
        name = f"{PREFIX}{_sum(parts, classes)}"
        data = Dataset("given", *parts, classes=int(classes), owners=owners)
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
    x = _array(f"task {what}: features", columns[0])
    if x.dtype.kind not in "iubf":
        raise UsageError(f"task {what}: features must be numbers, got {x.dtype}; make numbers of them first")
    if not len(x):
        raise UsageError(f"task {what}: has no examples; a task needs at least one in train and in test")
    with np.errstate(over="ignore"):  # what is too large becomes infinite, which Dataset refuses
        x = np.ascontiguousarray(x, np.float32)
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
    return [_array(f"task {what}: features", x) for x, _ in pairs], [_array(f"task {what}: labels", y) for _, y in pairs]


def _array(what: str, column: Any) -> Array:
    """Returns a column as an array. UsageError for what numpy makes none of, and for values that
    are masked, since an array has them all."""
    if np.ma.is_masked(column):
        raise UsageError(
            f"{what}: {int(np.ma.getmaskarray(column).sum()):,} values are masked; remove these examples or fill them in"
        )
    try:
        return np.asarray(column)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor with a gradient
        raise UsageError(f"{what} must be numbers of one shape: {one_line(error)}") from None


def _whole(what: str, column: Any) -> npt.NDArray[np.int64]:
    array = _array(what, column)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise UsageError(f"{what} must be whole numbers (n,), got {array.dtype} {array.shape}")
    return np.ascontiguousarray(array, np.int64)
