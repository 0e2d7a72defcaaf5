"""Which code is not fedbench's own, and what users are told of an error in it or in ours.

Code of others is in files that a user names, and in packages that have an entry point.
"""

from __future__ import annotations

import linecache
import os
import traceback
from importlib.metadata import entry_points
from types import FrameType

from fedbench.errors import FedbenchError, PluginError

GROUP = "fedbench.{kind}s"  # of entry points
KINDS = ("algorithm", "task")
FROM_FILE = "_fedbench_file_"  # how the name of a module begins that a user's file was run as
REFUSED = (OSError, UnicodeError, RecursionError, OverflowError, MemoryError)
"""The errors with which the machine or its limits refuse something: a full disk, a name that is too
long, too little memory."""


def described(error: BaseException) -> list[str]:
    """Returns the kind and text of an error as a line. If it came through a user's file or a
    package with an entry point, its place there stands in front, and the line of code is a second
    line."""
    text = named(error)
    frames = _foreign_frames(error)
    if not frames:
        return [text]
    frame, line = frames[-1]
    code = linecache.getline(frame.f_code.co_filename, line).strip()
    return [f"{frame.f_code.co_filename}, line {line}, in {frame.f_code.co_name}: {text}", *([f"    {code}"] if code else [])]


def named(error: BaseException) -> str:
    """Returns the kind and text of an error. Code of others may have made the text: it may be
    long, or fail itself."""
    try:
        text = str(error)
    except BaseException as problem:  # GeneratorExit too: nothing that the code raises is meant for us
        if isinstance(problem, KeyboardInterrupt):
            raise
        text = f"its text cannot be made, {type(problem).__name__}"
    return f"{type(error).__name__}: {text}".removesuffix(": ")


def told(error: BaseException) -> list[str]:
    """Returns the lines that a user is told of any error: one line if the machine or its limits
    refused something, and the places in the code as well if it is a mistake of fedbench."""
    if isinstance(error, FedbenchError):
        return [*str(error).split("\n"), *getattr(error, "__notes__", ())]
    if is_foreign(error):
        return described(error)
    if isinstance(error, OSError):
        where = "" if error.filename is None else f": {os.fsdecode(error.filename)}"
        return [f"{error.strerror or error}{where}"]
    places = [*getattr(error, "__notes__", ()), *traceback.format_tb(error.__traceback__)]
    if isinstance(error, REFUSED):
        said = "memory is short" if isinstance(error, MemoryError) else named(error)
        return [f"{said} ({' '.join(places[-1].split())})" if places else said]
    return [named(error), *(line for place in places for line in place.rstrip().split("\n"))]


def ended(error: SystemExit) -> PluginError:
    """Returns the error to raise when an algorithm or task tries to end the program."""
    place, *code = described(error)
    return PluginError(f"an algorithm or task must not end the program: {place}", *code)


def is_foreign(error: BaseException) -> bool:
    """Returns whether the error came through an algorithm or task that is not built in."""
    return bool(_foreign_frames(error))


def _foreign_frames(error: BaseException) -> list[tuple[FrameType, int]]:
    """Returns the frames and lines of the error's traceback that lie in files given as selectors,
    or in packages that have an entry point."""
    points = [point for kind in KINDS for point in entry_points(group=GROUP.format(kind=kind))]
    packages = {point.value.partition(":")[0].partition(".")[0] for point in points} - {"fedbench"}

    def is_theirs(module: str) -> bool:
        return module.startswith(FROM_FILE) or module.partition(".")[0] in packages

    return [
        (frame, line) for frame, line in traceback.walk_tb(error.__traceback__) if is_theirs(frame.f_globals.get("__name__", ""))
    ]
