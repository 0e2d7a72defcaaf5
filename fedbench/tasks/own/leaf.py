"""Reads LEAF's JSON: {"users": [..], "num_samples": [..], "user_data": {user: {"x": [..], "y":
[..]}}} and, in some data sets, "hierarchies": [..], a list that names a group for every user.

The columns are those of a user's data, `user`, and `hierarchy` if there are hierarchies. A file is
read a user at a time, since numbers take many times their length in the file once they are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

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
DECODER = json.JSONDecoder()


class Leaf(Table):
    """The users of a file, or of several files, one after the other."""

    def __init__(self, path: Path, part: str, limits: Limits) -> None:
        self.path, self.files = path, own_files.files_of(path, part)
        first = next(iter(self._users()), None)
        if first is None:
            raise UsageError(f"task file {shown(path)}: has no users")
        self.names = [*first[1], USER, *([HIERARCHY] if first[2] is not None else [])]

    def _users(self) -> Iterator[tuple[str, dict[str, object], str | None]]:
        """Yields the name, the data and the hierarchy of every user."""
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
        for user, data, hierarchy in self._users():
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
        return ArrayColumn(found, place)


def _users_of(text: str) -> Iterator[tuple[str, dict[str, object], str | None]]:
    """Yields the users in the text of a file. ValueError if it is none of LEAF's."""
    places = dict(_members(text, _open(text, 0)))
    if "user_data" not in places:
        raise ValueError(f"expected the keys users and user_data, got {some(places)}")
    users = DECODER.raw_decode(text, places["users"])[0] if "users" in places else []
    groups = DECODER.raw_decode(text, places["hierarchies"])[0] if "hierarchies" in places else None
    if groups is not None and not (isinstance(users, list) and isinstance(groups, list) and len(users) == len(groups)):
        raise ValueError("hierarchies must have one for every user")
    of_user: Mapping[str, str] = (
        {} if groups is None else {str(user): str(group) for user, group in zip(users, groups, strict=True)}
    )
    for user, begin in _members(text, _open(text, places["user_data"])):
        data = DECODER.raw_decode(text, begin)[0]
        if not isinstance(data, dict):
            raise ValueError(f"user {shown(user, 60)} must have x and y, got {type(data).__name__}")
        yield user, data, None if groups is None else of_user.get(user, "")


def _open(text: str, at: int) -> int:
    at = _skip(text, at)
    if text[at : at + 1] != "{":
        raise ValueError(f"expected an object at character {at}")
    return at + 1


def _members(text: str, at: int) -> Iterator[tuple[str, int]]:
    """Yields the keys of an object whose brace ends before `at`, and the places of their values."""
    at = _skip(text, at)
    while text[at] != "}":
        key, at = DECODER.raw_decode(text, at)
        at = _skip(text, at)
        if not isinstance(key, str) or text[at] != ":":
            raise ValueError(f"expected a key at character {at}")
        at = _skip(text, at + 1)
        yield key, at
        at = _skip(text, _end(text, at))
        if text[at] == ",":
            at = _skip(text, at + 1)
        elif text[at] != "}":
            raise ValueError(f"expected a comma at character {at}")


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
