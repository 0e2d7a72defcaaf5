"""Writes standings and causes as the pages show them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from fedbench import written
from fedbench.analysis.axes import Axis
from fedbench.analysis.standings import Comparison
from fedbench.analysis.statistics import Estimate
from fedbench.documents.board import Standing
from fedbench.documents.parts import Spent
from fedbench.documents.section import Hits, Horizon
from fedbench.scenarios.schema import BudgetPart

IN_SET = "the best, within the noise"
UNCAPPED = 100_000_000  # a scenario's default for jobs, which no run reaches
TO_TARGET = {"seconds": "Time", "updates": "Updates", "gradient_evaluations": "Gradients", "steps": "Steps", "bytes": "Traffic"}
"""The heading of a column that says what a target takes, by axis."""


def interval(value: Estimate) -> str:
    """Returns an accuracy such as `0.873 ± 0.004`, or the mean alone if there is no interval."""
    return written.accuracy(value.mean, value.half_width)


def seed_note(value: Estimate) -> str:
    """Returns from how many seeds a mean is: `n = 3`, `1 seed, no interval`, `2 of 3 seeds have a
    value`."""
    n, total = value.n, value.n + value.missing
    if value.missing:
        return f"{n} of {total} seeds {'has' if n == 1 else 'have'} a value"
    return "1 seed, no interval" if n == 1 else f"n = {n}"


def cost(row: Standing, axis: Spent = "seconds") -> str:
    """Returns the cost of a row of a board on an axis: `32.5 s`, or `≥ 32.5 s` for a lower
    bound."""
    if row.solved == 0:
        return "no target"
    found = row.on(axis)
    return written.NONE if found is None else written.cost(found.cost, found.is_bound, axis)


def on_board(row: Standing) -> str:
    """Returns in words how a row of a board stands among those of its system."""
    if row.group is None:
        return "reference"
    if row.solved == 0:
        return "no target"
    if row.regret is None:
        return "no verdict"
    if not row.against:
        return "alone in its system"
    if row.is_best:
        return IN_SET
    return "too few seeds" if not row.regret.is_known else "behind the best"


def regret(row: Standing) -> tuple[str, str]:
    """Returns the regret of a row of a board and its interval, or the reason why it has none."""
    return (on_board(row), "") if row.ratio is None else row.ratio.parts


def standing(comparison: Comparison) -> str:
    """Returns the mark of a comparison in words; nothing for a row that is behind."""
    seeds = comparison.seeds
    known = {
        "best": "best mean",
        "tied": f"cannot be told apart with {seeds} seeds",
        "ahead": f"better on the {seeds} seeds of both",
        "unknown": "not compared",
        "reference": "reference",
    }
    return known.get(comparison.standing, "")


def difference(comparison: Comparison) -> str:
    """Returns the difference of an accuracy to the best mean, with its adjusted interval:
    `−0.012 ± 0.031 to best`."""
    mean, half = comparison.difference, comparison.half_width
    return "" if mean is None or half is None else f"{written.difference(mean, half)} to best"


def hits(value: Hits, axis: Axis) -> str:
    """Returns the median over seeds with the hits: `12.3 s (3/3)`, or `> 20 s (1/3)` if the median
    seed missed. A unit that is a word is left out, since the heading has it."""
    return f"{written.median(value.median, value.beyond, axis.unit)} ({value.hits}/{value.total})"


def hits_note(value: Hits, axis: Axis) -> str:
    """Returns the restricted mean: `mean 12.5 s ± 0.9 s`, or `mean ≥ 18.2 s` if a seed missed."""
    mean, half = value.restricted_mean.mean, value.restricted_mean.half_width
    if value.lower_bound:
        return f"mean {written.bound(written.brief(mean, axis.unit), misses=True)}"
    return "" if half is None else f"mean {written.plus_minus(*(written.brief(one, axis.unit) for one in (mean, half)))}"


def outcomes(value: Mapping[str, int]) -> str:
    """Returns outcomes with their numbers: `3 finished`, `2 finished, 1 diverged`."""
    order = sorted(value, key=lambda state: (state != "finished", state))
    return ", ".join(f"{value[state]} {state}" for state in order)


def ended_by(value: Mapping[str, int]) -> str:
    """Returns what ended runs: `by time`, or `2 by time, 1 by updates`. States that are their own
    cause are left out, since the outcome has them."""
    causes = {cause: count for cause, count in value.items() if cause not in ("diverged", "stalled")}
    if len(value) == 1:
        return "".join(f"by {cause}" for cause in causes)
    return ", ".join(f"{count} by {cause}" for cause, count in sorted(causes.items()))


def horizon(value: Horizon, axis: Axis) -> str:
    """Returns where accuracies are compared and why: `40 s of virtual time, where all compared runs
    end`."""
    if value.at is None:
        return "nowhere: no row can be compared"
    where = written.place(value.at, axis.unit) + (f" of {axis.words}" if axis.unit in written.SYMBOLS else "")
    if value.is_shared:
        return f"{where}, where all compared runs end"
    first = value.limits[0]
    others = len(value.limits) - 1
    more = f" and {others} other run{'s' if others > 1 else ''}" if others else ""
    return f"{where}, where {first.selector}, seed {first.seed} (ended by {first.ended_by}){more} end{'' if others else 's'}"


def option(value: object) -> str:
    """Returns the value of an option as a selector has it."""
    return json.dumps(value).strip('"').replace(" ", "")


def targets(goals: Iterable[float]) -> str:
    """Returns targets in test accuracy: `test accuracy 0.6, 0.7`. There may be others."""
    values = ", ".join(f"{one:g}" for one in goals)
    return f"test accuracy {values}" if values else "none of test accuracy"


def target(metric: str, value: float) -> str:
    return f"{metric.replace('_', ' ')} {value:g}"


def goal(metric: str, value: float) -> str:
    """Returns a target as briefly as it is clear. A number alone is a test accuracy."""
    return f"{value:g}" if metric == "test_accuracy" else target(metric, value)


def traffic(means: Mapping[str, float | None]) -> float | None:
    """Returns the bytes that clients sent and got; None if one of the two is unknown."""
    up, down = means["bytes_up"], means["bytes_down"]
    return None if up is None or down is None else up + down


def budget(given: BudgetPart) -> str:
    """Returns what ends a run, such as `20 s of virtual time or 2,000 updates`."""
    parts = [f"{written.number(given.seconds)} s of virtual time"]
    parts += [f"{most:,} {name}" for name, most in (("updates", given.updates), ("jobs", given.jobs)) if most < UNCAPPED]
    if given.stop_at_target:
        points = given.hold_points
        held = "the highest target, held for 20 % of the time" if given.hold == "window" else ""
        parts.append(held or ("all targets" if points == 1 else f"the highest target at {points:,} evaluations in a row"))
    return " or ".join(parts)
