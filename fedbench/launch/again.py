"""Runs the specifications of many records again, side by side, and counts how they compare."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

from fedbench.engine.run import RunOptions
from fedbench.engine.verify import verify
from fedbench.launch.executors import Begun, Event, Failed, Tell, Told
from fedbench.launch.runner import on_this_machine
from fedbench.results.record import Record

NOT_VERIFIED = "not verified"
REPORT_EVERY = 10.0  # host seconds between two lines that count


def verify_again(record: Record, tell: Tell) -> tuple[str, str | None]:
    """Returns the verdict on a record, and the first field that differs, if one does."""
    found = verify(record, RunOptions())
    return found.verdict, found.first_difference


def verify_all(records: Sequence[Record], *, processes: int, say: Callable[[str], None]) -> Counter[str]:
    """Runs all records again and returns how many got which verdict: one of the words of
    `fedbench.engine.verify.verify`, or NOT_VERIFIED where that raised an error.

    Args:
        records: the records, of algorithms that are built in or installed.
        processes: runs at a time. If there are several, each is in another process.
        say: gets a line for every record that is not identical, and now and then one that counts.
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

    on_this_machine(processes, len(records)).run(verify_again, records, hear)
    return counts


def told(counts: Counter[str]) -> str:
    """Returns the counts in words, the most frequent verdict first."""
    return ", ".join(f"{count:,} {verdict}" for verdict, count in counts.most_common())
