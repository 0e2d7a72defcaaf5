"""Who goes on in a race, and why the others do not. What is decided depends on the records of one
group at one look alone, so it is the same on every machine, in any order of points, and after any
interruption.

A row is dropped if it is outside the set of the best on every cost axis, both where targets are
held and at first touch, at the level of the look. The scatter of rows is learnt from the group
itself. A row that reaches no target is outside the set; it is dropped for that only where another
row reaches one with every seed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.best import Comparison, compare
from fedbench.analysis.board import BOARD_AXES
from fedbench.analysis.costs import Costs, reached, resolved
from fedbench.analysis.gathered import Rows
from fedbench.analysis.reaching import WORDS, Rule
from fedbench.analysis.scatter import prior_of
from fedbench.results.record import Record
from fedbench.scenarios.base import Float, Part
from fedbench.suites.race.schema import Look

RULES: tuple[Rule, ...] = ("window", "touch")
"""The rules of reaching a target by which a row has to be outside the set."""
Boards = Mapping[tuple[str, Rule], Comparison]
"""By axis and rule."""
Row = Annotated[str, Field(max_length=1000)]


class Reason(Part):
    """Why a row was dropped: of all axes and rules, the comparison that was closest to keeping it.

    rival: the row that excludes it there.
    at_least: the lower bound of its cost over the rival's. None if it reaches no target on any
    board, and the rival reaches one with every seed.
    """

    axis: Literal["seconds", "gradient_evaluations", "bytes"]
    rule: Literal["window", "touch"]
    rival: Row
    at_least: Annotated[Float, Field(ge=1)] | None

    def __str__(self) -> str:
        if self.at_least is None:
            return f"it reaches no target, {self.rival} reaches one with every seed"
        times = f"{self.at_least:.3g}"
        costs = "more than" if times == "1" else f"at least {times} times as much as"
        closest = f"{costs} {self.rival} ({AXES[self.axis].words}, {WORDS[self.rule]})"
        return f"on every axis, held and at first touch, another row costs less; it costs {closest}"


@dataclass(frozen=True)
class Verdict:
    """What a look decides: the rows that are left, in their order, and those that were dropped,
    with the reason."""

    left: tuple[str, ...]
    dropped: Mapping[str, Reason]


def judge(rows: Rows, look: Look) -> Verdict:
    """Returns who goes on of the rows of one group, by the runs of the look's seeds. Raises
    RecordError if rows have different seeds."""
    taken = {row: sorted(runs, key=lambda run: run.seed)[: look.seeds] for row, runs in rows.items()}
    return verdict(tuple(rows), boards(on_boards(taken), look))


def on_boards(rows: Rows) -> dict[tuple[str, Rule], Costs]:
    """Returns the costs of the rows of one group by axis and rule, at the targets that get a
    verdict; nothing if none does."""
    found = {rule: reached(rows, rule) for rule in RULES}
    every = next(iter(rows.values()))[0].spec.scenario.evaluation.spacing["every_seconds"]
    targets = resolved(found["window"].on(SECONDS), every)
    return {(axis, rule): found[rule].on(AXES[axis]).at(targets) for axis in BOARD_AXES for rule in RULES} if targets else {}


def far_behind(rows: Rows, factor: float) -> dict[str, Reason]:
    """Returns the rows of one group that cost at least `factor` times as much as another one, on
    every axis and by both rules, with the comparison that is closest to keeping them. It takes one
    seed, so how much rows scatter is not known, and the factor has to be far beyond it. A miss
    counts with what the run had spent. The cheapest row of any board is never among them."""
    found = {place: compare(one) for place, one in on_boards(rows).items()}
    behind: dict[str, Reason] = {}
    for i, row in enumerate(rows):
        worst = {place: int(one.least[i].argmax()) for place, one in found.items()}
        place = min(worst, key=lambda place: found[place].least[i, worst[place]], default=None)
        if place is not None and (least := float(found[place].least[i, worst[place]])) >= math.log(factor):
            rival, at_least = found[place].costs.rows[worst[place]], float(f"{math.exp(min(least, 20.0)):.6g}")
            behind[row] = Reason.model_validate({"axis": place[0], "rule": place[1], "rival": rival, "at_least": at_least})
    return behind


def boards(costs: Mapping[tuple[str, Rule], Costs], look: Look) -> Boards:
    """Returns the comparisons of a group on all axes and by both rules, at the level of a look. The
    scatter of rows is learnt from the costs themselves."""
    return {place: compare(one, prior_of([one]), 1 - look.level) for place, one in costs.items()}


def verdict(rows: tuple[str, ...], found: Boards) -> Verdict:
    """Returns who goes on by these comparisons. Without any, nobody is dropped. Misses can make
    every row of a board dearer than another one; then nobody is dropped."""
    dropped: dict[str, Reason] = {}
    for row in rows if found else ():
        reasons = [reason for (axis, rule), one in found.items() if (reason := _outside(one, row, axis, rule)) is not None]
        if len(reasons) == len(found):
            dropped[row] = min(reasons, key=lambda one: math.inf if one.at_least is None else one.at_least)
    if len(dropped) == len(rows):
        dropped = {}
    return Verdict(tuple(row for row in rows if row not in dropped), dropped)


def _outside(found: Comparison, row: str, axis: str, rule: Rule) -> Reason | None:
    """Returns why a row is outside the set of the best of one board, None if it is inside or if the
    board does not say it surely enough."""
    rows = found.costs.rows
    i = rows.index(row)
    if found.in_set[i] or not found.is_known:
        return None
    rival = int(found.lower[i].argmax())
    if (bound := float(found.lower[i, rival])) > 0:
        at_least = max(1.0, float(f"{math.exp(min(bound, 20.0)):.6g}"))
        return Reason.model_validate({"axis": axis, "rule": rule, "rival": rows[rival], "at_least": at_least})
    always = np.asarray((~found.costs.missed.all(axis=2)).all(axis=0))
    surest = next((rows[k] for k in found.order if always[k]), None)
    if surest is None:
        return None
    return Reason.model_validate({"axis": axis, "rule": rule, "rival": surest, "at_least": None})


def digest(runs: Iterable[Record]) -> str:
    """Returns a digest of the ids and results of the runs that a decision rests on."""
    lines = sorted(f"{run.run_id} {run.digests.result}\n" for run in runs)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:32]
