"""A task: a data set, a model that learns it, and the metric of its success."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from fedbench.errors import UsageError
from fedbench.tasks.augment import CropAndFlip
from fedbench.tasks.data import Dataset
from fedbench.tasks.encoder import EncoderModel
from fedbench.tasks.model_library import make_model
from fedbench.tasks.models import Model
from fedbench.tasks.own_model import OwnModel


@dataclass(frozen=True, eq=False)
class Task:
    """A classification task. UsageError if the model does not take examples of the data set's
    shape, has an Embedding whose symbols they are not, or has not one output per class.

    `augmentation` changes the images of a job's steps, and no others. A trainer that does not know
    it must refuse the task. `on_request` is one that a scenario has to ask for. `files` has the
    SHA-256 of files without published sums on which a result depends, by name; the sums are in the
    inputs digest. `warnings` are sentences about the data, which a record keeps.
    """

    name: str
    model: Model | EncoderModel | OwnModel
    dataset: Dataset
    augmentation: CropAndFlip | None = None
    on_request: CropAndFlip | None = None
    files: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    metric: ClassVar[str] = "test_accuracy"

    def __post_init__(self) -> None:
        for what, expected, got in (
            ("take examples of shape", self.dataset.shape, self.model.input_shape),
            ("give logits of shape", (self.dataset.classes,), self.model.output_shape),
        ):
            if got != expected:
                raise UsageError(
                    f"task {self.name}: the model must {what} {expected} for data set {self.dataset.name}, "
                    f"{self.model.name} has {got}; build it with make_model(name, dataset.shape, dataset.classes)"
                )
        if self.model.symbols is not None:
            self.dataset.check_symbols(self.model.symbols)

    @classmethod
    def of(cls, dataset: Dataset, model: str, augmentation: CropAndFlip | None = None) -> Task:
        """Returns the task of a data set, which has the data set's name, with the library's model
        of that name. UsageError for a model that is unknown or does not fit."""
        return cls(dataset.name, make_model(model, dataset.shape, dataset.classes), dataset, augmentation)

    @property
    def layered(self) -> Model:
        """Returns the model, which is a list of layers. UsageError if it is a pretrained encoder,
        or a module of the user's, which are none."""
        if isinstance(self.model, EncoderModel):
            raise UsageError(f"task {self.name}: model {self.model.name} is a pretrained encoder; use --trainer torch on the cpu")
        if isinstance(self.model, OwnModel):
            raise UsageError(f"task {self.name}: model {self.model.name}: {self.model.why}; use --trainer torch on the cpu")
        return self.model

    def spec(self) -> dict[str, str]:
        """Returns what a record stores to load the task again."""
        return {"name": self.name, "model": self.model.name}
