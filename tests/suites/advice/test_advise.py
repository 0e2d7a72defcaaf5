"""What a map says to somebody who has to choose an algorithm."""

from __future__ import annotations

import json
import math
import re
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedbench as fb
from fedbench.analysis.map.saved import Saved, saved, write
from fedbench.errors import UsageError
from fedbench.registry import algorithm
from fedbench.suites.advice.advise import SHIPPED
from fedbench.suites.advice.nearby import worth
from tests.analysis.map.made_up_map import BAD, GOOD, NAMES, about, costs, flat, made_up


@pytest.fixture(name="ask")
def _ask(tmp_path: Path) -> Any:
    def ask(given: Saved, *overrides: str, scenario: str = "digits-demo", **more: Any) -> fb.Advice:
        write(tmp_path / "map.npz", given)
        return fb.advise(scenario, overrides=overrides, map=tmp_path / "map.npz", **more)

    return ask


def one(seconds: Any, **more: Any) -> Saved:
    return saved({"seconds": seconds}, **{**about(), **more})


def test_the_set_and_the_ratios_are_those_of_the_map(ask: Any) -> None:
    """Costs that are known: of 1, 1.05, 1.2, 2, 4 and 8, the first one is enough."""
    seconds = flat([math.log(one) for one in (4, 1, 1.05, 2, 1.2, 8)])
    both = saved({"seconds": seconds, "bytes": flat(range(6))}, **about())
    found = ask(both)
    assert [choice.algorithm for choice in found.choices] == ["fedavg"]
    assert found.choices[0].probability == 1
    assert found.choices[0].ratios["seconds"].value == pytest.approx(1)
    assert found.choices[0].ratios["bytes"].value == pytest.approx(math.e)
    assert found.others == {"bytes": ("fedasync",)}
    assert (found.is_sure, found.needed, found.among) == (True, 1, 5)
    other = ask(both, cost="bytes")
    assert [choice.algorithm for choice in other.choices] == ["fedasync"]
    assert other.choices[0].ratios["seconds"].value == pytest.approx(4)


def test_the_most_probable_one_comes_first(ask: Any) -> None:
    found = ask(one(flat([0.1, 0.0, 0.2, 0.3, 9.0, 0.15], own=0.1)))
    probabilities = [choice.probability for choice in found.choices]
    assert len(probabilities) > 1
    assert probabilities == sorted(probabilities, reverse=True)
    assert found.choices[0].algorithm == "fedavg"
    assert all(
        choice.ratios["seconds"].low <= choice.ratios["seconds"].value <= choice.ratios["seconds"].high
        for choice in found.choices
    )


def test_more_than_five_are_no_answer(ask: Any) -> None:
    found = ask(one(flat([0.0] * 6, own=10.0), public_data=()))
    assert (found.is_sure, found.needed, len(found.choices)) == (False, 6, 5)
    assert str(found).startswith("digits-demo: cannot say.\nOf the 6 algorithms that can run here, it takes 6 ")
    others = saved({"seconds": flat(range(6)), "bytes": flat([0.0] * 6, own=10.0)}, **about() | {"public_data": ()})
    assert "\nFor other costs: fewest bytes: cannot say.\n" in str(ask(others))


def test_who_cannot_run_is_not_compared(ask: Any) -> None:
    """FAVANO is the best, and keeps everybody at work."""
    log = [5.0, 1.0, 5.0, 5.0, 5.0, 0.0]
    refusing = replace(flat(log), algorithms=(*NAMES[:5], "favano"))
    with_all, with_few = ask(one(refusing)), ask(one(refusing), "at_work=6")
    assert [choice.algorithm for choice in with_all.choices] == ["favano"]
    assert ([choice.algorithm for choice in with_few.choices], with_few.among) == (["fedavg"], 4)
    assert with_few.choices[0].ratios["seconds"].value == pytest.approx(1)
    assert list(with_few.refused) == ["favano"]
    assert "it may have 20 jobs under way" in with_few.refused["favano"]
    with pytest.raises(
        UsageError, match=r"^advise: no algorithm of the map runs on scenario digits-demo: algorithm .* jobs under way"
    ):
        ask(one(_keeping_everybody()), "at_work=6")


def test_groups_are_not_mixed(ask: Any) -> None:
    """FedEcho costs least. It uses public data, which not every server has."""
    log = [5.0, 1.0, 5.0, 0.0, 5.0, 5.0]
    without, with_data = ask(one(flat(log)), "public=null"), ask(one(flat(log)))
    assert "needs public_data" in without.refused["fedecho"]
    assert without.with_public_data == ()
    for found in (without, with_data):
        assert ([choice.algorithm for choice in found.choices], found.among) == (["fedavg"], 5)
        assert found.choices[0].ratios["seconds"].value == pytest.approx(1)
    assert [choice.algorithm for choice in with_data.with_public_data] == ["fedecho"]
    assert "\nWith the server's public data also try fedecho;" in str(with_data)
    assert f"-a '{with_data.with_public_data[0].selector}' --seeds" in with_data.command
    assert "public data" not in str(without)


def test_who_was_never_run_at_such_clients_is_not_compared(ask: Any) -> None:
    """At a number between levels both neighbours count."""
    given = flat([5.0, 0.0, 1.0, 5.0, 5.0, 5.0])
    log = given.log.copy()
    log[np.array(given.points["at_work"]) < 100, 1] = np.nan
    only_all = replace(given, log=log)
    assert ask(one(only_all), "at_work=20").choices[0].algorithm == "fedbuff"
    assert ask(one(only_all), "clients=100", "at_work=100").choices[0].algorithm == "fedavg"
    assert ask(one(only_all), "clients=100", "at_work=60").choices[0].algorithm == "fedbuff"


def test_a_row_has_the_options_of_its_selector(ask: Any) -> None:
    mifa = replace(flat([5.0, 0.0, 5.0, 5.0, 5.0, 5.0]), algorithms=("fedasync", "mifa", *NAMES[2:]))
    found = ask(one(mifa, selectors={"mifa": "mifa[sampling=without_replacement,start=warm]"}))
    assert found.choices[0].selector == "mifa[cohort_size=20,sampling=without_replacement,start=warm]"


def _keeping_everybody() -> Any:
    return replace(flat(range(6)), algorithms=("area", "favano", "fedlin", "fedsgd", "malenia", "quafl"))


def test_a_map_that_does_not_predict_answers_from_the_nearest_points(ask: Any) -> None:
    """And says so, and what that is worth. The regrets there have nothing to do with the model's
    costs."""
    given = flat(range(6), verdict=BAD)
    log = np.tile(np.log([4.0, np.nan, 2.0, 1.0, 1.0, 8.0]), (len(given.log), 1))
    found = ask(one(replace(given, regret=log)))
    assert [choice.algorithm for choice in found.choices] == [NAMES[k] for k in (4, 2, 0, 5)]
    assert [choice.probability for choice in found.choices] == [None] * 4
    assert found.choices[1].ratios["seconds"].numbers == pytest.approx((2, 2, 2))
    assert (found.is_sure, found.needed, found.among) == (False, None, 4), "FedAvg has no runs, FedEcho has its own group"
    place = {level.factor: level.taken for level in found.levels}
    near = np.argsort(given.distances(place, about()["numbers"]), kind="stable")[:5]
    points = tuple(given.points["point"][k] for k in near)
    assert found.measured_at == {"seconds": points}
    assert found.worth == worth(replace(given, regret=log), np.array([name != "fedecho" for name in NAMES]))
    said = str(found)
    assert said.startswith(
        f"digits-demo: try {NAMES[4]}, {NAMES[2]}, {NAMES[0]} or {NAMES[5]}.\nThe map does not predict virtual seconds"
    )
    assert f"runs at the nearest points ({', '.join(points)}), these cost least there. The map has no such scenario, so" in said
    assert "leaving out each of the 24 points of the map in turn, one of five so named holds all targets" in said
    assert (found.choices[0].at_least == ("seconds",)) == given.is_bound[near, 4].any()
    sign = "≥ " if found.choices[1].at_least else ""
    assert f"{NAMES[2]} {sign}2.00 (2.00 to 2.00)" in re.sub(" +", " ", said)
    assert "close" not in said.split("\n")[2]
    assert "probability" not in said
    sure = ask(one(replace(given, verdict=GOOD, regret=log)))
    assert (sure.measured_at, sure.worth) == ({}, None)
    assert "Nearest points" not in str(sure)


def test_without_runs_near_by_there_is_no_answer(ask: Any) -> None:
    given = flat(range(6), verdict=BAD)
    with pytest.raises(UsageError, match=r"^advise: no algorithm of the map runs on scenario digits-demo$"):
        ask(one(replace(given, regret=np.full(given.log.shape, np.nan))))


def test_the_cost_that_is_not_predicted_is_named(ask: Any) -> None:
    """The others are those of the place."""
    given, measured = flat(range(6)), flat(range(6), verdict=BAD)
    found = ask(saved({"seconds": given, "bytes": measured}, **about()))
    assert list(found.measured_at) == ["bytes"]
    assert (found.is_sure, found.worth) == (True, None)
    assert len(found.others["bytes"]) == 5
    said = str(found)
    assert '"close" is the probability' in said
    assert "With round brackets, costs are over those of the best at each of the nearest points" in said
    assert "Nearest points, for bytes: " in said


def test_the_command_runs_what_it_names(ask: Any) -> None:
    """With the options of the nearest point, and the scenario as it was asked for."""
    found = ask(made_up(), "at_work=4")
    program, verb, scenario, *words = shlex.split(found.command)
    assert (program, verb, scenario, words[:2]) == ("fedbench", "run", "digits-demo", ["--set", "at_work=4"])
    selectors = [word for before, word in pairwise(words) if before == "-a"]
    choices = (*found.choices, *found.with_public_data)
    assert selectors == [choice.selector for choice in choices]
    for choice in choices:
        options = algorithm(choice.selector).options()
        assert 4 in (options.get("concurrency"), options.get("cohort_size")) or choice.algorithm in ("fedasync", "ringmaster")
        tuned = about()["options"].get(choice.tuned_at, {}).get(choice.algorithm, {})
        assert {name: options[name] for name in tuned} == tuned


def test_another_task_is_said_with_what_is_known_of_others(ask: Any) -> None:
    transfer = [
        {"where": "cnn_21840", "axis": axis, "points": 12, "agreement": 0.81, "low": 0.6, "high": 0.9}
        for axis in ("seconds", "bytes")
    ]
    found = ask(made_up(transfer=transfer))
    assert found.transfer == ("cnn_21840, rank agreement 0.81 [0.60, 0.90] at 12 points",)
    assert any(words.startswith("task digits") for words in found.outside)
    assert ask(made_up(transfer=transfer, scenario=fb.scenario("digits-demo").resolved())).transfer == ()


def test_an_answer_has_at_most_25_lines(ask: Any) -> None:
    """With everything there is to say."""
    transfer = [{"where": "cnn", "axis": "seconds", "points": 12, "agreement": 0.8, "low": 0.6, "high": 0.9}] * 4
    worst = {axis: flat([0.0] * 6, own=1.0, verdict=BAD) for axis in ("seconds", "gradient_evaluations", "bytes")}
    worst = {axis: replace(given, regret=np.zeros_like(given.log)) for axis, given in worst.items()}
    found = ask(saved(worst, **{**about(), "transfer": transfer}), "local.steps=900", "dropout=0.5", "clients=30")
    assert len(found.choices) == 5
    assert found.is_far
    lines = str(found).split("\n")
    assert len(lines) <= 25
    assert "That is far outside: take the answer as a guess, and let fedbench race compare them." in lines[-2]
    assert "far outside" not in str(ask(made_up()))


def test_the_answer_rests_on_what_is_named(ask: Any) -> None:
    wanted = "Rests on suite map: 24 points, 3 to 4 seeds, 504 records, commit 0123456789ab, 2026-11-27."
    assert str(ask(made_up())).endswith(f"\n{wanted}")


def test_it_is_plain_data(ask: Any) -> None:
    found = ask(made_up(), "local.steps=900")
    content = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert content["choices"][0]["selector"] == found.choices[0].selector
    assert {level["factor"] for level in content["levels"]} == {"skew", "spread", "at_work", "steps"}
    assert ask(made_up(), "local.steps=900") == found


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"cost": "second"}, "advise: unknown cost 'second'; did you mean 'seconds'?"),
        ({"scenario": "digits-dem"}, "unknown scenario 'digits-dem'"),
    ],
)
def test_what_is_refused(ask: Any, more: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        ask(made_up(), **more)


def test_without_another_map_that_of_fedbench_is_asked() -> None:
    said = fb.advise("digits-demo")
    assert said == fb.advise("digits-demo", map=SHIPPED)
    assert said.basis.startswith("Rests on suite map: 60 points, 3 seeds")
    assert said.choices


def test_a_scenario_of_ones_own_is_asked_for_as_it_is(ask: Any, tmp_path: Path) -> None:
    own = tmp_path / "my own.yaml"
    text = (Path(fb.__file__).parent / "scenarios/library/digits-demo.yaml").read_text()
    own.write_text(text)
    assert ask(made_up(), scenario=str(own)).command.startswith(f"fedbench run '{own}' -a ")


def test_a_scenario_in_memory_is_named_by_what_differs_from_the_library(ask: Any) -> None:
    found = ask(made_up(), scenario=fb.scenario("digits-demo", ["at_work=4"]))
    assert found.command.startswith("fedbench run digits-demo --set at_work=4 -a ")
    assert found == ask(made_up(), "at_work=4")


def test_a_task_that_was_given_in_python_is_measured_and_named_by_a_call(ask: Any) -> None:
    """Half of the clients have the one class, half the other, which no library's task has."""
    y = np.arange(300) % 2
    task = fb.Task((y[:200, None], y[:200]), (y[200:, None], y[200:]), model="mlp")
    settings = ["clients=10", "partition={kind: shards, classes_per_client: 1}", "public=null", "at_work=4"]
    found = ask(made_up(), *settings, task=task)
    skew = next(level for level in found.levels if level.factor == "skew")
    assert "0.5" in str(skew)
    selectors = [choice.selector for choice in found.choices]
    assert found.command == f"fb.run('digits-demo', {selectors}, seeds=5, overrides={settings}, task=task)"
    in_memory = ask(made_up(), scenario=fb.scenario("digits-demo", [*settings, task.setting]))
    assert in_memory.choices == found.choices
    assert task.name not in in_memory.command
    records = eval(found.command.replace("seeds=5", "seeds=1"), {"fb": fb, "task": task})
    assert {one.spec.scenario.task.name for one in records} == {task.name}


def test_the_costs_of_a_real_fit_are_asked_at_the_place(ask: Any) -> None:
    """The ratios are those that the draws at the place have."""
    found = ask(made_up())
    log = costs(0).at({level.factor: level.taken for level in found.levels}, about()["numbers"])
    ratio = np.exp((log - log.min(axis=1, keepdims=True)).mean(axis=0))
    for choice in found.choices:
        assert choice.ratios["seconds"].value == pytest.approx(ratio[NAMES.index(choice.algorithm)])
