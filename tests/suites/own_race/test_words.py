"""What a race says at its end, from made-up results."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench.suites.own_race.result import Best, Dropped, Next, RaceResult, System
from fedbench.suites.own_race.words import MOST_LINES, lines
from fedbench.written import Ratio

BEST = Best("fedbuff[local_lr=0.2]", 6.31, False, Ratio(1.0, 1.0, 1.05))
ALSO = Best("fedavg", 7.0, False, Ratio(1.11, 0.97, 1.25))
SYSTEM = System(
    words="10 of 20 clients at work",
    rows=("fedbuff[local_lr=0.2]", "fedavg", "fedprox"),
    left=("fedbuff[local_lr=0.2]", "fedavg"),
    seeds=10,
    best={"seconds": (BEST, ALSO), "gradient_evaluations": (replace(ALSO, cost=400.0),), "bytes": (replace(BEST, cost=2.6e6),)},
    unranked={},
    unknown="",
    resolution=1.31,
    next=Next(20, 3.0, 1.2, ("fedavg",)),
)
RESULT = RaceResult(
    settled=True,
    scenario="mine",
    store=Path("runs/race-mine"),
    stage="race",
    rows=3,
    systems=(SYSTEM,),
    dropped=(Dropped("fedprox", 3, "why"),),
    refused={"quafl": "why not"},
    failed={},
    tuned=True,
    capped=True,
    minutes=None,
    tuning_minutes=None,
)

ratios = st.builds(Ratio, st.floats(1, 9), st.floats(0.1, 1), st.floats(9, 20) | st.just(math.inf))
rows = st.lists(st.builds(Best, st.text("abc", min_size=1), st.floats(0.1, 1e9), st.booleans(), ratios), max_size=9).map(tuple)
names = st.lists(st.text("abc", min_size=1, max_size=5), min_size=1, max_size=9).map(tuple)
systems = st.builds(
    System,
    words=st.just("some at work"),
    rows=names,
    left=names,
    seeds=st.integers(0, 40),
    best=st.fixed_dictionaries({"seconds": rows.filter(bool), "gradient_evaluations": rows, "bytes": rows}),
    unranked=st.dictionaries(st.text("abc", min_size=1), st.text("abc", min_size=1)),
    unknown=st.sampled_from(("", "no row holds a target")),
    resolution=st.none() | st.floats(1, 3),
    next=st.none() | st.builds(Next, st.integers(3, 40), st.floats(0, 1e4), st.none() | st.floats(1, 2), names),
)
results = st.builds(
    RaceResult,
    scenario=st.just("mine"),
    store=st.just(Path("store")),
    stage=st.sampled_from(("race", "tuning", "first seed")),
    rows=st.integers(1, 99),
    systems=st.lists(systems, max_size=8).map(tuple),
    dropped=st.lists(st.builds(Dropped, st.just("x"), st.sampled_from((1, 3, 10, 20, 40)), st.just("why")), max_size=50).map(
        tuple
    ),
    refused=st.dictionaries(st.text("abc", min_size=1), st.just("no"), max_size=20),
    failed=st.dictionaries(st.text("abc", min_size=1), st.just("no"), max_size=20),
    tuned=st.booleans(),
    capped=st.booleans(),
    minutes=st.none() | st.floats(0, 1e4),
    tuning_minutes=st.none() | st.floats(0, 1e4),
)


@settings(deadline=None, max_examples=30)
@given(results)
def test_any_result_has_at_most_25_lines_and_is_json(found: RaceResult) -> None:
    told = lines(found)
    assert 1 <= len(told) <= MOST_LINES == 25
    assert all(line.strip() and "\n" not in line for line in told)
    json.dumps(found.as_dict(), allow_nan=False)


def test_a_result_in_words() -> None:
    assert (
        str(RESULT)
        == """\
race on mine: 2 of 3 rows are left
10 of 20 clients at work: 2 of 3 rows left, 10 seeds each
  fewest seconds:
    fedbuff[local_lr=0.2]: 6.31 s, 1.00 [1.00, 1.05] times the best
    fedavg: 7.00 s, 1.11 [0.97, 1.25] times the best
  fewest gradients: fedavg (400)
  fewest bytes: fedbuff[local_lr=0.2] (2.60 MB)
  more minutes: 20 seeds each, about 3 min more, tell ratios from 1.20 on apart, now 1.31: fedavg
dropped: 1 after 3 seeds (dearer than another row beyond noise, which drops the best in at most 5 % of races, on every axis)
not applicable: quafl: why not"""
    )


def test_what_more_minutes_buy() -> None:
    over = replace(RESULT, systems=(replace(SYSTEM, next=None),))
    assert "  more minutes: nothing; all seeds were run" in lines(over)
    alone = replace(SYSTEM, next=None, left=("fedavg",))
    assert "  more minutes: nothing; one row is left" in lines(replace(RESULT, systems=(alone,)))
    early = replace(RESULT, stage="tuning", systems=(), minutes=90.0)
    assert lines(early)[0] == (
        "race on mine: the time was too short for a statement; it stopped in the stage `tuning`; the first look needs about 1.5 h more"
    )
    few = replace(SYSTEM, unknown="after 2 seeds, and 3 are the fewest that tell rows apart", best={}, resolution=None, seeds=2)
    few = replace(few, next=Next(3, 1.0, None, ()))
    told = lines(replace(RESULT, systems=(few,), minutes=1.0))
    assert told[0].endswith("; the first look needs about 1 min more")
    assert told[1].endswith("2 seeds each; no statement: after 2 seeds, and 3 are the fewest that tell rows apart")
    assert told[2] == "  more minutes: 3 seeds each, about 1 min more"


def test_many_systems_are_shortened_not_cut() -> None:
    told = lines(replace(RESULT, systems=(SYSTEM,) * 6))
    assert len(told) <= MOST_LINES
    assert "  fewest seconds: fedbuff[local_lr=0.2] (6.31 s); fedavg 1.11 [0.97, 1.25] times the best" in told
    assert "and 2 more systems, which --json and as_dict() have" in told
    assert told[-1] == "not applicable: quafl: why not"
