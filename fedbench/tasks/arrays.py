"""Tasks of a user's own data: a data set with columns of features, a column of labels and, if there
is one, a column that says who owns an example.

A data set is a file or a folder of a kind that `own_files` knows. Numbers are used as they are, as
float32, unless the source asks to standardise them; images are numbers from 0 to 1. Labels and
owners are whole numbers or texts, which are sorted and then numbered from 0. Nothing that a file
holds is executed, and it is read by another process in bounded memory and time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from fedbench import own_files, places
from fedbench.errors import UsageError, shown
from fedbench.kernels.random import draw_share_of_every_class
from fedbench.tasks import scales
from fedbench.tasks.data import Dataset, Examples
from fedbench.tasks.decoded import kept
from fedbench.tasks.model_library import architecture
from fedbench.tasks.own.bounded import parts, read
from fedbench.tasks.own.choice import Wanted
from fedbench.tasks.own.columns import Key
from fedbench.tasks.own.reading import Keys, Read
from fedbench.tasks.task import Task
from fedbench.tasks.tensors import Shape

Rows = npt.NDArray[np.int64]
TEST_SHARE = 0.2
DECODED = ("images", "archive")
"""Kinds of data sets that are decoded once and then kept in the cache."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """The files and columns of a task.

    `label` and `client` name the columns of labels and of owners. If labels are `real`, they are
    numbers to predict, and no classes. `features` names the columns that
    make an example; if it is empty, they are all others. One column may have any shape (n, ..);
    several are joined to (n, f). `test` is a second file; without one, and if the file has no part
    for testing itself, `test_share` of the examples of every class is for testing, the same for
    every seed, or of every owner, to whom at least one example is left (`test_within`). With
    `standardize` every feature gets mean 0 and deviation 1 over the training examples. `sha256` has
    the sums of file and test, as own_files.sha256 computes them.
    """

    name: str
    file: str
    label: str
    real: bool = False
    client: str | None = None
    features: tuple[str, ...] = ()
    test: str | None = None
    test_share: float = TEST_SHARE
    test_within: Literal["class", "owner"] = "class"
    standardize: bool = False
    sha256: tuple[str, ...] = ()


def load(source: Source, model: str = "softmax") -> Task:
    """Returns the task of a source, whose images have the axes that the model asks for.
    MissingDataError if a file is missing; UsageError, which names file and column, if its sum is
    another one, or it is no table of numbers with labels."""
    data = of_shape(dataset(source), architecture(model).shape)
    task = Task.of(data, model)
    warnings = () if source.standardize else scales.warnings(data)
    return dataclasses.replace(task, warnings=warnings)


def dataset(source: Source) -> Dataset:
    """Returns the data set of a source. The errors are those of `load`."""
    named = [(key, file) for key, file in (("task.file", source.file), ("task.test", source.test)) if file is not None]
    if source.sha256:
        files = [_with_sum(places.found_again(file, key), of) for (key, file), of in zip(named, source.sha256, strict=True)]
    else:
        files = [places.found(file, key) for key, file in named]
    if own_files.kind_of(files[0]) not in DECODED:
        return _read(source, files)
    sums = source.sha256 or tuple(map(own_files.sha256, files))
    nameless = dataclasses.replace(source, file="", test=None, sha256=())
    return kept(f"own-{sums[0][:16]}", (), (nameless, sums), lambda: _read(source, files))


def _with_sum(files: Sequence[Path], expected: str) -> Path:
    """Returns the file with this sum. UsageError, which names the first, if none has it."""
    sums = {}
    for file in files:
        sums[file] = own_files.sha256(file)
        if sums[file] == expected:
            return file
    raise UsageError(
        f"task file {shown(files[0])}: its sha256 must be {expected[:16]}.., got {sums[files[0]][:16]}..: it is another one"
    )


def _read(source: Source, files: Sequence[Path]) -> Dataset:
    wanted = Wanted(source.label, source.client, source.features, real=source.real)
    train = read(files[0], "train", wanted)
    classes, owners = len(train.labels.values), 0 if train.owners is None else len(train.owners.values)
    examples = Examples(train.x, train.labels.codes, None if train.owners is None else train.owners.codes, train.numbers)
    second = _test_part(source, files)
    if second is None:
        whole = Dataset(source.name, examples, examples, classes, owners=owners, features=train.features)
        data = whole.split(_test_rows(examples, source))
    else:
        test = read(*second, dataclasses.replace(wanted, exact=train.features))
        _check_shapes(train, test, second[0])
        held = Examples(test.x, _known(test.labels, train.labels.values, source, second[0]), numbers=test.numbers)
        data = Dataset(source.name, examples, held, classes, owners=owners, features=train.features)
        data.check_apart(f"task file {shown(second[0])}" + ", test" * (len(files) < 2))
    return scales.standardized(data) if source.standardize else data


def _test_part(source: Source, files: Sequence[Path]) -> tuple[Path, str] | None:
    """Returns the data set of the test examples and which part of it they are; None if they are
    held out of the training examples."""
    if len(files) > 1:
        second = files[1], "test" if "test" in parts(files[1]) else "train"
        _check_apart(own_files.files_of(files[0], "train"), own_files.files_of(*second))
        return second
    if "test" not in parts(files[0]):
        return None
    if source.test_within != "class" or source.test_share != TEST_SHARE:
        raise UsageError(
            f"task file {shown(files[0])}: has a part for testing, so task.test and task.test_share must be left out"
        )
    return files[0], "test"


def _check_apart(train: Sequence[Path], test: Sequence[Path]) -> None:
    known = {file.resolve() for file in train}
    for file in test:
        if file.resolve() in known:
            raise UsageError(
                f"task.test: {shown(file)} is a file of the training data too; move it out of their folder, or leave task.test out"
            )


def _check_shapes(train: Read, test: Read, file: Path) -> None:
    if train.x.shape[1:] != test.x.shape[1:]:
        raise UsageError(
            f"task file {shown(file)}: its examples have shape {test.x.shape[1:]}, those of the training file {train.x.shape[1:]}; prepare "
            "both alike"
        )


def _known(labels: Keys, known: Sequence[Key], source: Source, file: Path) -> Rows:
    """Returns the labels of test examples as numbers of the `known` ones. UsageError if the
    training examples do not have one of them. The whole number 1 is the text 1, since files without
    types have it as a text if other labels are texts."""
    places_of = {str(value): place for place, value in enumerate(known)}
    unknown = [i for i, value in enumerate(labels.values) if str(value) not in places_of]
    if unknown:
        row = int(np.argmax(labels.codes == unknown[0]))
        raise UsageError(
            f"task file {shown(file)}: column {shown(source.label, 60)}, row {row} has {labels.values[unknown[0]]!r:.60}, which "
            "the training examples do not have"
        )
    return np.array([places_of[str(value)] for value in labels.values], np.int64)[labels.codes]


def _test_rows(examples: Examples, source: Source) -> Rows:
    """Returns the rows of the test examples, ascending: the rounded share of every class or owner,
    by a permutation that is the same for every seed."""
    if source.test_within == "owner":
        if examples.owner is None:
            raise UsageError("task.test: within owner needs task.client, the column of owners, got none")
        found = draw_share_of_every_class(examples.owner, source.test_share, 0, 4, left=1)
    else:
        found = draw_share_of_every_class(examples.y, source.test_share, 0, 3)
    if len(found) in (0, len(examples)):
        raise UsageError(
            f"task file {shown(source.file)}: test_share {source.test_share:g} leaves {len(found)} of {len(examples)} examples for "
            f"testing; there must be some on both sides{_hint(examples, source)}"
        )
    return found


def _hint(examples: Examples, source: Source) -> str:
    """Returns what to do if labels look like numbers to predict."""
    values = len(np.unique(examples.y))
    if 2 * values <= len(examples):
        return ""
    return f"; label {shown(source.label, 60)} has {values:,} values: numbers to predict have task.kind regression"


def of_shape(data: Dataset, wanted: Shape) -> Dataset:
    """Returns the data set with images in the axes (channels, height, width) that a model asks for:
    those without channels get one, those with channels at the end are turned. Others stay as they
    are."""
    if wanted == (1, *data.shape):
        return data.with_features(lambda x: x[:, None])
    if len(data.shape) == 3 and wanted == (data.shape[2], *data.shape[:2]) != data.shape:
        return data.with_features(lambda x: np.ascontiguousarray(x.transpose(0, 3, 1, 2)))
    return data
