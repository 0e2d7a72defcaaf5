"""Trials as a picture shows them."""

from __future__ import annotations

import pytest

from fedbench.errors import RecordError, UsageError
from fedbench.suites import suite as suites
from fedbench.suites.sensitivity import option_sensitivity
from fedbench.suites.space import load
from fedbench.suites.suite import Suite
from fedbench.suites.tuning import Outcome, trials

SUITE = suites.load("smoke")
POINT = SUITE.points[0]


def outcomes(selector: str, best: int = 2) -> dict[str, Outcome]:
    """The later the trial, the later it arrives; the best one arrives at once, the last one
    never."""
    several = list(trials(SUITE, load("axes"), [POINT], [selector]))
    found = {}
    for trial in several:
        second = 0.5 if trial.number == best else None if trial is several[-1] else 1.0 + trial.number
        for spec in trial.specs:
            found[spec.run_id] = Outcome(spec.run_id, spec.seed, "finished", 10.0, (0.8, 0.9), (second, second), 0.5, "digest")
    return found


def test_all_trials_are_there_with_what_was_sought() -> None:
    found = option_sensitivity(SUITE, POINT, "fedbuff", outcomes("fedbuff"))
    assert [one.name for one in found.sought] == ["local_lr", "server_lr", "buffer_size"]
    assert (found.chosen, found.budget_seconds, found.row, found.point) == (2, 10.0, "fedbuff", "calm")
    assert [one.seconds for one in found.trials] == [1.0, 2.0, 0.5, 4.0, 10.0]
    assert [(one.misses, one.attempts) for one in found.trials] == [(0, 4)] * 4 + [(4, 4)]
    assert found.trials[0].options == {"local_lr": 0.05, "server_lr": 1.0, "buffer_size": 10.0}
    for one in found.trials[1:]:
        assert all(sought.low <= one.options[sought.name] <= sought.high for sought in found.sought)


def test_a_table_without_a_trial_is_named() -> None:
    known = outcomes("fedbuff")
    known.popitem()
    with pytest.raises(
        RecordError, match=r"trials of suite smoke: 4 of 5 trials of fedbuff at calm are in the table; `fedbench tune smoke`"
    ):
        option_sensitivity(SUITE, POINT, "fedbuff", known)


def test_a_suite_without_tuning() -> None:
    content = SUITE.model_dump(by_alias=True, exclude={"tuning"})
    with pytest.raises(UsageError, match="suite smoke: it has no part `tuning`"):
        option_sensitivity(Suite.model_validate(content), POINT, "fedbuff", {})
