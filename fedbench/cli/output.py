"""What all verbs share: where text goes, and how errors look."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from fedbench.errors import FedbenchError

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def show_error(error: FedbenchError) -> None:
    """One screen: what is wrong, and what to do about it."""
    if err.is_terminal:
        err.print(Panel(Text(str(error)), title="error", title_align="left", border_style="red", expand=False))
    else:
        err.print(f"error: {error}", markup=False, soft_wrap=True)


def print_json(row: Mapping[str, Any]) -> None:
    """One object on one line."""
    out.print(json.dumps(row, allow_nan=False), markup=False, soft_wrap=True)


def print_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """Texts are shown as they stand: brackets are no markup."""
    table = Table(title=Text(title, style="table.title"), title_justify="left", box=None, pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(Text(column), overflow="fold", no_wrap=index == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    out.print(table)
