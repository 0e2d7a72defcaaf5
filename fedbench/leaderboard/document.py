"""Summaries as plain data: `data.json` is this document, and the page and `data.csv` are made from it alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedbench import registry
from fedbench.analysis.axes import SECONDS, Axis, find
from fedbench.analysis.horizon import accuracy_at
from fedbench.analysis.rows import AT_HORIZON, LOSSES
from fedbench.analysis.summary import summarize
from fedbench.bibliography import described
from fedbench.leaderboard.command import command

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedbench.analysis.curves import MeanCurve
    from fedbench.analysis.hits import Hits
    from fedbench.analysis.horizon import Horizon
    from fedbench.analysis.rows import Row
    from fedbench.analysis.standings import Comparison
    from fedbench.analysis.statistics import Estimate
    from fedbench.analysis.summary import ScenarioSummary
    from fedbench.results.record import Record

SCHEMA = 2
DIGITS = {"at": 12, "mean": 6, "low": 6, "high": 6}  # significant digits of curve points

Document = dict[str, Any]


def document(records: Iterable[Record], title: str, note: str = "", axis: str | Axis = SECONDS) -> Document:
    """The whole board: {schema, title, note, axis, scenarios: [{name, hash, .., rows: [..]}]}; JSON values only, no NaN.

    note: a sentence about the whole board. axis: on which runs are compared and drawn.
    """
    where = find(axis)
    return {
        "schema": SCHEMA,
        "title": title,
        "note": note,
        "axis": {"name": where.name, "words": where.words, "unit": where.unit, "title": where.title},
        "scenarios": [_scenario(one) for one in summarize(records, where)],
    }


def _scenario(summary: ScenarioSummary) -> Document:
    scenario = summary.scenario
    return {
        "name": summary.name,
        "full_name": summary.full_name,
        "settings": list(summary.settings),
        "hash": summary.scenario_hash,
        "about": scenario.get("about"),
        "task": summary.task,
        "clients": scenario.get("clients"),
        "public": scenario.get("public"),
        "budget": dict(scenario.get("budget") or {}),
        "targets": [dict(target) for target in scenario.get("targets") or []],
        "horizon": _horizon(summary.horizon),
        "rows": [_row(row, summary) for row in sorted(summary.rows, key=_order)],
    }


def _horizon(horizon: Horizon) -> Document:
    """Where accuracies are compared, and which runs end there; `is_shared`: all compared runs do."""
    limits = [{"selector": s, "seed": run.seed, "ended_by": run.meta["outcome"]["ended_by"]} for s, run in horizon.limits]
    return {"at": horizon.at, "is_shared": horizon.is_shared, "limits": limits}


def _order(row: Row) -> tuple[float, float, float, str]:
    """How the page is sorted at first: what the first target takes, misses last, then the higher accuracy."""
    accuracy = row.measures[AT_HORIZON].mean
    worse = float("inf") if accuracy is None else -accuracy
    if not row.to_target:
        return 0.0, 0.0, worse, row.selector
    median = row.to_target[0].median
    return float("inf") if median is None else median, -float(row.to_target[0].hits), worse, row.selector


def _row(row: Row, summary: ScenarioSummary) -> Document:
    """Of the measures those that say something here: losses only where jobs can be lost."""
    again = command(row.runs[0].meta["spec"], row.seeds)
    measures = {name: value for name, value in row.measures.items() if summary.loses_jobs or name not in LOSSES}
    return {
        "selector": row.selector,
        "algorithm": row.algorithm,
        "papers": _papers(row.algorithm),
        "flattered": row.uses_public_data and summary.holds_out_public_data,
        "seeds": list(row.seeds),
        "outcomes": row.outcomes,
        "ended_by": row.ended_by,
        "left_out": row.left_out,
        "accuracy": _comparison(row.accuracy),
        "measures": {name: _estimate(value) for name, value in measures.items()},
        "staleness_max": row.staleness_max,
        "to_target": [_hits(hits, comparison) for hits, comparison in zip(row.to_target, row.target_comparisons, strict=True)],
        "curve": _curve(row.curve),
        "command": again.line,
        "command_needs": again.needs,
        "runs": [_run(run, summary.horizon) for run in row.runs],
    }


def _run(run: Record, horizon: Horizon) -> Document:
    sections = {name: run.meta[name] for name in ("outcome", "provenance", "digests")}
    return {
        "run_id": run.run_id,
        "seed": run.seed,
        "accuracy_at_horizon": accuracy_at(run, horizon),
        "warnings": list(run.warnings),
        **sections,
    }


def _papers(algorithm: Document) -> list[Document]:
    """The papers of a built-in algorithm, as the bibliography has them."""
    if algorithm.get("origin") or algorithm["name"] not in registry.names("algorithm"):
        return []
    return described(registry.find("algorithm", algorithm["name"]).source)


def _comparison(value: Comparison) -> Document:
    return dict(vars(value))


def _estimate(value: Estimate) -> Document:
    return dict(vars(value))


def _hits(hits: Hits, comparison: Comparison) -> Document:
    return {
        "metric": hits.metric,
        "target": hits.target,
        "hits": hits.hits,
        "total": hits.total,
        "median": hits.median,
        "beyond": hits.beyond,
        "restricted_mean": _estimate(hits.restricted_mean),
        "lower_bound": hits.lower_bound,
        "comparison": _comparison(comparison),
        "reached": [attempt.reached for attempt in hits.attempts],
    }


def _curve(curve: MeanCurve) -> Document:
    points = {name: [float(f"{x:.{digits}g}") for x in getattr(curve, name)] for name, digits in DIGITS.items()}
    return {"band": curve.band, **points}
