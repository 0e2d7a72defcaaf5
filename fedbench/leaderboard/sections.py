"""Makes a section of a document: a scenario with its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fedbench import registry
from fedbench.analysis.axes import AXES, Axis
from fedbench.analysis.curves import mean_curve
from fedbench.analysis.horizon import accuracy_at
from fedbench.analysis.pictures import ledgers
from fedbench.analysis.pictures.ledgers import Participation
from fedbench.analysis.rows import AT_HORIZON, LOSSES
from fedbench.documents.section import Curve, Hits, Horizon, Limit, Provenance, Row, Run, Section
from fedbench.leaderboard.command import command
from fedbench.leaderboard.pictures.chart import kept

if TYPE_CHECKING:
    from fedbench.analysis import curves, horizon, rows
    from fedbench.analysis.summary import ScenarioSummary
    from fedbench.protocols import Algorithm
    from fedbench.results.record import Record
    from fedbench.results.sections import Used

MOST_POINTS = 120  # points of a curve on the axis of the comparison, besides the last one
MOST_BESIDE = 40  # the same on other axes
MOST_STALE = 60  # bars of a histogram of staleness


def section(summary: ScenarioSummary, labels: Mapping[str, str], known: str | None = None) -> Section:
    """Returns a scenario with its rows.

    Args:
        summary: the scenario with its rows.
        labels: the labels of the rows by their selectors.
        known: the validity of the rows; by default it follows from their records.
    """
    scenario = summary.scenario
    return Section(
        name=summary.name,
        full_name=summary.full_name,
        settings=summary.settings,
        hash=summary.scenario_hash,
        task=scenario.task.name,
        model=scenario.task.model,
        clients=scenario.clients,
        public=scenario.public,
        budget=scenario.budget,
        targets=scenario.targets,
        horizon=_horizon(summary.horizon),
        rows=tuple(_row(row, summary, labels[row.selector], known) for row in sorted(summary.rows, key=_order)),
    )


def _horizon(found: horizon.Horizon) -> Horizon:
    limits = (Limit(selector=s, seed=run.seed, ended_by=run.outcome.ended_by) for s, run in found.limits)
    return Horizon(at=found.at, is_shared=found.is_shared, limits=tuple(limits))


def _order(row: rows.Row) -> tuple[float, float, float, str]:
    """Returns the key by which the page is sorted at first: what the first target takes, with
    misses last, and then the higher accuracy."""
    accuracy = row.measures[AT_HORIZON].mean
    worse = float("inf") if accuracy is None else -accuracy
    if not row.to_target:
        return 0.0, 0.0, worse, row.selector
    median = row.to_target[0].median
    return float("inf") if median is None else median, -float(row.to_target[0].hits), worse, row.selector


def _row(row: rows.Row, summary: ScenarioSummary, label: str, known: str | None) -> Row:
    """Returns a row. The measures of lost jobs are left out where jobs cannot be lost."""
    line, needs = command(row.runs[0].spec, row.seeds)
    made = [_provenance(run) for run in row.runs]
    shared = common(made)
    return Row(
        label=label,
        selector=row.selector,
        algorithm=row.algorithm,
        flattered=row.uses_public_data and summary.scenario.holds_out_public_data,
        seeds=row.seeds,
        outcomes=row.outcomes,
        ended_by=row.ended_by,
        left_out=row.left_out,
        off_board=summary.off_board.get(row.selector, ""),
        accuracy=row.accuracy,
        measures={name: value for name, value in row.measures.items() if summary.loses_jobs or name not in LOSSES},
        staleness_max=row.staleness_max,
        to_target=tuple(map(Hits.of, row.to_target)),
        curves={
            axis.name: _curve(row.curve if axis == row.curve.axis else mean_curve(row.runs, axis=axis), row.curve.axis)
            for axis in AXES.values()
            if _is_drawn(axis, row.curve.axis) and all(axis.column in run.curves for run in row.runs)
        },
        staleness=_staleness(row),
        participation=_participation(row),
        validity=known or validity(made),
        command=line,
        command_needs=needs,
        provenance=shared,
        runs=tuple(_run(run, summary.horizon, own, shared) for run, own in zip(row.runs, made, strict=True)),
    )


def _provenance(run: Record) -> Provenance:
    """Returns what the site shows of a run's provenance. The record has more."""
    shown = {name: getattr(run.provenance, name) for name in Provenance.model_fields}
    return Provenance(**{name: value for name, value in shown.items() if value not in (None, "")})


def common(made: Sequence[Provenance]) -> Provenance:
    """Returns what is the same in the provenance of all runs."""
    first, *others = made
    return Provenance(**{name: value for name, value in first if all(getattr(one, name) == value for one in others)})


def _is_drawn(axis: Axis, compared_on: Axis) -> bool:
    """Returns whether rows have curves on an axis. Local steps say what the simulation cost, and
    not the algorithm, so they are drawn only where rows are compared on them."""
    return axis.name != "steps" or axis == compared_on


def _run(run: Record, where: horizon.Horizon, made: Provenance, shared: Provenance) -> Run:
    return Run(
        run_id=run.run_id,
        seed=run.seed,
        accuracy_at_horizon=accuracy_at(run, where),
        warnings=tuple(run.warnings),
        outcome=run.outcome,
        provenance=Provenance(**{name: value for name, value in made if value != getattr(shared, name)}),
        digest=run.digests.result,
    )


def _staleness(row: rows.Row) -> tuple[float, ...]:
    """Returns the shares of the used results with staleness 0, 1, .., at most MOST_STALE shares.
    Empty if no result was used, or if a record does not say."""
    if not _have(row, "staleness_histogram", "staleness_mean", "staleness_max", "jobs_consumed"):
        return ()
    (found,) = ledgers.staleness({row.selector: row.runs})
    return tuple(round(share, 5) for share in found.shares[:MOST_STALE])


def _participation(row: rows.Row) -> Participation | None:
    """Returns how much clients take part. None for a reference, and if a record does not say."""
    known = _have(row, "participation_min", "participation_max", "participation_gini", "staleness_histogram", "jobs_consumed")
    if row.is_reference or not known or not row.runs[0].spec.scenario.clients:
        return None
    (found,) = ledgers.participation({row.selector: row.runs})
    return found


def _have(row: rows.Row, *names: str) -> bool:
    """Returns whether the ledgers of all runs of a row have these entries."""
    return all(getattr(run.ledger, name) is not None for run in row.runs for name in names)


def validity(made: Sequence[Provenance]) -> str:
    """Returns the validity of a row in the words of the rules. Its records were checked when they
    were read, but a row is `checked` only if all of them name a commit without local changes."""
    return "checked" if all(one.commit and one.dirty is False for one in made) else "self-reported"


def built_in(algorithm: Used) -> type[Algorithm] | None:
    """Returns the class of a built-in algorithm, as a record describes it; None for another one."""
    if algorithm.origin is not None or algorithm.name not in registry.names("algorithm"):
        return None
    found: type[Algorithm] = registry.find("algorithm", algorithm.name)
    return found


def _curve(curve: curves.Curve, compared_on: Axis) -> Curve:
    """Returns a mean curve to a few significant digits, with the last point and at most MOST_POINTS
    others, or MOST_BESIDE on another axis than that of the comparison. A picture as wide as a
    screen does not show the difference. A t-interval is symmetric, so it has one column, `half`."""
    keep = kept(len(curve.at), MOST_POINTS if curve.axis == compared_on else MOST_BESIDE)

    def column(values: curves.Floats, digits: int) -> tuple[float, ...]:
        return tuple(float(f"{values[i]:.{digits}g}") for i in keep)

    half = column(curve.high - curve.middle, 3) if curve.band == "t" else ()
    low, high = (() if curve.band in ("none", "t") else column(ends, 4) for ends in (curve.low, curve.high))
    return Curve(band=curve.band, at=column(curve.at, 6), mean=column(curve.middle, 4), half=half, low=low, high=high)
