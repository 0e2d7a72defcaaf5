"""Makes a section of a document: a scenario with its rows as plain data, with JSON values only and
without NaN."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedbench import registry
from fedbench.analysis.axes import AXES
from fedbench.analysis.curves import mean_curve
from fedbench.analysis.horizon import accuracy_at
from fedbench.analysis.pictures import ledgers
from fedbench.analysis.rows import AT_HORIZON, LOSSES
from fedbench.leaderboard.command import command
from fedbench.leaderboard.pictures.chart import kept

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedbench.analysis.axes import Axis
    from fedbench.analysis.curves import Curve
    from fedbench.analysis.hits import Hits
    from fedbench.analysis.horizon import Horizon
    from fedbench.analysis.rows import Row
    from fedbench.analysis.summary import ScenarioSummary
    from fedbench.results.record import Record

MOST_POINTS = 120  # points of a curve on the axis of the comparison, besides the last one
MOST_BESIDE = 40  # the same on other axes
MOST_STALE = 60  # bars of a histogram of staleness

Document = dict[str, Any]


def section(summary: ScenarioSummary, labels: Mapping[str, str], known: str | None = None) -> Document:
    """Returns a scenario with its rows.

    Args:
        summary: the scenario with its rows.
        labels: the labels of the rows by their selectors.
        known: the validity of the rows; by default it follows from their records.
    """
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
        "rows": [_row(row, summary, labels[row.selector], known) for row in sorted(summary.rows, key=_order)],
    }


def axis_of(axis: Axis) -> dict[str, str]:
    """Returns an axis as plain data."""
    return {"name": axis.name, "words": axis.words, "unit": axis.unit, "title": axis.title}


def _horizon(horizon: Horizon) -> Document:
    """Returns where accuracies are compared, and which runs end there. `is_shared` says whether all
    compared runs do."""
    limits = [{"selector": s, "seed": run.seed, "ended_by": run.meta["outcome"]["ended_by"]} for s, run in horizon.limits]
    return {"at": horizon.at, "is_shared": horizon.is_shared, "limits": limits}


def _order(row: Row) -> tuple[float, float, float, str]:
    """Returns the key by which the page is sorted at first: what the first target takes, with
    misses last, and then the higher accuracy."""
    accuracy = row.measures[AT_HORIZON].mean
    worse = float("inf") if accuracy is None else -accuracy
    if not row.to_target:
        return 0.0, 0.0, worse, row.selector
    median = row.to_target[0].median
    return float("inf") if median is None else median, -float(row.to_target[0].hits), worse, row.selector


def _row(row: Row, summary: ScenarioSummary, label: str, known: str | None) -> Document:
    """Returns a row. The measures of lost jobs are left out where jobs cannot be lost."""
    again = command(row.runs[0].meta["spec"], row.seeds)
    made = common([run.meta["provenance"] for run in row.runs])
    measures = {name: value for name, value in row.measures.items() if summary.loses_jobs or name not in LOSSES}
    return {
        "label": label,
        "selector": row.selector,
        "algorithm": row.algorithm,
        "flattered": row.uses_public_data and summary.holds_out_public_data,
        "seeds": list(row.seeds),
        "outcomes": row.outcomes,
        "ended_by": row.ended_by,
        "left_out": row.left_out,
        "off_board": summary.off_board.get(row.selector, ""),
        "accuracy": dict(vars(row.accuracy)),
        "measures": {name: dict(vars(value)) for name, value in measures.items()},
        "staleness_max": row.staleness_max,
        "to_target": [_hits(hits) for hits in row.to_target],
        "curves": {
            axis.name: _curve(row.curve if axis == row.curve.axis else mean_curve(row.runs, axis=axis), row.curve.axis)
            for axis in AXES.values()
            if _is_drawn(axis, row.curve.axis) and all(axis.column in run.curves for run in row.runs)
        },
        "staleness": _staleness(row),
        "participation": _participation(row),
        "validity": known or validity(row.runs),
        "command": again.line,
        "command_needs": again.needs,
        "provenance": made,
        "runs": [_run(run, summary.horizon, made) for run in row.runs],
    }


def common(made: Sequence[Mapping[str, Any]]) -> Document:
    """Returns what is the same in the provenance of all runs."""
    first, *others = made
    return {name: value for name, value in first.items() if all(name in one and one[name] == value for one in others)}


def made_by(row: Mapping[str, Any]) -> list[Document]:
    """Returns the whole provenance of every run of a row of a document."""
    return [{**row["provenance"], **run["provenance"]} for run in row["runs"]]


def _is_drawn(axis: Axis, compared_on: Axis) -> bool:
    """Returns whether rows have curves on an axis. Local steps say what the simulation cost, and
    not the algorithm, so they are drawn only where rows are compared on them."""
    return axis.name != "steps" or axis == compared_on


IN_THE_RECORD = ("server_seconds", "server_seconds_per_update")


def _run(run: Record, horizon: Horizon, shared: Mapping[str, Any]) -> Document:
    """Returns a run. Its provenance is what its row does not have for all runs; times of the server
    and other digests than that of the result are in the record alone."""
    return {
        "run_id": run.run_id,
        "seed": run.seed,
        "accuracy_at_horizon": accuracy_at(run, horizon),
        "warnings": list(run.warnings),
        "outcome": {name: text for name, text in run.meta["outcome"].items() if text},
        "provenance": {name: value for name, value in run.meta["provenance"].items() if name not in {*shared, *IN_THE_RECORD}},
        "digests": {"result": run.meta["digests"].get("result")},
    }


def _staleness(row: Row) -> list[float]:
    """Returns the shares of the used results with staleness 0, 1, .., at most MOST_STALE shares.
    What they lack of 1 is staler. Empty if no result was used, or if a record does not say."""
    if not _have(row, "staleness_histogram", "staleness_mean", "staleness_max", "jobs_consumed"):
        return []
    (found,) = ledgers.staleness({row.selector: row.runs})
    return [round(share, 5) for share in found.shares[:MOST_STALE]]


def _participation(row: Row) -> Document | None:
    """Returns how many results are used of the client with the fewest, of the mean client and of
    the client with the most. None for a reference, and if a record does not say."""
    known = _have(row, "participation_min", "participation_max", "participation_gini", "staleness_histogram", "jobs_consumed")
    if row.is_reference or not known or not row.runs[0].meta["spec"]["scenario"].get("clients"):
        return None
    (found,) = ledgers.participation({row.selector: row.runs})
    return {"least": found.least, "mean": found.mean, "most": found.most, "gini": found.gini.mean}


def _have(row: Row, *names: str) -> bool:
    """Returns whether the ledgers of all runs of a row have these entries."""
    return all(name in run.meta["ledger"] for run in row.runs for name in names)


def validity(runs: Sequence[Record]) -> str:
    """Returns the validity of a row in the words of the rules. Its records were checked when they
    were read, but a row is `checked` only if all of them name a commit without local changes."""
    made = [run.meta["provenance"] for run in runs]
    return "checked" if all(one.get("commit") and one.get("dirty") is False for one in made) else "self-reported"


def built_in(algorithm: Mapping[str, Any]) -> Any | None:
    """Returns the class of a built-in algorithm, as a record describes it; None for another one."""
    if algorithm.get("origin") or algorithm["name"] not in registry.names("algorithm"):
        return None
    return registry.find("algorithm", algorithm["name"])


def _hits(hits: Hits) -> Document:
    return {
        "metric": hits.metric,
        "target": hits.target,
        "hits": hits.hits,
        "total": hits.total,
        "median": hits.median,
        "beyond": hits.beyond,
        "restricted_mean": dict(vars(hits.restricted_mean)),
        "lower_bound": hits.lower_bound,
        "reached": [attempt.reached for attempt in hits.attempts],
    }


def _curve(curve: Curve, compared_on: Axis) -> Document:
    """Returns a mean curve to a few significant digits, with the last point and at most MOST_POINTS
    others, or MOST_BESIDE on another axis than that of the comparison. A picture as wide as a
    screen does not show the difference. A t-interval is symmetric, so it has one column, `half`."""
    keep = kept(len(curve.at), MOST_POINTS if curve.axis == compared_on else MOST_BESIDE)
    columns = {"at": (curve.at, 6), "mean": (curve.middle, 4)}
    if curve.band == "t":
        columns["half"] = (curve.high - curve.middle, 3)
    elif curve.band != "none":
        columns |= {"low": (curve.low, 4), "high": (curve.high, 4)}
    points = {name: [float(f"{column[i]:.{digits}g}") for i in keep] for name, (column, digits) in columns.items()}
    return {"band": curve.band, **points}
