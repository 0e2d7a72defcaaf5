"""Adds the SHA-256 sums of a user's own data files, and of files of code, to a scenario, so
that a record says from which data it has learned, and what has learned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fedbench import encoder_folder, own_files, own_metrics, own_models, places
from fedbench.errors import UsageError, nearest

KEYS = ("file", "test")
"""Keys of a task that name a file."""


def with_sums(content: Mapping[str, object], where: str) -> Mapping[str, object]:
    """Returns the content of a scenario whose task has the sums of its files. Sums that it states
    stay as they are, and the files are then not looked for.

    A file is looked for beside the scenario's file `where`, in the working directory, and in the
    data root. The path of a file beside the scenario is recorded from the working directory.
    MissingDataError if a file is in none of these places.
    """
    task = content.get("task")
    if not isinstance(task, Mapping) or not isinstance(task.get("file"), str) or task.get("sha256"):
        return content
    named = {key: task[key] for key in KEYS if isinstance(task.get(key), str)}
    folder = Path(where).parent
    found = {key: places.found(name, f"task.{key}", [folder]) for key, name in named.items()}
    recorded = {key: places.as_recorded(name, folder) for key, name in named.items()}
    return {**content, "task": {**task, **recorded, "sha256": [own_files.sha256(path) for path in found.values()]}}


def with_sums_of_texts(content: Mapping[str, object], where: str) -> Mapping[str, object]:
    """Returns the content of a scenario whose task has the sums of the texts and of the encoder
    that it names below the data root. Sums that it states stay as they are. MissingDataError if a
    file is not there."""
    task = content.get("task")
    if not isinstance(task, Mapping):
        return content
    found: dict[str, object] = {}
    text, encoder = task.get("text"), task.get("encoder")
    if isinstance(text, Mapping) and not text.get("sha256"):
        names = {f"task.text.{part}": text.get(part) for part in own_files.PARTS}
        if all(isinstance(name, str) for name in names.values()):
            files = [places.file_below_data_root(str(name), key) for key, name in names.items()]
            found["text"] = {**text, "sha256": [own_files.sha256(file) for file in files]}
    if isinstance(encoder, str) and not task.get("encoder_sha256"):
        found["encoder_sha256"] = encoder_folder.sha256(encoder_folder.locate(encoder))
    return {**content, "task": {**task, **found}}


def with_model(content: Mapping[str, object], where: str, *, by_user: bool) -> Mapping[str, object]:
    """Returns the content of a scenario whose task has the sum of its model's code, if it is one of
    the user's own, and allows that code to be run.

    A file is looked for, and recorded, as files of data are. A sum that the content states must be
    that of the file. Without `by_user`, the content is not what the user wrote: if it states a sum,
    it stays as it is and allows nothing.
    """
    return _with_code(content, where, "task", "model", by_user=by_user)


def with_optimizer(content: Mapping[str, object], where: str, *, by_user: bool) -> Mapping[str, object]:
    """Returns the content of a scenario whose local work has the sum of an optimiser of the user's
    own, and allows that code to be run. The rules are those of `with_model`."""
    return _with_code(content, where, "local", "optimizer", by_user=by_user)


def with_loss(content: Mapping[str, object], where: str, *, by_user: bool) -> Mapping[str, object]:
    """Returns the content of a scenario whose task has the sum of a loss of the user's own, and
    allows that code to be run. The rules are those of `with_model`."""
    return _with_code(content, where, "task", "loss", by_user=by_user)


def _with_code(content: Mapping[str, object], where: str, group: str, key: str, *, by_user: bool) -> Mapping[str, object]:
    keys = content.get(group)
    if not isinstance(keys, Mapping) or not isinstance(code := keys.get(key), str) or not own_models.is_own(code):
        return content
    stated = keys.get(f"{key}_sha256")
    if stated is not None and not by_user:
        return content
    folder = Path(where).parent
    one = own_models.named(code, [folder], stated if isinstance(stated, str) else None, key)
    if one.module is None:
        code = f"{places.as_recorded(code.rpartition(':')[0], folder)}:{one.name}"
    return {**content, group: {**keys, key: code, f"{key}_sha256": one.sha256}}


def with_metrics(content: Mapping[str, object], where: str, *, by_user: bool) -> Mapping[str, object]:
    """Returns the content of a scenario whose evaluation has the name and the direction of every
    metric, and the sum of one of the user's own, and allows that code to be run. The rules are
    those of `with_model`."""
    evaluation = content.get("evaluation")
    if not isinstance(evaluation, Mapping) or not isinstance(given := evaluation.get("metrics"), list):
        return content
    found = [_metric(one, where, by_user=by_user) for one in given]
    return {**content, "evaluation": {**evaluation, "metrics": found}}


def _metric(given: object, where: str, *, by_user: bool) -> object:
    if isinstance(given, str) and (higher := own_metrics.built_in(given)) is not None:
        return {"name": given, "higher_is_better": higher}
    stated = given if isinstance(given, Mapping) else {"code": given}
    if not isinstance(code := stated.get("code"), str) or (not by_user and "sha256" in stated):
        return given
    if not own_models.is_own(code):
        near = nearest(code, [*own_metrics.BUILT_IN, "class_accuracy_0"])
        raise UsageError(f"evaluation.metrics: expected path/to/file.py:Class or a metric of the library, got {code!r:.80}{near}")
    folder, sum_ = Path(where).parent, stated.get("sha256")
    one = own_models.named(code, [folder], sum_ if isinstance(sum_, str) else None, "metric")
    name, higher = own_metrics.declared(one)
    found = {"name": name, "higher_is_better": higher}
    for key, value in found.items():
        if stated.get(key, value) != value:
            raise UsageError(f"evaluation.metrics: the class of {code} has {key} {value!r}, got {stated[key]!r:.80}")
    if one.module is None:
        code = f"{places.as_recorded(code.rpartition(':')[0], folder)}:{one.name}"
    return {**stated, "code": code, "sha256": one.sha256, **found}
