"""What rows spend until they hold their targets, on one axis, seed by seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from fedbench.analysis.axes import AXES, SECONDS, Axis, along
from fedbench.analysis.hits import at_end
from fedbench.analysis.reaching import Rule, reach
from fedbench.analysis.server import all_gradient_evaluations
from fedbench.errors import RecordError
from fedbench.results.record import Record
from fedbench.scenarios.evaluation_parts import LEAST_FIRST_SECONDS
from fedbench.scenarios.schema import Scenario

LEAST = {SECONDS.name: 1e-9}
"""The smallest cost that enters a logarithm, since a target may be met at once. On the other axes
it is one unit."""
STEPS = 10
"""So many steps of an even grid has the earliest row to need for a target, or the target gets no
verdict: its cost would measure the grid."""
TOO_EARLY = "held before any training, or within ten steps of the evaluation grid"
"""What holds of a target without a verdict."""

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Costs:
    """The costs of some rows over the same seeds.

    spent: the cost of every seed, row and target (n, K, T) > 0. For a miss it is what the run had
    spent when it was last seen: at its end, or where it was censored.
    missed: which of them are misses (n, K, T).
    step: by how much the logarithm of a cost may be too large, because models are evaluated now and
    then only (n, K, T).
    """

    rows: tuple[str, ...]
    seeds: tuple[int, ...]
    targets: tuple[float, ...]
    spent: Floats
    missed: Flags
    step: Floats

    @cached_property
    def log(self) -> Floats:
        """Returns the natural logarithms of the costs (n, K, T)."""
        return np.log(self.spent)

    @property
    def by_target(self) -> Floats:
        """Returns the geometric mean over seeds of every row and target (K, T)."""
        return np.asarray(np.exp(self.log.mean(axis=0)))

    @property
    def score(self) -> Floats:
        """Returns the mean log cost of every row over seeds and targets (K,)."""
        return np.asarray(self.log.mean(axis=(0, 2)))

    def at(self, targets: Sequence[float]) -> Costs:
        """Returns the costs of these targets only."""
        kept = [self.targets.index(one) for one in targets]
        return replace(self, targets=tuple(targets), **self._taken(lambda part: part[:, :, kept]))

    def among(self, rows: Sequence[str]) -> Costs:
        """Returns the costs of these rows only, in this order."""
        kept = [self.rows.index(one) for one in rows]
        return replace(self, rows=tuple(rows), **self._taken(lambda part: part[:, kept]))

    def _taken(self, take: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> dict[str, Any]:
        return {"spent": take(self.spent), "missed": take(self.missed), "step": take(self.step)}


@dataclass(frozen=True, eq=False)
class Reached:
    """When the runs of some rows reach their targets.

    index: of the evaluation, for every seed, row and target (n, K, T); -1 if it is never reached.
    is_held: whether the rule of reaching was fulfilled before the run ended (n, K, T).
    """

    rows: tuple[str, ...]
    seeds: tuple[int, ...]
    targets: tuple[float, ...]
    runs: tuple[tuple[Record, ...], ...]
    index: npt.NDArray[np.int64]
    is_held: Flags
    _on: dict[Axis, Costs] = field(default_factory=dict, init=False, repr=False)

    def on(self, axis: Axis) -> Costs:
        """Returns what the runs had spent on an axis when they reached their targets. Raises
        RecordError if a record lacks the axis."""
        if axis not in self._on:  # a board asks again for every row
            self._on[axis] = self._costs(axis)
        return self._on[axis]

    def _costs(self, axis: Axis) -> Costs:
        spent, step = np.empty(self.index.shape), np.zeros(self.index.shape)
        for s, of_seed in enumerate(self.runs):
            for k, run in enumerate(of_seed):
                index, at = self.index[s, k], np.maximum(spending(run, axis), LEAST.get(axis.name, 1.0))
                spent[s, k] = np.where(index < 0, at_end(run, axis, at), at[index])
                before = np.where(index > 0, at[np.maximum(index - 1, 0)], LEAST.get(axis.name, 1.0))
                step[s, k] = np.where(index < 0, 0.0, np.log(spent[s, k] / before))
        return Costs(self.rows, self.seeds, self.targets, spent, ~self.is_held, step)


def spending(run: Record, axis: Axis) -> Floats:
    """Returns what a run had spent at its evaluations. Gradients are those of clients and
    server."""
    return all_gradient_evaluations(run) if axis is AXES["gradient_evaluations"] else along(run, axis)


def reached(runs: Mapping[str, Sequence[Record]], rule: Rule = "window") -> Reached:
    """Returns when rows, whose runs have the same scenario and the same seeds, reach their targets.
    It is decided in virtual time, for all axes alike.

    Raises:
        RecordError: without rows, or if a row has other seeds than the first, or an empty curve.
    """
    by_seed = {row: {run.seed: run for run in of_row} for row, of_row in runs.items()}
    if not by_seed:
        raise RecordError("costs: expected at least one row, got none")
    name, first = next(iter(by_seed.items()))
    for row, found in by_seed.items():
        if found.keys() != first.keys():
            raise RecordError(f"costs: row {row} has seeds {sorted(found)}, expected {sorted(first)}, which {name} has")
        for run in found.values():
            if not len(run.curves["seconds"]):
                raise RecordError(f"costs: run {run.run_id} ({row}, seed {run.seed}) has no evaluation")
    seeds = tuple(sorted(first))
    matrix = tuple(tuple(found[seed] for found in by_seed.values()) for seed in seeds)
    targets = matrix[0][0].spec.scenario.compared
    shape = (len(seeds), len(by_seed), len(targets))
    index, held = np.full(shape, -1, np.int64), np.zeros(shape, np.bool_)
    for s, of_seed in enumerate(matrix):
        for k, run in enumerate(of_seed):
            for t, one in enumerate(reach(run, targets, rule)):
                if one is not None:
                    index[s, k, t], held[s, k, t] = one.index, one.is_held
    values = tuple(float(one.value) for one in targets)
    return Reached(tuple(runs), seeds, values, matrix, index, held)


def costs(runs: Mapping[str, Sequence[Record]], axis: Axis = SECONDS, rule: Rule = "window") -> Costs:
    """Returns `reached` on one axis."""
    return reached(runs, rule).on(axis)


def finer(scenario: Scenario) -> str:
    """Returns settings with which a scenario is evaluated more often at the beginning, as on the
    command line."""
    first = max(scenario.evaluation.step_seconds(0) / STEPS, LEAST_FIRST_SECONDS)
    return f"--set evaluation.kind=log --set evaluation.first_seconds={first:g} --set evaluation.ratio=1.05"


def resolved(found: Costs, every_seconds: float | None) -> list[float]:
    """Returns the targets that get a verdict: those that no untrained model holds, and for which
    the earliest row needs at least STEPS steps of an even grid, which is None for a logarithmic
    one. Rows that never reach a target do not count, since they may have ended early. `found` has
    virtual seconds."""
    least = STEPS * (every_seconds or 0.0) * (1 - 1e-9)  # a mean of logarithms is rounded
    is_trained = (found.spent > LEAST[SECONDS.name]).all(axis=(0, 1))
    is_never = (found.missed & (found.step == 0)).all(axis=0)  # what was reached and not held has a step
    is_known = is_trained & (np.where(is_never, np.inf, found.by_target).min(axis=0) >= least)
    return [target for target, is_so in zip(found.targets, is_known, strict=True) if is_so]
