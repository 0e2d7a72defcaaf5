"""The errors that users see. Each message names the thing, the value, what was expected, and
where."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class FedbenchError(Exception):
    """A run, a record or a check went wrong; the command line exits with 1."""

    exit_code = 1


class UsageError(FedbenchError):
    """What was asked for cannot be done as asked; the command line exits with 2."""

    exit_code = 2


class RecordError(FedbenchError):
    """A stored record is missing, half-written or not what its name says."""


class OriginError(UsageError, RecordError):
    """The algorithm of a record cannot be found, or is another one; the message says what the user
    has to name."""


class PluginError(FedbenchError):
    """An algorithm or task that is not built in failed; the message says in which file and line."""


class MissingDataError(UsageError):
    """A data set is not on this machine; the message says where it was looked for and what to
    install."""


class ClientError(FedbenchError):
    """A client's job failed; the message says which run, client, job and stage."""


class CudaError(FedbenchError):
    """The CUDA runtime refused a call or a kernel; the message names it."""


class NoCudaError(UsageError, ImportError):
    """This installation was built without the kernels for a GPU; the message names the option."""


def one_line(error: BaseException, most: int = 200) -> str:
    """Returns the message of another library's error on one line of at most `most` characters."""
    return " ".join(str(error).split())[:most]


def shown(value: object, most: int = 200) -> str:
    """Returns a text that anybody may have written on one line of about `most` characters: with
    escapes in the place of what cannot be printed, and without its middle if it is longer."""
    text = str(value)
    cut = text if len(text) <= most else f"{text[: most - 20]}..{text[-18:]}"
    return cut if cut.isprintable() else "".join(one if one.isprintable() else _escaped(one) for one in cut)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def some(names: Iterable[object], most: int = 5) -> str:
    """Returns the first names as they are `shown`, and how many more there are."""
    given = [shown(name, 60) for name in names]
    return ", ".join(given[:most]) + (f" and {len(given) - most:,} more" if len(given) > most else "")


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns `; did you mean 'x'?` for the closest known name, or the list of known names if none
    is close."""
    names = sorted(known)
    return closest(name, names) or f"; known: {', '.join(names)}"


def closest(name: str, known: Iterable[str]) -> str:
    """Returns `; did you mean 'x'?` for the closest known name, or empty text if none is close."""
    # A longer name is cut, since the time grows with the square of the length.
    close = difflib.get_close_matches(name[:100], sorted(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
