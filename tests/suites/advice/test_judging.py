"""How runs judge an advice."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from fedbench.suites.advice.advise import Choice
from fedbench.written import Ratio
from tests.suites.advice.judging import (
    BY_CHANCE,
    EVERYWHERE,
    FIRST,
    FIRST_MISSES,
    NAMED,
    NO_ANSWER,
    NOBODY,
    Lists,
    Outcome,
    Spent,
    alone,
    by_chance,
    covered,
    holds,
    judged,
    shares,
    summary,
)

COST = {"a": math.log(1), "b": math.log(1.05), "c": math.log(2)}
NEVER = math.inf


def _spent(missing: str) -> Spent:
    return Spent(COST, frozenset(name for name in COST if name not in missing))


@pytest.mark.parametrize(
    ("named", "missing", "wanted"),
    [
        (["a"], "", Outcome(True, 1.0)),
        (["b", "a"], "", Outcome(True, 1.05)),
        (["c", "b"], "", Outcome(True, 2.0)),
        (["c"], "", Outcome(False, 2.0)),
        (["b"], "b", Outcome(False, NEVER, FIRST_MISSES)),
        (["b", "a"], "b", Outcome(True, NEVER, FIRST_MISSES)),
        (["c"], "ab", Outcome(True, 1.0)),
        (["d"], "", Outcome(False, NEVER, FIRST_MISSES)),
        (["a"], "abc", Outcome(False, NEVER, NOBODY)),
        ([], "", Outcome(False, NEVER, NO_ANSWER)),
    ],
)
def test_an_advice_is_judged_by_the_best_that_misses_nothing(named: list[str], missing: str, wanted: Outcome) -> None:
    """What a row costs that misses a target is not known: its lower bound is no regret."""
    found = judged(named, _spent(missing))
    assert (found.hit, found.why) == (wanted.hit, wanted.why)
    assert found.regret == pytest.approx(wanted.regret)


def test_rows_within_40_percent_get_more_seeds() -> None:
    assert _spent("").near() == ["a", "b"]
    assert _spent("a").near() == ["b"]
    assert _spent("ab").near() == ["c"]
    assert _spent("abc").near() == []


def test_advice_holds_with_36_hits_and_a_small_regret() -> None:
    def several(hits: int, regret: float) -> list[Outcome]:
        return [Outcome(number < hits, regret) for number in range(40)]

    assert holds(several(36, 1.1))
    assert not holds(several(35, 1.1))
    assert not holds(several(40, 1.11))
    assert not holds([*several(40, 1.0)[:19], *[Outcome(True, NEVER, FIRST_MISSES)] * 21])
    assert summary([*several(36, 1.07)[:39], Outcome(False, NEVER, NO_ANSWER)]) == (
        "36 of 40 named sets have a row within 10 % of the best (76 to 97 %); median cost of the first over the best 1.070 "
        "(1.070 to 1.070); 1 where no answer"
    )


def test_printed_intervals_are_compared_with_what_was_measured() -> None:
    def choice(name: str, low: float, high: float) -> Choice:
        return Choice(name, name, "", 0.5, {"seconds": Ratio((low + high) / 2, low, high)})

    choices = [choice("a", 1.0, 1.2), choice("b", 1.06, 1.2), choice("c", 1.0, 3.0), choice("d", 1.0, 2.0)]
    assert covered(choices, "seconds", _spent("c")) == [True, False]
    assert covered(choices, "bytes", _spent("")) == []


def test_shares_are_of_scenarios_on_which_a_list_has_a_cheap_row() -> None:
    """By all seeds where a row has them, else by few: there b seems to be dearer."""
    whole, few = (
        Spent({"a": 0.0, "b": math.log(1.2)}, frozenset("ab")),
        Spent({"a": 0.0, "b": math.log(1.6), "c": math.log(3)}, frozenset("abc")),
    )
    one, nobody = Lists(["b", "a"], ["c"], whole, few), Lists([], ["a"], Spent({}, frozenset()), Spent({"a": 0.0}, frozenset()))
    found = shares([one, nobody], np.array([1.0, 1.2, 3.0]))
    assert found[NAMED].tolist() == [0.5, 0.5, 0.5]
    assert found[FIRST].tolist() == [0, 0.5, 0.5]
    assert found[EVERYWHERE].tolist() == [0, 0, 0.5]
    assert found[BY_CHANCE].tolist() == [0.5, 0.5, 0.5], "all three of the first are drawn, and the only one of the second misses"


def test_two_lists_are_compared_where_one_alone_is_good() -> None:
    named, everywhere = (["a"], ["b"], ["c"], []), (["a"], ["c"], ["b"], ["c"])
    several = [Lists(*both, _spent(""), _spent("")) for both in zip(named, everywhere, strict=True)]
    assert alone(several) == (1, 1)


def test_five_by_chance_are_good_as_often_as_draws_are() -> None:
    """Of eight rows two are within 1.1, four within 2, and one has no bound."""
    costs = [1, 1.05, 1.3, 2, 3, 4, 5, math.inf]
    draws = list(itertools.combinations(costs, 5))
    for ratio in (1.0, 1.1, 2.0, 10.0):
        wanted = sum(min(five) <= ratio for five in draws) / len(draws)
        assert by_chance(costs, np.array([ratio])) == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("named", "missing", "words"),
    [
        (["b", "a"], "", "best a; named b 1.050, a 1.000"),
        (["a", "d"], "a", "best b; named a inf, d inf"),
        ([], "abc", "best nobody; named nobody"),
    ],
)
def test_a_line_names_the_best_and_what_was_named(named: list[str], missing: str, words: str) -> None:
    assert Lists(named, [], _spent(missing), _spent("")).words == words
