"""Writes the result of a race on one scenario in words, in at most MOST_LINES lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from fedbench import written
from fedbench.suites.own_race.plan import FAR_BEHIND
from fedbench.suites.own_race.result import Best, RaceResult, System
from fedbench.suites.own_race.stages import RACE, lasting
from fedbench.suites.race.schema import MOST_ERROR

MOST_LINES = 25
MOST_NAMES = 4  # of a list in a line
MOST_REASONS = 2  # so many rows that are not applicable have their reason beside them
AXES = {"seconds": "fewest seconds", "gradient_evaluations": "fewest gradients", "bytes": "fewest bytes"}


def lines(found: RaceResult) -> list[str]:
    """Returns the lines of a result."""
    head, end = [_head(found)], [*_end(found)]
    compared = [one for one in found.systems if len(one.rows) > 1]
    room = MOST_LINES - len(head) - len(end)
    blocks = [_block(one, in_lines=True) for one in compared]
    if sum(map(len, blocks)) > room:
        blocks = [_block(one, in_lines=False) for one in compared]
    shown: list[str] = []
    for i, block in enumerate(blocks):
        if len(shown) + len(block) > room - (i < len(blocks) - 1):
            shown.append(f"and {written.counted(len(blocks) - i, 'more system')}, which --json and as_dict() have")
            break
        shown += block
    return [*head, *shown, *end]


def _head(found: RaceResult) -> str:
    if found.stage != RACE:
        return f"race on {found.scenario}: the time was too short for a statement; it stopped in the stage `{found.stage}`{_needs(found)}"
    left = sum(len(one.left) for one in found.systems)
    return f"race on {found.scenario}: {left} of {found.rows} rows are left{_needs(found)}"


def _needs(found: RaceResult) -> str:
    return "" if found.minutes is None else f"; the first look needs about {lasting(found.minutes)} more"


def _block(one: System, *, in_lines: bool) -> list[str]:
    """Returns the lines of a system; with `in_lines` the best in seconds are one below the
    other."""
    title = f"{one.words}: {len(one.left)} of {len(one.rows)} rows left, {written.counted(one.seeds, 'seed')} each"
    if one.unknown:
        return [f"{title}; no statement: {one.unknown}", *_more(one)]
    seconds, *others = [(axis, one.best[axis]) for axis in AXES]
    if in_lines:
        costs = [written.cost(best.cost, best.misses) for best in seconds[1]]
        told = [
            f"  {AXES['seconds']}:",
            *(f"    {best.row}: {cost}, {_times(best)}" for best, cost in zip(seconds[1], costs, strict=True)),
        ]
    else:
        told = [_in_a_line(*seconds)]
    told += [_in_a_line(*one) for one in others]
    if one.unranked:
        told.append(f"  left as well: {_listed(f'{row} ({why})' for row, why in one.unranked.items())}")
    return [title, *told, *_more(one)]


def _in_a_line(axis: str, best: Sequence[Best]) -> str:
    if not best:
        return f"  {AXES[axis]}: no row holds a target"
    first = f"{best[0].row} ({written.cost(best[0].cost, best[0].misses, axis)})"
    return f"  {AXES[axis]}: {_listed([first, *(f'{one.row} {_times(one)}' for one in best[1:])])}"


def _times(one: Best) -> str:
    return f"{one.regret} times the best"


def _listed(names: Iterable[str]) -> str:
    """Returns the first names, and how many more there are."""
    several = list(names)
    more = [f"and {len(several) - MOST_NAMES} more"] if len(several) > MOST_NAMES + 1 else []
    return "; ".join(several[:MOST_NAMES] + more if more else several)


def _more(one: System) -> Iterator[str]:
    """Yields what more minutes would show."""
    if one.next is None:
        yield "  more minutes: nothing; " + ("one row is left" if len(one.left) == 1 else "all seeds were run")
        return
    takes = f"{one.next.seeds} seeds each, about {lasting(one.next.minutes)} more"
    if one.next.resolution is None or one.resolution is None:
        yield f"  more minutes: {takes}"
        return
    shows = f"tell ratios from {written.ratio(one.next.resolution)} on apart, now {written.ratio(one.resolution)}"
    apart = _listed(one.next.apart) if one.next.apart else "none of these rows, if they cost what they seem to"
    yield f"  more minutes: {takes}, {shows}: {apart}"


def _end(found: RaceResult) -> Iterator[str]:
    alone = [f"{one.left[0]} ({one.words})" for one in found.systems if len(one.rows) == 1]
    if alone:
        yield f"alone in their system, so not compared: {_listed(alone)}"
    if len(found.systems) > 1 and not found.capped:
        yield "rows of different systems are not compared; with `--set at_work=N` the scenario gives all rows the same, in another store"
    if found.dropped:
        yield f"dropped: {'; '.join(_dropped(found))}"
    if found.refused:
        told = [f"{row}: {why}" for row, why in found.refused.items()] if len(found.refused) <= MOST_REASONS else found.refused
        yield f"not applicable: {_listed(told)}"
    if found.failed:
        then = "" if found.settled else ", and tried again by the next call"
        yield f"failed{then}: {_listed(f'{row}: {why}' for row, why in found.failed.items())}"
    if found.tuning_minutes is not None:
        takes = lasting(found.tuning_minutes)
        yield f"options are the defaults: tuning takes a race of {takes}, in another store, since the plan of this one stays"


def _dropped(found: RaceResult) -> Iterator[str]:
    dear = f"at least {FAR_BEHIND:g} times as dear as another row"
    dearer = f"dearer than another row beyond noise, which drops the best in at most {written.percent(MOST_ERROR)} of races"
    for seeds, count in sorted(Counter(one.seeds for one in found.dropped).items()):
        yield f"{count} after {written.counted(seeds, 'seed')} ({dear if seeds == 1 else dearer}, on every axis)"
