"""A whole race of one group, from its runs alone."""

from __future__ import annotations

from fedbench.analysis.gathered import Rows
from fedbench.suites.race.judging import Verdict, judge
from fedbench.suites.race.schema import Race


def verdicts(rows: Rows, race: Race) -> list[Verdict]:
    """Returns what is decided at every look whose runs are there, in order. Rows that were dropped
    need no more runs. The race ends with the last look, or when one row is left, since no seed can
    change anything then."""
    found: list[Verdict] = []
    for look in race.looks:
        left = found[-1].left if found else tuple(rows)
        if (found and len(left) < 2) or any(len(rows[row]) < look.seeds for row in left):
            break
        found.append(judge({row: rows[row] for row in left}, look))
    return found
