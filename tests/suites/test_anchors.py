"""Anchors: which is the nearest, what is tried elsewhere, and who waits for whom."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.suites import trials as trials_table
from fedbench.suites import tuned
from fedbench.suites.anchors import Near, distance, nearest
from fedbench.suites.price import tried
from fedbench.suites.search import Progress, Searches, collect
from fedbench.suites.suite import Suite, load
from fedbench.suites.tuning import Outcome
from fedbench.suites.tuning_parts import Anchors, Halving
from tests.suites.landscapes import POINT, SPACE, Landscape, suite

PART: dict[str, Any] = {"points": ["slow", "fast"], "elsewhere": {"options": ["local_lr"]}}
FACTORS = ["skew", "speed", "at_work"]
NUMBERS = {"iid": 0.0, "some": 2.0, "much": 5.0}
RUNGS = [{"trials": 8, "seeds": 1, "budget_share": 0.5}, {"trials": 2, "seeds": 3, "budget_share": 1}]


def anchors(*points: str, **more: Any) -> Anchors:
    return Anchors.model_validate({**PART, "points": points or PART["points"], **more})


# ---- distance ----

places = st.fixed_dictionaries(
    {
        "skew": st.sampled_from(list(NUMBERS)),
        "speed": st.floats(0, 1).map(lambda x: round(x, 6)),
        "at_work": st.sampled_from([0, 0.25, 1]),
    }
)
tables = st.lists(places, min_size=3, max_size=9).map(lambda several: {f"p{i}": one for i, one in enumerate(several)})
parts = st.builds(
    lambda first, numbers: anchors("p0", "p1", "p2", first=first, numbers=numbers),
    st.sampled_from([[], ["at_work"], ["at_work", "skew"]]),
    st.sampled_from([{}, {"skew": NUMBERS}]),
)


@given(parts, tables)
def test_a_distance_is_one(part: Anchors, several: Mapping[str, Any]) -> None:
    a, b, c = (several[f"p{i}"] for i in range(3))
    assert distance(part, a, a) == 0
    assert distance(part, a, b) == distance(part, b, a) <= len(FACTORS)
    assert distance(part, a, c) <= distance(part, a, b) + distance(part, b, c) + 2e-6


@given(parts, tables, st.sets(st.sampled_from(["p0", "p1", "p2"])))
def test_the_nearest_runs_and_none_that_runs_is_nearer(part: Anchors, several: Mapping[str, Any], runs: set[str]) -> None:
    """In the factors that come first, then in all, then by name, in whichever order they are
    named."""
    name = list(several)[-1]
    found = nearest(part, several, name, runs.__contains__)

    def key(anchor: str) -> tuple[float, float, str]:
        first = sum(distance(part, several[anchor], several[name], [one]) for one in part.first)
        return round(first, 6), distance(part, several[anchor], several[name]), anchor

    assert found == (Near(min(runs, key=key), min(map(key, runs))[1]) if runs else None)
    turned = part.model_copy(update={"points": part.points[::-1]})
    assert nearest(turned, several, name, runs.__contains__) == found


def test_a_distance_by_hand() -> None:
    """A text that differs counts 1, or by the numbers that the suite gives, over their range."""
    one, other = {"skew": "iid", "speed": 0.25, "at_work": 0}, {"skew": "some", "speed": 1.0, "at_work": 0.5}
    assert distance(anchors(), one, other) == 1 + 0.75 + 0.5
    assert distance(anchors(numbers={"skew": NUMBERS}), one, other) == 0.4 + 0.75 + 0.5
    assert distance(anchors(), one, other, ["at_work"]) == 0.5


def test_who_shares_the_cap_lends_before_who_is_near() -> None:
    several = {
        "far": {"skew": "much", "speed": 1.0, "at_work": 0},
        "near": {"skew": "iid", "speed": 0.0, "at_work": 1},
        "here": {"skew": "iid", "speed": 0.1, "at_work": 0.25},
    }
    assert nearest(anchors("far", "near"), several, "here", lambda _: True) == Near("near", 0.85)
    assert nearest(anchors("far", "near", first=["at_work"]), several, "here", lambda _: True) == Near("far", 2.15)
    assert nearest(anchors("far", "near", first=["at_work"]), several, "here", lambda one: one == "near") == Near("near", 0.85)


# ---- the search elsewhere ----

HILLS = {15: Landscape("fedavg", best=(0.7, 0.3), bowl=(8.0, 8.0)), 16: Landscape("fedavg", best=(0.2, 0.9), bowl=(8.0, 8.0))}


def three(*algorithms: str, part: Mapping[str, Any] = PART, **changes: Any) -> Suite:
    """Points `slow` and `fast`, which are anchors, and `between`, which is nearer to `slow`. They
    have 15, 16 and 17 clients, by which runs are told apart."""
    whole = suite(*(algorithms or ["fedavg"]))
    content = json.loads(whole.model_dump_json(by_alias=True))
    where = {"slow": (15, 0), "fast": (16, 1), "between": (17, 0.25)}
    points = [
        {**POINT, "name": name, "set": {**POINT["set"], "clients": n}, "places": {"speed": x}}  # type: ignore[dict-item]
        for name, (n, x) in where.items()
    ]
    tuning = {"method": "halving", "space": "axes", "first_seed": 1000, "rungs": RUNGS, "anchors": part, **changes}
    return Suite.model_validate({**content, "points": points, "tuning": tuning})


def finding(between: Landscape) -> Callable[[RunSpec], Outcome]:
    hills = {**HILLS, 17: between}
    return lambda spec: hills[spec.scenario.clients].outcome(spec)


def found_in(own: Suite, find: Callable[[RunSpec], Outcome | None], selector: str = "fedavg") -> tuple[Progress, Progress]:
    """How far the searches come at the point between and at its anchor."""
    searches = Searches(own, SPACE, find)
    return searches.progress(own.point("between"), selector), searches.progress(own.point("slow"), selector)


def test_what_is_tried_elsewhere() -> None:
    """The anchor's options, and the same with eight rates that are drawn."""
    here, at_anchor = found_in(three(), finding(HILLS[15]))
    assert at_anchor.choice is not None
    lent = at_anchor.choice.options
    first = [trial for trial, _ in here.ended if trial.rung == 0]
    assert [trial.options for trial in first if trial.number == 0] == [lent]
    drawn = [trial.options for trial in first if trial.number > 0]
    assert len(first) == 9
    assert len({one["local_lr"] for one in drawn} - {lent["local_lr"]}) == 8
    assert all({**one, "local_lr": lent["local_lr"]} == lent for one in drawn)
    assert all(len(trial.specs) == 3 and trial.specs[0].scenario.budget.seconds == 100 for trial in first)


def test_no_seed_is_used_at_an_anchor_and_elsewhere() -> None:
    """What was lucky at the anchor is not lucky for that elsewhere; and draws have theirs."""
    here, at_anchor = found_in(three(), finding(HILLS[15]))
    ours, theirs = ({spec.seed for trial, _ in one.ended for spec in trial.specs} for one in (here, at_anchor))
    assert (theirs, ours) == ({1000, 1001, 1002, 1003}, {1004, 1005, 1006})
    assert three().tuning_seeds(1)[0] == 1007


def test_the_rate_is_tuned_again() -> None:
    """The optimum of the rate has moved, and that of the other option has not."""
    here, at_anchor = found_in(three(), finding(replace(HILLS[15], best=(0.25, 0.3), bowl=(25.0, 8.0), own=0.02)))
    assert here.choice is not None
    assert at_anchor.choice is not None
    assert 0 < here.choice.trial < 9
    assert here.choice.options["server_lr"] == at_anchor.choice.options["server_lr"]
    assert float(str(here.choice.options["local_lr"])) < 0.3 * float(str(at_anchor.choice.options["local_lr"]))
    assert here.choice.anchor == Near("slow", 0.25)
    assert here.choice.words == "tuned at anchors (slow, distance 0.25)"
    assert (at_anchor.choice.anchor, at_anchor.choice.words) == (None, "tuned")


def test_the_anchors_options_stay_where_none_are_better() -> None:
    flat = replace(HILLS[15], bowl=(0.0, 0.0))
    here, at_anchor = found_in(three(), finding(flat))
    assert at_anchor.choice is not None
    assert at_anchor.choice.options
    assert here.choice is not None
    assert (here.choice.trial, here.choice.options, here.choice.anchor) == (0, at_anchor.choice.options, Near("slow", 0.25))


TWO_RUNGS = {**PART, "elsewhere": {"options": ["local_lr"], "rungs": [*RUNGS[:1], {"trials": 1, "seeds": 3, "budget_share": 1}]}}


def test_the_search_elsewhere_ends_where_the_anchors_options_lead() -> None:
    """They are in the first rung. Where another rate leads there, both are in the last one."""
    own = three(part=TWO_RUNGS)
    here, at_anchor = found_in(own, finding(replace(HILLS[15], bowl=(0.0, 0.0), own=0.0)))
    assert at_anchor.choice is not None
    assert here.choice is not None
    assert (here.choice.trial, here.choice.options, here.choice.trials) == (0, at_anchor.choice.options, 9)
    assert [(trial.number, len(trial.specs)) for trial, _ in here.ended] == [*((n, 1) for n in range(1, 9)), (0, 1)]
    moved, _ = found_in(own, finding(replace(HILLS[15], best=(0.25, 0.3), bowl=(25.0, 8.0), own=0.02)))
    last = [trial for trial, _ in moved.ended if trial.rung == 1]
    assert [len(trial.specs) for trial in last] == [3, 3]
    assert [trial.number for trial in last][1] == 0 < last[0].number
    assert [one.runs for one in tried(own, SPACE, own.point("between"), "fedavg")] == [8 + 1, (1 + 1) * 3, 1 * 3 * 3]


def test_evaluation_may_be_coarser_while_options_are_tuned() -> None:
    content = json.loads(three(evaluation_ratio=1.1).model_dump_json(by_alias=True))
    grid = {"kind": "log", "first_seconds": 1.0, "ratio": 1.05}
    own = Suite.model_validate(
        {**content, "points": [{**one, "set": {**one["set"], "evaluation": grid}} for one in content["points"]]}
    )
    point = own.points[0]
    tuned_at = [own.scenario_at(point, validation=True), own.scenario_at(point, validation=True, rung=own.tuning.rungs[0])]
    assert [one.evaluation.model_dump() for one in (own.scenario_at(point), *tuned_at)] == [grid, *[{**grid, "ratio": 1.1}] * 2]
    assert (
        own.design_hash()
        != own.model_copy(update={"tuning": own.tuning.model_copy(update={"evaluation_ratio": None})}).design_hash()
    )
    assert "evaluation_ratio" not in three().tuning.hashed()


def test_what_wins_elsewhere_is_stable_too() -> None:
    """Each rate of the winner, and both, a quarter larger."""
    here, _ = found_in(three(), finding(replace(HILLS[15], own=0.02)))
    assert here.choice is not None
    steeper = [trial.options for trial, _ in here.ended if trial.rung == 1][-3:]
    rates = {key: float(f"{1.25 * float(str(here.choice.options[key])):.6g}") for key in ("local_lr", "server_lr")}
    assert steeper == [{**here.choice.options, key: rates[key]} for key in rates] + [{**here.choice.options, **rates}]
    behind = replace(HILLS[15], cliff=0.0)
    assert (found := found_in(three(), finding(behind))[0].choice)
    assert found.trial == 0, "everything diverges, the anchor's options too"


def test_an_algorithm_without_the_option_draws_its_first_rate() -> None:
    asysg = Landscape("asysg", best=(0.9, 0.2), bowl=(12.0, 12.0))
    here, at_anchor = found_in(three("asysg"), asysg.outcome, "asysg")
    assert at_anchor.choice is not None
    assert len({trial.options.get("server_lr") for trial, _ in here.ended if trial.rung == 0}) == 8 + 1
    assert {trial.options["cohort_size"] for trial, _ in here.ended if trial.rung == 0} == {
        at_anchor.choice.options["cohort_size"]
    }
    only = three("asysg", part={**PART, "elsewhere": {"options": ["cohort_size"]}})
    sizes = {trial.options.get("cohort_size") for trial, _ in found_in(only, asysg.outcome, "asysg")[0].ended if trial.rung == 0}
    assert len(sizes) > 3


def test_an_anchor_at_which_the_algorithm_does_not_run_lends_nothing() -> None:
    """Of a hundred clients at work a server that waits for the first of all needs a cap as high."""
    own = three("msync")
    point = own.points[0].model_copy(update={"set": {**own.points[0].set, "at_work": 2}})
    capped = own.model_copy(update={"points": (point, *own.points[1:])})
    assert Searches(own, SPACE, lambda _: None).near(own.point("between"), "msync") == Near("slow", 0.25)
    assert Searches(capped, SPACE, lambda _: None).near(own.point("between"), "msync") == Near("fast", 0.75)
    alone = three("msync", part={**PART, "points": ["slow"]})
    nowhere = alone.model_copy(update={"points": (point, *own.points[1:])})
    searches = Searches(nowhere, SPACE, lambda _: None)
    assert searches.near(own.point("between"), "msync") is None
    assert searches.progress(own.point("between"), "msync") == Progress([], [], [], None)


# ---- who waits for whom ----


def test_elsewhere_waits_for_its_anchor_alone() -> None:
    own, known = three(), dict[str, Outcome]()
    find, between = finding(HILLS[15]), own.point("between")
    steps = 0
    while not (searches := Searches(own, SPACE, lambda spec: known.get(spec.run_id))).choice("slow", "fedavg"):
        assert searches.progress(between, "fedavg") == Progress([], [], [], None)
        assert searches.waiting([(between, "fedavg"), (own.point("fast"), "fedavg")]) == [(between, "fedavg", Near("slow", 0.25))]
        for spec in searches.progress(own.point("slow"), "fedavg").wanted:
            known[spec.run_id] = find(spec)
        steps += 1
    assert steps >= 2
    assert not searches.waiting([(between, "fedavg")])
    assert len(searches.progress(between, "fedavg").wanted) == 9 * 3, "though the other anchor has no choice"


def test_files_keep_anchors(tmp_path: Path) -> None:
    own, table, file = three(), tmp_path / "trials.parquet", tmp_path / "hills.yaml"
    ended, choices = collect(own, SPACE, finding(replace(HILLS[15], best=(0.4, 0.3), own=0.02)), {0, 1})
    assert {draw: sorted(point for point, _ in one) for draw, one in choices.items()} == {
        0: ["between", "fast", "slow"],
        1: ["fast", "slow"],
    }
    trials_table.write(table, ended, own.design_hash())
    known = trials_table.read(table, own.design_hash())
    assert collect(own, SPACE, lambda spec: known.get(spec.run_id), {0, 1}) == (ended, choices)
    file.write_text(tuned.as_yaml(tuned.content(own, SPACE, choices[0], {1: choices[1]})))
    assert file.read_text().count('"anchor": {"point": "slow", "distance": 0.25}') == 1
    assert file.read_text().count('"anchor"') == 1, "those at anchors name none"
    frozen = tuned.read(file, own)
    assert frozen.points["between"]["fedavg"] == choices[0]["between", "fedavg"]
    (row,) = [
        specs
        for point, row, specs in tuned.rows(own, frozen, own.points, ["fedavg"])
        if (point, row[-7:]) == ("between", "(tuned)")
    ]
    assert row[0].algorithm.options()["local_lr"] == choices[0]["between", "fedavg"].options["local_lr"]
    for old, new in (
        ("0.25}", "0.75}"),
        ('"point": "slow"', '"point": "between"'),
        (', "anchor": {"point": "slow", "distance": 0.25}', ""),
    ):
        (tmp_path / "wrong.yaml").write_text(file.read_text().replace(old, new))
        with pytest.raises(
            UsageError, match=r"points.between.fedavg: expected one of the suite's anchors with its distance, got"
        ):
            tuned.read(tmp_path / "wrong.yaml", own)


def test_leaders_cost_least_at_the_anchor() -> None:
    own = three("fedavg", "fednova", "centralised", part={**PART, "draws": {"points": ["slow"], "count": 3, "leaders": 1}})
    quick = replace(HILLS[15], algorithm="fednova", least=5.0)
    hills = {"fedavg": HILLS[15], "fednova": quick, "centralised": Landscape("centralised", best=(0.5,), bowl=(8.0,), least=1.0)}
    searches = Searches(own, SPACE, lambda spec: hills[spec.algorithm.name].outcome(spec))
    assert searches.leaders(own.point("slow"), own.selectors()) == ["fednova"]
    with pytest.raises(
        UsageError, match=r"suite hills: the leaders at slow are not known, since fedavg has no choice there yet; `fed"
    ):
        Searches(own, SPACE, lambda _: None).leaders(own.point("slow"), own.selectors())


# ---- the suite's file ----


def test_anchors_are_part_of_the_design_and_draws_are_not() -> None:
    own = three()
    drawn = three(part={**PART, "draws": {"points": ["slow"], "count": 3, "leaders": 4}})
    assert drawn.design_hash() == own.design_hash()
    others = (
        three(part={**PART, "points": ["slow"]}),
        three(part={**PART, "elsewhere": {"options": ["server_lr"]}}),
        own.model_copy(update={"points": (*own.points[:2], own.points[2].model_copy(update={"places": {"speed": 0.4}}))}),
    )
    assert len({one.design_hash() for one in (own, *others)}) == 4
    without = suite("fedavg").tuning
    assert isinstance(without, Halving)
    assert "anchors" not in without.hashed()


def test_the_price_elsewhere_is_an_upper_bound() -> None:
    own = three()
    assert [one.runs for one in tried(own, SPACE, own.point("between"), "fedavg")] == [(8 + 1) * 3, 8 * 3 * 3]
    here, _ = found_in(own, finding(HILLS[15]))
    assert len(here.asked) <= 27 + 72
    assert [one.runs for one in tried(own, SPACE, own.point("slow"), "fedavg")] == [8, (2 + 1) * 3, 2 * 3 * 3]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({**PART, "points": ["slow", "fats"]}, "tuning.anchors.points.1: unknown point 'fats'; did you mean 'fast'?"),
        ({**PART, "first": ["sped"]}, "tuning.anchors.first: unknown factor 'sped'; did you mean 'speed'?"),
        ({**PART, "numbers": {"skew": {"a": 1, "b": 2}}}, "tuning.anchors.numbers: unknown factor 'skew'; known: speed"),
        ({**PART, "numbers": {"speed": {"a": 1, "b": 2}}}, "tuning.anchors.numbers.speed: a number for 0.0 is missing"),
        ({**PART, "numbers": {"speed": {"a": 1, "b": 1}}}, "numbers.speed: expected numbers that differ, got 1 for all levels"),
        (
            {**PART, "draws": {"points": ["between"], "count": 3, "leaders": 4}},
            "draws.points.0: 'between' is no anchor; known: fast, slow",
        ),
        (
            {**PART, "elsewhere": {"options": ["local_lr"], "rungs": RUNGS[:1]}},
            "rungs.0.budget_share: the last rung has the whole budget",
        ),
        ({**PART, "elsewhere": {"options": []}}, "elsewhere.options"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, part: dict[str, Any], message: str) -> None:
    content = json.loads(three().model_dump_json(by_alias=True))
    (tmp_path / "mine.yaml").write_text(json.dumps({**content, "tuning": {**content["tuning"], "anchors": part}}))
    with pytest.raises(UsageError) as error:
        load(tmp_path / "mine.yaml")
    assert message in str(error.value)


def test_points_need_places(tmp_path: Path) -> None:
    content = json.loads(three().model_dump_json(by_alias=True))
    content["points"][1]["places"] = {}
    (tmp_path / "mine.yaml").write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"point fast: anchors need the places of all points by factor \(speed\), got \{\}"):
        load(tmp_path / "mine.yaml")
