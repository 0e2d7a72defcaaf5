"""Whether cases have become slower between two saved measurements.

What is compared is our time in units of the other ways of the same case: they were measured in the
same rounds and are of the same kind (a rival of a memory-bound case is memory-bound), so that a
slower hour or a busy neighbour cancels, which a calibration loop of another kind would not see.
With several rivals the median counts: one that was disturbed does not decide. A case without a
rival is measured beside the calibration loop, its only other way. A rival whose library changed its
version is left out.

    slowdown = median over rivals of ratio_before / ratio_after

A case is slower if that exceeds the threshold and the quartiles leave no doubt: ratio_before's
lower above ratio_after's upper one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fedbench.bench.report import Row

THRESHOLD = 1.3
Verdict = Literal["same", "slower", "faster", "not comparable"]


@dataclass(frozen=True)
class Change:
    """`slowdown` > 1: the case takes longer than before; `low` and `high` bound it by the
    quartiles."""

    case: str
    verdict: Verdict
    slowdown: float | None = None
    low: float | None = None
    high: float | None = None
    note: str = ""


def compare(
    before: Sequence[Row],
    after: Sequence[Row],
    libraries: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {}),
    threshold: float = THRESHOLD,
) -> list[Change]:
    """One change per case of either file. `libraries`: versions before and after, by name."""
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
    """Beyond the threshold, and beyond the noise that the quartiles show."""
    if slowdown > threshold and low > 1:
        return "slower"
    return "faster" if slowdown < 1 / threshold and high < 1 else "same"
