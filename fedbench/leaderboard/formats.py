"""Writes numbers, standings and causes as the pages show them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

NONE = "–"
IN_SET = "the best, within the noise"
SYMBOLS = ("s", "B")  # units that are symbols and not words
UNCAPPED = 100_000_000  # a scenario's default for jobs, which no run reaches
TO_TARGET = {"seconds": "Time", "updates": "Updates", "gradient_evaluations": "Gradients", "steps": "Steps", "bytes": "Traffic"}
"""The heading of a column that says what a target takes, by axis."""


def number(value: float | None) -> str:
    """Returns a number with three significant digits, and whole numbers below a million in full:
    0.0123, 12.0, 12, 1,234, 5.68 M."""
    if value is None:
        return NONE
    for limit, letter in ((1e12, " T"), (1e9, " G"), (999_999.5, " M")):
        if abs(value) >= limit:
            return _three(value / round(limit, -6)) + letter
    return f"{value:,.0f}" if float(value).is_integer() else _three(value)


def _three(value: float) -> str:
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:#.3g}" if abs(value) >= 1e-4 or value == 0 else f"{value:.1e}"


def seconds(value: float | None) -> str:
    """Returns virtual seconds: 0.450 s, 12.0 s, 1,234 s."""
    return NONE if value is None else f"{number(value) if value >= 100 else _three(value)} s"


def size(value: float | None) -> str:
    """Returns bytes in decimal units: 1.23 GB."""
    if value is None:
        return NONE
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 999.5:
            return f"{number(value)} {unit}"
        value /= 1000
    return f"{number(value)} PB"


def percent(value: float | None) -> str:
    """Returns a share in whole per cent: 31 %. A share that is not 0 but rounds to 0 is <1 %."""
    if value is None:
        return NONE
    return "<1 %" if value > 0 and round(100 * value) == 0 else f"{100 * value:.0f} %"


def interval(value: Mapping[str, Any]) -> str:
    """Returns an accuracy such as `0.873 ± 0.004`, or the mean alone if there is no interval."""
    if value["mean"] is None:
        return NONE
    if value["half_width"] is None:
        return f"{value['mean']:.3f}"
    return f"{value['mean']:.3f} ± {_three_digits(value['half_width'])}"


def _three_digits(half_width: float) -> str:
    """Returns three decimals. A number that is not 0 but rounds to 0 is <0.001."""
    text = f"{half_width:.3f}"
    return "<0.001" if text == "0.000" and half_width > 0 else text


def seed_note(value: Mapping[str, Any]) -> str:
    """Returns from how many seeds a mean is: `n = 3`, `1 seed, no interval`, `2 of 3 seeds have a
    value`."""
    n, total = value["n"], value["n"] + value["missing"]
    if value["missing"]:
        return f"{n} of {total} seeds {'has' if n == 1 else 'have'} a value"
    return "1 seed, no interval" if n == 1 else f"n = {n}"


COSTS = {"seconds": seconds, "gradient_evaluations": number, "bytes": size}
"""How a cost is written, by axis."""


def cost(row: Mapping[str, Any], axis: str = "seconds") -> str:
    """Returns the cost of a row of a board on an axis: `32.5 s`, or `≥ 32.5 s` for a lower
    bound."""
    if row["solved"] == 0:
        return "no target"
    found = row if axis == "seconds" else row["axes"].get(axis)
    if found is None or found["cost"] is None:
        return NONE
    return f"{'≥ ' if found['is_bound'] else ''}{COSTS[axis](found['cost'])}"


def ratio(found: Sequence[float | None]) -> tuple[str, str]:
    """Returns a ratio with its sign, and its interval: `≥ 1.24` and `[1.01, ∞]`. There is no
    interval with too few seeds."""
    value, low, high = found
    if low == 0 and high is None:
        return f"{value:.2f}", ""
    sign = "≥ " if high is None else "≤ " if low == 0 else ""
    return f"{sign}{value:.2f}", f"[{low:.2f}, {'∞' if high is None else f'{high:.2f}'}]"


def on_board(row: Mapping[str, Any]) -> str:
    """Returns in words how a row of a board stands among those of its system."""
    if row["group"] is None:
        return "reference"
    if row["solved"] == 0:
        return "no target"
    if row["regret"] is None:
        return "no verdict"
    if not row["against"]:
        return "alone in its system"
    if row["is_best"]:
        return IN_SET
    return "too few seeds" if row["regret"][1] == 0 and row["regret"][2] is None else "behind the best"


def regret(row: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the regret of a row of a board and its interval, as `ratio` does, or the reason why
    it has none."""
    return ratio(row["regret"]) if row["regret"] is not None and row["against"] else (on_board(row), "")


def standing(comparison: Mapping[str, Any]) -> str:
    """Returns the mark of a comparison in words; nothing for a row that is behind."""
    seeds = comparison["seeds"]
    known = {
        "best": "best mean",
        "tied": f"cannot be told apart with {seeds} seeds",
        "ahead": f"better on the {seeds} seeds of both",
        "unknown": "not compared",
        "reference": "reference",
    }
    return known.get(comparison["standing"], "")


def difference(comparison: Mapping[str, Any]) -> str:
    """Returns the difference of an accuracy to the best mean, with its adjusted interval:
    `−0.012 ± 0.031 to best`."""
    mean, half = comparison["difference"], comparison["half_width"]
    return "" if mean is None else f"{f'{mean:+.3f}'.replace('-', '−')} ± {_three_digits(half)} to best"


def amount(value: float | None, axis: Mapping[str, str]) -> str:
    """Returns what was spent on an axis, with three digits: `12.0 s`, `1.23 GB`, `26 updates`."""
    return seconds(value) if axis["unit"] == "s" else place(value, axis)


def place(value: float | None, axis: Mapping[str, str]) -> str:
    """Returns a place on an axis: `12 s`, `1.23 GB`, `26 updates`."""
    if value is None:
        return NONE
    return size(value) if axis["unit"] == "B" else f"{number(value)} {axis['unit']}"


def hits(value: Mapping[str, Any], axis: Mapping[str, str]) -> str:
    """Returns the median over seeds with the hits: `12.3 s (3/3)`, or `> 20 s (1/3)` if the median
    seed missed. A unit that is a word is left out, since the heading has it."""
    return f"{median(value, axis)} ({value['hits']}/{value['total']})"


def median(value: Mapping[str, Any], axis: Mapping[str, str]) -> str:
    """Returns the median over seeds: `12.3 s`, or `> 20 s` if the median seed missed."""
    return _short(value["median"], axis) if value["median"] is not None else f"> {_short(value['beyond'], axis)}"


def hits_note(value: Mapping[str, Any], axis: Mapping[str, str]) -> str:
    """Returns the restricted mean: `mean 12.5 s ± 0.9 s`, or `mean ≥ 18.2 s` if a seed missed."""
    mean, half = value["restricted_mean"]["mean"], value["restricted_mean"]["half_width"]
    if value["lower_bound"]:
        return f"mean ≥ {_short(mean, axis)}"
    return "" if half is None else f"mean {_short(mean, axis)} ± {_short(half, axis)}"


def tick(value: float, axis: Mapping[str, str]) -> str:
    """Returns a round number at the tick of an axis: `0.5`, `1,000`, `2 M`, `20 MB`."""
    if axis["unit"] == "B":
        return size(float(f"{value:.3g}")).replace(".00 ", " ").replace(".0 ", " ")
    for limit, letter in ((1e9, " G"), (1e6, " M")):
        if value >= limit:
            return f"{value / limit:g}{letter}"
    return f"{value:,.0f}" if value >= 1 and float(value).is_integer() else f"{value:g}"


def _short(value: float, axis: Mapping[str, str]) -> str:
    return amount(value, axis) if axis["unit"] in SYMBOLS else number(value)


def outcomes(value: Mapping[str, int]) -> str:
    """Returns outcomes with their numbers: `3 finished`, `2 finished, 1 diverged`."""
    order = sorted(value, key=lambda state: (state != "finished", state))
    return ", ".join(f"{value[state]} {state}" for state in order)


def ended_by(value: Mapping[str, int]) -> str:
    """Returns what ended runs: `by time`, or `2 by time, 1 by updates`. States that are their own
    cause are left out, since the outcome has them."""
    causes = {cause: count for cause, count in value.items() if cause not in ("diverged", "stalled", "failed")}
    if len(value) == 1:
        return "".join(f"by {cause}" for cause in causes)
    return ", ".join(f"{count} by {cause}" for cause, count in sorted(causes.items()))


def horizon(scenario: Mapping[str, Any], axis: Mapping[str, str]) -> str:
    """Returns where accuracies are compared and why: `40 s of virtual time, where all compared runs
    end`."""
    value = scenario["horizon"]
    if value["at"] is None:
        return "nowhere: no row can be compared"
    where = place(value["at"], axis) + (f" of {axis['words']}" if axis["unit"] in SYMBOLS else "")
    if value["is_shared"]:
        return f"{where}, where all compared runs end"
    first = value["limits"][0]
    others = len(value["limits"]) - 1
    more = f" and {others} other run{'s' if others > 1 else ''}" if others else ""
    return f"{where}, where {first['selector']}, seed {first['seed']} (ended by {first['ended_by']}){more} end{'' if others else 's'}"


def option(value: Any) -> str:
    """Returns the value of an option as a selector has it."""
    return json.dumps(value).strip('"').replace(" ", "")


def targets(scenario: Mapping[str, Any]) -> str:
    """Returns the targets by metric: `test accuracy 0.6, 0.7`."""
    values: dict[str, list[str]] = {}
    for one in scenario["targets"]:
        values.setdefault(one["metric"].replace("_", " "), []).append(f"{one['value']:g}")
    return "; ".join(f"{metric} {', '.join(several)}" for metric, several in values.items()) or "none"


def target(metric: str, value: float) -> str:
    return f"{metric.replace('_', ' ')} {value:g}"


def goal(metric: str, value: float) -> str:
    """Returns a target as briefly as it is clear. A number alone is a test accuracy."""
    return f"{value:g}" if metric == "test_accuracy" else target(metric, value)


def budget(scenario: Mapping[str, Any]) -> str:
    """Returns what ends a run, such as `20 s of virtual time or 2,000 updates`."""
    given = scenario["budget"]
    parts = [f"{number(given['seconds'])} s of virtual time"] if given.get("seconds") is not None else []
    parts += [f"{given[name]:,} {name}" for name in ("updates", "jobs") if (given.get(name) or UNCAPPED) < UNCAPPED]
    if given.get("stop_at_target"):
        points = given.get("hold_points", 1)
        parts.append("all targets" if points == 1 else f"the highest target at {points:,} evaluations in a row")
    return " or ".join(parts) or "not stated"
