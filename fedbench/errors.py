"""The errors that users see. Each message names the thing, the value, what was expected, and
where."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable

__all__ = [
    "ClientError",
    "CudaError",
    "FedbenchError",
    "MissingDataError",
    "NoCudaError",
    "OriginError",
    "PluginError",
    "RecordError",
    "UnwrittenError",
    "UsageError",
]

LONGEST = 600  # characters of a line of a message
FIRST, LAST = 400, 150  # characters of a longer line that are shown
MOST_LINES = 60
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 200


class FedbenchError(Exception):
    """Base of all errors of fedbench; the command line exits with 1.

    The message is one line: what it quotes may come from anybody, so line breaks and control
    characters in it become escapes, and its middle is left out where it is too long.

    Parameters
    ----------
    message : object
        The message, or what has it as its text.
    *below : str
        Further lines, such as the line of code that failed. They are shown as the message is.

    Attributes
    ----------
    exit_code : int
        The exit code of the command line: 1, or 2 if the request was wrong.
    """

    exit_code = 1

    def __init__(self, message: object = "", *below: str) -> None:
        super().__init__(message, *below)

    def __str__(self) -> str:
        message, *below = (str(one) for one in self.args)
        more = [f"and {len(below) - MOST_LINES:,} more lines"] if len(below) > MOST_LINES else []
        return "\n".join(shown_on_one_line(one) for one in (message, *below[:MOST_LINES], *more))


class UsageError(FedbenchError):
    """A request cannot be carried out as it stands; the command line exits with 2."""

    exit_code = 2


class RecordError(FedbenchError):
    """A stored record is missing, half-written, or not what its name says."""


class OriginError(UsageError, RecordError):
    """The algorithm of a record cannot be found, or is another one; the message names what you have
    to give."""


class PluginError(FedbenchError):
    """An algorithm or task that is not built in failed; the message names the file and the line."""


class UnwrittenError(PluginError, NotImplementedError):
    """An algorithm lacks a method that its run needs."""


class MissingDataError(UsageError):
    """A data set is not on this machine; the message names where it was looked for and what to
    install."""


class ClientError(FedbenchError):
    """A client's job failed; the message names the run, the client, the job and the stage."""


class CudaError(FedbenchError):
    """The CUDA runtime refused a call or a kernel; the message names it."""


class NoCudaError(UsageError, ImportError):
    """This installation was built without the kernels for a GPU; the message names the build
    option."""


def escaped(text: str) -> str:
    """Returns the text with escapes in the place of characters that break the line, move the
    cursor, turn the writing direction or cannot be encoded."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else one.encode("unicode_escape", "surrogatepass").decode() for one in text)


def shown_on_one_line(text: str) -> str:
    """Returns the text with escapes, of at most LONGEST characters. What is left out of a longer
    one is in its middle, since a message begins with the thing and ends with what to do."""
    if len(text) <= LONGEST and len(whole := escaped(text)) <= LONGEST:
        return whole
    return f"{escaped(text[:FIRST])[:FIRST]} .. ({len(text):,} characters in all) .. {escaped(text[-LAST:])[-LAST:]}"


def quoted(value: object, most: int = 60) -> str:
    """Returns the representation of a value, cut after `most` characters. It is made of the first
    items and levels alone, since a list may hold another one twice, and that a third one twice."""
    try:
        return _SHORT.repr(value)[:most]
    except BaseException as problem:  # a class of others may make it fail, or end the program
        if isinstance(problem, KeyboardInterrupt):
            raise
        return f"its text cannot be made, {type(problem).__name__}"


def one_line(error: BaseException, most: int = 200) -> str:
    """Returns the message of another library's error on one line of at most `most` characters."""
    return " ".join(str(error).split())[:most]


def shown(value: object, most: int = 200) -> str:
    """Returns a text that anybody may have written on one line of about `most` characters: with
    escapes in the place of what cannot be printed, and without its middle if it is longer."""
    text = str(value)
    cut = text if len(text) <= most else f"{text[: most - 20]}..{text[-18:]}"
    return escaped(cut)


def some(names: Iterable[object], most: int = 5) -> str:
    """Returns the first names as they are `shown`, and how many more there are."""
    given = [shown(name, 60) for name in names]
    return ", ".join(given[:most]) + (f" and {len(given) - most:,} more" if len(given) > most else "")


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns `; did you mean 'x'?` for the closest known name, or the list of known names if none
    is close."""
    names = sorted(known)
    return closest(name, names) or f"; known: {', '.join(names) or 'none'}"


def closest(name: str, known: Iterable[str]) -> str:
    """Returns `; did you mean 'x'?` for the closest known name, or empty text if none is close."""
    # A longer name is cut, since the time grows with the square of the length.
    close = difflib.get_close_matches(name[:100], sorted(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
