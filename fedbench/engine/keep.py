"""What a run leaves beside its record if it is asked to: the model that is judged at its end, and
what that achieves on every client and class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from fedbench import own_models
from fedbench.engine.along import Point
from fedbench.engine.setup import Setup
from fedbench.engine.trainers.base import Snapshot
from fedbench.errors import UsageError
from fedbench.protocols import Algorithm
from fedbench.results import kept_model as model_file
from fedbench.results import kept_parts as parts_files
from fedbench.results.kept_model import Kept
from fedbench.results.kept_parts import CLASSES, CLIENTS
from fedbench.scenarios.data_parts import TaskPart
from fedbench.tasks.encoder import EncoderModel
from fedbench.tasks.own_model import source_of
from fedbench.tasks.task import Task
from fedbench.tasks.tensors import Tensor
from fedbench.types import Vector
from fedbench.types.arrays import host


def check_one_model(algorithm: Algorithm) -> None:
    """Raises UsageError for an algorithm that has no model for all clients."""
    if algorithm.alone:
        raise UsageError(
            f"keep_model: expected an algorithm with one model for all, got {algorithm.name}, whose clients have a model each"
        )


def check_classes(part: TaskPart) -> None:
    """Raises UsageError for a task without classes, by whose shares a client is judged."""
    if part.is_regression:
        raise UsageError(f"keep_clients: clients are judged by their classes, and task {part.name} has task.kind regression")


def kept_parts(points: Sequence[Point], setup: Setup, *, timed: bool) -> dict[str, bytes]:
    """Returns the files of what models achieve, by name. `timed` says whether their times are
    columns."""
    dataset, unseen = setup.task.dataset, setup.unseen
    sizes = np.concatenate([setup.shards.sizes, unseen.sizes])
    labels = np.bincount(dataset.test.y, minlength=dataset.classes)
    clients = [
        (
            np.concatenate([one.parts.client_accuracy, one.unseen.accuracy]),
            np.concatenate([one.parts.client_loss, one.unseen.loss]),
        )
        for one in points
    ]
    classes = [(one.parts.class_accuracy, one.parts.class_loss) for one in points]
    times = [(one.seconds, one.version) for one in points] if timed else []
    return {
        CLIENTS: parts_files.packed("client", sizes, clients, times, len(unseen)),
        CLASSES: parts_files.packed("class", labels, classes, times),
    }


def apart(folder: Path, made: Mapping[str, bytes], setup: Setup) -> Iterator[str]:
    """Yields in what the files beside a record differ from those of its repetition: the names of
    the model, and columns of clients and of classes."""
    if (folder / model_file.FILE).exists() and not _has_its_names(folder, setup):
        yield "model.names"
    for name, table in parts_files.tables(folder).items():
        if name not in made:
            yield name.removesuffix(".parquet")
        elif column := parts_files.unequal(table, made[name]):
            yield f"{name.removesuffix('.parquet')}.{column}"


def _has_its_names(folder: Path, setup: Setup) -> bool:
    """Returns whether a kept model's tensors have the names, shapes and places of the run's. Behind
    them, a model of the user's has tensors that no client changes."""
    part, task = setup.spec.scenario.task, setup.task
    if part.model_sha256 is not None:
        parameters, buffers, *_ = source_of(
            part.model, part.model_sha256, task.model.input_shape, task.dataset.classes
        ).described()
    else:
        parameters, buffers = task.model.parameters, () if isinstance(task.model, EncoderModel) else task.model.buffers
    wanted, end = [], 0
    for one in (*parameters, *buffers):
        begin, end = end, end + 4 * one.size
        wanted.append((one.name, "F32", one.shape, (begin, end)))
    found = model_file.named(folder)
    return found is not None and wanted == (found[: len(wanted)] if part.model_sha256 is not None else found)


def kept_model(task: Task, part: TaskPart, judged: Snapshot) -> bytes:
    """Returns the content of the file of a judged model. Names are those of the torch module. All
    tensors in the state_dict of a module of the user's are there; of an encoder, those that are
    trained."""
    x, buffers = (np.asarray(host(one), np.float32) for one in judged)
    model = task.model
    if part.model_sha256 is not None:
        from fedbench.tasks.own_module import make_here

        source = make_here(own_models.of(part.model, part.model_sha256))(model.name, model.input_shape, task.dataset.classes)
        return model_file.packed((Kept(*one) for one in source.saved(x, buffers)), (x.size, buffers.size))
    others = () if isinstance(model, EncoderModel) else model.buffers
    return model_file.packed([*_named(model.parameters, x), *_named(others, buffers)], (x.size, buffers.size))


def _named(tensors: Iterable[Tensor], flat: Vector) -> Iterator[Kept]:
    for one in tensors:
        yield Kept(one.name, "F32", one.shape, flat[one.offset : one.offset + one.size].tobytes())
