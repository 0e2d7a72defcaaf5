"""Runs the specifications of many records again, side by side, and counts how they compare."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from fedbench.engine.run import RunOptions
from fedbench.engine.verify import verify
from fedbench.launch.executors import Begun, Event, Failed, Tell, Told
from fedbench.launch.runner import on_this_machine
from fedbench.results.record import Record

NOT_VERIFIED = "not verified"
REPORT_EVERY = 10.0  # host seconds between two lines that count


def verify_again(given: tuple[Record, str | None], tell: Tell) -> tuple[str, str | None]:
    """Returns the verdict on a record, and the first field that differs, if one does. The record
    comes with the file of its algorithm, None for one that is built in or installed."""
    record, file = given
    found = verify(record, RunOptions(), algorithm=file)
    return found.verdict, found.first_difference


def verify_all(
    records: Sequence[Record], *, processes: int, say: Callable[[str], None], files: Mapping[str, str] = MappingProxyType({})
) -> Counter[str]:
    """Runs all records again and returns how many got which verdict: one of the words of
    `fedbench.engine.verify.verify`, or NOT_VERIFIED where that raised an error.

    Args:
        records: the records.
        processes: runs at a time. If there are several, each is in another process.
        say: gets a line for every record that is not identical, and now and then one that counts.
        files: the algorithms in files that may be run, such as `./mine.py:Mine`, by their names.
    """
    counts: Counter[str] = Counter()
    last = time.monotonic()

    def hear(event: Event[tuple[str, str | None]]) -> None:
        nonlocal last
        if isinstance(event, Begun | Told):
            return
        verdict, where = (NOT_VERIFIED, None) if isinstance(event, Failed) else event.result
        counts[verdict] += 1
        if verdict != "identical":
            one = records[event.task]
            why = f": {event.error}" if isinstance(event, Failed) else f", first in {where}"
            say(f"{one.selector} seed {one.seed} on {one.scenario} ({one.run_id}): {verdict}{why}")
        if time.monotonic() - last >= REPORT_EVERY:
            last = time.monotonic()
            say(f"{counts.total():,} of {len(records):,}: {told(counts)}")

    given = [(one, files.get(one.spec.algorithm.name) if one.spec.algorithm.origin else None) for one in records]
    on_this_machine(processes, len(records)).run(verify_again, given, hear)
    return counts


def told(counts: Counter[str]) -> str:
    """Returns the counts in words, the most frequent verdict first."""
    return ", ".join(f"{count:,} {verdict}" for verdict, count in counts.most_common())
