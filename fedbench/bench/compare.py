"""Decides whether cases have become slower between two saved measurements.

Our time is compared in units of the times of the other ways of the same case. They were measured in
the same rounds, and their work is of the same kind: a rival of a memory-bound case is memory-bound.
So a slower hour or a busy neighbour cancels, which a calibration loop of another kind would not
notice. With several rivals the median counts, so that one that was disturbed does not decide. A
case without a rival is measured beside the calibration loop. A rival whose library has another
version than before is left out.

    slowdown = median over rivals of ratio_before / ratio_after

A case is slower if this exceeds the threshold, and the lower quartile of ratio_before lies above
the upper quartile of ratio_after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench.bench.report import Row

THRESHOLD = 1.3
Verdict = Literal["same", "slower", "faster", "not comparable"]


@dataclass(frozen=True)
class Change:
    """The change of one case. A `slowdown` > 1 means that it takes longer than before. `low` and
    `high` are its bounds by the quartiles."""

    case: str
    verdict: Verdict
    slowdown: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""


def compare(
    before: Sequence[Row],
    after: Sequence[Row],
    libraries: tuple[Mapping[str, object], Mapping[str, object]] = ({}, {}),
    threshold: float = THRESHOLD,
) -> list[Change]:
    """Returns one change for every case that is in one of the two measurements.

    Args:
        before: the rows of the first measurement.
        after: the rows of the second.
        libraries: the versions of libraries by name, before and after.
        threshold: the least slowdown that counts.
    """
    changed = {name for name in libraries[0].keys() | libraries[1].keys() if libraries[0].get(name) != libraries[1].get(name)}
    cases = dict.fromkeys(row.case for row in (*before, *after))
    return [_change(case, _measured(before, case), _measured(after, case), changed, threshold) for case in cases]


def _measured(rows: Sequence[Row], case: str) -> dict[str, Row]:
    return {row.versus: row for row in rows if row.case == case and row.ratio is not None}


def _change(case: str, before: dict[str, Row], after: dict[str, Row], changed: set[str], threshold: float) -> Change:
    if not before or not after:
        return Change(case, "not comparable", note=f"not measured in the {'second' if before else 'first'} file")
    both = [name for name in before if name in after]
    fair = [name for name in both if before[name].library not in changed]
    if not fair:
        why = "its rivals' libraries changed" if both else "no rival is in both files"
        return Change(case, "not comparable", note=why)
    pairs = [(before[name], after[name]) for name in fair]
    slowdown = _median([(a.ratio, b.ratio) for a, b in pairs])
    low, high = _median([(a.low, b.high) for a, b in pairs]), _median([(a.high, b.low) for a, b in pairs])
    return Change(case, verdict(slowdown, low, high, threshold), slowdown, low, high, f"against {', '.join(fair)}")


def _median(pairs: Sequence[tuple[float | None, float | None]]) -> float:
    return float(np.median([a / b for a, b in pairs if a is not None and b is not None]))


def verdict(slowdown: float, low: float, high: float, threshold: float) -> Verdict:
    """Returns "slower" or "faster" if the change exceeds both the threshold and the noise that the
    quartiles show, else "same"."""
    if slowdown > threshold and low > 1:
        return "slower"
    return "faster" if slowdown < 1 / threshold and high < 1 else "same"
