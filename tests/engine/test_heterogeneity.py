"""How much the clients of a scenario differ, beside what made them differ."""

from __future__ import annotations

import functools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fedbench.engine.heterogeneity import FACTORS, Heterogeneity
from fedbench.errors import UsageError
from fedbench.launch.runner import plan
from fedbench.scenarios.load import load
from fedbench.suites.suite import Point
from fedbench.suites.suite import load as load_suite

EXACT = ("upload", "available", "steps", "at_work")
TIES = ("tied_to_size", "tied_to_label")
suite = functools.cache(lambda: load_suite("map"))


def check(point: Point, seed: int) -> None:
    """The spread of so many clients scatters by 1 / sqrt(2 N). Traits are not normal, which makes
    ties of 0.9 a little weaker; chance may make others."""
    scenario = suite().scenario_at(point)
    here, levels = Heterogeneity(scenario, seed), {key: float(value) for key, value in point.levels.items() if key != "skew"}
    for factor in EXACT:
        assert getattr(here, factor) == pytest.approx(levels[factor], abs=1e-9), factor
    assert here.spread == pytest.approx(levels["spread"], rel=4.5 / (2 * scenario.clients) ** 0.5)
    for factor in TIES:
        assert levels[factor] == 0 or 0.6 < getattr(here, factor) < 0.95, factor
    assert suite().anchors is not None
    numbers = suite().anchors.numbers["skew"]
    nearest = min(numbers, key=lambda kind: abs(numbers[kind] - here.skew))
    assert nearest == point.levels["skew"] or scenario.clients == 30


@pytest.mark.fashion
@pytest.mark.parametrize("name", ["design-05", "design-20", "design-35", "held-out-12", "clients-06"])
def test_levels_come_back(name: str) -> None:
    check(suite().point(name), 0)


@pytest.mark.fashion
@pytest.mark.slow
@given(st.integers(0, 77), st.integers(0, 10_000))
@settings(max_examples=300, deadline=None)
def test_levels_come_back_at_all_points_and_seeds(number: int, seed: int) -> None:
    check(suite().points[number], seed)


def test_chance_makes_no_ties() -> None:
    """But one in a hundred."""
    scenario = load("digits-demo", ["clients=60", "partition={kind: dirichlet, alpha: 0.5, min_examples: 1}"])
    several = [Heterogeneity(scenario, seed) for seed in range(40)]
    assert sum((here.tied_to_size != 0) + (here.tied_to_label != 0) for here in several) <= 4


@pytest.mark.fashion
@pytest.mark.slow
def test_ties_that_nobody_made_are_rare() -> None:
    """Chance makes one in a hundred."""
    found = [
        getattr(Heterogeneity(suite().scenario_at(suite().point(name)), seed), factor) != 0
        for name in ("design-27", "design-58", "design-46")
        for seed in range(200)
        for factor in ("tied_to_size", "tied_to_label")
    ]
    print(f"{np.mean(found):.3f} of {len(found)}")
    assert np.mean(found) < 0.025


def digits(*overrides: str) -> Heterogeneity:
    return Heterogeneity(load("digits-demo", overrides))


@pytest.mark.parametrize(
    "overrides",
    [
        ["availability={kind: periodic, period_seconds: 4, on_fraction: 0.3}"],
        ["availability={kind: alternating, mean_on_seconds: 1, mean_off_seconds: 3}"],
        ["availability={kind: alternating, mean_on_seconds: 1, mean_off_seconds: 0.5, rarely: {share: 0.5, mean_off_seconds: 9}}"],
        ["clients=3", "availability={kind: table, rows: [[[0, 10], [50, 80]], [[390, 500]], [[0, 9999]]]}"],
        ["clients=3", "availability={kind: table, period_seconds: 20, rows: [[[0, 10]], [[5, 6]], [[0, 20]]]}"],
        [],
    ],
)  # fmt: skip
def test_the_share_of_time_available_is_that_of_a_plan(overrides: list[str]) -> None:
    """In the long run, or over the budget if windows do not repeat."""
    more = ["budget.seconds=400", "budget.updates=100000000", "targets=[]", "evaluation.every_seconds=10", *overrides]
    here = digits(*more)
    planned = plan("digits-demo", "fedbuff[concurrency=2,buffer_size=1]", overrides=more)
    assert here.available == pytest.approx(planned.available_fraction, rel=0.07)


@pytest.mark.fashion
def test_nothing_is_tied_to_what_is_alike() -> None:
    """Shards whose sizes differ by an example or so, and classes that differ by chance alone."""
    for seed in range(40):
        assert Heterogeneity(suite().scenario_at(suite().point("design-07")), seed).tied_to_label == 0
        assert Heterogeneity(suite().scenario_at(suite().point("design-58")), seed).tied_to_size == 0


@settings(max_examples=30, deadline=None)
@given(strength=st.floats(0.55, 1), seed=st.integers(0, 1000), key=st.sampled_from(["by_size", "by_label"]))
def test_a_tie_is_about_its_strength(strength: float, seed: int, key: str) -> None:
    """With 150 clients, with all of these seeds: at a strength of 0.5 and ten classes, four of them
    show a tie that may be chance."""
    part = f"{{kind: lognormal, log_sigma: 0.7, {key}: {{strength: {strength}}}}}"
    scenario = load("digits-demo", ["clients=150", "partition={kind: dirichlet, alpha: 1, min_examples: 1}"])
    scenario = load(scenario, [f"compute.slowdown={part}"])
    here = Heterogeneity(scenario, seed)
    tied, other = (here.tied_to_size, here.tied_to_label) if key == "by_size" else (here.tied_to_label, here.tied_to_size)
    assert abs(tied - strength) < 0.25
    assert abs(other) < tied


@pytest.mark.parametrize("clients", [20, 100, 300, 1])
def test_what_chance_alone_makes_of_the_skew(clients: int) -> None:
    here = digits("partition={kind: iid}", f"clients={clients}")
    sizes, shares = here.counts.sum(axis=1), here.counts.sum(axis=0) / here.counts.sum()
    exact = [sum(stats.binom(int(n), p).expect(lambda k, n=n, p=p: abs(k / n - p)) for p in shares) / 2 for n in np.unique(sizes)]
    weights = np.unique(sizes, return_counts=True)[1]
    assert here.skew_by_chance == pytest.approx(np.average(exact, weights=weights), rel=1e-6)
    assert clients == 1 or here.skew == pytest.approx(here.skew_by_chance, rel=0.1)


@pytest.mark.parametrize("seed", [-1, 1.5, "0", 2**63, True])
def test_a_seed_is_a_whole_number(seed: object) -> None:
    with pytest.raises(UsageError, match="seed: expected a whole number between 0 and 9223372036854775807, got"):
        Heterogeneity(load("digits-demo"), seed)  # type: ignore[arg-type]


def test_who_has_many_examples_may_be_fast() -> None:
    overrides = ["clients=60", "partition={kind: dirichlet, alpha: 0.5, min_examples: 1}", "compute.slowdown={}"]
    ranks = np.argsort(np.argsort(-digits(*overrides).counts.sum(axis=1)))
    here = digits(*overrides, f"local.steps={(5 + ranks).tolist()}")
    assert here.tied_to_size < -0.8


@pytest.mark.parametrize(
    ("overrides", "factor", "value"),
    [
        (["partition.kind=iid", "clients=1"], "skew", 0),
        (["compute.slowdown={}"], "spread", 0),
        (["at_work=7"], "at_work", 7),
        ([], "at_work", 20),
        (["network={}"], "upload", 0),
        (["network={upload_over_compute: 0.4}"], "upload", 0.4),
        (["network={upload_over_compute: 0.4}"], "download", 0),
        (["local={steps: {kind: extreme, low: 3, high: 90}, batch_size: 10}"], "steps", 3),
        (["local={epochs: 2, batch_size: 2000}"], "steps", 2),
        (["clients=8"], "tied_to_label", 0),
    ],
)  # fmt: skip
def test_single_numbers(overrides: list[str], factor: str, value: float) -> None:
    assert getattr(digits(*overrides), factor) == pytest.approx(value)


@pytest.mark.parametrize(
    ("overrides", "times", "steps"),
    [
        ([], False, False),
        (["compute={kind: per_job, time: {distribution: exponential, mean_seconds: 2}}"], True, False),
        (["local={steps: {mean: 20, variance: 4, mode: random}}"], False, True),
        (["local={steps: {mean: 20, variance: 40}}"], False, True),
        (["local={epochs: 1}", "partition={kind: dirichlet, alpha: 0.5}"], False, True),
    ],
)  # fmt: skip
def test_what_varies_from_job_to_job(overrides: list[str], times: bool, steps: bool) -> None:
    here = digits(*overrides)
    assert (here.times_vary, here.steps_vary) == (times, steps)


@pytest.mark.parametrize("factor", ["spread", "upload", "tied_to_label"])
@pytest.mark.parametrize(
    ("override", "seconds"),
    [
        ("compute={kind: per_step, step_seconds: 0}", "0 s"),
        ("compute={kind: per_job, time: {distribution: pareto, scale_seconds: 1, shape: 1}}", "inf s"),
    ],
)
def test_what_cannot_be_measured_is_one_line(factor: str, override: str, seconds: str) -> None:
    message = rf"^scenario digits-demo: the speed of client 0 cannot be measured: it computes for {seconds} on average"
    with pytest.raises(UsageError, match=message):
        getattr(digits(override), factor)


@pytest.mark.fashion
def test_a_scenario_is_measured_in_a_second() -> None:
    """Of the processor; the data are read once."""
    assert Heterogeneity(load("map-fashion")).counts.shape == (100, 10)
    begin = time.process_time()
    here = Heterogeneity(load("map-fashion", ["clients=1000"]), 5)
    assert all(np.isfinite(getattr(here, factor)) for factor in FACTORS)
    assert time.process_time() - begin < 1
