"""Writing and checking the site: `index.html`, `rules.html`, `data.json` and `data.csv` in one folder."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError

from fedbench import plain_files
from fedbench.analysis.axes import SECONDS, Axis
from fedbench.errors import UsageError
from fedbench.leaderboard import rules, suite_page
from fedbench.leaderboard.document import SCHEMA, document
from fedbench.leaderboard.form import problem
from fedbench.leaderboard.page import render
from fedbench.leaderboard.table import as_csv

if TYPE_CHECKING:
    from fedbench.results.record import Record

TITLE = "fedbench leaderboard"
LARGEST = 64 << 20  # bytes of a file of a site


def build(records: Iterable[Record], out: str | Path, *, title: str = TITLE, note: str = "", axis: str | Axis = SECONDS) -> Path:
    """Write the site into `out`, which is made if need be, and return the path of its `index.html`.

    Args:
        records: of any scenarios, in any order.
        out: the folder.
        title: heading of the page.
        note: a sentence below the heading, such as what the page does not claim.
        axis: on which runs are compared and drawn: seconds, updates, gradient_evaluations, steps or bytes.

    Each file is replaced in one step; the same records give the same bytes. UsageError without records, for an unknown axis, or if
    `out` cannot be written. RecordError if a record lacks the axis.
    """
    data = document(records, title, note, axis)
    if not data["scenarios"]:
        raise UsageError("leaderboard: there are no finished records to show; `fedbench run` writes some")
    return _write(Path(out), _files(data))


def build_suites(documents: Sequence[Mapping[str, Any]], out: str | Path) -> Path:
    """Write the overview of suites into `out`, which is made if need be, and return the path of its `index.html`.

    Args:
        documents: of the suites; the first one is `index.html`, another one `NAME.html`. `NAME.json` has what a page is made from.
        out: the folder.

    The same documents give the same bytes. UsageError if `out` cannot be written.
    """
    names = [one["suite"]["name"] for one in documents]
    if not names or len(set(names)) < len(names) or {"index", "rules"} & set(names):
        told = ", ".join(names) or "none"
        raise UsageError(f"leaderboard: expected suites with names of their own, none of them index or rules, got {told}")
    pages = {name: "index.html" if name == names[0] else f"{name}.html" for name in names}
    files = {"rules.html": rules.render()}
    for name, one in zip(names, documents, strict=True):
        text = json.dumps(one, ensure_ascii=False, allow_nan=False) + "\n"
        files |= {f"{name}.json": text, pages[name]: suite_page.render(json.loads(text), pages)}
    return _write(Path(out), files)


def _write(folder: Path, files: Mapping[str, str]) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            _replace(folder / name, text)
    except OSError as error:
        raise UsageError(
            f"leaderboard {folder}: cannot be written ({error.strerror}); choose a folder that you may write to"
        ) from None
    return folder / "index.html"


def check(out: str | Path) -> list[str]:
    """What is wrong with a site, one line each; empty if its page and its table say what its `data.json` says.

    The page is made again from `data.json` and must be the same, so this holds for the version that built it.
    """
    folder = Path(out)
    if not (folder / "data.json").exists():
        raise UsageError(f"leaderboard {folder}: there is no data.json; `fedbench leaderboard build` writes it")
    found = {
        name: plain_files.text(folder / name, LARGEST, "leaderboard")
        for name in ("data.json", "data.csv", "index.html", "rules.html")
    }
    try:
        data = json.loads(found["data.json"])
    except (ValueError, RecursionError) as error:
        return [f"{folder / 'data.json'}: not JSON ({error})"]
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        return [f"{folder / 'data.json'}: expected schema {SCHEMA}; build the leaderboard again"]
    wrong = problem(data)
    if wrong:
        return [f"{folder / 'data.json'}: not what a leaderboard is made from: {wrong}"]
    try:
        expected = _files(data)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, TemplateError) as error:
        return [f"{folder / 'data.json'}: not what a leaderboard is made from ({type(error).__name__}: {error})"]
    return [_difference(folder / name, expected[name], found[name]) for name in found if found[name] != expected[name]]


def _files(data: dict[str, Any]) -> dict[str, str]:
    """Name to content: functions of the document as JSON gives it back, and the rules."""
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    again = json.loads(text)
    return {"data.json": text, "data.csv": as_csv(again), "index.html": render(again), "rules.html": rules.render()}


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _difference(path: Path, expected: str, found: str) -> str:
    lines = zip(expected.splitlines(), found.splitlines(), strict=False)
    place = next((number for number, (one, other) in enumerate(lines, start=1) if one != other), None)
    where = f"line {place}" if place else "its end"
    return f"{path}: {where} is not what data.json gives; build the leaderboard again"
