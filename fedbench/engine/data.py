"""The examples of a run: the scenario's task, changed as the scenario says, and the server's public
examples."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import weakref
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from fedbench import registry
from fedbench.errors import MissingDataError, OriginError, UsageError
from fedbench.origins import plain
from fedbench.results.digests import Digest
from fedbench.scenarios.data_parts import HELD_OUT, HeldOut, TaskPart
from fedbench.scenarios.held_out import Shared, shared
from fedbench.scenarios.partition import Rows, public_rows, rows_of_other_task, validation_rows
from fedbench.scenarios.schema import Scenario
from fedbench.shards import Shards
from fedbench.tasks import arrays, given
from fedbench.tasks.available import Outline, outline, text_options
from fedbench.tasks.data import Dataset
from fedbench.tasks.model_library import architecture
from fedbench.tasks.own_model import make_own
from fedbench.tasks.task import Task
from fedbench.tasks.text import TextSource

SIMPLEST = "softmax"
"""The library's model for examples of any shape."""
FEW = 500_000
"""Shards of so many examples and clients are kept."""


@functools.lru_cache(maxsize=2)
def load_task(name: str, model: str, **texts: str | TextSource) -> Task:
    """Loads a task by name; it is kept for the next run of the same one in this process. `texts`
    are the task's options `encoder`, `encoder_sha256` and `text`. Raises UsageError if the task has
    no such option."""
    if unknown := sorted(texts.keys() - text_options(plain(name))):
        raise UsageError(f"task.{unknown[0]}: is not for task {name}")
    return registry.find("task", name)(model=model, **texts)


load_own = functools.lru_cache(maxsize=2)(arrays.load)
"""Loads a task of the user's own data, and keeps it likewise."""


@functools.lru_cache(maxsize=2)
def split(dataset: Dataset, share: float, seed: int, scenario: str) -> tuple[Rows, Dataset]:
    """Returns the rows of the training set that are held out for validation, and the data set whose
    test set is replaced by them. The result is kept, since copying most of the examples takes
    longer than many a run.

    Args:
        dataset: the task's data set.
        share: the share of the training set that is held out.
        seed: keys the draw.
        scenario: the scenario's name, for errors.
    """
    held = validation_rows(share, dataset.train.y, seed, scenario)
    return held, dataset.split(held)


def shards_of(dataset: Dataset, scenario: Scenario, seed: int) -> Shards:
    """Draws which examples of a data set the clients have that take part. The result must not be
    changed: if it is not large, it is kept for the next runs in this process, which often have the
    same one, since a suite has many algorithms on the shards of ten seeds."""
    return all_shards_of(dataset, scenario, seed).clients


def all_shards_of(dataset: Dataset, scenario: Scenario, seed: int) -> Shared:
    """Draws likewise, also for the clients that are held out."""
    draw = _drawn if len(dataset.train) + scenario.clients <= FEW else _drawn.__wrapped__
    return draw(dataset, scenario, seed)


@functools.lru_cache(maxsize=12)
def _drawn(dataset: Dataset, scenario: Scenario, seed: int) -> Shared:
    return shared(scenario, dataset.train.y, seed, dataset.train.owner, dataset.owners)


def begun(shards: Shards, *, in_columns: bool) -> Digest:
    """Returns a digest to which the shards were added: as three columns, or one after the other. It
    is kept as long as they are, since a thousand arrays take longer than ten rounds of training."""
    if shards not in _BEGUN:
        _BEGUN[shards] = Digest().add(*((shards.rows, shards.begin, shards.sizes) if in_columns else shards))
    return _BEGUN[shards].copy()


_BEGUN: weakref.WeakKeyDictionary[Shards, Digest] = weakref.WeakKeyDictionary()


def _source(part: TaskPart) -> arrays.Source:
    """Returns the source of a task that has a file and a column of labels."""
    assert part.file is not None
    assert part.label is not None
    names = ("name", "file", "label", "client", "features", "standardize", "sha256")
    keys = {"real": part.is_regression} | {name: getattr(part, name) for name in names}
    if isinstance(part.test, HeldOut):
        return arrays.Source(**keys, test_share=part.test.share, test_within=part.test.within)
    return arrays.Source(**keys, test=part.test, test_share=part.test_share)


class Data:
    """The examples of one scenario and seed. Each part is made when it is first needed."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self.scenario, self.seed = scenario, seed

    @functools.cached_property
    def task(self) -> Task:
        """The task with the scenario's augmentation. If the scenario has a part `validation`, the
        examples held out replace the test set and are missing from the training set, so nothing in
        a run sees the real test set."""
        task, validation = self._given, self.scenario.validation
        offered = task.augmentation or task.on_request
        augmentation = offered if self._is_augmented(Outline.of(task)) else None
        if augmentation is task.augmentation and validation is None:
            return task  # a new one would be checked, which can take a pass over its data
        dataset = task.dataset if validation is None else self._split[1]
        return dataclasses.replace(task, dataset=dataset, augmentation=augmentation)

    @property
    def _split(self) -> tuple[Rows, Dataset]:
        part = self.scenario.validation
        assert part is not None
        return split(self._given.dataset, part.share, self.seed, self.scenario.name)

    @property
    def _given(self) -> Task:
        part = self.scenario.task
        with self._named("task"):
            if self._code_of_model is not None:
                return self._with_own_model
            return self._loaded(part.model)

    def _loaded(self, model: str) -> Task:
        """Returns the task with a model of the library."""
        part = self.scenario.task
        if given.is_given(part.name):
            return Task.of(arrays.of_shape(given.dataset(part.name), architecture(model).shape), model)
        if part.file is not None and part.label is not None:
            return load_own(_source(part), model)
        text = {} if part.text is None else {"text": TextSource(name=part.name, **part.text.model_dump())}
        return load_task(part.name, model, **self._encoder, **text)

    @functools.cached_property
    def _with_own_model(self) -> Task:
        """The task with a model of the user's own in the place of the library's simplest."""
        part, code = self.scenario.task, self._code_of_model
        assert code is not None
        task = self._loaded(SIMPLEST)
        return dataclasses.replace(task, model=make_own(part.model, code, task.dataset.shape, task.dataset.classes))

    @property
    def _code_of_model(self) -> str | None:
        """The sum of the code of the model, if it is one of the user's own. Raises UsageError for a
        task of texts, which takes none."""
        part = self.scenario.task
        if part.model_sha256 is not None and text_options(plain(part.name)):
            raise UsageError(f"task {part.name}: takes a pretrained encoder, and no model of your own, got {part.model}")
        return part.model_sha256

    @property
    def _encoder(self) -> dict[str, str]:
        """The options of the task that say which encoder it has, its folder and its sum, as far as
        the scenario has them."""
        part = self.scenario.task
        given = {"encoder": part.encoder, "encoder_sha256": part.encoder_sha256}
        return {key: value for key, value in given.items() if value is not None}

    @functools.cached_property
    def outline(self) -> Outline:
        """The task's model, and whether its images are augmented. The outline of a built-in task
        needs no data. Raises UsageError if the scenario asks for an augmentation that the task does
        not have."""
        part = self.scenario.task
        with self._named("task"):
            known = outline(plain(part.name), part.model, part.encoder, self._code_of_model)
        known = known or Outline.of(self._given)
        return dataclasses.replace(known, is_augmented=self._is_augmented(known))

    def _is_augmented(self, known: Outline) -> bool:
        part = self.scenario.task
        if part.augmentation == "crop_flip" and not (known.is_augmented or known.on_request):
            raise UsageError(
                f"scenario {self.scenario.name}: task.augmentation must be none for task {part.name}, which does not say how its "
                "examples are cropped and mirrored, got crop_flip"
            )
        return known.is_augmented if part.augmentation is None else part.augmentation == "crop_flip"

    @contextlib.contextmanager
    def _named(self, key: str) -> Iterator[None]:
        """Names the scenario and its key in errors about an unknown task or model. MissingDataError
        and OriginError stay as they are, since they are not the scenario's mistake."""
        try:
            yield
        except (MissingDataError, OriginError):
            raise
        except UsageError as error:
            raise UsageError(f"scenario {self.scenario.name}, {key}: {error}") from None

    @functools.cached_property
    def validation(self) -> Rows | None:
        """The rows of the task's training set that replace its test set in evaluation, if any."""
        return None if self.scenario.validation is None else self._split[0]

    @property
    def evaluated_on(self) -> str:
        return "test" if self.scenario.validation is None else "validation"

    # ---- public examples ----

    @property
    def public(self) -> npt.NDArray[np.float32] | None:
        """The features (P, ..) of the unlabelled examples of the server, if it has any."""
        return self._public and self._public[1]

    @property
    def public_size(self) -> int:
        """How many public examples there are. No data are read if the scenario says it."""
        part = self.scenario.public
        if part is not None and part.size is not None:
            return part.size
        return 0 if self.public is None else len(self.public)

    @functools.cached_property
    def _public(self) -> tuple[Rows, npt.NDArray[np.float32]] | None:
        """The rows of the public examples in the training set of their task, and their features."""
        part = self.scenario.public
        if part is None:
            return None
        train = self._public_task(part.source).dataset.train
        rows = public_rows(self.scenario, len(train), self.seed)
        if rows is None:
            rows = rows_of_other_task(self.scenario, len(train), self.seed)
        return rows, train.x if len(rows) == len(train) else train.x[rows]

    def _public_task(self, source: str) -> Task:
        """Returns the task whose training examples are public. Raises UsageError if no task has the
        name, or its examples have another shape."""
        own = self.scenario.task.name
        if source == HELD_OUT or plain(source) == plain(own):
            return self.task
        with self._named("public.source"):
            is_text = bool(text_options(plain(source)))  # its tokens are made for the task's own encoder
            other = load_task(source, self.scenario.task.model, **self._encoder) if is_text else load_task(source, SIMPLEST)
        if other.dataset.shape != self.task.dataset.shape:
            raise UsageError(
                f"scenario {self.scenario.name}: public.source must be a task with examples of shape {self.task.dataset.shape}, as task "
                f"{own} has, got {source}, whose are {other.dataset.shape}"
            )
        return other

    def add_to(self, digest: Digest) -> None:
        """Adds to the digest what was drawn, the public examples that the task itself does not
        have, and the checksums of the task's files."""
        part = self.scenario.public
        if part is not None and self._public is not None:
            rows, features = self._public
            digest.add(*([rows] if part.source == HELD_OUT else [rows, features]))
        if self.validation is not None:
            digest.add(self.validation)
        for name, sha256 in sorted(self._given.files.items()):
            digest.add(np.frombuffer(f"{name} {sha256}".encode(), np.uint8))
