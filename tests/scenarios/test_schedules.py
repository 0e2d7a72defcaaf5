"""Schedules of the clients' rate, and the other later keys of local work: factors, hashes, and what
is refused."""

from __future__ import annotations

import math

import pytest

import fedbench as fb
from fedbench.errors import UsageError
from fedbench.scenarios.load import validate
from fedbench.scenarios.local_parts import LocalPart
from fedbench.scenarios.schedule_parts import cosine_of_half_turns, power


def local(**schedule: object) -> LocalPart:
    return LocalPart.model_validate({"steps": 5, "schedule": schedule})


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [
        ({"kind": "exponential", "decay": 0.5}, {0: 1, 1: 0.5, 2: 0.25, 10: 2**-10, 2000: 0}),
        ({"kind": "step", "decay": 0.5, "every": 3}, {0: 1, 2: 1, 3: 0.5, 5: 0.5, 6: 0.25}),
        ({"kind": "cosine", "until": 4}, {0: 1, 2: 0.5, 4: 0, 5: 0, 1000: 0}),
        ({"kind": "cosine", "until": 4, "last": 0.2}, {0: 1, 2: 0.6, 4: 0.2, 5: 0.2}),
        ({"kind": "table", "at": [0, 3, 5], "factors": [1, 0.5, 2]}, {0: 1, 2: 1, 3: 0.5, 4: 0.5, 5: 2, 99: 2}),
    ],
)
def test_factors(schedule: dict[str, object], factors: dict[int, float]) -> None:
    for by, other in (("version", "local_step"), ("local_step", "version")):
        part = local(by=by, **schedule)
        found = {name: getattr(part, f"factor_of_{name}") for name in ("version", "step")}
        here, elsewhere = found[by.removeprefix("local_")], found[other.removeprefix("local_")]
        assert {t: here(t) for t in factors} == pytest.approx(factors, abs=1e-15)
        assert {elsewhere(t) for t in factors} == {1.0}
        assert part.steps_differ == (by == "local_step")


def test_factors_are_those_of_mathematics() -> None:
    for of in (1, 2, 3, 7, 1000):
        for t in range(of + 1):
            assert cosine_of_half_turns(t, of) == pytest.approx(math.cos(math.pi * t / of), abs=2e-15)
    for t in (0, 1, 2, 3, 17, 500):
        assert power(0.993, t) == pytest.approx(0.993**t, rel=1e-13)


def test_earlier_scenarios_stay_as_they_are() -> None:
    """Keys that have their default are not written, and so not hashed."""
    plain = fb.scenario("digits-demo")
    given = validate(
        plain.resolved()
        | {"local": {"steps": 10, "schedule": None, "clip_norm": None, "label_smoothing": 0, "momentum": 0, "nesterov": False}},
        "it",
    )
    assert plain.resolved()["local"] == {"steps": 10, "epochs": None, "batch_size": 10}
    assert given.content_hash() == plain.content_hash() == "3d377ed820c3d67e"


@pytest.mark.parametrize(
    "setting",
    [
        "clip_norm=1",
        "label_smoothing=0.1",
        "momentum=0.9",
        "schedule={kind: cosine, until: 9}",
        "schedule={kind: exponential, decay: 0.5}",
    ],
)
def test_a_key_that_is_set_is_another_scenario(setting: str) -> None:
    one = fb.scenario("digits-demo", [f"local.{setting}"])
    assert one.content_hash() != fb.scenario("digits-demo").content_hash()
    assert validate(one.resolved(), "it") == one


REFUSED = {
    "schedule={kind: exp, decay: 0.5}": "local.schedule.kind must be one of 'exponential', 'step', 'cosine', 'table', got 'exp'",
    "schedule={decay: 0.5}": "local.schedule.kind must be one of 'exponential', 'step', 'cosine', 'table', but is missing",
    "schedule=cosine": "local.schedule must be a group of keys, got 'cosine'",
    "schedule={kind: exponential}": "local.schedule.decay must be a number, but is missing",
    "schedule={kind: exponential, decay: 1}": "local.schedule.decay must be < 1, got 1",
    "schedule={kind: exponential, decay: 0.5, until: 3}": "unknown key local.schedule.until; known: by, decay, kind",
    "schedule={kind: step, decay: 0.5}": "local.schedule.every must be an integer, but is missing",
    "schedule={kind: cosine, until: 0}": "local.schedule.until must be >= 1, got 0",
    "schedule={kind: cosine, until: 5, last: 2}": "local.schedule.last must be <= 1, got 2",
    "schedule={kind: cosine, until: 5, by: round}": "local.schedule.by must be one of 'version', 'local_step', got 'round'",
    "schedule={kind: table, at: [1], factors: [1]}": "local.schedule: at: expected 0 first, got 1",
    "schedule={kind: table, at: [0, 3, 3], factors: [1, 1, 1]}": "local.schedule: at: expected ascending numbers, got 0, 3, 3",
    "schedule={kind: table, at: [0, 3], factors: [1]}": "expected a factor for each of at, got 2 of at and 1 factors",
    "schedule={kind: table, at: [], factors: []}": "local.schedule.at must be a list of at least 1, got []",
    "schedule={kind: table, at: [0], factors: [0]}": "local.schedule.factors.0 must be > 0, got 0",
    "clip_norm=0": "local.clip_norm must be > 0, got 0",
    "clip_norm=true": "local.clip_norm must be a number, got True",
    "clip_norm=.inf": "local.clip_norm must be <= 1000000000, got inf",
    "label_smoothing=1": "local.label_smoothing must be < 1, got 1",
    "label_smoothing=-0.1": "local.label_smoothing must be >= 0, got -0.1",
    "momentum=1": "local.momentum must be < 1, got 1",
    "nesterov=true": "local: nesterov: true needs a momentum above 0, got 0",
    "nesterov=maybe": "local.nesterov must be true or false, got 'maybe'",
    "clip=1": "unknown key local.clip; did you mean 'clip_norm'?",
}


@pytest.mark.parametrize("setting", REFUSED)
def test_a_mistake_is_one_line(setting: str) -> None:
    with pytest.raises(UsageError) as caught:
        fb.scenario("digits-demo", [f"local.{setting}"])
    assert REFUSED[setting] in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
