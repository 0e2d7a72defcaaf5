"""What a run leaves beside its record if it is asked to: the model that is judged at its end, and
what that achieves on every client and class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from fedbench import own_models
from fedbench.engine.measures import Parts
from fedbench.engine.trainers.base import Snapshot
from fedbench.errors import UsageError
from fedbench.protocols import Algorithm
from fedbench.results.kept_model import Kept, packed
from fedbench.results.kept_parts import CLASSES, CLIENTS
from fedbench.results.kept_parts import packed as packed_parts
from fedbench.scenarios.data_parts import TaskPart
from fedbench.shards import Shards
from fedbench.tasks.encoder import EncoderModel
from fedbench.tasks.task import Task
from fedbench.tasks.tensors import Tensor
from fedbench.types import Vector


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


def kept_parts(parts: Parts, task: Task, shards: Shards) -> dict[str, bytes]:
    """Returns the files of what a model achieves, by name."""
    labels = np.bincount(task.dataset.test.y, minlength=task.dataset.classes)
    return {
        CLIENTS: packed_parts("client", np.asarray(shards.sizes, np.int64), parts.client_accuracy, parts.client_loss),
        CLASSES: packed_parts("class", labels, parts.class_accuracy, parts.class_loss),
    }


def kept_model(task: Task, part: TaskPart, judged: Snapshot) -> bytes:
    """Returns the content of the file of a judged model. Names are those of the torch module. All
    tensors in the state_dict of a module of the user's are there; of an encoder, those that are
    trained."""
    x, buffers = (np.asarray(one, np.float32) for one in judged)
    model = task.model
    if part.model_sha256 is not None:
        from fedbench.tasks.own_module import make_here

        source = make_here(own_models.of(part.model, part.model_sha256))(model.name, model.input_shape, task.dataset.classes)
        return packed((Kept(*one) for one in source.saved(x, buffers)), (x.size, buffers.size))
    others = () if isinstance(model, EncoderModel) else model.buffers
    return packed([*_named(model.parameters, x), *_named(others, buffers)], (x.size, buffers.size))


def _named(tensors: Iterable[Tensor], flat: Vector) -> Iterator[Kept]:
    for one in tensors:
        yield Kept(one.name, "F32", one.shape, flat[one.offset : one.offset + one.size].tobytes())
