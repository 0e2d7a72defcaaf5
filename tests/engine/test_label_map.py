"""Who has which classes."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np

from fedbench import registry
from fedbench.engine.label_map import label_map
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.scenarios.load import load

SCENARIO = load("digits-demo")


def test_counts_are_the_shards() -> None:
    found = label_map(SCENARIO, 3)
    setup = Setup(RunSpec(SCENARIO, registry.algorithm("fedavg"), 3))
    np.testing.assert_array_equal(np.array(found.counts), setup.counts[list(found.clients)])
    assert sorted(found.clients) == list(range(SCENARIO.clients))
    json.dumps(asdict(found))


def test_clients_are_from_the_fastest_to_the_slowest() -> None:
    found = label_map(SCENARIO, 0)
    assert list(found.step_seconds) == sorted(found.step_seconds)
    assert found.step_seconds[0] < found.step_seconds[-1]


def test_a_seed_deals_anew() -> None:
    assert label_map(SCENARIO, 0).counts != label_map(SCENARIO, 1).counts
