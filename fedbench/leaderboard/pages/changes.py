"""What changed on the board: a log to which lines are added and from which none is taken."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from fedbench import plain_files
from fedbench.errors import UsageError
from fedbench.leaderboard.pages.frame import Site


def read(file: Path) -> list[dict[str, Any]]:
    """Returns the entries {date, text} of a YAML file, oldest first; `text` is Markdown.

    UsageError if it is missing, or if an entry is of another form or older than the one before it.
    """
    found = plain_files.mapping(file, "changes").get("changes")
    if not isinstance(found, list) or not found:
        raise UsageError(f"changes {file}: expected a list of entries under `changes`, got {found!r:.60}")
    before = ""
    for number, entry in enumerate(found, start=1):
        if (
            not isinstance(entry, dict)
            or set(entry) != {"date", "text"}
            or not all(isinstance(one, str) for one in entry.values())
        ):
            raise UsageError(f"changes {file}, entry {number}: expected date and text, both in quotes, got {entry!r:.80}")
        try:
            datetime.date.fromisoformat(entry["date"])
        except ValueError:
            raise UsageError(
                f"changes {file}, entry {number}: expected a date such as 2026-11-24, got {entry['date']!r:.40}"
            ) from None
        if entry["date"] < before:
            raise UsageError(
                f"changes {file}, entry {number}: of {entry['date']}, behind one of {before}; add entries at the end"
            )
        before = entry["date"]
    return found


def render(site: Site) -> str:
    """Returns the page, the newest entry first."""
    return site.page("changes.html", "changes.html", changes=list(reversed(site.changes)))
