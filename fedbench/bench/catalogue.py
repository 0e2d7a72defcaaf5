"""All cases by name, in the order in which they are shown, and the choice of some of them."""

from __future__ import annotations

from collections.abc import Iterable

from fedbench.bench import buffered, distill, event_queue, plans, runs, server, train
from fedbench.bench.case import AnyCase
from fedbench.errors import UsageError, nearest

CASES: dict[str, AnyCase] = {
    case.name: case for room in (event_queue, plans, server, buffered, distill, train, runs) for case in room.CASES
}
GROUPS: tuple[str, ...] = tuple(dict.fromkeys(case.group for case in CASES.values()))


def find(name: str) -> AnyCase:
    """Returns the case of a name. UsageError with the nearest name of a case or a group if there is
    none."""
    if name not in CASES:
        raise UsageError(f"unknown case {name!r}{nearest(name, [*CASES, *GROUPS])}")
    return CASES[name]


def select(names: Iterable[str] = (), group: str | None = None, *, heavy: bool = False) -> list[AnyCase]:
    """Returns the cases that are asked for.

    Args:
        names: cases, or groups of cases.
        group: one more group. Without names and group, all cases are chosen.
        heavy: whether heavy cases are among those of a group. A case that is named is always taken.
    """
    if group is not None and group not in GROUPS:
        raise UsageError(f"unknown group {group!r}{nearest(group, GROUPS)}")
    groups = {group, *names} & set(GROUPS)
    named = [find(name) for name in dict.fromkeys(names) if name not in GROUPS]
    wanted = groups or (set() if named else set(GROUPS))
    rest = [case for case in CASES.values() if case.group in wanted and (heavy or not case.heavy)]
    return named + [case for case in rest if case not in named]


def whole() -> list[AnyCase]:
    """Returns the cases of whole runs, which use the engine."""
    return select(group="run", heavy=True)


def watched(name: str) -> AnyCase:
    """Returns the case of a name as it is timed without rivals. A whole run needs no torch then,
    and has one worker, so that what it takes is what its processor works."""
    case = find(name)
    return runs.alone(case, workers=1) if case.group == "run" else case
