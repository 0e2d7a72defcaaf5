"""Who goes on in a race: by hand."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

from fedbench.analysis.board import BOARD_AXES
from fedbench.analysis.costs import Costs
from fedbench.analysis.reaching import Rule
from fedbench.errors import RecordError
from fedbench.suites.race.judging import RULES, Reason, Verdict, boards, digest, far_behind, judge, verdict
from fedbench.suites.race.schema import Look, Race
from tests.analysis import runs_made_up
from tests.analysis.boards_made_up import costs_of
from tests.suites.race.again import verdicts
from tests.suites.race.runs_made_up import row

LOOK = Look(seeds=3, level=0.002)
NOISE = np.array([[1.0, 1.02, 0.99], [1.01, 0.99, 1.02], [0.98, 1.01, 1.0], [1.0, 0.98, 1.01]])
"""Of four seeds and three rows, a hundredth each."""
CHEAP, EQUAL, DEAR = NOISE * [1, 5, 9], NOISE, NOISE * [5, 1, 9]
Place = tuple[str, Rule]


def everywhere(spent: npt.ArrayLike, missed: npt.ArrayLike | None = None) -> dict[Place, Costs]:
    """The same costs of rows a, b, c on all axes and by both rules."""
    return {(axis, rule): costs_of(spent, missed) for axis in BOARD_AXES for rule in RULES}


def decided(costs: Mapping[Place, Costs], level: float = 0.025) -> Verdict:
    rows = next(iter(costs.values())).rows
    return verdict(rows, boards(costs, Look(seeds=3, level=level)))


def test_who_costs_more_on_every_axis_and_by_both_rules_is_dropped() -> None:
    found = decided(everywhere(CHEAP))
    assert found.left == ("a",)
    assert set(found.dropped) == {"b", "c"}


@pytest.mark.parametrize("axis", BOARD_AXES)
@pytest.mark.parametrize("rule", RULES)
def test_who_may_be_the_best_on_one_axis_by_one_rule_goes_on(axis: str, rule: Rule) -> None:
    """b is five times as dear as a everywhere else."""
    found = decided(everywhere(CHEAP) | {(axis, rule): costs_of(DEAR)})
    assert found.left == ("a", "b")
    assert decided(everywhere(CHEAP) | {(axis, rule): costs_of(EQUAL)}).left == ("a", "b", "c")


def test_the_reason_is_the_comparison_that_was_closest() -> None:
    costs = everywhere(CHEAP) | {("bytes", "touch"): costs_of(NOISE * [1, 3, 2])}
    reasons = decided(costs).dropped
    assert {(one.axis, one.rule, one.rival) for one in reasons.values()} == {("bytes", "touch", "a")}
    assert 1.5 < (reasons["c"].at_least or 0) < 2 < (reasons["b"].at_least or 0) < 3
    assert str(reasons["c"]) == (
        "on every axis, held and at first touch, another row costs less; it costs at least "
        f"{reasons['c'].at_least:.3g} times as much as a (traffic, first touch)"
    )


def test_a_bound_that_rounds_to_one_is_told_in_words() -> None:
    told = [str(Reason(axis="bytes", rule="touch", rival="a", at_least=bound)) for bound in (1.004, 1.006)]
    assert [one.rsplit("; ")[-1] for one in told] == [
        "it costs more than a (traffic, first touch)",
        "it costs at least 1.01 times as much as a (traffic, first touch)",
    ]


def test_a_later_look_is_less_strict() -> None:
    """A difference of 3 % with a scatter of 1 %."""
    costs = everywhere(NOISE[:, :3] * [1, 1.05, 1.05])
    assert decided(costs, 0.002).left == ("a", "b", "c")
    assert decided(costs, 0.05).left == ("a",)


def test_fewer_than_three_seeds_drop_nobody() -> None:
    assert decided(everywhere(CHEAP[:2])).dropped == {}
    assert decided(everywhere(CHEAP[:3])).left == ("a",)


def test_without_a_target_that_gets_a_verdict_nobody_is_dropped() -> None:
    assert verdict(("a", "b"), {}) == Verdict(("a", "b"), {})


def test_who_reaches_nothing_is_dropped_where_another_row_always_does() -> None:
    never, sometimes = np.zeros((4, 3), bool), np.zeros((4, 3), bool)
    never[:, 1:] = True  # b and c end early, and so have spent little
    early = NOISE * [5, 1, 1]
    found = decided(everywhere(early, never))
    assert found.left == ("a",)
    assert found.dropped["b"] == Reason(axis="seconds", rule="window", rival="a", at_least=None)
    assert str(found.dropped["b"]) == "it reaches no target, a reaches one with every seed"
    sometimes[:, 1:], sometimes[0, 0] = True, True
    assert decided(everywhere(early, sometimes)).dropped == {}, "a misses with one seed, which may be luck"
    assert decided(everywhere(early, np.ones((4, 3), bool))).dropped == {}, "nobody reaches anything"


def test_where_every_row_is_dearer_than_another_nobody_is_dropped() -> None:
    """Each pair is compared at the targets that one of them reaches: a beats b, b beats c, c beats
    a."""
    spent = np.repeat(np.array([[[2.0, 8.0, 30.0], [30.0, 2.0, 8.0], [8.0, 30.0, 2.0]]]), 4, axis=0) * NOISE[:, :, None]
    found = boards(everywhere(spent), Look(seeds=3, level=0.025))
    one = found["seconds", "touch"]
    for comparison in found.values():
        lower = comparison.lower  # what no costs give is put there by hand
        lower[:] = [[-9, -9, 1], [1, -9, -9], [-9, 1, -9]]
        comparison.in_set[:] = False
    assert not one.in_set.any()
    assert verdict(("a", "b", "c"), found) == Verdict(("a", "b", "c"), {})


def test_runs_are_judged_by_the_seeds_of_the_look() -> None:
    rows = {"fast": row("fast", 4.0), "slow": row("slow", 12.0), "slower": row("slower", 15.0)}
    found = judge(rows, Look(seeds=5, level=0.025))
    assert found.left == ("fast",)
    again = judge({name: runs[4::-1] for name, runs in rows.items()}, Look(seeds=5, level=0.025))
    assert again == found, "the order of runs and later seeds are nothing to it"
    cheap = {"slow": runs_made_up.row("slow", 12.0)}  # as many gradients and bytes as everybody at an evaluation
    assert judge(rows | cheap, Look(seeds=5, level=0.025)).left == ("fast", "slow")
    with pytest.raises(RecordError, match="row slow has seeds"):
        judge(rows | {"slow": rows["slow"][1:]}, LOOK)


def test_a_run_that_broke_off_has_reached_nothing() -> None:
    """It spent little, so that no bound excludes it on other axes than time."""
    rows = {"fast": row("fast", 4.0), "broken": row("broken", 3.0, state="diverged"), "slow": row("slow", 5.0)}
    assert "broken" in judge(rows, Look(seeds=5, level=0.025)).dropped
    some = rows | {"broken": [*row("broken", 3.0, state="diverged")[:2], *row("broken", 3.0)[2:]]}
    assert "broken" in judge(some, Look(seeds=5, level=0.025)).left


RACE = Race(looks=(Look(seeds=3, level=0.01), Look(seeds=5, level=0.02), Look(seeds=10, level=0.02)))


def test_dropped_rows_need_no_more_runs() -> None:
    rows = {"a": row("a", 4.0), "b": row("b", 4.2, scale=0.6), "c": row("c", 40.0)[:3]}
    found = verdicts(rows, RACE)
    assert [set(one.dropped) for one in found] == [{"c"}, set(), set()]
    assert verdicts(rows | {"b": rows["b"][:5]}, RACE) == found[:2], "a look waits for all runs"
    assert verdicts(rows | {"c": row("c", 40.0)}, RACE) == found, "and later ones of who was dropped count for nothing"
    assert verdicts({row: runs[:2] for row, runs in rows.items()}, RACE) == []


def test_a_race_ends_when_one_row_is_left() -> None:
    assert len(verdicts({"a": row("a", 4.0), "c": row("c", 40.0)}, RACE)) == 1
    assert verdicts({"a": row("a", 4.0)}, RACE) == [Verdict(("a",), {})]


def test_a_digest_is_of_the_runs_in_any_order() -> None:
    runs = row("a", 4.0)
    assert digest(runs) == digest(runs[::-1]) != digest(runs[1:])


def test_far_behind_is_who_costs_so_many_times_as_much_on_every_board() -> None:
    rows = {"a": row("a", 3.0, seeds=1), "b": row("b", 9.0, seeds=1), "c": row("c", 16.0, seeds=1)}
    assert far_behind(rows, 5.4) == {}
    assert set(far_behind(rows, 5.3)) == {"c"}
    assert set(far_behind(rows, 2.9)) == {"b", "c"}
    reason = far_behind(rows, 5.3)["c"]
    assert reason.rival == "a"
    assert reason.at_least == pytest.approx(16 / 3, rel=1e-5)
    for run in rows["c"]:
        run.curves["bytes"] = run.curves["bytes"] // 10
    assert set(far_behind(rows, 2.9)) == {"b"}, "it is cheap in bytes"


def test_a_miss_counts_with_what_the_run_had_spent() -> None:
    """20 seconds, so that who misses is at least four times as dear as who needs five."""
    rows = {"a": row("a", 5.0, seeds=1), "none": row("none", None, seeds=1)}
    assert set(far_behind(rows, 3.9)) == {"none"}
    assert far_behind(rows, 4.1) == {}
    assert far_behind({"none": rows["none"], "other": row("other", None, seeds=1)}, 1.1) == {}
