"""The suite map asks what its design says, of everybody who can answer."""

from __future__ import annotations

from collections import Counter

from fedbench import registry
from fedbench.suites.suite import load


def test_every_algorithm_but_one_reference_takes_part() -> None:
    """Of those that were there when its points were drawn; a later one does not enter by itself."""
    names = {registry.parse_selector(selector)[0] for selector in load("map").selectors()}
    assert len(names) == 42
    assert names < set(registry.ALGORITHMS)
    assert "local_only" not in names


def test_its_points_are_scenarios_of_the_design() -> None:
    suite = load("map")
    assert Counter(point.kind for point in suite.points) == {"design": 60, "held_out": 12, "other_clients": 6}
    assert len({suite.scenario_at(point).content_hash() for point in suite.points}) == 78
    for point in suite.points:
        scenario = suite.scenario_at(point)
        assert scenario.at_work == point.levels["at_work"]
        assert scenario.local.steps == point.levels["steps"]
        assert scenario.network.upload_over_compute == point.levels["upload"]
        assert (scenario.availability.kind == "always") == (point.levels["available"] == 1)
        assert scenario.clients == point.levels.get("clients", 100)
        assert scenario.compute.harmonic_job_seconds == 1.5  # type: ignore[union-attr]
