"""The timing model of the DeFedAvg paper, from its constants."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import Duration, LocalSteps, Scheduler, Timing
from fedbench.scenarios.load import load
from fedbench.scenarios.network_parts import Network
from fedbench.scenarios.pooled import pooled
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.system import (
    batches,
    compute,
    full_gradient_seconds,
    job_seconds,
    link_rates,
    local_steps,
    means,
    one_step,
    step_seconds,
    transfer,
    upload_rate,
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


# ---- upload over compute


@pytest.mark.parametrize("vector_bytes", [2600, 31_400])
def test_an_upload_takes_so_many_times_the_median_clients_job(vector_bytes: int) -> None:
    """Three clients whose jobs of 10 steps take 1, 2 and 6 s."""
    devices = "compute={kind: devices, seconds_per_example: [0.01, 0.02, 0.06]}"
    scenario = load("digits-demo", [devices, "clients=3", "network={upload_over_compute: 3, latency_seconds: 0.5}"])
    rate = upload_rate(scenario, 0, vector_bytes)
    assert transfer(scenario.network, rate, vector_bytes).a == pytest.approx(0.5 + 3 * 2)
    assert transfer(scenario.network, rate, 2 * vector_bytes).a == pytest.approx(0.5 + 3 * 2 * 2)


def test_the_weight_of_uploads_may_need_the_clients_examples() -> None:
    """Two epochs of 20, 40 and 400 examples in batches of 10, at 0.02 s a step: the median is of 8
    steps."""
    overrides = [
        "clients=3",
        "local={epochs: 2}",
        "compute={kind: per_step, step_seconds: 0.02}",
        "network={upload_over_compute: 1}",
    ]
    rate = upload_rate(load("digits-demo", overrides), 0, 1000, column(400, 20, 40))
    assert 8000 / (1e6 * rate) == pytest.approx(8 * 0.02)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ("{upload_over_compute: 1, upload_megabit_per_second: 1}", "goes without upload_megabit_per_second, got both"),
        ("{upload_over_compute: 1, message: fixed, message_megabytes: 1}", "goes without message: fixed, got both"),
        ("{upload_over_compute: 1, trace: {given: [[[1, 1, 1]]]}}", "goes without trace, got both"),
        ("{upload_over_compute: 1, upload_log_sigma: 1}", "upload_log_sigma needs upload_megabit_per_second"),
        ("{upload_over_compute: 0}", "network.upload_over_compute must be > 0, got 0"),
    ],
)
def test_the_weight_of_uploads_is_stated_once(network: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load("digits-demo", [f"network={network}"])


@pytest.mark.parametrize(
    ("compute", "seconds"),
    [
        ("{kind: per_step, step_seconds: 0}", "0"),
        ("{kind: per_job, time: {distribution: pareto, scale_seconds: 1, shape: 1}}", "inf"),
    ],
)
def test_uploads_have_no_weight_beside_jobs_without_a_time(compute: str, seconds: str) -> None:
    scenario = load("digits-demo", ["network={upload_over_compute: 1}", f"compute={compute}"])
    with pytest.raises(UsageError, match=f"upload_over_compute needs jobs that take time, .* compute for {seconds} s on average"):
        upload_rate(scenario, 0, 1000)


# ---- throughput held


def held(slowdown: str = "{}", *more: str) -> Scenario:
    return load("digits-demo", [f"compute={{kind: per_step, harmonic_job_seconds: 1.5, slowdown: {slowdown}}}", *more])


@pytest.mark.parametrize("slowdown", ["{}", "{high: 5}", "{kind: speed, high: 8}", "{kind: bounded_pareto, high: 40, shape: 1}"])
@pytest.mark.parametrize("steps", ["2", "30", "{kind: uniform, low: 1, high: 20}", "{mean: 9, variance: 4, mode: random}"])
def test_throughput_is_held_whatever_slowdowns_and_steps_are(slowdown: str, steps: str) -> None:
    scenario = held(slowdown, f"local.steps={steps}", "clients=50")
    assert 1 / (1 / job_seconds(scenario, 3)).mean() == pytest.approx(1.5, rel=1e-12)


def test_the_arithmetic_mean_of_lognormal_job_times_is_the_longer_one() -> None:
    """Of exp(1.2 z) the harmonic mean is exp(-0.72) and the arithmetic one exp(0.72), which is 4.2
    times as long. The slowdowns themselves are as they were."""
    scenario = held("{kind: lognormal, log_sigma: 1.2}", "clients=20000")
    seconds = job_seconds(scenario, 1)
    assert seconds.mean() / 1.5 == pytest.approx(np.exp(1.44), rel=0.1)
    factors = step_seconds(
        load(scenario, ["compute={kind: per_step, step_seconds: 1, slowdown: {kind: lognormal, log_sigma: 1.2}}"]), 1
    )
    assert seconds / seconds[0] == pytest.approx(factors / factors[0], rel=1e-12)


def test_throughput_is_held_where_speed_follows_labels() -> None:
    scenario = held("{high: 5, by_label: {strength: 1, rare_classes: 1}}", "clients=3", "local.steps=[1, 2, 4]")
    counts = np.eye(3) + 1
    assert 1 / (1 / job_seconds(scenario, 0, counts)).mean() == pytest.approx(1.5, rel=1e-12)


def test_the_worker_that_replaces_all_clients_has_their_throughput() -> None:
    assert job_seconds(pooled(held("{high: 5}")), 0).tolist() == pytest.approx([1.5])


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["compute.harmonic_job_seconds=1.5"], "exactly one of step_seconds and harmonic_job_seconds is needed, got both"),
        (["compute={kind: per_step}"], "exactly one of step_seconds and harmonic_job_seconds is needed, got neither"),
        (["compute={kind: per_step, harmonic_job_seconds: 0}"], "compute.harmonic_job_seconds must be > 0, got 0"),
        (["compute={kind: per_job, harmonic_job_seconds: 1}"], "unknown key compute.harmonic_job_seconds"),
        (
            ["compute={kind: per_step, harmonic_job_seconds: 1.5}", "local={epochs: 2}"],
            "compute.harmonic_job_seconds needs local.steps, .* got epochs 2",
        ),
    ],
)
def test_where_throughput_cannot_be_held(overrides: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load("digits-demo", overrides)


@pytest.mark.parametrize("key", ["compute.slowdown", "network"])
def test_a_factor_that_is_lost_to_rounding(key: str) -> None:
    """A client that takes no time, or a link without a rate."""
    wide = "{kind: lognormal, log_sigma: 5}" if key != "network" else "{upload_megabit_per_second: 1, upload_log_sigma: 5}"
    scenario = load("digits-demo", ["clients=5000", f"{key}={wide}"])
    with pytest.raises(UsageError, match=r"log_sigma 5: the factor of client \d+ is 0 to six decimals; lower it"):
        link_rates(scenario, 0) if key == "network" else compute(scenario, 0)


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


# ---- full gradients, exchanges, drawn jobs


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
