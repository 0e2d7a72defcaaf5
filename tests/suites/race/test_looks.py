"""A race of a real suite, look by look: killed half way, it goes on to the same decisions and the
same records."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.results.store import Store
from fedbench.suites import campaign
from fedbench.suites.race import decisions, looks
from fedbench.suites.race.decisions import Decisions
from fedbench.suites.suite import Suite, load
from tests.suites.race.again import verdicts

POINT = {
    "budget.seconds": 10,
    "task.model": "softmax",
    "targets": [{"value": 0.3}],
    "evaluation": {"kind": "log", "first_seconds": 0.1, "ratio": 1.1},
}
SUITE: dict[str, Any] = {
    "schema": 1,
    "name": "little",
    "about": "A race of some seconds.",
    "scenario": "digits-demo",
    "points": [{"name": "calm", "set": POINT}, {"name": "slow", "set": POINT | {"compute.slowdown.high": 6}}],
    "algorithms": ["fedasync", "fedbuff", "fedbuff[local_lr=0.0002]", "fedecho", "centralised"],
    "options": {"concurrency": 10},
    "seeds": {"count": 5},
    "race": {"looks": [{"seeds": 3, "level": 0.02}, {"seeds": 5, "level": 0.03}]},
}
DEAR = "fedbuff[local_lr=0.0002]"
GROUP = "10 of 20 clients at work"


@pytest.fixture(scope="module", name="file")
def _file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("suite") / "little.yaml"
    file.write_text(json.dumps(SUITE))
    return file


def raced(file: Path, store: Store, tell: list[str] | None = None) -> tuple[Suite, looks.Entries, Decisions]:
    suite = load(file)
    those = looks.entries(suite, None, [(point, selector) for point in suite.points for selector in suite.selectors()])
    told = [] if tell is None else tell
    return suite, those, looks.run(suite, None, those, store, lambda wanted: campaign.compute(wanted, store), told.append)


@pytest.fixture(scope="module", name="whole")
def _whole(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A store in which the race was run in one go."""
    store = Store(tmp_path_factory.mktemp("whole"))
    raced(file, store)
    return store


def results(store: Store) -> dict[str, str]:
    return {record.run_id: record.digests.result for record in store}


def seeds(store: Store, selector: str) -> list[int]:
    """How many seeds of an algorithm are there, at every point."""
    runs = [record for record in store if record.selector == selector]
    return sorted(sum(record.spec.scenario_hash == one for record in runs) for one in {r.spec.scenario_hash for r in runs})


def test_other_points_than_those_named_have_the_first_look_alone(tmp_path: Path, whole: Store) -> None:
    """The same runs as in the whole race, and the same decisions after the first look."""
    (tmp_path / "some.yaml").write_text(json.dumps({**SUITE, "race": {**SUITE["race"], "points": ["slow"]}}))
    store = Store(tmp_path / "runs")
    _, those, found = raced(tmp_path / "some.yaml", store)
    hashes = {field.point: next(iter(field.rows.values()))[0].scenario.content_hash() for field in those.fields}
    most = {one: max(record.seed for record in store if record.spec.scenario_hash == of) + 1 for one, of in hashes.items()}
    assert most == {"calm": 3, "slow": 5}
    assert {point: {one.look.seeds for one in several} for point, several in found.points.items()} == {
        "calm": {3},
        "slow": {3, 5},
    }
    assert results(store).items() <= results(whole).items()


def test_who_is_dropped_gets_no_further_seeds(file: Path, whole: Store) -> None:
    told: list[str] = []
    suite, those, found = raced(file, whole, told)
    assert told == [], "nothing was left to decide"
    assert {(point, row, look.look.seeds) for point, look, row, _ in found.dropped()} == {("calm", DEAR, 3), ("slow", DEAR, 3)}
    assert seeds(whole, "fedbuff[concurrency=10,local_lr=0.0002]") == [3, 3]
    assert seeds(whole, "fedasync[concurrency=10]") == seeds(whole, "fedbuff[concurrency=10]") == [5, 5]
    assert seeds(whole, "fedecho[concurrency=10]") == [3, 3], "it is alone in its group"
    assert seeds(whole, "centralised") == [5, 5], "a reference goes on while others do"
    wanted = looks.asked(looks.race_of(suite), those, found)
    assert {spec.run_id for spec in wanted} == set(results(whole))
    assert found.seeds("calm", DEAR) == 0
    assert found.seeds("calm", "fedbuff") == found.seeds("calm", "centralised") == 5
    assert found.seeds("calm", "fedecho") == 3


def test_decisions_follow_from_the_records(file: Path, whole: Store) -> None:
    suite, those, found = raced(file, whole)
    runs = {record.run_id: record for record in whole}
    looks.check(those, found, runs)
    for field in those.fields:
        rows = {row: [runs[spec.run_id] for spec in specs if spec.run_id in runs] for row, specs in field.rows.items()}
        again = verdicts(rows, looks.race_of(suite))
        assert [one.dropped for one in again] == [one.dropped for one in found.of(field.point, field.group)]
    wrong = next(run_id for run_id, run in runs.items() if run.selector.startswith("fedasync") and run.seed == 0)
    with pytest.raises(UsageError, match="no record of"):
        looks.check(those, found, {run_id: run for run_id, run in runs.items() if run_id != wrong})
    first = found.points["calm"][0]
    other = found.model_copy(update={"points": {"calm": (first.model_copy(update={"dropped": {}}),)}})
    with pytest.raises(UsageError, match=r"calm, 10 of 20 clients at work, after 3 seeds: expected the decision .* drop nobody"):
        looks.check(those, other, runs)


class Cut(Exception):
    pass


@pytest.mark.parametrize("runs", [1, 13, 27])
def test_a_race_that_is_cut_short_goes_on_to_the_same_end(file: Path, whole: Store, tmp_path: Path, runs: int) -> None:
    """After so many runs: in the first look, and in the second."""
    store, left = Store(tmp_path), runs

    def compute(wanted: list[RunSpec]) -> None:
        nonlocal left
        for spec in campaign.missing(store, wanted):
            if left == 0:
                raise Cut
            left -= 1
            record = whole.find(spec.scenario.name, spec.algorithm.name, spec.run_id)
            assert record is not None, "it asks for a run that the whole race did without"
            store.write(record)

    suite, those, found = raced(file, whole)
    with pytest.raises(Cut):
        looks.run(suite, None, those, store, compute, lambda line: None)
    left = 1000
    assert looks.run(suite, None, those, store, compute, lambda line: None) == found
    assert (tmp_path / decisions.FILE).read_bytes() == (whole.root / decisions.FILE).read_bytes()
    assert results(store) == results(whole)


def test_a_race_that_lost_its_file_decides_the_same(file: Path, whole: Store) -> None:
    """As after a kill between the last run of a look and the decision."""
    before = (whole.root / decisions.FILE).read_bytes()
    (whole.root / decisions.FILE).unlink()
    raced(file, whole)
    assert (whole.root / decisions.FILE).read_bytes() == before


def test_a_point_is_decided_by_its_own_records(file: Path, whole: Store, tmp_path: Path) -> None:
    suite, those, found = raced(file, whole)
    one = replace(those, fields=tuple(field for field in those.fields if field.point == "slow"))
    more = looks.advance(looks.race_of(suite), one, decisions.nothing(suite, None), whole)
    assert {"slow": [found.of("slow", field.group)[0] for field in one.fields]} == more
    assert looks.keep(suite, None, Store(tmp_path), more).points.keys() == {"slow"}
    assert looks.keep(suite, None, Store(tmp_path), {"calm": found.points["calm"]}).points.keys() == {"slow", "calm"}


def test_a_look_waits_for_runs_that_failed(file: Path, whole: Store, tmp_path: Path) -> None:
    """The other point goes on."""
    store = Store(tmp_path)
    suite, those, found = raced(file, whole)
    fails = next(spec.run_id for spec in suite.runs(suite.points[0], "fedasync") if spec.seed == 1)

    def compute(wanted: list[RunSpec]) -> None:
        for spec in campaign.missing(store, wanted):
            record = whole.find(spec.scenario.name, spec.algorithm.name, spec.run_id)
            if spec.run_id != fails and record is not None:
                store.write(record)

    partial = looks.run(suite, None, those, store, compute, lambda line: None)
    assert partial.points["slow"] == found.points["slow"]
    assert [one.group for one in partial.points["calm"]] == [f"{GROUP}, public data"]


def test_other_rows_are_another_race(file: Path, whole: Store) -> None:
    suite, those, found = raced(file, whole)
    field = those.fields[0]
    few = replace(field, rows={row: specs for row, specs in field.rows.items() if row != "fedasync"})
    with pytest.raises(UsageError, match="row fedasync is missing; expected those that were compared after 3 seeds"):
        looks.next_look(looks.race_of(suite), few, found)


@pytest.mark.slow
def test_a_race_that_is_killed(file: Path, whole: Store, tmp_path: Path) -> None:
    """SIGKILL to the runner and its workers, each time some records later, until the race is
    over."""
    command = [
        sys.executable,
        "-c",
        "from fedbench.cli.main import main; main()",
        "suite",
        "run",
        str(file),
        "--quiet",
        "-j",
        "2",
    ]
    store, kills = tmp_path / "killed", 0
    for more in range(4, 60, 7):
        process = subprocess.Popen([*command, "--store", str(store)], stderr=subprocess.DEVNULL, start_new_session=True)
        while process.poll() is None and len(list(store.glob("*/*/*/record.json"))) < more:
            time.sleep(0.01)
        kills += process.poll() is None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run([*command, "--store", str(store)], check=True, capture_output=True)
    assert kills > 3
    assert (store / decisions.FILE).read_bytes() == (whole.root / decisions.FILE).read_bytes()
    assert results(Store(store)) == results(whole)
