from dataclasses import replace

from fedbench.analysis.axes import AXES, SECONDS
from fedbench.analysis.standings import Comparison
from fedbench.analysis.statistics import Estimate
from fedbench.documents.section import Hits, Horizon, Limit
from fedbench.leaderboard import formats
from fedbench.scenarios.schema import BudgetPart


def test_seed_note():
    assert formats.seed_note(Estimate(1, 0, 0.5, None, None)) == "1 seed, no interval"
    assert formats.seed_note(Estimate(3, 0, 0.5, None, None)) == "n = 3"
    assert formats.seed_note(Estimate(2, 1, 0.5, None, None)) == "2 of 3 seeds have a value"


UPDATES, BYTES = AXES["updates"], AXES["bytes"]


def test_hits():
    seeds = {"metric": "test_accuracy", "target": 0.8, "total": 3, "reached": (None,) * 3}
    hit = Hits(median=12.34, beyond=None, hits=3, lower_bound=False, restricted_mean=Estimate(3, 0, 12.5, None, 0.9), **seeds)
    miss = Hits(median=None, beyond=20.0, hits=1, lower_bound=True, restricted_mean=Estimate(3, 0, 18.2, None, 3.0), **seeds)
    assert formats.hits(hit, SECONDS) == "12.3 s (3/3)"
    assert formats.hits(miss, SECONDS) == "> 20.0 s (1/3)"
    assert formats.hits(miss, UPDATES) == "> 20 (1/3)"
    assert formats.hits(miss.model_copy(update={"beyond": 2.5e6}), BYTES) == "> 2.50 MB (1/3)"
    assert formats.hits_note(hit, SECONDS) == "mean 12.5 s ± 0.900 s"
    assert formats.hits_note(miss, UPDATES) == "mean ≥ 18.2"


def test_standings_and_differences():
    tied = Comparison("tied", 3, -0.0123, 0.0312)
    assert formats.standing(tied) == "cannot be told apart with 3 seeds"
    assert formats.difference(tied) == "−0.012 ± 0.031 to best"
    assert formats.difference(replace(tied, difference=0.002, half_width=0.0001)) == "+0.002 ± <0.001 to best"
    assert [formats.standing(Comparison(one, 3)) for one in ("best", "behind", "ahead", "unknown", "reference")] == [
        "best mean",
        "",
        "better on the 3 seeds of both",
        "not compared",
        "reference",
    ]
    assert formats.difference(Comparison("best", 3)) == ""


def test_causes_of_the_end():
    assert formats.ended_by({"time": 3}) == "by time"
    assert formats.ended_by({"updates": 1, "time": 2}) == "2 by time, 1 by updates"
    assert formats.ended_by({"diverged": 1, "time": 2}) == "2 by time"
    assert formats.ended_by({"stalled": 3}) == ""


def test_where_accuracies_are_compared():
    limits = tuple(Limit(selector="fedasync", seed=seed, ended_by="updates") for seed in (2, 0))

    def horizon(axis, at, limits, is_shared=False):
        return formats.horizon(Horizon(at=at, is_shared=is_shared, limits=limits), axis)

    assert horizon(SECONDS, 40.0, limits, is_shared=True) == "40 s of virtual time, where all compared runs end"
    assert horizon(SECONDS, 6.0, limits[:1]) == "6 s of virtual time, where fedasync, seed 2 (ended by updates) ends"
    assert horizon(UPDATES, 26.0, limits) == "26 updates, where fedasync, seed 2 (ended by updates) and 1 other run end"
    assert horizon(BYTES, 3.2e6, limits * 2).startswith(
        "3.20 MB of traffic, where fedasync, seed 2 (ended by updates) and 3 other runs end"
    )
    assert horizon(SECONDS, None, ()) == "nowhere: no row can be compared"


def test_options():
    assert [formats.option(x) for x in (1.0, "sgd", None, True, [1, 2])] == ["1.0", "sgd", "null", "true", "[1,2]"]


def test_outcomes_and_budget():
    def budget(**more):
        return BudgetPart(**{"seconds": 20.0, "updates": 10**9, **more})

    assert formats.outcomes({"diverged": 1, "finished": 2}) == "2 finished, 1 diverged"
    assert formats.budget(budget(updates=4000)) == "20 s of virtual time or 4,000 updates"
    assert formats.budget(budget()) == "20 s of virtual time"
    assert formats.budget(budget(jobs=500)) == "20 s of virtual time or 500 jobs"
    assert formats.budget(budget(stop_at_target=True)) == "20 s of virtual time or all targets"
    held = budget(stop_at_target=True, hold_points=3)
    assert formats.budget(held) == "20 s of virtual time or the highest target at 3 evaluations in a row"
    held = budget(stop_at_target=True, hold="window")
    assert formats.budget(held) == "20 s of virtual time or the highest target, held for 20 % of the time"
