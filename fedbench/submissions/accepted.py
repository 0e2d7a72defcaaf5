"""Chooses what is shown of a folder of submissions: those without faults, each with its validity,
and all that were retracted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fedbench.documents.validity import Validity
from fedbench.results.record import Record
from fedbench.submissions import history
from fedbench.submissions import manifest as manifests
from fedbench.submissions.check import check
from fedbench.submissions.faults import FaultsError
from fedbench.submissions.folder import is_submission
from fedbench.submissions.folder import read as files_of
from fedbench.submissions.history import HISTORY, Event
from fedbench.submissions.manifest import MANIFEST, Manifest
from fedbench.submissions.rows import Row


@dataclass(frozen=True)
class Submission:
    """A submission as it is shown. All its texts were written by strangers: they are printable and
    bounded, and must be escaped where they are shown.

    `reason` says why it was retracted, else it is empty. A retracted submission has no records. If
    its folder is gone, only its name and date are known.
    """

    name: str
    title: str
    authors: tuple[str, ...]
    validity: Validity
    reason: str
    date: str
    suite: str
    rows: tuple[Row, ...] = ()
    records: tuple[Record, ...] = ()


def accepted(folder: Path, tell: Callable[[str], None] = lambda line: None) -> list[Submission]:
    """Returns the submissions in a folder that have no faults, and those that were retracted, in
    order of their names. Nothing of them is executed.

    Args:
        folder: has a folder for each submission, and the history.
        tell: called with a line for each fault of a submission that is left out.

    Raises:
        RecordError: if the history is damaged.
    """
    events = history.read(folder / HISTORY)
    retracted = {event.submission: event for event in events if event.event == "retracted"}
    places = sorted(one for one in folder.iterdir() if not one.is_symlink() and one.is_dir() and is_submission(one))
    found = [_retracted(folder / name, event) for name, event in retracted.items()]
    for place in places:
        if place.name in retracted:
            continue
        report = check(place)
        for fault in report.faults:
            tell(f"{place.name}: left out: {fault.line}")
        if report.manifest is not None and report.digest is not None and not report.faults:
            validity, _ = history.standing(events, place.name, report.digest)
            found.append(_shown(report.manifest, validity, rows=report.rows, records=report.records))
    return sorted(found, key=lambda one: one.name)


def _shown(
    manifest: Manifest, validity: Validity, reason: str = "", rows: tuple[Row, ...] = (), records: tuple[Record, ...] = ()
) -> Submission:
    authors, suite = tuple(manifest.authors), manifest.suite.name
    return Submission(manifest.name, manifest.title, authors, validity, reason, manifest.date, suite, rows, records)


def _retracted(place: Path, event: Event) -> Submission:
    reason = event.reason or ""
    try:
        return _shown(manifests.parse(files_of(place)[MANIFEST]), Validity.RETRACTED, reason)
    except FaultsError:
        return Submission(event.submission, event.submission, (), Validity.RETRACTED, reason, event.date, "")
