"""Reads LEAF's JSON: {"users": [..], "num_samples": [..], "user_data": {user: {"x": [..], "y":
[..]}}} and, in some data sets, "hierarchies": [..], a list that names a group for every user.

The columns are those of a user's data, `user`, and `hierarchy` if there are hierarchies. Only
`user_data` must be there; the lists that stand beside it must agree with it. A file is read a user
at a time, since numbers take many times their length in the file once they are read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import numpy as np

from fedbench import own_files, plain_files
from fedbench.errors import UsageError, shown, some
from fedbench.tasks.own.columns import ArrayColumn, Column, Place, Table
from fedbench.tasks.own.limits import Limits

LARGEST = 512 << 20  # bytes of a file
USER, HIERARCHY = "user", "hierarchy"
SPACE = re.compile(r"[ \t\r\n]*")
BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]]')
"""Strings, in which brackets mean nothing, and brackets."""


class User(NamedTuple):
    """A user's name and columns; the group if the file has hierarchies, and the number of samples
    if the file states it."""

    name: str
    data: dict[str, object]
    hierarchy: str | None
    samples: object


class Leaf(Table):
    """The users of a file, or of several files, one after the other."""

    def __init__(self, path: Path, part: str, limits: Limits) -> None:
        self.path, self.files = path, own_files.files_of(path, part)
        first = next(iter(self._users()), None)
        if first is None:
            raise UsageError(f"task file {shown(path)}: has no users")
        self.names = [*first.data, USER, *([HIERARCHY] if first.hierarchy is not None else [])]

    def _users(self) -> Iterator[User]:
        """Yields all users. UsageError names the file if it is none of LEAF's."""
        for file in self.files:
            where = f"task file {shown(file)}"
            text = plain_files.text(file, LARGEST, "task file")
            try:
                yield from _users_of(text)
            except (ValueError, RecursionError, IndexError) as error:
                raise UsageError(f"{where}: cannot be read as LEAF's JSON: {shown(error)}") from None

    def batches(self, features: Sequence[str], keys: Sequence[str]) -> Iterable[Sequence[Column]]:
        names = [*features, *keys]
        row = 0
        for user, data, hierarchy, samples in self._users():
            lacking = [name for name in names if name not in (*data, USER, HIERARCHY)]
            if lacking:
                raise UsageError(f"task file {shown(self.path)}: user {shown(user, 60)} has no {some(lacking)}")
            asked = {name: data[name] for name in names if name in data}
            rows = {name: column for name, column in asked.items() if isinstance(column, list)}
            sizes = {len(column) for column in rows.values()}
            if len(rows) < len(asked) or len(sizes) > 1:
                raise UsageError(
                    f"task file {shown(self.path)}: user {shown(user, 60)} must have lists of one length, {some(asked)}"
                )
            count = max(sizes, default=0)
            if rows and samples not in (None, count):
                raise UsageError(
                    f"task file {shown(self.path)}: user {shown(user, 60)} must have as many examples as num_samples states, "
                    f"{shown(samples, 20)}, got {count:,}"
                )
            constant = {USER: user, HIERARCHY: hierarchy or ""}
            if count:
                yield [self._column(rows.get(name, [constant.get(name)] * count), name, row) for name in names]
            row += count

    def _column(self, values: list[object], name: str, row: int) -> ArrayColumn:
        place = Place(str(self.path), name, row)
        try:
            found = np.array(values)
        except ValueError:
            raise place.error("must hold numbers, or lists of one length of them, got lists of several lengths", 0) from None
        if found.dtype.kind == "O":
            bad = next((i for i, value in enumerate(values) if value is None), 0)
            raise place.error("must hold numbers or texts, got something else", bad)
        texts = [isinstance(value, str) for value in values]
        if len(set(texts)) > 1:
            raise place.error("must hold numbers or texts, got both", texts.index(not texts[0]))
        return ArrayColumn(found, place)


def _users_of(text: str) -> Iterator[User]:
    """Yields the users in the text of a file. ValueError if it is none of LEAF's."""
    places = dict(_members(text, _open(text, 0), is_whole=True))
    if "user_data" not in places:
        raise ValueError(f"expected the keys users and user_data, got {some(places)}")
    stated = _stated(text, places)
    for name, begin in _members(text, _open(text, places["user_data"])):
        data = DECODER.raw_decode(text, begin)[0]
        if not isinstance(data, dict):
            raise ValueError(f"user {shown(name, 60)} must have x and y, got {type(data).__name__}")
        if "users" in places and name not in stated:
            raise ValueError(f"users must name those in user_data; it lacks {shown(name, 60)}")
        samples, group = stated.pop(name, (None, None))
        yield User(name, data, None if "hierarchies" not in places else str(group), samples)
    if stated:
        raise ValueError(f"users must name those in user_data; it has {some(stated)} beside them")


def _stated(text: str, places: Mapping[str, int]) -> dict[str, tuple[object, object]]:
    """Returns what the lists beside `user_data` say: a user's number of samples and group, None
    where there is no such list."""
    users, samples, groups = (
        DECODER.raw_decode(text, places[key])[0] if key in places else None for key in ("users", "num_samples", "hierarchies")
    )
    names = list(map(str, users)) if isinstance(users, list) else []
    for key, values in (("users", users), ("num_samples", samples), ("hierarchies", groups)):
        if values is not None and not (isinstance(values, list) and len(values) == len(names)):
            raise ValueError(f"{key} must be a list, with one for every user")
    if names and (twice := Counter(names).most_common(1)[0])[1] > 1:
        raise ValueError(f"users must name every user once, got {shown(twice[0], 60)} {twice[1]} times")
    return dict(zip(names, zip(samples or repeat(None), groups or repeat(None), strict=False), strict=False))


def _once(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Returns an object of JSON. ValueError if a key stands there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"expected every key of a user once, got {some(key for key, _ in pairs)}")
    return found


DECODER = json.JSONDecoder(object_pairs_hook=_once)


def _open(text: str, at: int) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != "{":
        raise ValueError(f"expected an object at character {at}")
    return at + 1


def _members(text: str, at: int, *, is_whole: bool = False) -> Iterator[tuple[str, int]]:
    """Yields the keys of an object whose brace ends before `at`, and the places of their values.
    ValueError if a key stands there twice, or something is behind an object that is the whole
    text."""
    seen: set[str] = set()
    at = _skip(text, at)
    while text[at] != "}":
        key, at = DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if not isinstance(key, str) or text[at] != ":":
            raise ValueError(f"expected a key at character {at}")
        if key in seen:
            raise ValueError(f"expected the key {shown(key, 60)} once, got it again at character {at}")
        seen.add(key)
        at = _skip(text, at + 1)
        yield key, at
        at = _skip(text, _end(text, at))
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] != "}":
            raise ValueError(f"expected a comma at character {at}")
    end = _skip(text, at + 1)
    if is_whole and end < len(text):
        raise ValueError(f"expected one object in a file, got more behind it at character {end}: {shown(text[end : end + 20])}")


def _end(text: str, at: int) -> int:
    """Returns the place behind a value. Objects and lists are skipped and not made."""
    if text[at] not in "{[":
        return DECODER.raw_decode(text, at)[1]
    depth = 0
    for found in BRACKETS.finditer(text, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    raise ValueError(f"no end of what begins at character {at}")


def _skip(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    return at if found is None else found.end()
