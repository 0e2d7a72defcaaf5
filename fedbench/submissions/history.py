"""The history of submissions: a file, history.jsonl, with one line for each event. Lines are only
ever added to it.

Every line has the digest of the line before it, so a line that is changed or taken out is noticed.
Lines that are taken from the end are not noticed, unless the file is compared with an earlier
version of it (`grown`). A last line that was cut short is no event, and the next event overwrites
it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fedbench import plain_files
from fedbench.documents.validity import Validity
from fedbench.errors import RecordError, UsageError
from fedbench.refusals import refused_in
from fedbench.scenarios.base import Part
from fedbench.submissions.manifest import SLUG, Day, Line, Sha256

HISTORY = "history.jsonl"
LARGEST = 64 << 20
FIRST = "0" * 64
Kind = Literal["received", "checked", "re-run", "retracted"]
RUNGS: dict[Kind, Validity] = {
    "received": Validity.SELF_REPORTED,
    "checked": Validity.CHECKED,
    "re-run": Validity.RE_RUN,
    "retracted": Validity.RETRACTED,
}


class Event(Part):
    """A line of the history. `digest` is that of the submission's manifest, `report` that of the
    report which led to the event, and `previous` that of the line before."""

    date: Day
    submission: Annotated[str, Field(pattern=rf"^{SLUG}\z")]
    event: Kind
    digest: Sha256
    report: Sha256 | None = None
    reason: Line | None = None
    previous: Sha256


def read(file: Path) -> list[Event]:
    """Returns all events, the oldest first, and none if there is no file. Raises RecordError that
    names the first line which is no event, or does not follow the line before it."""
    return _events(content(file), str(file))[0] if file.exists() else []


def content(file: Path) -> bytes:
    """Returns the bytes of a history. Raises RecordError if it is no plain file, or too large."""
    return plain_files.content(file, LARGEST, "history", RecordError)


def append(
    file: Path, submission: str, event: Kind, digest: str, *, date: str, report: str | None = None, reason: str | None = None
) -> Event:
    """Adds an event to the end of the file, which is locked meanwhile, and returns the event.

    Args:
        file: the history, which is made if it is not there.
        submission: its name.
        event: what happened to it.
        digest: the digest of its manifest.
        date: as YYYY-MM-DD.
        report: the digest of the report that led to the event, if there is one.
        reason: why it was retracted.

    Raises:
        UsageError: for an event that cannot follow those before it.
        RecordError: if the file is damaged.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with _locked(file) as handle:
        found = content(file)
        events, whole, previous = _events(found, str(file))
        with refused_in(f"history {file}"):
            added = Event(
                date=date, submission=submission, event=event, digest=digest, report=report, reason=reason, previous=previous
            )
        _check_next(events, added, file)
        line = json.dumps(added.model_dump(), sort_keys=True).encode() + b"\n"
        try:
            os.ftruncate(handle, whole)
            _write(handle, line, whole)
        except OSError:
            os.ftruncate(handle, whole)  # half a line is no event
            raise
    return added


@contextlib.contextmanager
def _locked(file: Path) -> Iterator[int]:
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield handle
    finally:
        os.close(handle)


def _write(handle: int, line: bytes, at: int) -> None:
    while line:
        written = os.pwrite(handle, line, at)
        line, at = line[written:], at + written
    os.fsync(handle)


def _events(found: bytes, where: str) -> tuple[list[Event], int, str]:
    """Returns the events, the number of bytes that they take, and the digest of the last one. What
    follows is a line that was cut short."""
    whole = found.rfind(b"\n") + 1
    events, previous = [], FIRST
    for number, line in enumerate(found[:whole].split(b"\n")[:-1], 1):
        place = f"history {where}: line {number}"
        with refused_in(place, RecordError):
            event = Event.model_validate(plain_files.json_of(plain_files.decoded(line, place, RecordError), place, RecordError))
        if event.previous != previous:
            raise RecordError(
                f"{place}: previous: the line before it has {previous}, it says {event.previous}: a line was changed, or taken out"
            )
        events.append(event)
        previous = _digest(line)
    return events, whole, previous


def _digest(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def _check_next(events: Sequence[Event], added: Event, file: Path) -> None:
    own = [one for one in events if one.submission == added.submission]
    where = f"history {file}: {added.submission}"
    if any(one.event == "retracted" for one in own):
        raise UsageError(f"{where}: it was retracted, and stays so; hand it in under another name")
    if added.event == "retracted":
        if not own:
            raise UsageError(f"{where}: there is no such submission, so it cannot be retracted")
        if added.reason is None:
            raise UsageError(f"{where}: a retraction needs a reason, which is shown")
    elif added.event != "received" and not any((one.event, one.digest) == ("received", added.digest) for one in own):
        raise UsageError(f"{where}: it cannot be {added.event} before it was received with the digest {added.digest}")


def standing(events: Sequence[Event], submission: str, digest: str | None) -> tuple[Validity, str]:
    """Returns the validity that the events give to a submission with this digest, and the reason if
    it was retracted. Events with another digest do not count, since the submission was changed
    after them."""
    own = [one for one in events if one.submission == submission]
    retracted = next((one for one in own if one.event == "retracted"), None)
    if retracted is not None:
        return Validity.RETRACTED, retracted.reason or ""
    order = list(Validity)
    rungs = [RUNGS[one.event] for one in own if one.digest == digest]
    return max(rungs, key=order.index, default=Validity.SELF_REPORTED), ""


def grown(before: bytes, now: bytes) -> bool:
    """Returns whether the content `now` of the file is the content `before` with lines added."""
    return now.startswith(before[: before.rfind(b"\n") + 1])
