"""Numbers in words, as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NONE = "–"
STANDINGS = {"best": "best mean", "tied": "tied with the best", "reference": "reference"}


def number(value: float | None) -> str:
    """Three significant digits; whole numbers below a million in full: 0.0123, 12.0, 12, 1,234, 5.68 M."""
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
    """Virtual seconds: 0.450 s, 12.0 s, 1,234 s."""
    return NONE if value is None else f"{number(value) if value >= 100 else _three(value)} s"


def size(value: float | None) -> str:
    """Bytes in decimal units: 1.23 GB."""
    if value is None:
        return NONE
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if abs(value) < 999.5:
            return f"{number(value)} {unit}"
        value /= 1000
    return f"{number(value)} PB"


def percent(value: float | None) -> str:
    """Whole per cent: 31 %; <1 % for what is more than nothing."""
    if value is None:
        return NONE
    return "<1 %" if value > 0 and round(100 * value) == 0 else f"{100 * value:.0f} %"


def interval(value: Mapping[str, Any]) -> str:
    """An accuracy: `0.873 ± 0.004`, or the bare mean where there is no interval."""
    if value["mean"] is None:
        return NONE
    if value["half_width"] is None:
        return f"{value['mean']:.3f}"
    half = f"{value['half_width']:.3f}"
    return f"{value['mean']:.3f} ± {half if half != '0.000' or value['half_width'] == 0 else '<0.001'}"


def seed_note(value: Mapping[str, Any]) -> str:
    """What a mean rests on: `n = 3`, `1 seed, no interval`, `2 of 3 seeds have a value`."""
    n, total = value["n"], value["n"] + value["missing"]
    if value["missing"]:
        return f"{n} of {total} seeds {'has' if n == 1 else 'have'} a value"
    return "1 seed, no interval" if n == 1 else f"n = {n}"


def time(value: Mapping[str, Any]) -> str:
    """Median over seeds with hits: `12.3 s (3/3)`, or `> 20 s (1/3)` when the median seed missed."""
    shown = seconds(value["median"]) if value["median"] is not None else f"> {number(value['beyond'])} s"
    return f"{shown} ({value['hits']}/{value['total']})"


def time_note(value: Mapping[str, Any]) -> str:
    """The restricted mean: `mean 12.5 ± 0.9 s`, or `mean ≥ 18.2 s` when a seed missed."""
    mean, half = value["restricted_mean"]["mean"], value["restricted_mean"]["half_width"]
    if value["lower_bound"]:
        return f"mean ≥ {seconds(mean)}"
    return "" if half is None else f"mean {seconds(mean)[:-2]} ± {seconds(half)}"


def outcomes(value: Mapping[str, int]) -> str:
    """`3 finished`, `2 finished, 1 diverged`."""
    order = sorted(value, key=lambda state: (state != "finished", state))
    return ", ".join(f"{value[state]} {state}" for state in order)


def targets(scenario: Mapping[str, Any]) -> str:
    return ", ".join(target(one["metric"], one["value"]) for one in scenario["targets"]) or "none"


def target(metric: str, value: float) -> str:
    return f"{metric.replace('_', ' ')} {value:g}"


def goal(metric: str, value: float) -> str:
    """A target as briefly as it is clear: a bare number is a test accuracy."""
    return f"{value:g}" if metric == "test_accuracy" else target(metric, value)


def budget(scenario: Mapping[str, Any]) -> str:
    """`20 s virtual time, 2,000 updates`, whichever ends first."""
    given = scenario["budget"]
    parts = [f"{number(given['seconds'])} s of virtual time"] if given.get("seconds") is not None else []
    parts += [f"{given[name]:,} {name}" for name in ("updates", "jobs") if given.get(name) is not None]
    return " or ".join(parts) or "not stated"
