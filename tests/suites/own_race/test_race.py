"""Races on one scenario: real ones, on the digits."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedbench as fb
from fedbench.algorithms.fedavg import FedAvg
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError, UsageError
from fedbench.results.store import Store
from fedbench.suites import campaign
from fedbench.suites.own_race import plan as plans
from fedbench.suites.own_race import race as races
from fedbench.suites.own_race import suite
from fedbench.suites.own_race.plan import RUNGS
from fedbench.suites.own_race.result import RaceResult
from fedbench.suites.own_race.stages import Stages
from fedbench.suites.race import decisions
from fedbench.suites.race.schema import Look

from .conftest import DEAR, MINE, SETTINGS, given, race, scenario

THREE = ("fedavg[cohort_size=10]", "fedbuff[concurrency=10]", "feddyn[cohort_size=10]")


def digests(store: Path) -> dict[str, str]:
    return {record.run_id: record.digests.result for record in Store(store)}


def numbers(found: RaceResult) -> object:
    """A result without what depends on the machine and the place."""
    content = found.as_dict()
    systems = [{**one, "next": None} for one in content["systems"]]  # type: ignore[attr-defined]
    return content | {"store": None, "systems": systems, "minutes": None, "tuning_minutes": None}


def shortened(patch: pytest.MonkeyPatch) -> None:
    """A race ends after five seeds."""
    patch.setattr(suite, "LOOKS", (Look(seeds=3, level=0.02), Look(seeds=5, level=0.03)))
    patch.setattr(suite, "MOST_SEEDS", 5)


@pytest.fixture(autouse=True)
def _shortened(monkeypatch: pytest.MonkeyPatch) -> None:
    shortened(monkeypatch)


@pytest.fixture(scope="module", name="whole")
def _whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, RaceResult]:
    """A race with tuning, in one go."""
    store = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "RUNGS", RUNGS[-1:])
        shortened(patch)
        return store, race(given(*THREE, tune=True, minutes=1000), store)


def test_a_race_ends_with_the_best_by_every_cost(whole: tuple[Path, RaceResult]) -> None:
    _, found = whole
    assert found.stage == "race"
    assert found.tuned
    assert found.rows == 3
    for one in found.systems:
        if len(one.rows) > 1:
            assert set(one.best) == {"seconds", "gradient_evaluations", "bytes"}
            assert all(best.row in one.left for several in one.best.values() for best in several)
            assert one.best["seconds"][0].regret.value == 1.0
            assert one.seeds >= 3
    assert sum(len(one.rows) > 1 for one in found.systems) == 1
    assert str(found).count("\n") < 25
    assert "nan" not in json.dumps(found.as_dict())


def test_options_that_were_chosen_can_be_run_again(whole: tuple[Path, RaceResult]) -> None:
    """By `fedbench run`, to the records of the race."""
    store, found = whole
    row = found.systems[0].left[0]
    (record,) = fb.run(scenario(), row)
    assert digests(store)[record.run_id] == record.digests.result


@pytest.mark.parametrize("ticks", [pytest.param(1, marks=pytest.mark.slow), 40])
def test_many_short_calls_are_one_long_one(whole: tuple[Path, RaceResult], tmp_path: Path, ticks: int) -> None:
    """By the same plan: the same runs, decisions and result. A tick is a look at the clock, of
    which there is one before every run."""
    store, found = whole
    shutil.copy(store / plans.FILE, tmp_path / plans.FILE)
    one = given(*THREE, tune=True, minutes=(ticks + 4) / 60)
    results = [race(one, tmp_path)]
    while numbers(results[-1]) != numbers(found):
        assert len(results) < 200
        before = digests(tmp_path)
        results.append(race(one, tmp_path))
        assert before.items() <= digests(tmp_path).items(), "nothing is lost"
    assert len(results) > 1
    assert (tmp_path / decisions.FILE).read_bytes() == (store / decisions.FILE).read_bytes()
    assert digests(tmp_path) == digests(store)
    early = results[0]
    assert early.minutes is not None
    assert early.minutes > 0
    assert "the time was too short for a statement" in str(early)


def test_more_minutes_go_on_by_the_plan_of_the_first_call(tmp_path: Path) -> None:
    first = race(given(*THREE, tune=True, minutes=10 / 60), tmp_path)
    before = (tmp_path / plans.FILE).read_bytes()
    found = race(given(*THREE, tune=True, minutes=1000), tmp_path)
    assert (tmp_path / plans.FILE).read_bytes() == before
    assert not first.tuned
    assert not found.tuned
    assert "options are the defaults: tuning takes a race of" in str(found)
    assert all(one.next is None or len(one.rows) == 1 for one in found.systems), "the race is over"


def test_who_is_dropped_is_named_with_the_reason(tmp_path: Path) -> None:
    told: list[str] = []
    found = race(given("fedbuff", "fedasync", DEAR, minutes=1000, scenario=scenario("budget.seconds=80")), tmp_path, told)
    (dropped,) = [one for one in found.dropped if one.row == DEAR]
    assert dropped.seeds == 1
    assert "times as much as" in dropped.why
    assert len([run for run in Store(tmp_path) if run.selector == DEAR]) == 1
    assert any(f"dropped: {DEAR}: " in line for line in told)
    assert "1 after 1 seed (at least 6 times as dear as another row, on every axis)" in str(found)


def test_an_own_algorithm_takes_part_and_its_options_are_tuned(
    mine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plans, "RUNGS", RUNGS[-1:])
    Path("space.yaml").write_text(
        f"{{schema: 1, name: own, algorithms: {{{mine!r}: {{options: {{local_lr: {{low: 0.2, high: 0.3}}}}}}}}}}"
    )
    one = given(mine, "fedavg", tune=True, space="space.yaml", minutes=1000)
    found = race(one, tmp_path / "store")
    tried = {run.spec.algorithm.options["local_lr"] for run in Store(tmp_path / "store") if run.spec.algorithm.name == "mine"}
    assert len([rate for rate in tried if 0.2 <= rate <= 0.3]) >= 4
    assert any(row.startswith(mine) for system in found.systems for row in system.rows)
    Path("mine.py").write_text(MINE.replace("Averages.", "Changed."))
    with pytest.raises(UsageError, match=r"another race \(scenario, first seed or code of ./mine.py:Mine has changed\)"):
        race(one, tmp_path / "store")


def test_an_own_algorithm_without_a_space_keeps_its_options(mine: str, tmp_path: Path) -> None:
    plan = plans.made(given(mine, "fedavg", tune=True, minutes=10_000), lambda: 0.0)
    assert plan.rungs
    assert set(plan.space.algorithms) == {"fedavg"}


BROKEN = (
    MINE
    + """
    def step(self, *arguments):
        raise ValueError("not today")
"""
)


def test_a_row_that_fails_is_named_and_the_others_go_on(mine: str, tmp_path: Path) -> None:
    Path("mine.py").write_text(BROKEN)
    found = race(given(mine, "fedbuff", "fedasync", minutes=1000), tmp_path / "store")
    assert "not today" in found.failed[mine]
    assert found.stage == "race"
    assert sorted(row for one in found.systems for row in one.rows) == ["fedasync[concurrency=10]", "fedbuff[concurrency=10]"]
    assert "failed: ./mine.py:Mine: " in str(found)


LATER = (
    MINE.replace("from dataclasses", "from pathlib import Path\n\nfrom dataclasses")
    + """
    def init(self, x0, tools):
        calls = Path(COUNT)
        calls.write_text(str(int(calls.read_text()) + 1))
        if int(calls.read_text()) in FAILS:
            raise ValueError("out of memory")
        return super().init(x0, tools)
"""
)


@pytest.mark.parametrize(("fails", "is_out"), [({2}, False), (set(range(2, 99)), True), (set(range(4, 99)), True)])
def test_a_row_that_fails_in_the_race_is_tried_once_more_and_then_leaves(
    mine: str, tmp_path: Path, fails: set[int], is_out: bool
) -> None:
    """And the looks go on without it: before the first one, and between two. A later call does not
    try again."""
    (tmp_path / "count").write_text("0")
    Path("mine.py").write_text(LATER.replace("COUNT", repr(str(tmp_path / "count"))).replace("FAILS", repr(fails)))
    one = given(mine, "fedbuff", "fedasync", minutes=1000)
    found = race(one, tmp_path / "store")
    assert ("out of memory" in found.failed.get(mine, "")) == is_out
    assert all(system.next is None for system in found.systems), "the race is over"
    assert any(mine in system.left for system in found.systems) != is_out
    calls = (tmp_path / "count").read_text()
    assert numbers(race(one, tmp_path / "store")) == numbers(found)
    assert (tmp_path / "count").read_text() == calls


def test_where_everybody_fails_it_is_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two looks the disk is full: nobody leaves for that, and the next call goes on to the
    same end. Until then the result says what failed, and what was found before."""
    one, whole = given("fedbuff", "fedasync", DEAR, minutes=1000), tmp_path / "whole"
    wanted = race(one, whole)
    compute = campaign.compute

    def full(specs: list[RunSpec], store: Store, **more: object) -> campaign.Tally:
        early = [spec for spec in specs if spec.seed < 3]
        found = compute(early, store, **more)
        failed = tuple((spec, "no space left on device") for spec in specs if spec.seed >= 3)
        return replace(found, failed=failed)

    with monkeypatch.context() as patch:
        patch.setattr(campaign, "compute", full)
        found = race(one, tmp_path / "store")
    assert set(found.failed.values()) == {"no space left on device"}
    assert not found.settled
    assert "failed, and tried again by the next call: " in str(found)
    assert {system.seeds for system in found.systems if len(system.rows) > 1} == {3}
    again = race(one, tmp_path / "store")
    assert again.failed == {}
    assert numbers(again) == numbers(wanted)


def test_runs_of_another_process_are_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process whose parent was killed ends its run; the time is not over for that."""
    one, store, told = given("fedbuff", "fedasync", minutes=1000), Store(tmp_path), list[str]()
    first = Stages(plans.made(one, lambda: 0.0), one.scenario, store).first()
    lock = store.lock_of(first["fedasync[concurrency=10]"].run_id)
    slept = list[float]()

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        lock.release()

    monkeypatch.setattr(races.time, "sleep", sleep)
    store.prepare()
    lock.acquire()
    found = race(one, tmp_path, told)
    assert slept
    assert "the time is over" not in told
    assert found.minutes is None


def test_a_race_in_which_everybody_fails(mine: str, tmp_path: Path) -> None:
    Path("mine.py").write_text(BROKEN)
    found = race(given(mine, f"{mine}[local_lr=0.2]", minutes=1000), tmp_path / "store")
    assert len(found.failed) == 2
    assert found.systems == ()
    assert str(found).startswith("race on digits-demo: 0 of 2 rows are left\n")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"minutes": 0}, "minutes must be a number > 0 and at most 1,000,000, got 0"),
        ({"minutes": True}, "minutes must be a number > 0 and at most 1,000,000, got True"),
        ({"minutes": "1"}, "minutes must be a number > 0 and at most 1,000,000, got '1'"),
        ({"minutes": float("nan")}, "minutes must be a number > 0 and at most 1,000,000, got nan"),
        ({"processes": 0}, "processes must be a whole number >= 1, got 0"),
        ({"first_seed": -1}, "first_seed must be a whole number between 0 and 2147482647, got -1"),
        ({"first_seed": 2**31}, "first_seed must be a whole number between 0 and 2147482647, got 2147483648"),
        ({"space": "nowhere.yaml"}, "search space nowhere.yaml is for tuning, and options are not to be tuned"),
        ({"algorithms": [FedAvg()]}, "algorithms must be selectors such as 'fedbuff' or './mine.py:Mine', .*got FedAvg"),
        ({"scenario": scenario("targets=[]")}, r"has no targets, .* --set 'targets=\[{value: 0.8}\]'"),
        ({"algorithms": ["centralised"]}, "centralised is a reference"),
        (
            {"algorithms": ["fedavg", "fedbuff"], "scenario": scenario("at_work=null")},
            r"no two rows share a system, .*fedavg \(10 of 20 clients at work\), .*--set at_work=10 would give all the same",
        ),
        ({"algorithms": ["fedavgg"]}, "unknown algorithm 'fedavgg'"),
        (
            {"algorithms": ["quafl"], "scenario": scenario("at_work=5")},
            "none of 1 algorithms can run on scenario digits-demo; quafl: ",
        ),
    ],
)
def test_what_no_race_can_be_about_is_said_in_one_line(more: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=message) as error:
        race(given(**{"algorithms": ["fedavg", "fedbuff"], **more}), tmp_path / "store")  # type: ignore[arg-type]
    assert "\n" not in str(error.value)
    assert not [*tmp_path.glob("store/*.json")], "nothing was decided"


@pytest.mark.parametrize("more", ["evaluation={every_seconds: 1}", "targets=[{value: 0.02}]"])
def test_where_no_target_gets_a_verdict_the_runs_stay(more: str, tmp_path: Path) -> None:
    with pytest.raises(
        FedbenchError, match=r"no target gets a verdict: .*first_seconds=0.* --set evaluation.ratio=1.05"
    ) as error:
        race(given("fedavg", "fedbuff", scenario=scenario(more)), tmp_path)
    assert error.value.exit_code == 1
    assert [*tmp_path.rglob("fedavg/*")]


def test_what_no_row_holds_is_said_at_once_and_at_the_end(tmp_path: Path) -> None:
    told = list[str]()
    hard = scenario("targets=[{value: 0.02}, {value: 0.9999}]", "budget.seconds=3")
    found = race(given("fedavg", "fedbuff[concurrency=10]", scenario=hard, minutes=1000), tmp_path, told)
    told_early = next(line for line in told if "holds" in line)
    assert [line for line in told if "target" in line] == [
        "first seed: target 2 % gets no verdict: it is held before any training, or within ten steps of the evaluation grid",
        told_early,
    ]
    assert told_early.startswith("first seed: no row holds a target that gets a verdict; ")
    assert told_early.endswith(" % is the best of 2 runs")
    (system,) = found.systems
    assert system.unknown.startswith("no row holds a target that gets a verdict, with any seed; ")
    assert system.unknown.endswith(" % is the best of 10 runs")


def test_a_store_has_one_race(tmp_path: Path) -> None:
    one = given("fedavg", "fedbuff", minutes=10 / 60)
    race(one, tmp_path)
    for other, why in (
        (replace(one, algorithms=("fedavg",)), "is missing"),
        (replace(one, algorithms=("fedavg", "fedbuff", "feddyn")), "feddyn is new"),
        (replace(one, tune=True), "other options are to be tuned"),
        (replace(one, first_seed=1), "first seed or code of fedavg"),
        (replace(one, scenario=scenario("clients=12")), "scenario, first seed"),
    ):
        with pytest.raises(UsageError, match=why):
            race(other, tmp_path)
    (tmp_path / plans.FILE).write_text("[]")
    with pytest.raises(UsageError, match="expected a mapping of keys, got list"):
        race(one, tmp_path)
    with Store(tmp_path).lock_of("own-race"), pytest.raises(UsageError, match="another race is running"):
        race(one, tmp_path)


def test_the_public_function(tmp_path: Path) -> None:
    found = fb.race(
        "digits-demo", minutes=0.05, algorithms=["fedavg", "fedbuff"], overrides=SETTINGS, store=tmp_path, progress=False
    )
    assert isinstance(found, RaceResult)
    assert found.store == tmp_path
    again = fb.race(
        "digits-demo",
        minutes=np.float32(0.05),
        first_seed=np.int64(0),
        algorithms=["fedavg", "fedbuff"],
        overrides=SETTINGS,
        store=tmp_path,
        progress=False,
    )
    assert again.rows == found.rows
    with pytest.raises(UsageError, match="no two rows share a system, so none are compared: fedavg "):
        fb.race("digits-demo", minutes=0.05, algorithms="fedavg", overrides=SETTINGS, store=tmp_path / "other", progress=False)
    assert str(found).startswith("race on digits-demo: ")


def test_a_task_that_was_given_in_python_is_raced_on(tmp_path: Path) -> None:
    """Also in other processes, and by a later call that makes the task again."""
    y = np.arange(400) % 3
    x = np.random.default_rng(0).normal(size=(400, 4)) + y[:, None]

    def raced() -> RaceResult:
        task = fb.Task((x[:300], y[:300]), (x[300:], y[300:]))
        rows, settings = ["fedavg", "fedbuff"], [*SETTINGS, "partition.kind=iid", "public=null", "targets=[{value: 0.6}]"]
        return fb.race(
            "digits-demo", algorithms=rows, overrides=settings, task=task, minutes=1, processes=2, tune=False, store=tmp_path
        )

    found = raced()
    assert found.systems[0].left
    assert {one.spec.scenario.task.name for one in Store(tmp_path)} == {fb.Task((x[:300], y[:300]), (x[300:], y[300:])).name}
    assert raced().as_dict() == found.as_dict()
