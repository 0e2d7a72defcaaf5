"""The timing model of the DeFedAvg paper, from its constants."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.kernels.scheduler import Duration, LocalSteps, Scheduler, Timing
from fedbench.scenarios.compute_parts import DelayClasses
from fedbench.scenarios.load import load
from fedbench.scenarios.network_parts import Network
from fedbench.scenarios.pooled import pooled
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.slowdowns import ByLabel, Slowdown
from fedbench.scenarios.speeds import dealt_by_label, delay_classes, slowdowns
from fedbench.scenarios.system import (
    batches,
    compute,
    full_gradient_seconds,
    link_rates,
    local_steps,
    mean_steps,
    means,
    needs_counts,
    one_step,
    step_seconds,
    transfer,
)
from fedbench.types import Rounds, Weights
from fedbench.types import Stream as StreamPolicy


def column(*sizes: float) -> Weights:
    """Clients of so many examples, all of one class."""
    return np.array(sizes, np.float64)[:, None]


def test_the_papers_constants() -> None:
    """17.0e6 / 10e9 s a step times U(1, 5); 2.2 MB at 400 Mbit/s is 44 ms; 50 steps take 85 to 425
    ms."""
    scenario = load("defedavg-fashion-iid")
    duration = compute(scenario, 0)
    per_job = 50 * np.asarray(duration.a)
    assert duration.per_step
    assert per_job.shape == (100,)
    assert 0.085 <= per_job.min() < 0.1
    assert 0.4 < per_job.max() <= 0.425
    assert transfer(scenario.network, 400.0, 0).a == pytest.approx(0.044)
    assert local_steps(scenario, 0).values == 50


def test_a_clients_slowdown_depends_on_client_and_seed_only() -> None:
    few, many = (slowdowns(Slowdown(low=1, high=5), n, 7) for n in (3, 1000))
    assert np.array_equal(few, many[:3])
    assert many[2] == 1 + 4 * RandomStream(7, Purpose.speed, 2).uniform(1)[0]
    assert abs(many.mean() - 3) < 0.15


def test_uniform_speeds_have_the_other_mean() -> None:
    """Time factor high / U(low, high): mean (5/4) ln 5 = 2.012 for U(1, 5)."""
    factors = slowdowns(Slowdown(kind="speed", low=1, high=5), 20_000, 0)
    assert factors.mean() == pytest.approx(1.25 * np.log(5), rel=0.02)


def test_a_lognormal_slowdown_has_its_quantiles() -> None:
    """A client's number depends on the client and the seed only; 84.13 % are slower than by one
    sigma at most."""
    part = Slowdown(kind="lognormal", log_sigma=0.5)
    factors = slowdowns(part, 20_000, 5)
    assert np.quantile(factors, [0.1587, 0.5, 0.8413]) == pytest.approx(np.exp([-0.5, 0, 0.5]), rel=0.02)
    assert np.array_equal(slowdowns(part, 10, 5), factors[:10])
    assert not np.array_equal(slowdowns(part, 10, 6), factors[:10])
    other = load("digits-demo", ["compute.slowdown={kind: lognormal, log_sigma: 0.5}", "network.upload_log_sigma=0.5"])
    _, up = link_rates(other, 5)
    assert abs(np.corrcoef(np.log(up), np.log(factors[: other.clients]))[0, 1]) < 0.8  # of its own numbers


@pytest.mark.parametrize(
    ("slowdown", "message"),
    [
        ("{kind: lognormal}", "lognormal goes with a log_sigma, the others without, got lognormal and log_sigma none"),
        ("{kind: speed, log_sigma: 1}", "got speed and log_sigma 1"),
        ("{kind: lognormal, log_sigma: 1, high: 3}", "lognormal has neither low nor high, got low 1, high 3"),
        ("{kind: lognormal, log_sigma: 0}", "log_sigma"),
        ("{kind: lognormal, log_sigma: 1, shape: 1}", "bounded_pareto goes with a shape"),
    ],
)
def test_a_lognormal_slowdown_has_a_log_sigma_alone(slowdown: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load("digits-demo", [f"compute.slowdown={slowdown}"])


def test_a_bounded_pareto_slowdown_has_its_quantiles() -> None:
    """F(x) = (1 - (low/x)^a) / (1 - (low/high)^a); with low 1, high 40, a = 1 the median is 2 / (1
    + 1/40) and the mean ln(40) 40/39."""
    factors = slowdowns(Slowdown(kind="bounded_pareto", low=1, high=40, shape=1), 40_000, 5)
    assert 1 <= factors.min() < factors.max() <= 40
    assert np.median(factors) == pytest.approx(2 / (1 + 1 / 40), rel=0.02)
    assert factors.mean() == pytest.approx(np.log(40) * 40 / 39, rel=0.03)
    assert (factors > 20).mean() == pytest.approx(1 - (1 - 1 / 20) / (1 - 1 / 40), rel=0.1)
    assert np.array_equal(factors, np.round(factors, 6))


@pytest.mark.parametrize(("changes", "message"), [({"kind": "bounded_pareto"}, "goes with a shape"), ({"shape": 1.0}, "without")])
def test_a_shape_goes_with_a_bounded_pareto(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Slowdown(low=1, high=40, **changes)


def of_two_classes(clients: int) -> Weights:
    """Client i has i examples of the class that is rare with seed 1, and the rest of 1,000 of the
    other."""
    rare = int(RandomStream(1, Purpose.speed, 0, 2).permutation(2)[0])
    counts = np.full((clients, 2), 1000.0)
    counts[:, rare] = np.arange(clients)
    counts[:, 1 - rare] -= np.arange(clients)
    return counts


def correlation(strength: float, clients: int = 400) -> float:
    counts = of_two_classes(clients)
    factors = slowdowns(Slowdown(low=1, high=5), clients, 1)
    dealt = dealt_by_label(factors, ByLabel(strength=strength, rare_classes=1), 1, counts)
    assert sorted(dealt) == sorted(factors), "how fast the clients are together is as it was"
    return float(np.corrcoef(np.argsort(np.argsort(dealt)), np.arange(clients))[0, 1])


def test_slow_clients_own_the_rare_classes_the_more_the_stronger() -> None:
    assert correlation(1.0) == pytest.approx(1.0)
    assert correlation(0.0) == pytest.approx(0.0, abs=0.12)
    assert 0.65 < correlation(0.8) < 0.9


def test_a_client_has_the_same_noise_whoever_else_there_is() -> None:
    """With equal shares only the noise ranks; more clients do not change the order of the first."""
    part = ByLabel(strength=0.5, rare_classes=1)
    few, many = (dealt_by_label(np.arange(1.0, n + 1), part, 3, np.ones((n, 2))) for n in (20, 200))
    assert np.argsort(few).tolist() == np.argsort(many[:20]).tolist()


def test_rare_classes_leave_others() -> None:
    scenario = load("digits-demo", ["compute.slowdown.by_label={strength: 1, rare_classes: 10}"])
    with pytest.raises(UsageError, match="needs to know who has which examples"):
        compute(scenario, 0)
    with pytest.raises(UsageError, match="less than the 10 classes of the task, got 10"):
        compute(scenario, 0, np.ones((scenario.clients, 10)))
    assert needs_counts(scenario)


def test_links_of_ones_own_spread_around_the_median() -> None:
    spread = ["network={upload_megabit_per_second: 0.1, upload_log_sigma: 0.6, download_megabit_per_second: 8}", "clients=4000"]
    scenario = load("digits-demo", spread)
    down, up = link_rates(scenario, 2)
    assert down == 8
    assert np.median(np.asarray(up)) == pytest.approx(0.1, rel=0.05)
    assert np.log(np.asarray(up)).std() == pytest.approx(0.6, rel=0.05)
    seconds = np.asarray(transfer(scenario.network, up, 12_500).a)  # 0.1 megabit
    assert seconds == pytest.approx(0.1 / np.asarray(up))
    assert link_rates(load("digits-demo"), 2) == (24.0, 24.0)


def test_a_spread_needs_a_rate() -> None:
    with pytest.raises(ValueError, match="upload_log_sigma needs upload_megabit_per_second"):
        Network(upload_log_sigma=0.5)


def test_payload_pays_for_its_bytes_and_latency_adds() -> None:
    network = Network(upload_megabit_per_second=8, latency_seconds=0.5)
    assert transfer(network, network.upload_megabit_per_second, 3_000_000).a == pytest.approx(3.5)
    assert transfer(network, None, 3_000_000).a == 0.5


def test_epochs_count_the_short_last_batch() -> None:
    scenario = load("digits-demo", ["local={epochs: 2, batch_size: 10}", "clients=3"])
    assert local_steps(scenario, 0, column(10, 11, 5)).values.tolist() == [2, 4, 2]  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="needs to know who has which examples"):
        local_steps(scenario, 0)


# ---- delay classes [FedEcho, FADAS]


def delays(*overrides: str, clients: int = 50) -> Scenario:
    compute = "compute={kind: delay_classes, long_seconds: [500, 800]}"
    return load("digits-demo", [f"clients={clients}", compute, *overrides])


def classes(scenario: Scenario, seed: int, sizes: Any = None) -> list[int]:
    assert isinstance(scenario.compute, DelayClasses)
    counts = None if sizes is None else column(*sizes)
    return delay_classes(scenario, scenario.compute.assignment, seed, counts).tolist()


def test_jobs_take_the_time_of_their_class() -> None:
    """gamma = 0, sizes ascending: the last 5 of 50 are long, the 15 before them medium. Bounds in
    seconds, 10 a unit of the papers."""
    scenario = delays("compute.assignment={kind: size_score, gamma: 0}")
    sizes = np.arange(50.0)
    assert classes(scenario, 3, sizes) == [0] * 30 + [1] * 15 + [2] * 5
    assert needs_counts(scenario)
    duration = compute(scenario, 3, column(*sizes))
    assert (duration.kind, duration.per_step) == ("uniform", False)
    assert np.asarray(duration.a).tolist() == [10] * 30 + [30] * 15 + [500] * 5
    assert np.asarray(duration.b).tolist() == [20] * 30 + [50] * 15 + [800] * 5
    with pytest.raises(UsageError, match="size_score needs to know who has which examples"):
        compute(scenario, 3)


@pytest.mark.parametrize(("clients", "counts"), [(50, [30, 15, 5]), (10, [6, 3, 1]), (9, [6, 3, 0]), (1, [1, 0, 0])])
def test_at_most_a_tenth_is_long(clients: int, counts: list[int]) -> None:
    found = classes(delays(clients=clients), 0, np.arange(float(clients)))
    assert np.bincount(found, minlength=3).tolist() == counts


def test_a_smaller_gamma_depends_more_on_size() -> None:
    """Mean size of the long clients, over 40 seeds: largest at gamma 0, then falling to that of a
    random choice (24.5 of 0 .. 49)."""
    sizes = np.arange(50.0)
    means = []
    for gamma in (0, 0.5, 2, 1e9):
        scenario = delays(f"compute.assignment={{kind: size_score, gamma: {gamma}}}")
        means.append(np.mean([sizes[np.array(classes(scenario, seed, sizes)) == 2].mean() for seed in range(40)]))
    assert means[0] == 47
    assert means[0] > means[1] + 1 > means[2] + 2
    assert means[3] == pytest.approx(24.5, abs=3)


def test_equal_sizes_leave_it_to_chance() -> None:
    found = classes(delays(), 1, np.full(50, 7.0))
    assert np.bincount(found).tolist() == [30, 15, 5]
    assert found != classes(delays(), 2, np.full(50, 7.0))


@pytest.mark.parametrize(
    ("scale", "expected"), [(1, (0.637, 0.284, 0.080)), (0.1, (0.510, 0.329, 0.160)), (10, (0.924, 0.076, 0.0003))]
)
def test_fadas_classes_have_the_shares_of_its_code(scale: float, expected: tuple[float, ...]) -> None:
    """argmax of Dirichlet(3g, 2g, g); expected shares by simulation of the public code's rule, to
    three digits."""
    scenario = delays(f"compute.assignment={{kind: fadas, scale: {scale}}}", clients=6000)
    assert not needs_counts(scenario)
    found = np.array(classes(scenario, 0))
    assert np.bincount(found, minlength=3) / 6000 == pytest.approx(expected, abs=0.02)
    assert found[:20].tolist() == classes(delays(f"compute.assignment={{kind: fadas, scale: {scale}}}", clients=20), 0)


# ---- exponential steps [QuAFL]


def exponential(share: float, clients: int = 40) -> Scenario:
    return load("digits-demo", [f"clients={clients}", f"compute={{kind: exponential_steps, slow_share: {share}}}"])


@pytest.mark.parametrize(("share", "slow"), [(0, 0), (0.3, 12), (1, 40)])
def test_a_share_of_the_clients_is_slow(share: float, slow: int) -> None:
    duration = compute(exponential(share), 3)
    assert (duration.kind, duration.per_step) == ("exponential", True)
    means = np.asarray(duration.a)
    assert sorted(means.tolist()) == [2.0] * (40 - slow) + [8.0] * slow
    assert slow in (0, 40) or not np.array_equal(means, compute(exponential(share), 4).a)
    assert np.asarray(compute(pooled(exponential(share)), 3).a).tolist() == [2.0]


def test_steps_take_exponential_times_of_these_means() -> None:
    """Jobs of 10 steps on 40 clients, 500 each: mean 20 and 80 s, and as large a standard
    deviation."""
    scenario = exponential(0.5)
    timing = Timing(clients=40, compute=compute(scenario, 0), steps=LocalSteps(values=10), max_updates=500, max_seconds=1e9)
    chunk = Scheduler(timing, Rounds(select="all")).next()
    seconds = (chunk.t_finish - chunk.t_start) / 1e9
    is_slow = (np.asarray(timing.compute.a) == 8)[chunk.client]
    for mean, jobs in ((20, seconds[~is_slow]), (80, seconds[is_slow])):
        assert len(jobs) == 10_000
        assert jobs.mean() == pytest.approx(mean, rel=0.05)
        assert jobs.std() == pytest.approx(mean, rel=0.1)


# ---- step asynchronism [FedaGrac]


def steps_of(scenario: Scenario, seed: int, jobs: int) -> Any:
    """Steps of every client's first jobs (N, jobs), as the scheduler hands them out."""
    timing = Timing(
        clients=scenario.clients, seed=seed, compute=Duration.constant(1.0), steps=local_steps(scenario, seed), max_updates=jobs
    )
    chunk = Scheduler(timing, Rounds(select="all")).next()
    return chunk.steps[np.lexsort((chunk.k, chunk.client))].reshape(scenario.clients, jobs)


def drawn(variance: float, mode: str, mean: float = 500) -> Scenario:
    return load(
        "digits-demo", ["clients=400", f"local={{batch_size: 10, steps: {{mean: {mean}, variance: {variance}, mode: {mode}}}}}"]
    )


def test_fixed_steps_are_those_of_the_first_random_job() -> None:
    fixed, random = (steps_of(drawn(10_000, mode), 4, 3) for mode in ("fixed", "random"))
    assert (fixed == fixed[:, :1]).all()
    assert np.array_equal(fixed[:, 0], random[:, 0])
    assert not (random == random[:, :1]).all()


@pytest.mark.parametrize("mode", ["fixed", "random"])
@pytest.mark.parametrize("variance", [0, 100, 10_000])
def test_steps_have_the_papers_mean_and_variance(variance: float, mode: str) -> None:
    """400 clients; rounding down takes 1/2 off the mean, unless all are 500."""
    first = steps_of(drawn(variance, mode), 7, 1)[:, 0]
    assert first.mean() == pytest.approx(500 - 0.5 * (variance > 0), abs=5 * np.sqrt(variance / 400))
    assert first.var() == pytest.approx(variance, rel=0.3)


def test_steps_are_at_least_one_and_never_negative() -> None:
    assert steps_of(drawn(0, "fixed", mean=0.25), 0, 1).max() == 1
    found = steps_of(drawn(10_000, "fixed", mean=1), 0, 1)
    assert found.min() >= 1
    assert found.max() > 150  # the absolute value, not a cut at 0


def test_a_minimum_raises_only_what_is_below_it() -> None:
    free, least = (
        steps_of(load("digits-demo", ["clients=400", f"local.steps={{mean: 50, variance: 10000, minimum: {m}}}"]), 3, 1)
        for m in (1, 100)
    )
    assert 0 < np.count_nonzero(free < 100) < 400
    assert np.array_equal(least, np.maximum(free, 100))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ("[7, 2, 9, 1]", [7, 2, 9, 1]),
        ("{kind: extreme, low: 3, high: 30}", [3, 3, 3, 30]),
        ("{kind: linear, low: 100, increment: 5}", [105, 110, 115, 120]),
        ("{kind: linear, low: 4, increment: 0}", [4, 4, 4, 4]),
    ],
)
def test_steps_by_client(part: str, expected: list[int]) -> None:
    """Clients are numbered from 1 in the code whose linear rule it is: the first does low +
    increment."""
    found = steps_of(load("digits-demo", ["clients=4", f"local.steps={part}"]), 0, 2)
    assert found.T.tolist() == [expected, expected]
    one = pooled(load("digits-demo", ["clients=4", f"local.steps={part}"]))
    assert one.local.steps == round(np.mean(expected))


def test_uniform_steps_are_drawn_once_from_low_to_high_less_one() -> None:
    scenario = load("digits-demo", ["clients=400", "local.steps={kind: uniform, low: 5, high: 9}"])
    found = steps_of(scenario, 1, 2)
    assert (found[:, 0] == found[:, 1]).all()
    counts = np.bincount(found[:, 0])
    assert counts[:5].tolist() == [0] * 5
    assert counts[5:] == pytest.approx([100] * 4, abs=40)  # more than four standard deviations
    assert not np.array_equal(found, steps_of(scenario, 2, 2))
    assert pooled(scenario).local.steps == 6  # 6.5, rounded to even


@pytest.mark.parametrize(
    ("part", "expected"), [("mean: 30.4, variance: 400", 30), ("mean: 0.3", 1), ("mean: 5, variance: 4, minimum: 8", 8)]
)
def test_a_pooled_worker_does_the_mean_of_steps_drawn_once(part: str, expected: int) -> None:
    """Whatever the first client drew. Steps that are drawn for every job go on being drawn."""
    assert pooled(load("digits-demo", [f"local.steps={{{part}, mode: fixed}}"])).local.steps == expected
    anew = load("digits-demo", ["local.steps={mean: 30, variance: 400, mode: random}"])
    assert pooled(anew).local == anew.local


@pytest.mark.parametrize(("mean", "expected"), [(0.25, 1), (30.5, 30.5)])
def test_mean_steps_of_jobs_that_draw_theirs(mean: float, expected: float) -> None:
    """A job does at least one, so the share of a step in its time is at most the whole."""
    time = "compute={kind: per_job, time: {distribution: constant, seconds: 6}}"
    scenario = load("digits-demo", ["clients=3", time, f"local.steps={{mean: {mean}, mode: random}}"])
    assert mean_steps(scenario, 0).tolist() == [expected] * 3
    assert step_seconds(scenario, 0).tolist() == [6 / expected] * 3


def test_steps_beyond_32_bits_are_an_error() -> None:
    scenario = load("digits-demo", ["local.steps={kind: linear, low: 1, increment: 200000000}"])
    with pytest.raises(
        UsageError, match=r"digits-demo: local\.steps: a client does at most 2147483647 steps, got 4000000001 for client 19"
    ):
        local_steps(scenario, 0)


def test_a_full_gradient_waits_for_the_slowest_client() -> None:
    scenario = load("digits-demo", ["clients=2", "compute.slowdown={low: 2, high: 2}"])
    assert full_gradient_seconds(scenario, column(100, 55), 0) == pytest.approx(10 * 0.04)
    assert batches(scenario, column(100, 55)).tolist() == [10, 6]


def test_a_full_gradient_of_clients_whose_jobs_take_drawn_times() -> None:
    """Jobs of 10 steps that take 3 s on average: a step is 0.3 s, and 55 examples are 6 batches of
    10."""
    time = "compute={kind: per_job, time: {distribution: uniform, low_seconds: 2, high_seconds: 4}}"
    scenario = load("digits-demo", ["clients=2", time])
    assert step_seconds(scenario, 0).tolist() == pytest.approx([0.3, 0.3])
    assert full_gradient_seconds(scenario, column(10, 55), 0) == pytest.approx(6 * 0.3)
    heavy = load("digits-demo", ["compute={kind: per_job, time: {distribution: pareto, scale_seconds: 1, shape: 1}}"])
    with pytest.raises(UsageError, match=r"scenario digits-demo: the algorithm asks for a full-batch gradient .* no mean"):
        full_gradient_seconds(heavy, column(*[10] * 20), 0)


def test_the_step_of_a_client_is_as_long_as_its_class_and_its_steps_say() -> None:
    scenario = load("fedecho-fashion-mild-delay", ["clients=10", "compute.assignment={kind: size_score, gamma: 0}"])
    sizes = column(1000, 900, 800, 700, 100, 100, 100, 100, 100, 100)
    seconds = step_seconds(scenario, 0, sizes)
    assert seconds[0] == pytest.approx(150 / 40)  # long, U(100, 200), two epochs of 20 batches of 50
    assert seconds[3] == pytest.approx(40 / 28)  # medium, U(30, 50)
    assert seconds[9] == pytest.approx(15 / 4)
    drawn = load("fedagrac-fashion-step-async", ["local.steps.mode=random", "compute.slowdown={low: 3, high: 3}"])
    assert step_seconds(drawn, 0).tolist() == pytest.approx([0.03] * 10)


def test_latency_is_paid_for_every_exchange_and_the_fixed_message_once() -> None:
    priced = Network(download_megabit_per_second=8, latency_seconds=0.5, message="fixed", message_megabytes=2)
    assert [transfer(priced, 8, 0, exchanges).a for exchanges in (0, 1, 2)] == [2.0, 2.5, 3.0]
    assert transfer(Network(latency_seconds=0.5), None, 10**6, 2).a == 1.0


DRAWN = [
    (Duration.constant(2.0), 2.0),
    (Duration.constant(np.array([1.0, 3.0])), 2.0),
    (Duration.uniform(1.0, 4.0), 2.5),
    (Duration.exponential(2.0), 2.0),
    (Duration.lognormal(0.5, 0.8), np.exp(0.5 + 0.32)),
    (Duration.pareto(1.0, 3.0), 1.5),
]


@pytest.mark.parametrize(("job", "mean"), DRAWN)
def test_a_share_of_a_drawn_job(job: Duration, mean: float) -> None:
    """Eight steps of a share take what the job takes, draw by draw; the mean is that of the
    distribution."""
    share = one_step(job, 8)
    assert one_step(share, 8) is share
    assert means(job).mean() == pytest.approx(mean, rel=1e-12)
    assert 8 * means(share).mean() == pytest.approx(mean, rel=1e-12)
    whole, spread = (
        Scheduler(
            Timing(clients=2, compute=duration, steps=LocalSteps(values=8), max_updates=200, max_seconds=1e6),
            StreamPolicy(concurrency=2, buffer_size=1),
        ).next()
        for duration in (job, share)
    )
    assert whole.time / spread.time == pytest.approx(np.ones(200), rel=1e-6)


def test_a_pareto_time_may_have_no_mean() -> None:
    assert means(Duration.pareto(1.0, 1.0)) == np.inf
