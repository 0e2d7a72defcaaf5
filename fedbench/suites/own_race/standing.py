"""Makes the result of a race on one scenario from what is in its store."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace

from fedbench import written
from fedbench.analysis.board import BOARD_AXES, board
from fedbench.analysis.costs import TOO_EARLY
from fedbench.analysis.gathered import Rows
from fedbench.analysis.ranking import Ranking
from fedbench.analysis.resolution import resolution
from fedbench.analysis.statistics import LEAST_SEEDS
from fedbench.suites.campaign import missing
from fedbench.suites.own_race.plan import RUNGS, TUNING_SHARE, Given, taken, tuning_seconds
from fedbench.suites.own_race.result import Best, Dropped, Next, RaceResult, System
from fedbench.suites.own_race.stages import RACE, Stages
from fedbench.suites.own_race.unranked import nearest_miss, unranked
from fedbench.suites.race import decisions, looks
from fedbench.suites.race.decisions import Decisions
from fedbench.suites.race.looks import Field
from fedbench.suites.seats import group_of_row


def result(given: Given, stages: Stages) -> RaceResult:
    """Returns what a race has found so far."""
    plan, race = stages.plan, stages.stage == RACE
    dropped = [Dropped(row, 1, str(why)) for row, why in stages.behind().items()]
    systems: list[System] = []
    if race and stages.left():
        found = decisions.read(stages.store.root, stages.final, None)
        systems = [_system(stages, one, found) for one in stages.entries().fields if looks.left(one, found)]
        dropped += [Dropped(row, look.look.seeds, str(why)) for _, look, row, why in found.dropped()]
    seconds = {row: one.seconds for row, one in plan.entrants.items()}
    can_tune = not plan.rungs and plan.space.algorithms
    least = tuning_seconds(stages.scenario, RUNGS[-1], seconds, plan.space) if can_tune else 0.0
    early = [one.next.minutes for one in systems if one.next is not None and one.seeds < LEAST_SEEDS]
    return RaceResult(
        scenario=plan.scenario,
        store=stages.store.root,
        stage=stages.stage,
        rows=len(plan.entrants),
        systems=tuple(systems),
        dropped=tuple(dropped),
        refused=dict(plan.refused),
        failed=stages.out(),
        settled=stages.started is not None and stages.out().keys() <= {*stages.started.kept, *stages.started.out},
        tuned=bool(plan.rungs),
        capped=stages.scenario.at_work is not None,
        minutes=(sum(early) if early else None) if race else _to_the_first_look(stages),
        tuning_minutes=(sum(map(taken, seconds.values())) + least / TUNING_SHARE) / 60 / given.processes if can_tune else None,
    )


def _to_the_first_look(stages: Stages) -> float:
    """Returns about how many minutes the first look needs, at most: what is left of the first seed
    and of the tuning, and three seeds of every row."""
    first = missing(stages.store, stages.first().values())
    rows = stages.left() or list(stages.plan.entrants)
    looked = [spec for row in rows for spec in stages.suite.runs(stages.suite.here, row)[1:LEAST_SEEDS]]
    by_name = stages.seconds()
    seconds = {row: by_name[stages.suite.algorithm(row).name] for row in rows}
    tuning = (
        tuning_seconds(stages.scenario, stages.plan.rungs, seconds, stages.plan.space) / 60 / stages.processes
        if stages.plan.rungs
        else 0.0
    )
    asked = [spec for one in stages.searches().values() for spec in one.asked if spec not in one.wanted]
    return stages.minutes([*first, *looked]) + max(0.0, tuning - stages.minutes(asked))


def _system(stages: Stages, one: Field, found: Decisions) -> System:
    left = looks.left(one, found)
    runs = {row: [*itertools.takewhile(lambda run: run is not None, map(stages.find, one.rows[row]))] for row in left}
    seeds = min(map(len, runs.values()))
    best: Mapping[str, tuple[Best, ...]] = {}
    others: Mapping[str, str] = {}
    ranking, unknown = None, f"after {written.counted(seeds, 'seed')}, and {LEAST_SEEDS} are the fewest that tell rows apart"
    if len(one.rows) == 1:
        unknown = "it is alone"
    elif seeds >= LEAST_SEEDS:
        group = group_of_row(stages.final, None, stages.final.here, left[0])
        first = {row: [run for run in of_row[:seeds] if run is not None] for row, of_row in runs.items()}
        rankings = board(first, groups=dict.fromkeys(first, group)).rankings
        ranking = rankings[group, BOARD_AXES[0]]
        unknown = _unknown(ranking, first)
        if ranking.found is not None and not unknown:
            best = {axis: _best(rankings[group, axis]) for axis in BOARD_AXES}
            others = unranked(first, ranking.found.costs, (each.row for several in best.values() for each in several))
    following = _next(stages, one, found, ranking, seeds)
    finest = None if ranking is None else ranking.resolution
    return System(one.group, tuple(one.rows), left, seeds, best, others, unknown, finest, following)


def _unknown(ranking: Ranking, runs: Rows) -> str:
    if ranking.found is None:
        return f"every target is {TOO_EARLY}; take higher ones, or evaluate more often"
    if ranking.leader is None:
        near = nearest_miss([run for several in runs.values() for run in several])
        return f"no row holds a target that gets a verdict, with any seed; {near}"
    return ""


def _best(ranking: Ranking) -> tuple[Best, ...]:
    found = [(row, ranking.cost(row), ranking.regret(row)) for row in ranking.best]
    return tuple(
        Best(row, cost, ranking.misses(row), regret) for row, cost, regret in found if cost is not None and regret is not None
    )


def _next(stages: Stages, one: Field, found: Decisions, ranking: Ranking | None, seeds: int) -> Next | None:
    """Returns the next look. With s times as many seeds an error is the root of s times smaller."""
    following = looks.next_look(looks.race_of(stages.final), one, found)
    if following is None or len(one.rows) == 1:
        return None
    look, rows = following
    lacking = missing(stages.store, [spec for row in rows for spec in one.rows[row][: look.seeds]])
    compared = None if ranking is None else ranking.found
    finer = None if compared is None else resolution(replace(compared, error=compared.error * math.sqrt(seeds / look.seeds)))
    regrets = {} if ranking is None else {row: ranking.regret(row) for row in ranking.best}
    apart = tuple(row for row, regret in regrets.items() if finer is not None and regret is not None and regret.value > finer)
    return Next(look.seeds, stages.minutes(lacking), finer, apart)
