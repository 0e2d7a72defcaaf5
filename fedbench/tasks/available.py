"""What can be told of built-in tasks without their data: whether it is on this machine, and their models. Nothing is read or fetched."""

from __future__ import annotations

from dataclasses import dataclass

from fedbench.data_root import data_root
from fedbench.errors import MissingDataError, UsageError
from fedbench.tasks import a9a, cifar, digits, fashion_mnist, stl10
from fedbench.tasks.a9a import A9A
from fedbench.tasks.cifar import CIFAR10, CIFAR100
from fedbench.tasks.models import MODELS, Model, make_model
from fedbench.tasks.stl10 import STL10
from fedbench.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Outline:
    """A task without its data: the model, and whether images are augmented."""

    model: Model
    is_augmented: bool

    @classmethod
    def of(cls, task: Task) -> Outline:
        return cls(task.model, task.augmentation is not None)


# Shape of an example, classes, and whether images are augmented.
EXAMPLES: dict[str, tuple[tuple[int, ...], int, bool]] = {
    digits.NAME: ((64,), digits.CLASSES, False),
    fashion_mnist.NAME: ((1, fashion_mnist.SIDE, fashion_mnist.SIDE), fashion_mnist.CLASSES, False),
    CIFAR10.name: (cifar.SHAPE, CIFAR10.classes, True),
    CIFAR100.name: (cifar.SHAPE, CIFAR100.classes, True),
    STL10.name: (stl10.SHAPE, stl10.CLASSES, False),
    A9A.name: ((a9a.FEATURES,), a9a.CLASSES, False),
}


def outline(task: str, model: str) -> Outline | None:
    """A built-in task's outline; None for a task of somebody's own. UsageError for a model that is unknown or does not fit."""
    if task not in EXAMPLES:
        return None
    shape, classes, is_augmented = EXAMPLES[task]
    return Outline(make_model(model, shape, classes), is_augmented)


def models_for(task: str) -> list[str]:
    """The library's models that fit a built-in task's examples; none for a task of somebody's own, which alone knows them."""
    if task not in EXAMPLES:
        return []
    shape, classes, _ = EXAMPLES[task]
    return [name for name in MODELS if _fits(name, shape, classes)]


def _fits(model: str, shape: tuple[int, ...], classes: int) -> bool:
    try:
        make_model(model, shape, classes)
    except UsageError:
        return False
    return True


FOLDERS = {published.name: published for published in (A9A, CIFAR10, CIFAR100, STL10)}


def missing(task: str) -> str:
    """Where the data of a task were looked for in vain, and how to get them; empty if they are there or the task needs no files."""
    root = data_root()
    try:
        if task == fashion_mnist.NAME:
            fashion_mnist.locate((fashion_mnist.DEBIAN, fashion_mnist.raw_folder(root)))
        elif task in FOLDERS:
            FOLDERS[task].locate(root)
    except MissingDataError as error:
        return str(error)
    return ""
