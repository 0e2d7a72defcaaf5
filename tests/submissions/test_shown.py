"""Submissions on the site."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from fedbench.cli.submissions import shown
from fedbench.documents.site import Beside
from fedbench.leaderboard.document import of_records
from fedbench.leaderboard.site import check as check_site
from fedbench.leaderboard.site import write
from fedbench.results.record import Record
from fedbench.submissions import history
from fedbench.submissions.check import check
from fedbench.submissions.history import HISTORY
from tests.leaderboard.reading import Page
from tests.submissions.conftest import NAME, WORDS

DAY = "2031-05-18"


def site(folder: Path, out: Path, own: Record) -> Path:
    """Of one run of ours and all that others handed in."""
    submitted, theirs = shown(folder)
    write([of_records([own], "ours"), *theirs], out, beside=Beside(submissions=submitted))
    assert check_site(out) == []
    return out


def test_rows_of_others_are_on_pages_of_their_own(copy: Path, tmp_path: Path, record: Callable[..., Record]) -> None:
    own = record("fedavg")
    digest = check(copy).digest or ""
    for event in ("received", "checked"):
        history.append(copy.parent / HISTORY, NAME, event, digest, date=DAY)  # type: ignore[arg-type]
    out = site(copy.parent, tmp_path / "site", own)
    text = (out / "submissions.html").read_text()
    assert '<a href="by-good.html">Good &lt;script&gt;alert(1)&lt;/script&gt; work</a>' in text
    assert "<td>checked</td>" in text
    assert (out / "by-good" / "calm.html").is_file(), "its scenario has the name of the suite's point"
    assert not any("<script>" in file.read_text() for file in out.rglob("*.html"))
    for page in out.rglob("*.html"):
        Page(page.read_text())
    rows = (out / "data" / "rows.js").read_text()
    found = json.loads(rows.removeprefix("window.fedbench = ").removesuffix(";\n"))
    places = [found["fields"].index(name) for name in ("suite", "validity")]
    assert {tuple(row[place] for place in places) for row in found["rows"]} == {("ours", "checked"), ("by-good", "checked")}
    navigation = (out / "index.html").read_text().partition("<header>")[0]
    assert "Submissions" in navigation
    assert "by-good" not in navigation


def test_what_was_taken_back_stays_with_its_reason(copy: Path, tmp_path: Path, record: Callable[..., Record]) -> None:
    own = record("fedavg")
    out = tmp_path / "site"
    site(copy.parent, out, own)
    history.append(copy.parent / HISTORY, NAME, "received", "a" * 64, date=DAY)
    history.append(copy.parent / HISTORY, NAME, "retracted", "a" * 64, date=DAY, reason="a <b>mistake</b>")
    shutil.rmtree(copy)
    site(copy.parent, out, own)
    text = (out / "submissions.html").read_text()
    assert "retracted<small>a &lt;b&gt;mistake&lt;/b&gt;</small>" in text
    assert WORDS.title not in text
    assert not (out / "by-good.html").exists(), "its pages go"
    assert not [file for file in out.rglob("*by-good*") if file.is_file()]
    assert not list((out / "by-good").rglob("*.html"))
