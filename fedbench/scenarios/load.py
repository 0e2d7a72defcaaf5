"""Reading scenarios: by name from the library, or from a file; with overrides; with errors that say
what is wrong where."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedbench import plain_files
from fedbench.errors import UsageError, nearest
from fedbench.registry import scalar
from fedbench.scenarios import own_data, trace_files
from fedbench.scenarios.device_files import with_devices
from fedbench.scenarios.keys import TAGS, annotation_at, fields, members_by_tag
from fedbench.scenarios.problems import validated
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.windows import with_windows

LIBRARY = Path(__file__).with_name("library")


def names() -> list[str]:
    """Names of the library's scenarios."""
    return sorted(file.stem for file in LIBRARY.glob("*.yaml"))


def load(scenario: str | Path | Scenario, overrides: Sequence[str] = ()) -> Scenario:
    """A scenario by library name (hyphens and underscores alike), path to a YAML file, or as it is,
    with `key.path=value` overrides.

    Raises UsageError for an unknown name, an unreadable file, an unknown key (with the nearest
    match) or a value out of range.
    """
    content: Mapping[str, Any]
    if isinstance(scenario, Scenario):
        content, where = scenario.resolved(), scenario.name
    else:
        file = find(scenario)
        content, where = read(file), str(file)
    for override in overrides:
        content = override_key(content, override)
    for filled_in in (with_windows, with_devices, own_data.with_sums, trace_files.with_sums):
        content = filled_in(content, where)
    return validate(content, where)


def overrides_of(scenario: Scenario) -> list[str] | None:
    """The `key.path=value` settings that turn the library's scenario of this name into this one;
    None if there is none of the name."""
    if scenario.name not in names():
        return None
    differences = _differences(scenario.resolved(), load(scenario.name).resolved())
    return [f"{key}={json.dumps(value)}" for key, value in differences]


def _differences(ours: Mapping[str, Any], theirs: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Keys whose values are others or only ours: of a group key by key, unless there is a value in
    the group's place."""
    for key, value in ours.items():
        other = theirs.get(key)
        if isinstance(value, Mapping) and (other is None or isinstance(other, Mapping)):
            yield from _differences(value, other or {}, f"{path}{key}.")
        elif key not in theirs or other != value:
            yield f"{path}{key}", value


def find(name: str | Path) -> Path:
    """The file behind a name or path."""
    text = str(name)
    if text.endswith((".yaml", ".yml")) or "/" in text:
        return Path(text)
    by_name = {n.replace("-", "_"): n for n in names()}
    if text.replace("-", "_") not in by_name:
        raise UsageError(f"unknown scenario {text!r}{nearest(text, names())}; a path to a .yaml file works too")
    return LIBRARY / f"{by_name[text.replace('-', '_')]}.yaml"


def read(file: Path) -> dict[str, Any]:
    """The mapping in a YAML file, not yet validated."""
    return plain_files.mapping(file, "scenario")


def override_key(content: Mapping[str, Any], override: str) -> dict[str, Any]:
    """The content with one `key.path=value` applied; the value is read as YAML."""
    path, equals, value = override.partition("=")
    if not equals or not path.strip():
        raise UsageError(f"--set {override!r}: expected key.path=value, such as budget.updates=100")
    changed = copy.deepcopy(dict(content))
    place: Any = changed
    *parents, last = path.strip().split(".")
    for key in parents:
        if isinstance(place, dict) and place.get(key) is None:
            place[key] = {}
        place = place[key] if isinstance(place, dict) else None
    if not isinstance(place, dict):
        raise UsageError(f"--set {override!r}: {'.'.join(parents)} is not a group of keys")
    place[last] = scalar(value.strip())
    if last in TAGS:
        _drop_keys_of_other_kinds(place, parents, place[last])
    return changed


def _drop_keys_of_other_kinds(group: dict[str, Any], path: Sequence[str], kind: Any) -> None:
    """A group whose kind was changed loses the keys that only other kinds have."""
    members = members_by_tag(annotation_at(Scenario, path))
    if isinstance(kind, str) and kind in members:
        foreign = {key for member in members.values() for key in fields(member)} - set(fields(members[kind]))
        for key in foreign & set(group):
            del group[key]


def validate(content: Mapping[str, Any], where: str) -> Scenario:
    """A Scenario from its content; UsageError lists every problem with its key."""
    return validated(Scenario, content, where)
