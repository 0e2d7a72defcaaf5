"""What became of submissions, one line an event, in a file that only grows: history.jsonl.

Every line has the digest of the line before it, so a line that is changed or taken out is noticed.
Lines taken from the end are not: that the file only grew is seen beside an earlier version of it
(`grown`). A line that was cut short never was an event; the next one takes its place.
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

from pydantic import Field, ValidationError

from fedbench import plain_files, strict_json
from fedbench.errors import RecordError, UsageError
from fedbench.scenarios.base import Part
from fedbench.submissions.manifest import SLUG, Day, Line, Sha256
from fedbench.submissions.validity import Validity

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
    """A line. `digest`: of the submission's manifest; `report`: of the report that was seen;
    `previous`: of the line before."""

    date: Day
    submission: Annotated[str, Field(pattern=rf"^{SLUG}\z")]
    event: Kind
    digest: Sha256
    report: Sha256 | None = None
    reason: Line | None = None
    previous: Sha256


def read(file: Path) -> list[Event]:
    """Returns all events, the oldest first; none if there is no file. RecordError that names the
    first line which is no event, or does not follow the one before it."""
    return _events(content(file), str(file))[0] if file.exists() else []


def content(file: Path) -> bytes:
    """Returns the bytes of a history. RecordError for what is no plain file, or is too large."""
    return plain_files.content(file, LARGEST, "history", RecordError)


def append(
    file: Path, submission: str, event: Kind, digest: str, *, date: str, report: str | None = None, reason: str | None = None
) -> Event:
    """Add an event to the end of the file, which is locked meanwhile, and return it.

    UsageError for an event that cannot follow those before it; RecordError if the file is damaged.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with _locked(file) as handle:
        found = content(file)
        events, whole = _events(found, str(file))
        previous = _digest(found[:whole].splitlines()[-1]) if whole else FIRST
        try:
            added = Event(
                date=date, submission=submission, event=event, digest=digest, report=report, reason=reason, previous=previous
            )
        except ValidationError as errors:
            first = errors.errors(include_url=False)[0]
            raise UsageError(f"history {file}: {first['loc'][0]}: {first['msg']}, got {first['input']!r:.80}") from None
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


def _events(found: bytes, where: str) -> tuple[list[Event], int]:
    """The events, and how many bytes they take; what follows them is a line that was cut short."""
    whole = found.rfind(b"\n") + 1
    events, previous = [], FIRST
    for number, line in enumerate(found[:whole].split(b"\n")[:-1], 1):
        place = f"history {where}: line {number}"
        try:
            event = Event.model_validate(strict_json.load(plain_files.decoded(line, place, RecordError)))
        except ValidationError as errors:
            first = errors.errors(include_url=False)[0]
            raise RecordError(
                f"{place}: {'.'.join(map(str, first['loc']))}: {first['msg']}, got {first['input']!r:.80}"
            ) from None
        except strict_json.RefusedJsonError as error:
            raise RecordError(f"{place}: {error}") from None
        if event.previous != previous:
            raise RecordError(
                f"{place}: previous: the line before it has {previous}, it says {event.previous}: a line was changed, or taken out"
            )
        events.append(event)
        previous = _digest(line)
    return events, whole


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
    """Returns how valid a submission with this digest is by its events, and the reason if it was
    retracted. What is said of another digest does not count: the submission was changed since."""
    own = [one for one in events if one.submission == submission]
    retracted = next((one for one in own if one.event == "retracted"), None)
    if retracted is not None:
        return Validity.RETRACTED, retracted.reason or ""
    order = list(Validity)
    rungs = [RUNGS[one.event] for one in own if one.digest == digest]
    return max(rungs, key=order.index, default=Validity.SELF_REPORTED), ""


def grown(before: bytes, now: bytes) -> bool:
    """Returns whether one content of the file is another with lines added."""
    return now.startswith(before[: before.rfind(b"\n") + 1])
