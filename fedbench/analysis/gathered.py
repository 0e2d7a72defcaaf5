"""What the runs of a scenario reach, group by group, before anything is compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.costs import Costs, Reached, reached, resolved
from fedbench.analysis.groups import Group, group_of_run
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import Record

Rows = Mapping[str, Sequence[Record]]


@dataclass(frozen=True)
class Gathered:
    """What a scenario's runs reach.

    groups: of every row.
    members: by group when the compared rows reach their targets, and the targets that get a
    verdict.
    references: when the references do.
    """

    groups: Mapping[str, Group]
    members: Mapping[Group, tuple[Reached, tuple[float, ...]]]
    references: Reached | None

    def costs(self, axis: str) -> list[Costs]:
        """Returns the costs of every group that has targets with a verdict, at these targets."""
        return [found.on(AXES[axis]).at(targets) for found, targets in self.members.values() if targets]

    def of(self, row: str) -> Reached:
        found = self.members[self.groups[row]][0] if self.groups[row] in self.members else None
        if found is not None and row in found.rows:
            return found
        assert self.references is not None
        return self.references


def gathered(rows: Rows, references: frozenset[str], groups: Mapping[str, Group]) -> Gathered:
    scenarios = {run.spec.scenario_hash: run.spec.scenario for runs in rows.values() for run in runs}
    if len(scenarios) != 1 or not all(rows.values()):
        raise RecordError(f"board: expected rows with runs of one scenario, got {len(rows)} rows of {len(scenarios)} scenarios")
    (scenario,) = scenarios.values()
    if not scenario.targets:
        raise UsageError("board: the scenario has no targets, so there is no time to them")
    own = {row: groups[row] if row in groups else group_of_run(runs[0]) for row, runs in rows.items()}
    members: dict[Group, dict[str, Sequence[Record]]] = {}
    for row, runs in rows.items():
        if row not in references:
            members.setdefault(own[row], {})[row] = runs
    every = scenario.evaluation.spacing["every_seconds"]
    found = {group: reached(of_group) for group, of_group in sorted(members.items())}
    known = {row: runs for row, runs in rows.items() if row in references}
    return Gathered(
        own,
        {group: (one, tuple(resolved(one.on(SECONDS), every))) for group, one in found.items()},
        reached(known) if known else None,
    )
