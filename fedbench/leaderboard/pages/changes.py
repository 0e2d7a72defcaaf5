"""Reads the log of what changed on the board and makes its page. Entries are added to the log and
never removed."""

from __future__ import annotations

import datetime
from pathlib import Path

from fedbench import plain_files
from fedbench.documents.site import Change
from fedbench.errors import UsageError
from fedbench.leaderboard.pages.frame import Site
from fedbench.refusals import refused_in


def read(file: Path) -> tuple[Change, ...]:
    """Returns the entries of a YAML file, the oldest first.

    Raises UsageError if the file is missing, or if an entry has another form or is older than the
    one before it.
    """
    found = plain_files.mapping(file, "changes").get("changes")
    if not isinstance(found, list) or not found:
        raise UsageError(f"changes {file}: expected a list of entries under `changes`, got {found!r:.60}")
    entries: list[Change] = []
    for number, entry in enumerate(found, start=1):
        where = f"changes {file}, entry {number}"
        is_entry = isinstance(entry, dict) and set(entry) == {"date", "text"}
        if not is_entry or not all(isinstance(one, str) for one in entry.values()):
            raise UsageError(f"{where}: expected date and text, both in quotes, got {entry!r:.80}")
        try:
            is_date = datetime.date.fromisoformat(entry["date"]).isoformat() == entry["date"]
        except ValueError:
            is_date = False
        if not is_date:  # fromisoformat also takes 20261124, and the day of a week
            raise UsageError(f"{where}: expected a date such as 2026-11-24, got {entry['date']!r:.40}")
        with refused_in(where):
            one = Change.model_validate(entry)
        if entries and one.date < entries[-1].date:
            raise UsageError(f"{where}: of {one.date}, behind one of {entries[-1].date}; add entries at the end")
        entries.append(one)
    return tuple(entries)


def render(site: Site) -> str:
    """Returns the page, the newest entry first."""
    return site.page("changes.html", "changes.html", changes=list(reversed(site.beside.changes)))
