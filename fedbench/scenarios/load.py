"""Reads scenarios from the library or from a file, and applies overrides to them."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fedbench import origins, plain_files
from fedbench.errors import UsageError
from fedbench.registry import scalar
from fedbench.scenarios import own_data, problems, trace_files
from fedbench.scenarios.device_files import with_devices
from fedbench.scenarios.keys import TAGS, annotation_at, fields, members_by_tag
from fedbench.scenarios.problems import LONGEST, file_of, validated
from fedbench.scenarios.schema import CODE, Scenario
from fedbench.scenarios.windows import with_windows

if TYPE_CHECKING:
    from fedbench.tasks.given import Task

LIBRARY = Path(__file__).with_name("library")


def names() -> list[str]:
    """Returns the names of the library's scenarios."""
    return problems.names(LIBRARY)


def is_named(text: str) -> bool:
    """Returns whether a text is a name of the library, or the path of a YAML file."""
    return text.endswith((".yaml", ".yml")) or origins.plain(text) in map(origins.plain, names())


def settings(overrides: Sequence[str], task: Task | None = None) -> Sequence[str]:
    """Returns settings as a sequence, behind the one that puts a task in the place of the
    scenario's. A text alone is one of them, and not one for each of its letters."""
    several = [overrides] if isinstance(overrides, str) else overrides
    return several if task is None else [task.setting, *several]


def load(scenario: str | Path | Scenario, overrides: Sequence[str] = ()) -> Scenario:
    """Returns a scenario: clients, data, speeds, networks and budgets, checked and complete.

    Parameters
    ----------
    scenario : str, path or Scenario
        A name in the library, in which hyphens and underscores are alike; the path of a YAML file;
        or a scenario.
    overrides : sequence of str
        Settings such as `key.path=value`, which are applied in order. A value is read as YAML.

    Returns
    -------
    Scenario
        The scenario with its overrides.

    Raises
    ------
    UsageError
        The name is unknown, the file cannot be read, a key is unknown (the message has the nearest
        one), or a value is out of range.
    MissingDataError
        A file that the scenario names is nowhere.

    Examples
    --------
    >>> import fedbench as fb
    >>> fb.scenario("digits-demo", ["clients=12", "budget.updates=100"]).clients
    12
    """
    content: Mapping[str, object]
    if isinstance(scenario, Scenario):
        content, where = scenario.resolved(), scenario.name
    else:
        file = file_of(scenario, LIBRARY, "scenario")
        content, where = _of_library(file) if file.parent == LIBRARY else plain_files.mapping(file, "scenario"), str(file)
    given = settings(overrides)
    for override in given:
        content = override_key(content, override)
    for filled_in in (with_windows, with_devices, own_data.with_sums, own_data.with_sums_of_texts, trace_files.with_sums):
        content = filled_in(content, where)
    for named in (own_data.with_model, own_data.with_loss, own_data.with_metrics, own_data.with_optimizer):
        content = named(content, where, by_user=not isinstance(scenario, Scenario))
    name = where if isinstance(scenario, Scenario) else scenario
    return validate(content, f"{name}, with {', '.join(given):.{LONGEST}}" if given else where)


@functools.cache
def _of_library(file: Path) -> Mapping[str, object]:
    """Returns what a file of the library holds. It is kept, since suites ask for the same file a
    hundred times."""
    return plain_files.mapping(file, "scenario")


def overrides_of(scenario: Scenario) -> list[str] | None:
    """Returns the `key.path=value` settings that turn the library's scenario of this name into this
    one. None if the library has no scenario of the name."""
    theirs = _in_library(scenario.name)
    if theirs is None:
        return None
    return [f"{key}={json.dumps(value)}" for key, value in _differences(scenario.resolved(), theirs)]


@functools.cache
def _in_library(name: str) -> Mapping[str, object] | None:
    """Returns the content of the library's scenario of this name, if there is one. It is kept:
    reading it takes as long as some runs."""
    return load(name).resolved() if name in names() else None


def _differences(ours: Mapping[str, object], theirs: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    """Yields path and value of every key that is only in `ours`, or has another value there. Groups
    are compared key by key, unless the other side has a value in the group's place."""
    for key, value in ours.items():
        other = theirs.get(key)
        if isinstance(value, Mapping) and (other is None or isinstance(other, Mapping)):
            yield from _differences(value, other or {}, f"{path}{key}.")
        elif key not in theirs or other != value:
            yield f"{path}{key}", value


def override_key(content: Mapping[str, object], override: str) -> dict[str, object]:
    """Returns a copy of the content with one `key.path=value` applied. The value is read as YAML.
    UsageError for another form, or if something on the path is no group of keys."""
    path, equals, value = override.partition("=")
    if not equals or not path.strip():
        raise UsageError(f"--set {override!r}: expected key.path=value, such as budget.updates=100")
    changed = dict(content)
    place: object = changed
    *parents, last = path.strip().split(".")
    for key in parents:  # groups on the path are copied, all others are shared
        below = place.get(key) if isinstance(place, dict) else None
        if isinstance(place, dict) and (below is None or isinstance(below, Mapping)):
            place[key] = below = dict(below or {})
        place = below
    if not isinstance(place, dict):
        raise UsageError(f"--set {override!r}: {'.'.join(parents)} is not a group of keys")
    place[last] = scalar(value.strip())
    if (*parents, last) in CODE:
        place.pop(f"{last}_sha256", None)  # that of another one
    if last in TAGS:
        _drop_keys_of_other_kinds(place, parents, place[last])
    return changed


def _drop_keys_of_other_kinds(group: dict[str, object], path: Sequence[str], kind: object) -> None:
    """Deletes the keys that only other kinds have from a group whose kind was changed."""
    members = members_by_tag(annotation_at(Scenario, path))
    if isinstance(kind, str) and kind in members:
        foreign = {key for member in members.values() for key in fields(member)} - set(fields(members[kind]))
        for key in foreign & set(group):
            del group[key]


def validate(content: Mapping[str, object], where: str) -> Scenario:
    """Returns the scenario that has this content. UsageError, which ends with `where`, lists every
    problem with its key."""
    return validated(Scenario, content, where)
