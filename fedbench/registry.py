"""Finds algorithms and tasks by name. Built-in ones are imported only when they are used, and entry
points of other packages add their own."""

from __future__ import annotations

import copy
import functools
import importlib
import json
import re
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal, overload

import yaml

from fedbench import foreign, origins, strict_yaml
from fedbench.errors import UsageError, nearest, one_line
from fedbench.foreign import GROUP
from fedbench.origins import plain
from fedbench.presets import options as preset_options
from fedbench.protocols import Algorithm

if TYPE_CHECKING:
    from fedbench.tasks.task import Task

ALGORITHMS = tuple(sorted(file.stem for file in Path(__file__).with_name("algorithms").glob("[a-z]*.py")))
"""The names of the built-in algorithms: `fedbench/algorithms/NAME.py` has the class whose `name` is
NAME."""
TASKS = {
    "a9a": "fedbench.tasks.a9a:load",
    "cifar10": "fedbench.tasks.cifar:load_cifar10",
    "cifar10_jpeg": "fedbench.tasks.cifar10_jpeg:load",
    "cifar100": "fedbench.tasks.cifar:load_cifar100",
    "digits": "fedbench.tasks.digits:load",
    "fashion_mnist": "fedbench.tasks.fashion_mnist:load",
    "mrpc": "fedbench.tasks.text:load_mrpc",
    "sst2": "fedbench.tasks.text:load_sst2",
    "shakespeare": "fedbench.tasks.shakespeare:load",
    "stl10": "fedbench.tasks.stl10:load",
    "text": "fedbench.tasks.text:load",
}
LONGEST_SELECTOR = 10_000  # characters
SHORT = 100  # characters of a value that is kept once it was read


@functools.cache
def _table(kind: str) -> dict[str, str]:
    built_in = TASKS if kind == "task" else {name: f"fedbench.algorithms.{name}:" for name in ALGORITHMS}
    return built_in | {plain(point.name): point.value for point in entry_points(group=GROUP.format(kind=kind))}


def names(kind: str) -> list[str]:
    """Returns all known names of a kind (algorithm, task), sorted."""
    return sorted(_table(kind))


@overload
def find(kind: Literal["algorithm"], name: str) -> type[Algorithm]: ...
@overload
def find(kind: Literal["task"], name: str) -> Callable[..., Task]: ...
def find(kind: str, name: str) -> object:
    """Returns what a name of a kind (algorithm, task) stands for: the class of an algorithm, or the
    function that loads a task.

    Hyphens in a name count as underscores. An algorithm may also be named as
    `path/to/mine.py:MyAlgorithm`, or as `path/to/mine.py` if it is the only one there. UsageError
    with the nearest name if there is none.
    """
    if kind == "algorithm" and origins.is_in_file(name):
        return _not_built_in(origins.from_file(name), name)
    table = _table(kind)
    target = table.get(plain(name))
    if target is None:
        raise UsageError(f"unknown {kind} {name!r}{nearest(plain(name), table)}")
    module, _, attribute = target.partition(":")
    try:
        found = importlib.import_module(module)
        return getattr(found, attribute) if attribute else _algorithm_in(found)
    except Exception as error:
        if module.startswith("fedbench."):
            raise
        why, *code = foreign.described(error)
        raise UsageError(f"{kind} {name}: its entry point {target} cannot be imported: {why}", *code) from error


def _algorithm_in(module: ModuleType) -> type[Algorithm]:
    """Returns the algorithm that the module of a built-in algorithm is named after. UsageError
    unless it has one."""
    name = module.__name__.rpartition(".")[2]
    own = {key: cls for key, cls in origins.own_classes(module).items() if issubclass(cls, Algorithm)}
    found = [cls for cls in own.values() if cls.name == name]
    if len(found) != 1:
        got = ", ".join(f"{key} with {cls.name!r}" for key, cls in own.items()) or "no algorithm"
        raise UsageError(
            f"algorithm {name}: {module.__name__}: expected one class whose `name` is the file's, {name!r}, got {got}"
        )
    return found[0]


def _not_built_in(cls: type[Algorithm], selector: str) -> type[Algorithm]:
    """Refuses the name of a built-in algorithm, since records are filed by name."""
    if cls.name in ALGORITHMS:
        raise UsageError(f"algorithm {selector}: its name {cls.name!r} is that of a built-in algorithm; choose another `name`")
    return cls


def parse_selector(text: str) -> tuple[str, dict[str, object]]:
    """Returns the name and the options of a selector, `name[param=value,...]` or
    `file.py:Class[param=value,...]` (or `file.py`, if that has one algorithm), whose values are
    YAML scalars or flow lists.

    `preset=NAME` stands for the options of a preset. The other options of the selector have
    precedence over it, wherever they stand.
    """
    name, options = _parsed(text)
    return name, dict(options)


@functools.lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[str, dict[str, object]]:
    if len(text) > LONGEST_SELECTOR:
        raise UsageError(f"selector {text[:60]!r}..: expected at most {LONGEST_SELECTOR:,} characters, got {len(text):,}")
    match = re.fullmatch(r"\s*([\w-]+|[^\[\]]+\.py(?::\w+)?)\s*(?:\[(.*)\])?\s*", text, re.DOTALL)
    if match is None:
        raise UsageError(f"selector {text!r}: expected name or name[param=value,...], such as 'fedbuff[buffer_size=10]'")
    name, body = match.groups()
    options: dict[str, object] = {}
    for part in _split(body or ""):
        key, equals, value = part.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"selector {text!r}: expected param=value, got {part.strip()!r}")
        key = key.strip().replace("-", "_")
        if key in options:
            raise UsageError(f"selector {text!r}: option {key} is given twice")
        options[key] = scalar(value.strip())
    name = name if origins.is_in_file(name) else plain(name)
    if "preset" in options:
        options = preset_options(options.pop("preset"), name) | options
    return name, options


def selector(name: str, options: Mapping[str, object], defaults: Mapping[str, object]) -> str:
    """Returns the selector of an algorithm: its name with the options that are not their defaults,
    `name[param=value,...]`."""
    changed = {key: value for key, value in options.items() if key not in defaults or value != defaults[key]}
    inside = ",".join(f"{key}={_text(value)}" for key, value in sorted(changed.items()))
    return f"{name}[{inside}]" if inside else name


def selector_of(algorithm: Algorithm) -> str:
    """Returns the selector by which records name an algorithm."""
    return selector(algorithm.name, algorithm.options(), type(algorithm)().options())


def _text(value: object) -> str:
    return json.dumps(list(value) if isinstance(value, tuple) else value).strip('"').replace(" ", "")


@functools.lru_cache(4096)
def _short(text: str) -> object:
    """Returns the value of a short text. It is kept, since suites set the same keys at every
    point."""
    return strict_yaml.load(text)


def scalar(text: str) -> object:
    """Returns a value as `strict_yaml` reads it; UsageError if it cannot."""
    try:
        return copy.deepcopy(_short(text)) if len(text) <= SHORT else strict_yaml.load(text)
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"value {text!r:.80} cannot be read: {one_line(error)}") from None


def _split(body: str) -> list[str]:
    """Returns the parts between commas that are not inside brackets, without empty ones."""
    parts, depth = [""], 0
    for character in body:
        depth += (character in "[{(") - (character in "]})")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def algorithm(selector: str | Algorithm) -> Algorithm:
    """Returns the algorithm that a selector `name[param=value,...]` describes. An instance is
    returned as it is. UsageError for a class, or if an option has no default."""
    if isinstance(selector, type):
        raise UsageError(
            f"algorithm: expected a selector or an object, got the class {selector.__name__}; call it: {selector.__name__}()"
        )
    if isinstance(selector, Algorithm):
        origins.check_defaults(type(selector))
        return selector
    name, options = parse_selector(selector)
    cls: type[Algorithm] = find("algorithm", name)
    origins.check_defaults(cls)
    return cls.make(options)
