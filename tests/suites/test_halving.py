"""Successive halving: its rungs, its choice by hand, and what it costs on landscapes whose optimum
is known."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedbench as fb
from fedbench.algorithms.fedasync import FedAsync
from fedbench.algorithms.fedavg import FedAvg
from fedbench.errors import RecordError, UsageError
from fedbench.suites import trials as trials_table
from fedbench.suites import tuned
from fedbench.suites.halving import challengers, is_stable, ranked
from fedbench.suites.price import tried
from fedbench.suites.search import Progress, advanced, collect, search
from fedbench.suites.suite import load
from fedbench.suites.tuning import RULE, Outcome, area_under
from tests.conftest import storable
from tests.suites.landscapes import HALVING, SPACE, Landscape, sobol, suite

SMALL = {
    **HALVING,
    "rungs": [
        {"trials": 8, "seeds": 1, "budget_share": 0.4},
        {"trials": 4, "seeds": 1, "budget_share": 0.7},
        {"trials": 2, "seeds": 3, "budget_share": 1},
    ],
}
PUBLISHED = ["fedavg[local_lr=0.07,cohort_size=3]"]
HILL = Landscape("fedavg", best=(0.7, 0.3), bowl=(8.0, 8.0))


def outcome(
    seconds: float | None, *, area: float = 0.5, seed: int = 0, state: str = "finished", censored: float = 100.0
) -> Outcome:
    """Of a run of 100 s with one target."""
    return Outcome("", seed, state, 100.0, (0.8,), (seconds,), 0.5, "", (censored if seconds is None else seconds,), area)


def rungs(found: Progress) -> list[Counter[tuple[int, float]]]:
    """How many trials have so many seeds and so many seconds, by rung."""
    several = sorted({trial.rung for trial, _ in found.ended})
    return [
        Counter((len(t.specs), float(t.specs[0].scenario.budget.seconds)) for t, _ in found.ended if t.rung == rung)
        for rung in several
    ]


# ---- rungs ----


def test_rungs_have_the_trials_the_seeds_and_the_time_of_the_suite() -> None:
    found = HILL.search(suite("fedavg", **HALVING, published=PUBLISHED))
    third, two_thirds = pytest.approx(100 / 3, abs=1e-8), pytest.approx(200 / 3, abs=1e-8)
    *several, steeper = rungs(found)
    assert [list(one.values()) for one in several] == [[64], [16], [6 + 2]]
    assert [next(iter(one)) for one in several] == [(1, third), (2, two_thirds), (4, 100.0)]
    assert steeper == {(4, 100.0): 3}, "each of two rates alone, and both"
    assert [trial.options for trial, _ in found.ended if trial.number in (0, 65)] == [{}, {"local_lr": 0.07, "cohort_size": 3}]
    assert found.choice is not None
    assert found.choice.trials == 64 + 2 + 3
    whole = suite("fedavg").scenario_at(suite("fedavg").points[0], validation=True)
    for trial, _ in found.ended:
        scenario = trial.specs[0].scenario
        assert scenario.validation is not None
        assert (scenario.budget.stop_at_target, scenario.budget.hold) == (True, "window")
        assert scenario.evaluation == whole.evaluation


def test_no_two_rungs_share_a_seed_and_the_last_pairs_with_steeper_rates() -> None:
    found = HILL.search(suite("fedavg"))
    seeds = [{spec.seed for trial, _ in found.ended if trial.rung == rung for spec in trial.specs} for rung in range(4)]
    assert seeds == [{1000}, {1001, 1002}, {1003, 1004, 1005, 1006}, {1003, 1004, 1005, 1006}]


def test_the_best_of_a_rung_are_in_the_next() -> None:
    quiet = replace(HILL, shared=0.0, own=0.0)
    found = quiet.search(suite("fedavg", **SMALL))
    order = sorted((trial for trial, _ in found.ended if trial.rung == 0), key=lambda trial: quiet.expected(trial.options))
    assert {trial.number for trial, _ in found.ended if trial.rung == 1} == {trial.number for trial in order[:4]}
    assert {trial.number for trial, _ in found.ended if trial.rung == 2} == {0, *(trial.number for trial in order[:2])}
    assert found.choice is not None
    assert found.choice.options == order[0].options


def test_equal_options_are_one_trial() -> None:
    """Of the default, the published and the drawn ones."""
    default = suite("fedavg").algorithm("fedavg").options()["local_lr"]
    found = HILL.search(suite("fedavg", **SMALL, published=[f"fedavg[local_lr={default}]", *PUBLISHED, *PUBLISHED]))
    assert {trial.number for trial, _ in found.ended if trial.rung == 2} - set(range(1, 9)) == {0, 10}


def test_who_diverges_is_out() -> None:
    """Also the default options; then whatever is left may take their place."""
    finished, diverged = [outcome(50.0)] * 2, [outcome(20.0), outcome(None, state="diverged")]
    assert ranked({0: diverged, 1: finished}, is_last=True) == [1]
    assert challengers({0: diverged, 1: finished}, [1], _evaluation()) == [1]
    steep = replace(HILL, cliff=-1.0)
    found = steep.search(suite("fedavg", **SMALL))
    assert (len(found.ended), found.choice and found.choice.trial) == (8 + 1, 0), "nobody is left but the default options"


def test_the_order_of_a_rung() -> None:
    """Fewest misses; then the area, or in the last rung the cost, where a miss is dear; then the
    first."""
    runs = {
        1: [outcome(10.0, area=0.3)],
        2: [outcome(20.0, area=0.6)],
        3: [outcome(None, area=0.7, censored=1.0)],
        4: [outcome(10.0, area=0.3)],
    }
    assert ranked(runs, is_last=False) == [2, 1, 4, 3]
    assert ranked(runs, is_last=True) == [1, 4, 2, 3]
    with pytest.raises(RecordError, match=r"run  has no `spent` and `area`, which runs of a halving have"):
        ranked({1: [replace(outcome(1.0), area=None)]}, is_last=False)


# ---- the default options, and stability ----


def _evaluation() -> Any:
    return suite("fedavg").scenario_at(suite("fedavg").points[0]).evaluation


def _last(*columns: Sequence[float | None]) -> list[int]:
    """The challengers among trials 0, 1, .. with these seconds by seed."""
    runs = {n: [outcome(one, seed=seed) for seed, one in enumerate(column)] for n, column in enumerate(columns)}
    return challengers(runs, ranked(runs, is_last=True), _evaluation())


def test_the_default_options_stay_unless_a_trial_is_better_beyond_noise() -> None:
    assert _last([30, 33, 36, 31], [15, 16, 18, 15.5], [29, 33, 36, 31]) == [1]
    assert _last([30, 33, 36, 31], [29, 34, 35, 31], [30, 32, 36, 32]) == []
    assert _last([30, 33, 36, 31], [15, 16, 18, None], [29, 33, 36, 31]) == [], "it misses what the default options hold"
    assert _last([30, 33, 36, None], [15, 16, 18, 15], [29, 33, 36, 31]) == [1]
    assert _last([30, 33, 36, 31]) == []


def test_a_winner_on_a_cliff_gives_way_to_the_next_best() -> None:
    """The optimum lies behind the cliff, and what is just before it falls with rates that are 1.25
    times as large."""
    steep, given_way = replace(HILL, cliff=0.66), 0
    for draw in range(20):
        found = steep.search(suite("fedavg"), draw)
        assert found.choice is not None
        behind = [(trial, all(run.finished for run in runs)) for trial, runs in found.ended if trial.rung == 3]
        looked_at = [behind[i : i + 3] for i in range(0, len(behind), 3)]
        *rejected, last = [all(is_finished for _, is_finished in one) for one in looked_at]
        assert not any(rejected)
        assert last == (found.choice.trial != 0)
        if last:
            assert looked_at[-1][0][0].options["local_lr"] == pytest.approx(1.25 * float(str(found.choice.options["local_lr"])))
        given_way += bool(rejected) and last
    assert given_way >= 3, "else nothing was tested"


def test_what_is_stable() -> None:
    trial = [outcome(10.0), outcome(20.0)]
    assert is_stable([outcome(14.9), outcome(29.9)], trial)
    assert not is_stable([outcome(15.1), outcome(30.1)], trial)
    assert not is_stable([outcome(10.0), outcome(20.0, state="diverged")], trial)
    assert not is_stable([outcome(10.0), outcome(None)], trial), "100 s for 20"


def test_a_rate_that_the_algorithm_does_not_take_is_left_out(tmp_path: Path) -> None:
    """Mixing is at most 1."""
    from fedbench.suites import space as spaces

    file = tmp_path / "rates.yaml"
    intervals = "local_lr: {low: 0.01, high: 1}, mixing: {low: 0.9, high: 1, rate: true}"
    file.write_text(f"schema: 1\nname: axes\nalgorithms: {{fedasync: {{options: {{{intervals}}}}}}}")
    own = suite("fedasync", **SMALL)
    space = spaces.load(file)
    assert space.rates(FedAsync) == ["local_lr", "mixing"]
    found = advanced(
        search(own, space, own.points[0], "fedasync"), lambda spec: outcome(float(spec.algorithm.options()["mixing"]))
    )
    changed = [trial.options for trial, _ in found.ended if trial.rung == 3]
    assert all(one["mixing"] <= 1 for one in changed)


# ---- draws, files, resumption ----


def test_draws_have_other_points_and_other_seeds() -> None:
    own = suite("fedavg", "fedbuff", **SMALL)
    elsewhere = own.points[0].model_copy(update={"name": "there"})
    searches = [
        ("fedavg", own.points[0], 0),
        ("fedbuff", own.points[0], 0),
        ("fedavg", elsewhere, 0),
        ("fedavg", own.points[0], 1),
    ]
    first = [next(search(own, SPACE, point, selector, draw)) for selector, point, draw in searches]
    assert len({trial.options["local_lr"] for several in first for trial in several}) == 4 * 8
    assert [several[0].specs[0].seed for several in first] == [1000, 1000, 1000, 1005]
    assert first[0] == next(search(own, SPACE, own.points[0], "fedavg"))


def test_draws_of_a_search_at_once() -> None:
    """The first one has the trials that there always were."""
    own = sobol("fedavg", trials=4)
    first, other = (next(search(own, SPACE, own.points[0], "fedavg", draw)) for draw in (0, 1))
    assert [trial.options for trial in first] == SPACE.trials(FedAvg, 4)
    assert not {trial.options.get("local_lr") for trial in first[1:]} & {trial.options.get("local_lr") for trial in other[1:]}
    assert [[spec.seed for spec in several[0].specs] for several in (first, other)] == [[1000, 1001], [1002, 1003]]


def test_seeds_of_a_draw_may_not_be_compared() -> None:
    with pytest.raises(ValueError, match=r"tuning.first_seed: options may not be tuned on the seeds .* got 2 in both"):
        suite("fedavg", **{**SMALL, "first_seed": 2})
    far = suite("fedavg", **{**SMALL, "first_seed": 3}).model_copy(
        update={"seeds": sobol("fedavg").seeds.model_copy(update={"first": 8})}
    )
    with pytest.raises(ValueError, match=r"got 8 in both in draw 1"):
        far.tuning_seeds(1)


def test_it_goes_on_from_any_part_of_its_outcomes() -> None:
    """Whatever is there, and in whichever order the rest is computed."""
    own, random, known = suite("fedavg", **SMALL), np.random.default_rng(0), dict[str, Outcome]()
    whole = HILL.search(own)
    for _ in range(5):
        known.clear()
        while (found := advanced(search(own, SPACE, own.points[0], "fedavg"), lambda spec: known.get(spec.run_id))).wanted:
            for i in random.permutation(len(found.wanted))[: random.integers(1, len(found.wanted) + 1)]:
                known[found.wanted[i].run_id] = HILL.outcome(found.wanted[i])
        assert found == whole


def test_files_keep_rungs_and_draws(tmp_path: Path) -> None:
    own, table, file = suite("fedavg", **SMALL), tmp_path / "trials.parquet", tmp_path / "hills.yaml"
    ended, choices = collect(own, SPACE, HILL.outcome, {0, 2})
    assert set(choices) == {0, 2}
    assert choices[0] != choices[2]
    trials_table.write(table, ended, own.design_hash())
    there = trials_table.rows(table, own.design_hash())
    assert {row.draw for row in there} == {0, 2}
    assert trials_table.pq.read_table(table).column("rung").to_pylist() == [t.rung for t, runs in ended for _ in runs]
    known = trials_table.read(table, own.design_hash())
    again = collect(own, SPACE, lambda spec: known.get(spec.run_id), {0, 2})
    assert again == (ended, choices)
    file.write_text(tuned.as_yaml(tuned.content(own, SPACE, choices[0], {2: choices[2]})))
    frozen = tuned.read(file, own)
    assert frozen.rule == RULE["halving"]
    assert frozen.points["here"]["fedavg"] == choices[0]["here", "fedavg"]
    assert frozen.draws[2]["here"]["fedavg"] == choices[2]["here", "fedavg"]


def test_a_table_without_draws_and_rungs_is_as_it_was(tmp_path: Path) -> None:
    own, table = sobol("fedavg", trials=2), tmp_path / "trials.parquet"
    ended, _ = collect(own, SPACE, HILL.outcome, {0})
    trials_table.write(table, ended, own.design_hash())
    assert trials_table.pq.read_schema(table).names == trials_table.SCHEMA.names
    assert [row.draw for row in trials_table.rows(table, own.design_hash())] == [0] * 6


def test_the_area_under_a_curve() -> None:
    """A model counts until the next evaluation, and nothing above the highest target counts."""
    one, stopped = storable(curve=(0.0, 0.4, 0.9)), storable(curve=(0.0, 0.9, 0.7), ended_by="target")
    budget, (target,) = one.spec.scenario.budget.seconds, one.spec.scenario.targets
    assert (target.value, one.curves["seconds"].tolist()) == (0.8, [0, 5, 10])
    assert area_under(one) == pytest.approx((5 * 0.4 + (budget - 10) * 0.8) / budget, abs=1e-7)
    assert area_under(stopped) == pytest.approx((budget - 5) * 0.8 / budget, abs=1e-7), "the last evaluation may be below"


def test_an_area_is_one_of_test_accuracy() -> None:
    changes = ["clients=6", "budget.updates=1", "task.model=softmax", "evaluation.metrics=[client_loss_mean]"]
    (run,) = fb.run(
        "digits-demo", "fedavg[cohort_size=2]", overrides=[*changes, "targets=[{metric: client_loss_mean, value: 2}]"]
    )
    with pytest.raises(
        UsageError, match=r"^tune: trials are ordered by test_accuracy, .* digits-demo needs .*, got client_loss_mean$"
    ):
        area_under(run)


# ---- the suite's file ----


def _mine(tmp_path: Path, **changes: Any) -> Path:
    content = json.loads(suite("fedavg").model_dump_json(by_alias=True))
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps({**content, "algorithms": ["fedavg"], "tuning": {**SMALL, **changes}}))
    return file


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "halvings"}, "tuning.method must be one of 'sobol', 'halving', got 'halvings'"),
        ({"trials": 3}, "unknown key tuning.trials"),
        ({"rungs": [*SMALL["rungs"][:2], {"trials": 5, "seeds": 3, "budget_share": 1}]}, "rungs.2.trials must be at most 4"),
        ({"rungs": [SMALL["rungs"][1], *SMALL["rungs"][:1], SMALL["rungs"][2]]}, "rungs.1.trials must be at most 4, that of"),
        ({"rungs": SMALL["rungs"][:2]}, "rungs.1.budget_share: the last rung has the whole budget, 1, got 0.7"),
        ({"rungs": [{"trials": 2, "seeds": 2, "budget_share": 1}]}, "rungs.0.seeds: the last rung needs at least 3, got 2"),
        (
            {"published": ["fedavgg[local_lr=1]"]},
            "tuning.published.0: the suite has no algorithm 'fedavgg'; did you mean 'fedavg'",
        ),
        ({"published": ["fedavg[local_lrr=1]"]}, "tuning.published.0: algorithm fedavg: unknown option 'local_lrr'"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        load(_mine(tmp_path, **changes))
    assert message in str(error.value)


def test_a_suite_without_targets_cannot_halve(tmp_path: Path) -> None:
    content = json.loads(_mine(tmp_path).read_text())
    content["points"][0]["set"]["targets"] = []
    (tmp_path / "mine.yaml").write_text(json.dumps(content))
    with pytest.raises(UsageError, match="stop_at_target: true needs at least one of targets, got none"):
        load(tmp_path / "mine.yaml")


def test_the_rungs_are_part_of_the_design(tmp_path: Path) -> None:
    mine = load(_mine(tmp_path))
    assert load(_mine(tmp_path, published=PUBLISHED)).design_hash() != mine.design_hash()
    assert load(_mine(tmp_path)).design_hash() == mine.design_hash()


def test_options_of_the_system_are_not_published(tmp_path: Path) -> None:
    content = json.loads(_mine(tmp_path, published=PUBLISHED).read_text())
    (tmp_path / "mine.yaml").write_text(json.dumps({**content, "options": {"cohort_size": 5}}))
    assert load(tmp_path / "mine.yaml").published("fedavg") == [{"local_lr": 0.07}]


def test_the_price_is_an_upper_bound() -> None:
    own = suite("fedavg", **HALVING, published=PUBLISHED)
    priced = tried(own, SPACE, own.points[0], "fedavg")
    assert [one.runs for one in priced] == [64, 32, 8 * 4, 7 * 3 * 4]
    assert [one.share for one in priced] == [pytest.approx(1 / 3), pytest.approx(2 / 3), 1, 1]
    for draw in range(5):
        found = HILL.search(own, draw)
        counts = Counter(trial.rung for trial, _ in found.ended for _ in trial.specs)
        assert all(counts[rung] <= one.runs for rung, one in enumerate(priced))
    assert sum(one.runs for one in tried(sobol("fedavg"), SPACE, sobol("fedavg").points[0], "fedavg")) == 17 * 2
