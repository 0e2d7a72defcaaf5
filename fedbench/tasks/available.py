"""Facts about built-in tasks that need no data: which models fit them, and whether their data are
on this machine. No data are read or fetched."""

from __future__ import annotations

from dataclasses import dataclass

from fedbench.encoder_folder import locate
from fedbench.errors import MissingDataError, UsageError
from fedbench.places import data_root
from fedbench.tasks import a9a, cifar, cifar10_jpeg, digits, encoder, fashion_mnist, shakespeare, stl10, text
from fedbench.tasks.a9a import A9A
from fedbench.tasks.cifar import CIFAR10, CIFAR100
from fedbench.tasks.cifar10_jpeg import CIFAR10_JPEG
from fedbench.tasks.encoder import EncoderModel, make_encoder
from fedbench.tasks.encoder_files import require_libraries
from fedbench.tasks.model_library import MODELS, make_model
from fedbench.tasks.models import Model
from fedbench.tasks.own_model import OwnModel, make_own
from fedbench.tasks.stl10 import STL10
from fedbench.tasks.task import Task


@dataclass(frozen=True, slots=True)
class Outline:
    """A task without its data: the model, whether images are augmented, and whether a scenario can
    ask for it."""

    model: Model | EncoderModel | OwnModel
    is_augmented: bool
    on_request: bool = False

    @classmethod
    def of(cls, task: Task) -> Outline:
        return cls(task.model, task.augmentation is not None, task.on_request is not None)

    @property
    def classes(self) -> int:
        """The numbers that the model gives for an example."""
        return self.model.output_shape[0]


# Shape of an example, classes, and whether images are augmented.
EXAMPLES: dict[str, tuple[tuple[int, ...], int, bool]] = {
    digits.NAME: ((64,), digits.CLASSES, False),
    fashion_mnist.NAME: ((1, fashion_mnist.SIDE, fashion_mnist.SIDE), fashion_mnist.CLASSES, False),
    CIFAR10.name: (cifar.SHAPE, CIFAR10.classes, True),
    CIFAR10_JPEG.name: (cifar10_jpeg.SHAPE, cifar10_jpeg.CLASSES, False),
    CIFAR100.name: (cifar.SHAPE, CIFAR100.classes, True),
    STL10.name: (stl10.SHAPE, stl10.CLASSES, False),
    A9A.name: ((a9a.FEATURES,), a9a.CLASSES, False),
    shakespeare.NAME: ((shakespeare.WINDOW,), len(shakespeare.ALPHABET), False),
}

ON_REQUEST = {CIFAR10_JPEG.name}
"""Tasks whose images are augmented only where a scenario asks for it."""

TEXT = "text"
TEXT_TASKS = (*text.SOURCES, TEXT)


def text_options(task: str) -> set[str]:
    """Returns which of the keys `encoder`, `encoder_sha256` and `text` of a scenario's part `task`
    this task takes."""
    of_encoder = {"encoder", "encoder_sha256"} if task in TEXT_TASKS else set()
    return of_encoder | {"text"} if task == TEXT else of_encoder


def outline(task: str, model: str, encoder_folder: str | None = None, model_sha256: str | None = None) -> Outline | None:
    """Returns a built-in task's outline, or None for a task whose examples are known only when it
    is loaded. Of an encoder, only the configuration is read. `model_sha256` is the sum of the code
    of a model of the user's own.

    UsageError for a model that is unknown or does not fit. MissingDataError if the encoder is not
    on this machine.
    """
    if task in text.SOURCES:
        return Outline(make_encoder(model, encoder_folder, text.SOURCES[task].shape, text.CLASSES), is_augmented=False)
    if task not in EXAMPLES:
        return None
    shape, classes, is_augmented = EXAMPLES[task]
    if model_sha256 is not None:
        return Outline(make_own(model, model_sha256, shape, classes), is_augmented, task in ON_REQUEST)
    return Outline(make_model(model, shape, classes), is_augmented, task in ON_REQUEST)


def models_for(task: str) -> list[str]:
    """Returns the library's models that fit a built-in task's examples. For a task of another
    package the list is empty, since its examples are not known here."""
    if task in TEXT_TASKS:
        return list(encoder.SUGGESTED)
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


FOLDERS = {published.name: published for published in (A9A, CIFAR10, CIFAR10_JPEG, CIFAR100, STL10, text.MRPC, text.SST2)}
TO_BRING = {*FOLDERS, *TEXT_TASKS, shakespeare.NAME}
"""Tasks whose data the user has to bring: they come neither with fedbench nor with a package of the
system."""


CITED: dict[str, tuple[str, ...]] = {
    digits.NAME: ("alpaydin1998",),
    fashion_mnist.NAME: ("xiao2017",),
    CIFAR10.name: ("krizhevsky2009",),
    CIFAR10_JPEG.name: ("krizhevsky2009",),
    CIFAR100.name: ("krizhevsky2009",),
    STL10.name: ("coates2011",),
    A9A.name: ("platt1998", "kohavi1996"),
    text.MRPC.name: ("dolan2005", "wang2018"),
    text.SST2.name: ("socher2013", "wang2018"),
    shakespeare.NAME: ("caldas2018", "mcmahan2017"),
}
"""The papers of the published data sets, as keys of the bibliography."""


def missing(task: str) -> str:
    """Returns what a task lacks, where it was looked for, and how to get it. Empty if everything is
    there, or if the task needs no files."""
    root = data_root()
    try:
        if task == fashion_mnist.NAME:
            fashion_mnist.locate((fashion_mnist.DEBIAN, fashion_mnist.raw_folder(root)))
        elif task == shakespeare.NAME:
            shakespeare.locate()
        elif task in FOLDERS:
            FOLDERS[task].locate(root)
        if task in TEXT_TASKS:
            require_libraries()
            locate(None)
    except MissingDataError as error:
        return str(error)
    return ""
