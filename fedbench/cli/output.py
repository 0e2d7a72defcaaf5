"""How all verbs print texts, tables, JSON and errors. Texts are shown as they are: brackets are no
markup, and `:name:` is no emoji.

On a terminal lines fit its width. Elsewhere, such as in a pipe, every sentence and every row of a
table is one line, however long.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from fedbench.cli.layout import INDENT, reflowed, table, wrapped
from fedbench.errors import FedbenchError, UsageError, escaped

out = Console(highlight=False, emoji=False, markup=False)
err = Console(stderr=True, highlight=False, emoji=False, markup=False)

LEAST, UNLIMITED = 20, sys.maxsize  # columns


def columns_of(console: Console) -> int:
    """Returns the columns into which lines have to fit."""
    return max(LEAST, console.width) if console.file.isatty() else UNLIMITED


def visible(text: str) -> str:
    """Returns the text with escapes as `escaped` has them. Line breaks stay."""
    return "\n".join(map(escaped, text.split("\n")))


def fitting(text: str, console: Console, hang: int = INDENT) -> str:
    """Returns a text with escapes, whose lines fit the width of a console, see `wrapped`."""
    return "\n".join(part for line in visible(text).split("\n") for part in wrapped(line, columns_of(console), hang))


def say(text: str = "", hang: int = INDENT) -> None:
    """Prints sentences to standard output. A line that is too wide goes on `hang` columns to the
    right."""
    sys.stdout.write(f"{fitting(text, out, hang)}\n")


def say_text(text: str) -> None:
    """Prints paragraphs to standard output, see `fedbench.cli.layout.reflowed`."""
    sys.stdout.write("".join(f"{line}\n" for line in reflowed(visible(text), columns_of(out))))


def put(text: str) -> None:
    """Prints lines to standard output as they are, since they are copied or read by programs: a
    document, JSON, or commands."""
    sys.stdout.write(f"{visible(text)}\n")


def show(text: str) -> None:
    """Prints sentences to standard error, behind all that was printed to standard output."""
    _to_stderr(fitting(text, err))


def show_next(*commands: str) -> None:
    """Prints commands that can be typed next to standard error, each whole on a line."""
    _to_stderr("\n".join(["next:", *(f"  {visible(command)}" for command in commands)]))


def _to_stderr(text: str) -> None:
    with contextlib.suppress(OSError):  # the program says so at its end
        sys.stdout.flush()  # or lines would change places where both go into one file
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def show_error(error: FedbenchError) -> None:
    """Prints an error to standard error, in a frame if that is a terminal."""
    if err.is_terminal:
        err.print(Panel(Text(visible(str(error))), title="error", title_align="left", border_style="red", expand=False))
    else:
        show(f"error: {error}")


@contextlib.contextmanager
def writing(verb: str, output: Path, option: str = "--output") -> Iterator[None]:
    """Makes a UsageError of a failed write: it names `output`, and the `option` that chooses
    another place."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{verb}: {output} cannot be written ({error.strerror}); choose another {option}") from None


def print_json(*rows: Mapping[str, object]) -> None:
    """Prints objects to standard output, each on one line, in ASCII."""
    sys.stdout.writelines(json.dumps(row, allow_nan=False) + "\n" for row in rows)


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Prints a table to standard output, see `fedbench.cli.layout.table`."""
    cells = [[" ".join(visible(cell).split("\n")) for cell in row] for row in rows]
    laid = table([*map(visible, columns)], cells, columns_of(out))
    for style, lines in (("italic", fitting(title, out).split("\n")), ("bold", laid.head), ("", laid.body)):
        for line in lines:
            out.print(line, style=style, soft_wrap=True)
