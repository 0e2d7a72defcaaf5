"""a9a, the Adult census data with binary features: 32,561 train and 16,281 test rows of 123
features, two classes.

The files a9a and a9a.t, in LIBSVM's text format, are looked for in $FEDBENCH_DATA/a9a
(~/.cache/fedbench/a9a if the variable is not set). They are fetched there only if
FEDBENCH_DOWNLOAD=1. Labels -1 and +1 become 0 and 1, rows are made dense.

LIBSVM's page publishes no sums of the files. What is known of the true ones is checked instead: the
number of rows and of features, which that page states, and how many rows are +1, which are the
incomes above 50,000: 7,841 and 3,846 (UCI, "Adult": 24.08 % and 23.62 % of the same rows).

Source: Platt 1998, "Fast training of support vector machines using sequential minimal optimization"
(the features); Kohavi and Becker, UCI "Adult";
https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html#a9a.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedbench.errors import MissingDataError, RecordError, one_line
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.decoded import kept
from fedbench.tasks.files import Published
from fedbench.tasks.task import Task

FEATURES, CLASSES = 123, 2
A9A = Published(
    name="a9a",
    folder="a9a",
    page="https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html#a9a",
    md5={"a9a": None, "a9a.t": None},
)
URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
Counts = Mapping[str, tuple[int, int]]
COUNTS: Counts = {"a9a": (32_561, 7_841), "a9a.t": (16_281, 3_846)}
"""The number of rows, and of rows labelled +1, in each file."""


def load(model: str = "softmax") -> Task:
    """a9a (Adult): 32,561 train and 16,281 test rows of 123 binary features in two classes."""
    return Task.of(dataset(), model)


def dataset(counts: Counts = COUNTS, root: Path | None = None) -> Dataset:
    """Returns the data set, with features float32 (n, 123), 24 MB in all.

    `counts` are the numbers that must be found. `root` replaces the data root, and then nothing is
    fetched. The errors are those of cifar.dataset.
    """
    files = A9A.located(root, _download)

    def decoded() -> Dataset:
        train, test = (_examples(files[name], *counts[name]) for name in ("a9a", "a9a.t"))
        return Dataset(A9A.name, train, test, CLASSES)

    return decoded() if root else kept(A9A.name, files.values(), counts, decoded)


def _examples(path: Path, rows: int, positive: int) -> Examples:
    x, y = _parsed(A9A.read(path), path)
    if not np.isin(y, (-1, 1)).all():
        raise RecordError(f"{path}: labels must be -1 or +1, got {', '.join(f'{label:g}' for label in np.unique(y)[:5])}")
    found = (len(y), int((y == 1).sum()))
    if found != (rows, positive):
        raise RecordError(
            f"{path}: must have {rows} rows, {positive} of them +1, got {found[0]} and {found[1]}; fetch it again from {A9A.page}"
        )
    return Examples(x, (y == 1).astype(np.int64))


def _parsed(content: bytes, path: Path) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64]]:
    """Returns the features (n, FEATURES) and the labels (n,) of lines `label index:value ..`, whose
    indices count from 1. Empty lines are skipped."""
    rows = [line.split() for line in content.splitlines() if line.strip()]
    x, y = np.zeros((len(rows), FEATURES), np.float32), np.zeros(len(rows))
    for number, (label, *pairs) in enumerate(rows):
        try:
            y[number] = float(label)
            for index, _, value in (pair.partition(b":") for pair in pairs):
                place = int(index)
                if not 1 <= place <= FEATURES:
                    raise ValueError(f"feature {place}")
                x[number, place - 1] = float(value)
        except ValueError as error:
            raise RecordError(
                f"{path}: not in LIBSVM's text format with features 1 .. {FEATURES} (row {number}: {one_line(error)})"
            ) from error
    return x, y


def _download(root: Path) -> None:
    """Fetches both files. A file gets its name only when it is whole."""
    import urllib.request  # every command would wait for it

    (root / A9A.folder).mkdir(parents=True, exist_ok=True)
    for name in A9A.md5:
        partial = root / A9A.folder / f"{name}.partial"
        try:
            urllib.request.urlretrieve(f"{URL}{name}", partial)
            partial.replace(partial.with_name(name))
        except OSError as error:
            raise MissingDataError(
                f"data set {A9A.name}: {URL}{name} could not be fetched into {partial.parent} ({error})"
            ) from error
