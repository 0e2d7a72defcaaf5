"""What all verbs share: where text goes, and how errors look. Texts are shown as they stand: no
markup, no pictures of words."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fedbench.errors import FedbenchError

out = Console(highlight=False, emoji=False, markup=False)
err = Console(stderr=True, highlight=False, emoji=False, markup=False)


def visible(text: str) -> str:
    """The text with escapes for what would move a cursor, turn the writing direction or cannot be
    encoded; lines stay."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(one if one == "\n" or one.isprintable() else _escape(one) for one in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def say(text: str = "", end: str = "\n") -> None:
    """Prints a line to standard output."""
    sys.stdout.write(visible(text) + end)


def show(text: str) -> None:
    """Prints a line to standard error, at once."""
    sys.stderr.write(f"{visible(text)}\n")
    sys.stderr.flush()


def show_error(error: FedbenchError) -> None:
    """One screen: what is wrong, and what to do about it."""
    if err.is_terminal:
        err.print(Panel(Text(visible(str(error))), title="error", title_align="left", border_style="red", expand=False))
    else:
        show(f"error: {error}")


def print_json(row: Mapping[str, Any]) -> None:
    """One object on one line of standard output, in ASCII."""
    sys.stdout.write(json.dumps(row, allow_nan=False) + "\n")


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    table = Table(title=Text(visible(title), style="table.title"), title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(visible(column), overflow="fold", no_wrap=index == 0)
    for row in rows:
        table.add_row(*map(visible, row))
    out.print(table)
