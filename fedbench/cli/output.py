"""How all verbs print texts, tables, JSON and errors. Texts are shown as they are: brackets are no
markup, and `:name:` is no emoji."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fedbench.errors import FedbenchError, UsageError, escaped

out = Console(highlight=False, emoji=False, markup=False)
err = Console(stderr=True, highlight=False, emoji=False, markup=False)


def visible(text: str) -> str:
    """Returns the text with escapes as `escaped` has them. Line breaks stay."""
    return "\n".join(map(escaped, text.split("\n")))


def say(text: str = "", end: str = "\n") -> None:
    """Prints a line to standard output."""
    sys.stdout.write(visible(text) + end)


def show(text: str) -> None:
    """Prints a line to standard error, without buffering."""
    sys.stderr.write(f"{visible(text)}\n")
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


def print_json(row: Mapping[str, Any]) -> None:
    """Prints an object on one line of standard output, in ASCII."""
    sys.stdout.write(json.dumps(row, allow_nan=False) + "\n")


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Prints a table to standard output. Cells are folded at the width of the terminal, but for
    those of the first column."""
    table = Table(title=Text(visible(title), style="table.title"), title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(visible(column), overflow="fold", no_wrap=index == 0)
    for row in rows:
        table.add_row(*map(visible, row))
    out.print(table)
