"""Hashes of scenarios are as they were: keys that came later change no hash, and so no run id,
while they are not used."""

from __future__ import annotations

from typing import Any

import pytest

from fedbench import strict_yaml
from fedbench.scenarios.load import validate

COMMON = """
schema: 1
about: any
clients: 20
evaluation: {every_seconds: 1}
targets: [{metric: test_accuracy, value: 0.9}]
"""
DEMO = """
name: digits-demo
task: {name: digits, model: mlp}
partition: {kind: two_class}
public: {source: held_out, size: 142}
local: {steps: 10, batch_size: 10}
compute: {kind: per_step, step_seconds: 0.02, slowdown: {kind: slowdown, low: 1, high: 8}}
network: {download_megabit_per_second: 100, upload_megabit_per_second: 100, message: fixed, message_megabytes: 0.25}
budget: {updates: 5000, seconds: 40}
"""
FLAKY = (
    DEMO.replace("demo", "flaky")
    + "availability: {kind: alternating, mean_on_seconds: 6, mean_off_seconds: 2, rarely: {share: 0.25, mean_off_seconds: 12}}\n"
    + "dropout: 0.05\n"
)
RANDOM_STEPS = DEMO.replace("steps: 10", "steps: {mean: 500, variance: 100, mode: random}")
NO_PUBLIC = DEMO.replace("public: {source: held_out, size: 142}\n", "")
# Of the commits before there was a part public, and before the keys that came then.
KNOWN = [
    (NO_PUBLIC, "34713628d8a9db44"),
    (DEMO, "b1a28de399bb205a"),
    (FLAKY, "e2497eb1b529d24f"),
    (RANDOM_STEPS, "32213428fdd3dbab"),
]

STOPPED = "3de6cfcba34bc12c"  # DEMO with stop_at_target, of the commits before there was hold_points


def content(text: str, **changes: Any) -> dict[str, Any]:
    return {**strict_yaml.load(COMMON + text), **changes}


@pytest.mark.parametrize(("text", "known"), KNOWN)
def test_hashes_of_old_scenarios(text: str, known: str) -> None:
    scenario = validate(content(text), "here")
    assert scenario.content_hash() == known
    assert validate(scenario.resolved(), "again").content_hash() == known


@pytest.mark.parametrize(
    "change",
    [
        {"local": {"steps": [10] * 20}},
        {"local": {"steps": {"mean": 500, "variance": 100, "minimum": 2}}},
        {"partition": {"kind": "shards", "classes_per_client": 2}},
        {"budget": {"updates": 5000, "seconds": 40, "stop_at_target": True}},
        {"budget": {"updates": 5000, "seconds": 40, "stop_at_target": True, "hold_points": 2}},
        {"validation": {"share": 0.1}},
        {"at_work": 20},
        {"task": {"name": "digits", "model": "mlp", "augmentation": "none"}},
        {"public": {"source": "a9a", "size": 142}},
        {
            "compute": {
                "kind": "per_step",
                "step_seconds": 0.02,
                "slowdown": {"kind": "bounded_pareto", "low": 1, "high": 8, "shape": 1},
            }
        },
        {"compute": {"kind": "per_step", "step_seconds": 0.02, "slowdown": {"kind": "lognormal", "log_sigma": 0.5}}},
        {"compute": {"kind": "per_step", "step_seconds": 0.02, "slowdown": {"low": 1, "high": 8, "by_label": {"strength": 0}}}},
        {"compute": {"kind": "per_step", "step_seconds": 0.02, "slowdown": {"low": 1, "high": 8, "by_size": {"strength": 0}}}},
        {"compute": {"kind": "per_step", "harmonic_job_seconds": 0.2, "slowdown": {"low": 1, "high": 8}}},
        {"network": {"download_megabit_per_second": 100, "upload_over_compute": 1}},
        {"network": {"download_megabit_per_second": 100, "upload_megabit_per_second": 100, "upload_log_sigma": 0.5}},
        {"network": {"download_megabit_per_second": 100, "upload_megabit_per_second": 100, "download_log_sigma": 0.5}},
    ],
)
def test_what_is_used_is_in_the_hash(change: dict[str, Any]) -> None:
    hashes = {validate(content(text), "here").content_hash() for text, _ in KNOWN}
    assert validate(content(DEMO, **change), "here").content_hash() not in hashes


def test_points_to_hold_a_target_are_in_the_hash_where_they_are_not_one() -> None:
    """The hash of stop_at_target alone is that of the commits before there was a hold."""
    budget = {"updates": 5000, "seconds": 40, "stop_at_target": True}
    hashes = [
        validate(content(DEMO, budget=budget | more), "here").content_hash()
        for more in ({}, {"hold_points": 1}, {"hold": "points"})
    ]
    assert hashes == [STOPPED, STOPPED, STOPPED]
    held = {validate(content(DEMO, budget=budget | {"hold_points": n}), "here").content_hash() for n in (2, 3, 1000)}
    assert len({*held, STOPPED, validate(content(DEMO, budget=budget | {"hold": "window"}), "here").content_hash()}) == 5


def test_steps_without_a_kind_are_normal() -> None:
    """And both spellings are one scenario."""
    spelt = content(RANDOM_STEPS)
    spelt["local"]["steps"]["kind"] = "normal"
    assert validate(spelt, "here").content_hash() == KNOWN[-1][1]
