"""Reads files that anybody may have written. Only plain files of a bounded size are read; pipes and
devices are never waited for."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

import yaml

from fedbench import strict_json, strict_yaml
from fedbench.errors import FedbenchError, UsageError, one_line, shown


def content(path: str | Path, most: int, name: str, error: type[FedbenchError] = UsageError, begins: bytes = b"") -> bytes:
    """Returns all bytes of a plain file.

    Args:
        path: where the file is.
        most: the largest size in bytes that is read.
        name: what the file is, such as `scenario`, for messages.
        error: the kind of error that is raised if the file is missing, larger, or no plain file but
            a folder, a device or a pipe.
        begins: how the file has to begin. Of one that does not, only so many bytes are returned.
    """
    handle, size = _handle(path, name, error)
    with os.fdopen(handle, "rb") as file:
        try:
            head = file.read(len(begins))
            if head != begins:
                return head
            found = head + file.read(min(size, most) + 1)  # so much is allocated at once
        except OSError as problem:
            raise error(f"{name} {path}: cannot be read: {problem.strerror}") from None
    if len(found) > most:
        raise error(f"{name} {path}: expected at most {most:,} bytes, got more")
    return found


def opened(path: str | Path, name: str, error: type[FedbenchError] = UsageError) -> BufferedReader:
    """Returns a plain file of any size, open for reading. The arguments and `error` are those of
    `content`."""
    return os.fdopen(_handle(path, name, error)[0], "rb")


def _handle(path: str | Path, name: str, error: type[FedbenchError]) -> tuple[int, int]:
    """Returns the descriptor of an opened plain file, and its size in bytes."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe without a writer would be waited for
    except (OSError, ValueError) as problem:  # ValueError: a null byte in the name
        raise error(f"{name} {shown(path)}: cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise error(f"{name} {shown(path)}: cannot be read: it is no plain file")
    return handle, status.st_size


def text(path: str | Path, most: int, name: str, error: type[FedbenchError] = UsageError) -> str:
    """Returns what `content` returns, as text, without the byte order mark that some programs put
    before it. `error` is also raised if the file is not UTF-8."""
    return decoded(content(path, most, name, error), f"{name} {path}", error).removeprefix("\ufeff")


def decoded(found: bytes, where: str, error: type[FedbenchError] = UsageError) -> str:
    """Returns bytes as text. `where` names their file in the message of `error`, which is raised if
    they are not UTF-8."""
    try:
        return found.decode()
    except UnicodeDecodeError as problem:
        raise error(f"{where}: expected text in UTF-8, got the byte 0x{found[problem.start]:02x} at {problem.start}") from None


def json_in(file: Path, most: int, name: str, error: type[FedbenchError] = UsageError, *, finite: bool = True) -> Any:
    """Returns what a JSON file of at most `most` bytes holds. `name` says what the file is, and
    `finite` is that of `strict_json.load`. Raises `error` if it cannot be read."""
    return json_of(text(file, most, name, error), f"{name} {file}", error, finite=finite)


def json_mapping(file: Path, most: int, name: str) -> dict[str, Any]:
    """Returns what `json_in` returns. UsageError if it is no mapping of keys."""
    found = json_in(file, most, name)
    if not isinstance(found, dict):
        raise UsageError(f"{name} {file}: expected a mapping of keys, got {type(found).__name__}")
    return found


def json_of(given: str, where: str, error: type[FedbenchError] = UsageError, *, finite: bool = True) -> Any:
    """Returns what a JSON text holds. `where` names its file in the message of `error`, which is
    raised if it cannot be read."""
    try:
        return strict_json.load(given, finite=finite)
    except strict_json.RefusedJsonError as refused:
        raise error(f"{where}: {refused}") from None


def mapping(file: Path, name: str, most: int = strict_yaml.LARGEST) -> dict[str, Any]:
    """Returns the mapping of keys in a YAML file of at most `most` characters. `name` says what the
    file is, such as `scenario`. UsageError if it holds no mapping."""
    return mapping_in(text(file, 4 * most, name), f"{name} {file}", most)


def mapping_in(given: str, where: str, most: int = strict_yaml.LARGEST) -> dict[str, Any]:
    """Returns the mapping of keys that a YAML text of at most `most` characters holds. `where`
    names its file in messages. UsageError if it holds no mapping."""
    try:
        found = strict_yaml.load(given, most)
    except strict_yaml.RefusedYamlError as error:
        raise UsageError(f"{where}: {error}") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UsageError(f"{where}: not valid YAML: {one_line(error)}") from None
    if not isinstance(found, dict):
        raise UsageError(f"{where}: expected a mapping of keys, got {type(found).__name__}")
    return found
