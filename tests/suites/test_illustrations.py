"""What pictures of a suite show beside its records."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from fedbench.documents.pictures import Pictures
from fedbench.engine.label_map import label_map
from fedbench.engine.timeline import client_timeline
from fedbench.errors import UsageError
from fedbench.suites import illustrations, tuned
from fedbench.suites import suite as suites
from fedbench.suites.space import load
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import TUNED, Tuned
from fedbench.suites.tuning import Outcome, choose, trials
from tests.suites.mapped import small

SUITE = suites.load("smoke")
MANY = Suite.model_validate(
    SUITE.model_dump(by_alias=True)
    | {"points": [{"name": "many", "scenario": SUITE.points[0].scenario, "set": SUITE.points[0].set | {"clients": 140}}]}
)


def known(suite: Suite) -> dict[str, Outcome]:
    """The second trial of every algorithm is the best."""
    several = trials(suite, load("axes"), suite.points, suite.selectors())
    return {
        spec.run_id: Outcome(spec.run_id, spec.seed, "finished", 10.0, (0.8,), (2.0 + abs(trial.number - 1),), 0.5, "digest")
        for trial in several
        for spec in trial.specs
    }


def frozen(suite: Suite) -> Tuned:
    space, outcomes = load("axes"), known(suite)
    choices = {}
    for point, selector in itertools.product(suite.points, suite.selectors()):
        several = list(trials(suite, space, [point], [selector]))
        runs = {trial.number: [outcomes[spec.run_id] for spec in trial.specs] for trial in several}
        choices[point.name, selector] = choose({trial.number: trial.options for trial in several}, runs)
    return Tuned.model_validate(tuned.content(suite, space, choices))


@pytest.fixture(scope="module", name="found")
def _found() -> Pictures:
    return illustrations.illustrate(SUITE, frozen(SUITE), known(SUITE))


def test_a_suite_that_looks_for_no_options_shows_those_that_it_names() -> None:
    plain = SUITE.model_copy(update={"tuning": None})
    shown = illustrations.illustrate(plain, None, {})
    assert shown.sensitivity == {}
    point, selector = plain.points[0], "fedbuff"
    one = shown.timelines[point.name][selector]
    expected = client_timeline(plain.runs(point, selector)[0], end_seconds=one.end_seconds, clients=illustrations.WATCHED)
    assert len(one.jobs.begin) == len(expected.jobs) > 0


def test_a_design_has_too_many_points_for_timelines(tmp_path: Path) -> None:
    suite = small.suite(tmp_path)
    shown = illustrations.illustrate(suite.model_copy(update={"tuning": None}), None, {})
    assert list(shown.labels) == [point.name for point in suite.points]
    assert shown.timelines == {}


def test_the_timeline_of_a_tuned_row_is_that_of_its_options(found: Pictures) -> None:
    one = found.timelines[SUITE.points[0].name]["fedbuff"]
    specs = {row: specs for _, row, specs in tuned.rows(SUITE, frozen(SUITE), SUITE.points[:1], ["fedbuff"])}
    expected, other = (
        client_timeline(specs[row][0], end_seconds=one.end_seconds, clients=illustrations.WATCHED)
        for row in (f"fedbuff{TUNED}", "fedbuff")
    )
    assert len(one.jobs.client) == len(expected.jobs) <= illustrations.MOST_JOBS
    assert one.jobs.fate == tuple(job.fate for job in expected.jobs)
    assert one.updates == pytest.approx(expected.updates, rel=1e-4)
    assert len(expected.updates) != len(other.updates), "another buffer makes other updates"


def test_a_map_is_of_the_first_seed(found: Pictures) -> None:
    point = SUITE.points[0]
    expected = label_map(SUITE.scenario_at(point), SUITE.seeds.first)
    assert found.labels[point.name].counts == expected.counts


def test_a_map_of_many_clients_reaches_from_the_fastest_to_the_slowest() -> None:
    several = label_map(MANY.scenario_at(MANY.points[0]), 0)
    (one,) = illustrations.illustrate(MANY, frozen(MANY), known(MANY)).labels.values()
    assert len(one.clients) == illustrations.MAPPED < len(several.clients)
    assert (one.clients[0], one.clients[-1]) == (several.clients[0], several.clients[-1])


def test_what_was_tried_is_there_by_algorithm_and_point(found: Pictures) -> None:
    one = found.sensitivity["fedbuff"][SUITE.points[0].name]
    assert [option.name for option in one.sought] == ["local_lr", "server_lr", "buffer_size"]
    assert (one.chosen, one.trials[1].seconds) == (1, 2.0)


def test_what_is_written_is_read_again(found: Pictures, tmp_path: Path) -> None:
    file = tmp_path / illustrations.FILE
    file.write_text(illustrations.as_json(found))
    again = illustrations.read(file, SUITE)
    assert illustrations.as_json(again) == file.read_text()


@pytest.mark.parametrize("content", ["{", "[]", "7", json.dumps({"schema": 1, "suite": "other"}), json.dumps({"schema": 2})])
def test_what_is_of_no_use_is_named(content: str, tmp_path: Path) -> None:
    file = tmp_path / illustrations.FILE
    file.write_text(content)
    with pytest.raises(UsageError, match=r"pictures .*pictures\.json: (not valid JSON|expected)"):
        illustrations.read(file, SUITE)
