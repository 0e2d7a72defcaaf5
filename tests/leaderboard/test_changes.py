"""The log of what changed on the board."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.errors import UsageError
from fedbench.leaderboard.pages import changes

ENTRY = '  - {date: "2026-01-02", text: "`a` came."}\n'


def test_entries_are_read_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "changes.yaml"
    file.write_text(f'changes:\n{ENTRY}  - {{date: "2026-01-02", text: "it went."}}\n')
    assert [entry.text for entry in changes.read(file)] == ["`a` came.", "it went."]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("other: 1\n", "expected a list of entries under `changes`, got None"),
        ("changes: []\n", r"expected a list of entries under `changes`, got \[\]"),
        ('changes:\n  - {date: "2026-01-02"}\n', "entry 1: expected date and text, both in quotes"),
        (f"changes:\n{ENTRY}  - {{date: 7, text: x}}\n", "entry 2: expected date and text, both in quotes"),
        ('changes:\n  - {date: "May", text: "x"}\n', "entry 1: expected a date such as 2026-11-24, got 'May'"),
        (
            f'changes:\n{ENTRY}  - {{date: "2026-01-01", text: "x"}}\n',
            "entry 2: of 2026-01-01, behind one of 2026-01-02; add entries",
        ),
    ],
)
def test_what_is_no_log_is_named(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "changes.yaml"
    file.write_text(content)
    with pytest.raises(UsageError, match=words):
        changes.read(file)
