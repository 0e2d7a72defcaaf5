"""Validates scenarios and other files of parts, and says in words what is wrong: the key, its
value, what it takes, and the nearest word that is known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import NoneType
from typing import Annotated, Literal, TypeVar, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from fedbench import origins, plain_files
from fedbench.errors import UsageError, closest, nearest
from fedbench.scenarios.keys import TAGS, annotation_at, fields, members_by_tag, visible
from fedbench.scenarios.schema import Scenario

LIMITS = {
    "greater_than": "> {gt:.10g}",
    "greater_than_equal": ">= {ge:.10g}",
    "less_than": "< {lt:.10g}",
    "less_than_equal": "<= {le:.10g}",
    "finite_number": "finite",
    "too_short": "a list of at least {min_length}",
    "string_pattern_mismatch": "text that matches {pattern}",
}
"""The allowed values, by the type of pydantic's error. An error of any other type says that the
value is not of the kind that the key takes."""
WORDS = {bool: "true or false", int: "an integer", float: "a number", str: "text"}
LONGEST = 80  # most characters of a value that are shown
LONGEST_PROBLEM = 300  # most characters of a problem
MOST_SHOWN = 5  # problems of a file
MISSING = object()
T = TypeVar("T", bound=BaseModel)


def validated(root: type[T], content: Mapping[str, object], where: str) -> T:
    """Returns the part `root` that has this content. UsageError lists the first problems with
    their keys, says how many more there are, and ends with `where`, the place of the content."""
    try:
        return root.model_validate(dict(content))
    except ValidationError as error:
        found = sorted(_without_left_short(error.errors(include_url=False)), key=lambda item: item["type"] == "missing")
    problems = [f"{one:.{LONGEST_PROBLEM}}" for one in _known_once(problem(item, root) for item in found[:MOST_SHOWN])]
    if len(found) > MOST_SHOWN:
        problems.append(f"and {len(found) - MOST_SHOWN:,} more problems")
    kind = root.model_config.get("title") or root.__name__.lower()
    raise UsageError(f"{kind} {content.get('name', '?')!s:.{LONGEST}}: {'; '.join(problems)} ({where})")


def names(library: Path) -> list[str]:
    """Returns the names of the files in a library."""
    return sorted(file.stem for file in library.glob("*.yaml"))


def file_of(name: str | Path, library: Path, kind: str) -> Path:
    """Returns the file of a name in a library of YAML files, in which hyphens and underscores are
    alike and capitals do not matter, or of a path. UsageError for an unknown name."""
    text = str(name)
    if text.endswith((".yaml", ".yml")) or "/" in text:
        return Path(text)
    known = {origins.plain(one): one for one in names(library)}
    if (plain := origins.plain(text)) not in known:
        raise UsageError(f"unknown {kind} {text!r}{nearest(text, names(library))}; a path to a .yaml file works too")
    return library / f"{known[plain]}.yaml"


def read(root: type[T], name: str | Path, library: Path, kind: str) -> T:
    """Returns the part that is in a library of YAML files by this name, or in the file of this
    path. UsageError for an unknown name, and as `validated` raises it."""
    file = file_of(name, library, kind)
    return validated(root, plain_files.mapping(file, kind), str(file))


def _known_once(problems: Iterable[str]) -> Iterator[str]:
    """Says only once which keys a group knows."""
    said = set()
    for one in problems:
        head, mark, known = one.partition("; known: ")
        yield head if mark and known in said else one
        said.add(known)


def _without_left_short(found: Sequence[ErrorDetails]) -> list[ErrorDetails]:
    """Leaves out lists that are too short only because they have wrong items, which are errors of
    their own."""
    above = {one["loc"][:depth] for one in found for depth in range(len(one["loc"]))}
    return [one for one in found if one["type"] != "too_short" or one["loc"] not in above]


def problem(item: ErrorDetails, root: type[BaseModel] = Scenario) -> str:
    """Returns one of pydantic's errors in words. `root` is the model of the file."""
    path, kind = [str(part) for part in item["loc"]], item["type"]
    if kind in ("extra_forbidden", "invalid_key"):
        return _unknown_key(root, path)
    if kind == "value_error":  # from a part's own check, whose message is complete
        message = str(item["msg"].removeprefix("Value error, "))
        return f"{_shown(root, path)}: {message}" if path else message
    value = MISSING if kind == "missing" else item["input"]
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        tag = item["ctx"]["discriminator"].strip("'")
        takes = annotation_at(root, path)
        if tag.endswith("()"):  # the name of a function, which chooses by one of these keys
            tag = next(key for key in TAGS if key in fields(takes))
        tagged = value.get(tag, MISSING) if isinstance(value, dict) else value
        return _must_be_one_of(_shown(root, [*path, tag]), list(members_by_tag(takes)), tagged)
    takes = annotation_at(root, path)
    if kind in LIMITS:
        return _must_be(_shown(root, path), LIMITS[kind].format(**item.get("ctx", {})), value)
    choices = next((one for one in (takes, *get_args(takes)) if get_origin(one) is Literal), None)  # also in `Literal | None`
    if choices is not None:
        return _must_be_one_of(_shown(root, path), get_args(choices), value)
    return _must_be(_shown(root, path), in_words(takes), value)


def in_words(takes: object) -> str:
    """Returns in words what a key with this annotation takes."""
    origin, inside = get_origin(takes), get_args(takes)
    if origin is Annotated:
        return in_words(inside[0])
    if origin is Literal:
        return _one_of(inside)
    if origin is dict:
        return "a group of keys"
    if origin is tuple:
        return "a list" if Ellipsis in inside else f"[{', '.join(map(in_words, inside))}]"
    if isinstance(takes, type):
        return WORDS.get(takes, "a group of keys")
    return " or ".join(dict.fromkeys(in_words(one) for one in inside if one is not NoneType))


def _unknown_key(root: type[BaseModel], path: Sequence[str]) -> str:
    group = set(fields(annotation_at(root, path[:-1])))
    return f"unknown key {_shown(root, path)}{nearest(path[-1], group) if group else ''}"


def _must_be_one_of(key: str, allowed: Sequence[object], value: object) -> str:
    near = "" if value is MISSING else closest(str(value), map(str, allowed))
    return _must_be(key, _one_of(allowed), value) + near


def _one_of(allowed: Iterable[object]) -> str:
    names = [repr(one) for one in allowed]
    return f"one of {', '.join(names)}" if len(names) > 1 else names[0]


def _must_be(key: str, what: str, value: object) -> str:
    if value is MISSING:
        return f"{key} must be {what}, but is missing"
    text = repr(value)
    return f"{key} must be {what}, got {text if len(text) <= LONGEST else text[: LONGEST - 3] + '...'}"


def _shown(root: type[BaseModel], path: Sequence[str]) -> str:
    return ".".join(visible(root, path)) or root.__name__.lower()
