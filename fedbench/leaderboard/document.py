"""Summaries as plain data: `data.json` is this document, and the page and `data.csv` are made from it alone."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fedbench.analysis.summary import LOSSES, summarize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedbench.analysis.curves import MeanCurve
    from fedbench.analysis.statistics import Estimate
    from fedbench.analysis.summary import Row, ScenarioSummary
    from fedbench.analysis.time_to_target import TimeToTarget
    from fedbench.results.record import Record

SCHEMA = 1
DIGITS = {"seconds": 12, "mean": 6, "low": 6, "high": 6}  # significant digits of curve points

Document = dict[str, Any]


def document(records: Iterable[Record], title: str) -> Document:
    """The whole board: {schema, title, scenarios: [{name, hash, .., rows: [..]}]}; JSON values only, no NaN."""
    return {"schema": SCHEMA, "title": title, "scenarios": [_scenario(one) for one in summarize(records)]}


def _scenario(summary: ScenarioSummary) -> Document:
    scenario = summary.scenario
    return {
        "name": summary.name,
        "hash": summary.scenario_hash,
        "about": scenario.get("about"),
        "task": summary.task,
        "clients": scenario.get("clients"),
        "budget": dict(scenario.get("budget") or {}),
        "targets": [dict(target) for target in scenario.get("targets") or []],
        "rows": [_row(row, summary) for row in sorted(summary.rows, key=_order)],
    }


def _order(row: Row) -> tuple[float, float, float, str]:
    """How the page is sorted at first: time to the first target, misses last, then the higher accuracy."""
    accuracy = -(row.measures["test_accuracy"].mean or 0.0)
    if not row.times:
        return 0.0, 0.0, accuracy, row.selector
    median = row.times[0].median
    return float("inf") if median is None else median, -float(row.times[0].hits), accuracy, row.selector


def _row(row: Row, summary: ScenarioSummary) -> Document:
    """Of the measures those that say something here: losses only where jobs can be lost."""
    overrides = row.runs[0].meta["spec"].get("overrides") or ()
    measures = {name: value for name, value in row.measures.items() if summary.loses_jobs or name not in LOSSES}
    return {
        "selector": row.selector,
        "algorithm": row.algorithm,
        "seeds": list(row.seeds),
        "outcomes": row.outcomes,
        "accuracy_standing": row.accuracy_standing,
        "measures": {name: _estimate(value) for name, value in measures.items()},
        "staleness_max": row.staleness_max,
        "times": [_time(*pair) for pair in zip(row.times, row.time_standings, strict=True)],
        "curve": _curve(row.curve),
        "command": command(summary.name, row.selector, row.seeds, overrides),
        "runs": [
            {"run_id": run.run_id, "seed": run.seed, **{name: run.meta[name] for name in ("outcome", "provenance", "digests")}}
            for run in row.runs
        ],
    }


def command(scenario: str, selector: str, seeds: Sequence[int], overrides: Sequence[str] = ()) -> str:
    """The shell line that runs a row again: one `fedbench run` per block of consecutive seeds."""
    quoted = "'" + selector.replace("'", "'\"'\"'") + "'"
    starts = [seed for seed in seeds if seed - 1 not in seeds]
    lengths = [next(n for n in range(1, len(seeds) + 1) if start + n not in seeds) for start in starts]
    settings = "".join(f" --set {shlex.quote(setting)}" for setting in overrides)
    return " && ".join(
        f"fedbench run {shlex.quote(scenario)} -a {quoted}{settings} --seeds {n}" + (f" --first-seed {start}" if start else "")
        for start, n in zip(starts, lengths, strict=True)
    )


def _estimate(value: Estimate) -> Document:
    return {"n": value.n, "missing": value.missing, "mean": value.mean, "std": value.std, "half_width": value.half_width}


def _time(time: TimeToTarget, standing: str) -> Document:
    return {
        "metric": time.metric,
        "target": time.target,
        "hits": time.hits,
        "total": time.total,
        "median": time.median,
        "beyond": time.beyond,
        "restricted_mean": _estimate(time.restricted_mean),
        "lower_bound": time.lower_bound,
        "standing": standing,
        "seconds": [attempt.seconds for attempt in time.attempts],
    }


def _curve(curve: MeanCurve) -> Document:
    points = {name: [float(f"{x:.{digits}g}") for x in getattr(curve, name)] for name, digits in DIGITS.items()}
    return {"band": curve.band, **points}


def flat_rows(data: Document) -> list[dict[str, Any]]:
    """One flat row per scenario and algorithm: the columns of `data.csv`. Lacking values are None."""
    return [_flat(scenario, row) for scenario in data["scenarios"] for row in scenario["rows"]]


def _flat(scenario: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {
        "scenario": scenario["name"],
        "scenario_hash": scenario["hash"],
        "task": scenario["task"]["name"],
        "model": scenario["task"].get("model"),
        "selector": row["selector"],
        "seeds": " ".join(map(str, row["seeds"])),
        "outcomes": " ".join(f"{state}={count}" for state, count in row["outcomes"].items()),
        "accuracy_standing": row["accuracy_standing"],
    }
    for name, value in row["measures"].items():
        flat |= {f"{name}_mean": value["mean"], f"{name}_half_width": value["half_width"], f"{name}_n": value["n"]}
    flat["staleness_max"] = row["staleness_max"]
    for time in row["times"]:
        stem = f"seconds_to_{time['metric']}_{time['target']}"
        flat |= {f"{stem}_{name}": time[name] for name in ("median", "hits", "total", "beyond", "standing")}
        flat |= {f"{stem}_restricted_mean": time["restricted_mean"]["mean"], f"{stem}_lower_bound": time["lower_bound"]}
    return flat | {"command": row["command"]}


def as_csv(data: Document) -> str:
    """`flat_rows` as CSV; scenarios with different targets share one header, what does not apply is empty."""
    rows = flat_rows(data)
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
