"""Records to tables: one per scenario hash and task, one row per selector. No seed is ever left out of a count."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fedbench.analysis.curves import MeanCurve, mean_curve
from fedbench.analysis.statistics import Estimate, Standing, estimate, standings
from fedbench.analysis.time_to_target import Attempt, TimeToTarget
from fedbench.errors import RecordError

if TYPE_CHECKING:
    from fedbench.results.record import Record

FINAL = ("test_accuracy", "test_loss", "client_accuracy_mean", "client_accuracy_worst_decile")
LEDGER = ("bytes_up", "bytes_down", "bytes_wasted", "busy_fraction", "staleness_mean", "participation_gini")
STEPS = ("trained_steps", "avoided_steps")
LOST = ("jobs_left", "jobs_dropped_out", "jobs_late")
LOSSES = (*LOST, "lost_share", "wasted_share")


@dataclass(frozen=True)
class Row:
    """One algorithm under one scenario.

    runs: its records in order of seed. outcomes: state to number of seeds. measures: estimates over seeds by name: FINAL,
    `updates` (the final version), LEDGER, STEPS, LOSSES: jobs lost and late by cause, their share of all jobs, and the share of the
    local steps done that no update consumed. times: one per target of the scenario, in its order. accuracy_standing and
    time_standings: see `_compare`. curve: test accuracy against virtual seconds.
    """

    selector: str
    runs: tuple[Record, ...]
    outcomes: dict[str, int]
    measures: dict[str, Estimate]
    times: tuple[TimeToTarget, ...]
    curve: MeanCurve
    accuracy_standing: Standing = "unknown"
    time_standings: tuple[Standing, ...] = ()

    @property
    def algorithm(self) -> dict[str, Any]:
        """name and options."""
        return dict(self.runs[0].meta["spec"]["algorithm"])

    @property
    def is_reference(self) -> bool:
        """A yardstick such as SGD on the pooled data: shown, not ranked."""
        return bool(self.algorithm.get("reference"))

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(run.seed for run in self.runs)

    @property
    def staleness_max(self) -> float | None:
        """The largest of any seed."""
        return max((value for run in self.runs if (value := run.meta["ledger"].get("staleness_max")) is not None), default=None)


@dataclass(frozen=True)
class ScenarioSummary:
    """Rows that may be compared: one resolved scenario (by hash), one task and model. scenario: its resolved specification."""

    name: str
    scenario_hash: str
    task: dict[str, Any]
    scenario: dict[str, Any]
    rows: tuple[Row, ...]

    @property
    def loses_jobs(self) -> bool:
        """Can jobs be lost or late here, by the scenario or because an algorithm closes its rounds early?"""
        availability, rounds = (self.scenario.get(part) or {} for part in ("availability", "rounds"))
        by_scenario = availability.get("when_offline") == "lost" or self.scenario.get("dropout") or any(rounds.values())
        return bool(by_scenario) or any(row.measures["lost_share"].mean for row in self.rows)


def summarize(records: Iterable[Record]) -> list[ScenarioSummary]:
    """Groups by scenario, then by selector, both in alphabetical order. RecordError if two records claim the same place."""
    groups: dict[tuple[str, str, str], dict[str, list[Record]]] = {}
    for record in records:
        spec = record.meta["spec"]
        key = (record.scenario, str(spec["scenario_hash"]), json.dumps(spec["task"], sort_keys=True))
        groups.setdefault(key, {}).setdefault(record.selector, []).append(record)
    return [_scenario(*key, groups[key]) for key in sorted(groups)]


def _scenario(name: str, scenario_hash: str, task: str, by_selector: Mapping[str, Sequence[Record]]) -> ScenarioSummary:
    rows = [_row(selector, _one_per_seed(by_selector[selector])) for selector in sorted(by_selector)]
    scenario = dict(rows[0].runs[0].meta["spec"]["scenario"])
    return ScenarioSummary(name, scenario_hash, json.loads(task), scenario, _compare(rows))


def _one_per_seed(records: Sequence[Record]) -> tuple[Record, ...]:
    """In order of seed. The same run given twice, with the same digests, counts once; anything else is an error."""
    first = records[0]
    runs: dict[int, Record] = {}
    place = f"scenario {first.scenario} ({first.meta['spec']['scenario_hash']}), {first.selector}"
    for record in records:
        if record.meta["spec"]["algorithm"] != first.meta["spec"]["algorithm"]:
            raise RecordError(
                f"{place}: records {first.run_id} and {record.run_id} differ in their options, so the defaults changed between "
                "them; run the older one again"
            )
        known = runs.setdefault(record.seed, record)
        if (known.run_id, known.meta["digests"]) != (record.run_id, record.meta["digests"]):
            raise RecordError(
                f"{place}, seed {record.seed}: two different records, {known.run_id} and {record.run_id}; keep one of them"
            )
    return tuple(runs[seed] for seed in sorted(runs))


def _row(selector: str, runs: tuple[Record, ...]) -> Row:
    measures = {name: estimate(run.meta["final"].get(name) for run in runs) for name in FINAL}
    measures["updates"] = estimate(run.meta["final"].get("version") for run in runs)
    ledgers = [run.meta["ledger"] for run in runs]
    measures |= {name: estimate(ledger.get(name) for ledger in ledgers) for name in (*LEDGER, *STEPS, *LOST)}
    measures["lost_share"] = estimate(_share(ledger, LOST, "jobs") for ledger in ledgers)
    measures["wasted_share"] = estimate(_share(ledger, ("steps_wasted",), "steps_done") for ledger in ledgers)
    targets = runs[0].meta["spec"]["scenario"].get("targets") or []
    return Row(
        selector=selector,
        runs=runs,
        outcomes=dict(sorted(Counter(run.state for run in runs).items())),
        measures=measures,
        times=tuple(
            TimeToTarget(target["metric"], target["value"], tuple(_attempt(run, target) for run in runs)) for target in targets
        ),
        curve=mean_curve([run.curves for run in runs], "test_accuracy"),
    )


def _share(ledger: Mapping[str, Any], parts: Sequence[str], whole: str) -> float | None:
    """What the parts are of the whole; None for a record that lacks one of them, or of nothing."""
    if not ledger.get(whole) or any(part not in ledger for part in parts):
        return None
    return float(sum(ledger[part] for part in parts) / ledger[whole])


def _attempt(run: Record, target: Mapping[str, Any]) -> Attempt:
    """What a run did about a target. One that broke off early is a miss until the end of the scenario's time budget."""
    for entry in run.meta["time_to_target"]:
        if (entry["metric"], entry["value"]) == (target["metric"], target["value"]):
            budget = run.meta["spec"]["scenario"].get("budget", {}).get("seconds") if run.state != "finished" else None
            return Attempt(entry["seconds"], max(float(entry["censored_at"]), float(budget or 0.0)))
    raise RecordError(f"record {run.run_id}: time_to_target has no entry for {target['metric']} = {target['value']}")


def _compare(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Rows with their standings. Final accuracy: among rows in which every seed ended without diverging or failing. A target:
    among rows that reach it with every seed, since the time of a miss is not known. References are not compared; all others stay
    `unknown`."""
    rivals = [row for row in rows if not row.is_reference]
    accuracy = standings(
        {
            row.selector: {run.seed: float(run.meta["final"]["test_accuracy"]) for run in row.runs}
            for row in rivals
            if row.outcomes.keys() <= {"finished", "stalled"} and row.measures["test_accuracy"].missing == 0
        },
        higher_is_better=True,
    )
    targets = range(len(rows[0].times))
    times = [
        standings(
            {
                row.selector: {run.seed: attempt.restricted for run, attempt in zip(row.runs, row.times[i].attempts, strict=True)}
                for row in rivals
                if not row.times[i].lower_bound
            },
            higher_is_better=False,
        )
        for i in targets
    ]
    return tuple(
        replace(
            row,
            accuracy_standing=accuracy.get(row.selector, _without(row)),
            time_standings=tuple(times[i].get(row.selector, _without(row)) for i in targets),
        )
        for row in rows
    )


def _without(row: Row) -> Standing:
    """The standing of a row that was not compared."""
    return "reference" if row.is_reference else "unknown"
