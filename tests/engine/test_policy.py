"""What a scenario adds to an algorithm's policy, and which policies it refuses."""

from __future__ import annotations

import pytest

from fedbench import registry
from fedbench.engine.plan import plan
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.scenarios.load import load


def spec(selector: str, *overrides: str) -> RunSpec:
    return RunSpec(load("digits-demo", ["budget.seconds=5", *overrides]), registry.algorithm(selector), 0)


@pytest.mark.parametrize(
    ("selector", "under_way"),
    [
        ("fedavg[cohort_size=6]", 6),
        ("fedavg[sampling=all]", 20),
        ("fedbuff[concurrency=9]", 9),
        ("fedbuff", 20),
        ("defedavg_niid[cohort_size=2]", 20),
        ("quafl[cohort_size=2]", 20),
        ("ringleader", 20),
    ],
)
def test_more_jobs_than_the_cap_are_refused(selector: str, under_way: int) -> None:
    name = registry.parse_selector(selector)[0]
    assert plan(spec(selector, f"at_work={under_way}")).updates > 0
    with pytest.raises(UsageError) as refused:
        plan(spec(selector, f"at_work={under_way - 1}"))
    assert str(refused.value) == (
        f"algorithm {name} is not applicable: it may have {under_way} jobs under way, and scenario digits-demo allows "
        f"{under_way - 1} (at_work)"
    )


def test_those_that_rounds_select_in_excess_count() -> None:
    assert plan(spec("fedavg[cohort_size=4]", "at_work=6", "rounds.over_selection=2")).updates > 0
    with pytest.raises(UsageError, match="may have 7 jobs under way"):
        plan(spec("fedavg[cohort_size=4]", "at_work=6", "rounds.over_selection=3"))


def test_what_an_algorithm_selects_in_excess_is_its_own() -> None:
    """The fastest five of all stay five."""
    own, asked = (plan(spec("msync[cohort_size=5]", *more)) for more in ([], ["rounds.over_selection=2"]))
    assert own.plan_digest == asked.plan_digest != plan(spec("msync[cohort_size=18]")).plan_digest


def test_a_schedule_of_steps_that_nobody_uses_is_refused() -> None:
    schedule = "local.schedule={kind: cosine, until: 30}"
    assert plan(spec("fedbuff", schedule)).updates > 0
    with pytest.raises(UsageError, match=r"asysg is not applicable: its clients send the first gradient .* local.schedule"):
        plan(spec("asysg", schedule))


def test_a_cap_changes_nothing_of_those_who_keep_to_it() -> None:
    free, capped = (plan(spec("fedbuff[concurrency=9]", *more)) for more in ([], ["at_work=9"]))
    assert free.plan_digest == capped.plan_digest


def test_one_worker_with_all_examples_needs_no_cap() -> None:
    assert Setup(spec("centralised", "at_work=5")).scenario.at_work is None
    assert plan(spec("centralised", "at_work=5")).updates > 0


@pytest.mark.parametrize(
    ("value", "message"), [("0", "at_work must be >= 1, got 0"), ("21", "at_work: expected at most the 20 clients, got 21")]
)
def test_a_cap_is_a_number_of_clients(value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load("digits-demo", [f"at_work={value}"])
