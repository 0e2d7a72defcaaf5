"""Turns records into tables: a table for each scenario hash and task, with a row for each selector.
Every seed is counted."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from fedbench.analysis.at_horizon import at_horizon
from fedbench.analysis.axes import AXES, SECONDS, Axis, find
from fedbench.analysis.board import BOARD_AXES, Board, board
from fedbench.analysis.differences import differences, shortened
from fedbench.analysis.groups import odd_ones
from fedbench.analysis.horizon import ACCURACY, Horizon
from fedbench.analysis.rows import AT_HORIZON, Row, row
from fedbench.errors import RecordError

if TYPE_CHECKING:
    from fedbench.results.record import Record
    from fedbench.scenarios.schema import Scenario


@dataclass(frozen=True)
class ScenarioSummary:
    """The rows of one resolved scenario, one task and model, which may be compared.

    horizon: where its accuracies are compared.
    settings: what tells it from others of its name, see `differences`.
    """

    name: str
    scenario_hash: str
    scenario: Scenario
    rows: tuple[Row, ...]
    horizon: Horizon
    settings: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """Returns `digits-demo`, or `digits-demo with clients=30` if there are others of the
        name."""
        return f"{self.name} with {', '.join(map(shortened, self.settings))}" if self.settings else self.name

    @cached_property
    def board(self) -> Board | None:
        """Returns the board of its rows without those of `off_board`, None for a scenario without
        targets."""
        rows = {row.selector: row.runs for row in self.rows if row.selector not in self.off_board}
        if not rows or not self.scenario.targets:
            return None
        return board(rows, references=frozenset(row.selector for row in self.rows if row.is_reference))

    @cached_property
    def off_board(self) -> dict[str, str]:
        """Returns why rows are not on the board, by selector: they have other seeds than most rows
        of their system, or they lack what a board needs."""
        lacking = {row.selector: reason for row in self.rows if (reason := _lacks(row.runs))}
        return lacking | odd_ones({row.selector: row.runs for row in self.rows if row.selector not in lacking})

    @property
    def loses_jobs(self) -> bool:
        """Returns whether jobs can be lost or late here, by the scenario or because an algorithm
        closes its rounds early."""
        return self.scenario.loses_jobs or any(row.measures["lost_share"].mean for row in self.rows)


def summarize(records: Iterable[Record], axis: str | Axis = SECONDS) -> list[ScenarioSummary]:
    """Returns one summary per scenario, then one row per selector, both in alphabetical order.

    Args:
        records: of any scenarios.
        axis: the axis on which runs are compared and drawn.

    Raises:
        RecordError: if two different records are of the same scenario, selector and seed, or if one
            lacks the axis.
        UsageError: if there is no such axis.
    """
    where = find(axis)
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        groups.setdefault((record.scenario, record.spec.scenario_hash), []).append(record)
    found = [_scenario(*key, groups[key], where) for key in sorted(groups)]
    return [one for _, alike in itertools.groupby(found, lambda one: one.name) for one in _told_apart(list(alike))]


def _told_apart(scenarios: Sequence[ScenarioSummary]) -> list[ScenarioSummary]:
    settings = differences([one.rows[0].runs[0].spec for one in scenarios])
    found = [replace(one, settings=tuple(own)) for one, own in zip(scenarios, settings, strict=True)]
    times = Counter(one.full_name for one in found)  # long settings may differ where a heading cuts them
    return [
        one if times[one.full_name] == 1 else replace(one, settings=(*one.settings, f"hash={one.scenario_hash[:12]}"))
        for one in found
    ]


def labels(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Returns the runs of a scenario by the labels of their rows: by selector. An algorithm of
    one's own that was changed between runs, or two of one name, have a row for each code."""
    codes: dict[str, dict[str, list[Record]]] = {}
    for record in records:
        codes.setdefault(record.selector, {}).setdefault(code_of(record.spec.algorithm.where), []).append(record)
    return {
        f"{selector} ({code})" if len(several) > 1 and code else selector: runs
        for selector, several in codes.items()
        for code, runs in several.items()
    }


def code_of(origin: Mapping[str, str]) -> str:
    """Returns in short which code an algorithm is that is not built in; empty where nothing tells
    it."""
    return f"code {origin['sha256'][:8]}" if origin.get("sha256") else ""


def _scenario(name: str, scenario_hash: str, records: Sequence[Record], axis: Axis) -> ScenarioSummary:
    by_selector = labels(records)
    rows = [row(selector, _one_per_seed(by_selector[selector]), axis) for selector in sorted(by_selector)]
    compared, where = _compare(rows, axis)
    return ScenarioSummary(name, scenario_hash, rows[0].runs[0].spec.scenario, compared, where)


def _one_per_seed(records: Sequence[Record]) -> tuple[Record, ...]:
    """Returns the runs in order of seed. A run that is given twice with the same digests counts
    once. Raises RecordError for two different runs of a seed, or for options that differ."""
    first = records[0]
    runs: dict[int, Record] = {}
    place = f"scenario {first.scenario} ({first.spec.scenario_hash}), {first.selector}"
    for record in records:
        if record.spec.algorithm != first.spec.algorithm:
            raise RecordError(
                f"{place}: records {first.run_id} and {record.run_id} differ in their options, so the defaults changed between "
                "them; run the older one again"
            )
        known = runs.setdefault(record.seed, record)
        if (known.run_id, known.digests) != (record.run_id, record.digests):
            raise RecordError(
                f"{place}, seed {record.seed}: two different records, {known.run_id} and {record.run_id}; keep one of them"
            )
    return tuple(runs[seed] for seed in sorted(runs))


def _compare(rows: Sequence[Row], axis: Axis) -> tuple[tuple[Row, ...], Horizon]:
    """Returns the rows with their comparisons, and the horizon. Accuracies are compared at the
    horizon, among the rows that share a system."""
    found = at_horizon({one.selector: one.runs for one in rows}, ACCURACY, axis)
    return tuple(
        replace(
            one,
            left_out=found.left_out.get(one.selector, ""),
            measures={AT_HORIZON: found.estimates[one.selector], **one.measures},
            accuracy=found.comparisons[one.selector],
        )
        for one in rows
    ), found.where


def _lacks(runs: Sequence[Record]) -> str:
    """Returns what runs lack that a board needs; nothing if they lack nothing."""
    if any(not len(run.curves["seconds"]) for run in runs):
        return "a seed has no evaluation"
    absent = [axis for axis in BOARD_AXES if any(AXES[axis].column not in run.curves for run in runs)]
    return f"its records do not have {', '.join(absent)}" if absent else ""
