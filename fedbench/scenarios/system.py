"""Converts a scenario into what the virtual clock needs: durations, local steps and
availability."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream, draw_per_client
from fedbench.kernels.scheduler import Availability, Duration, LocalSteps
from fedbench.scenarios.availability_parts import Alternating
from fedbench.scenarios.compute_parts import DelayClasses, Devices, ExponentialSteps, PerJob, PerStep, SizeScore
from fedbench.scenarios.local_parts import DifferentSteps, ExtremeSteps, LinearSteps, NormalSteps, UniformSteps
from fedbench.scenarios.network_parts import Network
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.speeds import Counts, dealt, delay_classes, given, lognormal, mean_step_seconds, slowdowns
from fedbench.types import Array, Weights

BITS_PER_MEGABYTE = 8e6
BITS_PER_MEGABIT = 1e6
LARGEST = 2**31 - 1
Rate = float | Weights | None


def needs_counts(scenario: Scenario) -> bool:
    """Returns whether durations or local steps depend on which examples the clients have."""
    delays = scenario.compute
    return (
        scenario.local.epochs is not None
        or (isinstance(delays, DelayClasses) and isinstance(delays.assignment, SizeScore))
        or (isinstance(delays, PerStep) and delays.slowdown.tied_to != "")
    )


def compute(scenario: Scenario, seed: int, counts: Counts | None = None) -> Duration:
    """Returns the computing time of a step or of a job. `counts` are needed where `needs_counts`
    says so; without them that is a UsageError."""
    match scenario.compute:
        case PerStep(step_seconds=seconds, slowdown=slowdown) as part:
            factors = slowdowns(slowdown, scenario.clients, seed)
            if slowdown.tied_to:
                factors = dealt(factors, slowdown, seed, given(counts, scenario, f"compute.slowdown.{slowdown.tied_to}"))
            if seconds is None:
                seconds = _seconds_that_hold(
                    part.harmonic_job_seconds or 0.0, factors * mean_steps(scenario, seed), scenario.name
                )
            return Duration.constant(seconds * factors, per_step=True)
        case PerJob(time=time):
            a, *b = (value for name, value in time if name != "distribution")
            return Duration(kind=time.distribution, a=a, b=b[0] if b else None)
        case DelayClasses() as delays:
            bounds = np.array([delays.short_seconds, delays.medium_seconds, delays.long_seconds])
            low, high = bounds[delay_classes(scenario, delays.assignment, seed, counts)].T
            return Duration.uniform(low.copy(), high.copy())
        case ExponentialSteps() as steps:
            return Duration.exponential(mean_step_seconds(steps, scenario.clients, seed), per_step=True)
        case Devices(seconds_per_example=seconds):
            return Duration.constant(scenario.local.batch_size * np.array(seconds), per_step=True)


def _seconds_that_hold(harmonic_mean: float, jobs: Weights, scenario: str) -> float:
    """Returns the seconds of a step with which the clients' jobs have this harmonic mean. `jobs`
    (N,) are their times if a step takes a second. UsageError if one takes no time.

    The sum is rounded once, so it depends neither on its order nor on the machine.
    """
    if not jobs.all():
        raise UsageError(
            f"scenario {scenario}: compute.harmonic_job_seconds: every client's job must take time, and the slowdown of client "
            f"{int(np.flatnonzero(jobs == 0)[0])} is 0 to six decimals; lower compute.slowdown.log_sigma"
        )
    return harmonic_mean * math.fsum((1 / jobs).tolist()) / len(jobs)


def link_rates(scenario: Scenario, seed: int) -> tuple[Rate, Rate]:
    """Returns the rates of downloads and of uploads, in megabit per second. A rate is one number
    for all clients, one per client (N,), or None if it is not limited."""
    network, draws = scenario.network, (Purpose.speed, scenario.clients, seed)
    down = _spread(network.download_megabit_per_second, network.download_log_sigma, 3, *draws)
    up = _spread(network.upload_megabit_per_second, network.upload_log_sigma, 4, *draws)
    return down, up


def upload_rate(scenario: Scenario, seed: int, vector_bytes: int, counts: Counts | None = None) -> float:
    """Returns the rate of uploads that `network.upload_over_compute` states, in megabit per second.

    Args:
        scenario: The scenario, which has that key.
        seed: The seed of the run.
        vector_bytes: The size of one vector of the model.
        counts: As in `compute`.

    Raises:
        UsageError: The median client's jobs take no time, or have no mean.
    """
    job = float(np.median(job_seconds(scenario, seed, counts)))
    if not 0 < job < math.inf:
        raise UsageError(
            f"scenario {scenario.name}: network.upload_over_compute needs jobs that take time, and the median client's compute for "
            f"{job:g} s on average"
        )
    return 8.0 * vector_bytes / (BITS_PER_MEGABIT * (scenario.network.upload_over_compute or 0.0) * job)


def _spread(median: float | None, log_sigma: float, k: int, purpose: Purpose, clients: int, seed: int) -> Rate:
    """Returns median exp(log_sigma z) with a z ~ N(0, 1) per client, or the median alone if nothing
    is spread."""
    if median is None or log_sigma == 0:
        return median
    return median * lognormal(log_sigma, k, purpose, clients, seed)


def transfer(network: Network, megabit_per_second: Rate, payload_bytes: int, exchanges: int = 1) -> Duration:
    """Returns the time of all messages of a job in one direction: the latency of every exchange,
    and their size over the rate.

    Args:
        network: The scenario's network.
        megabit_per_second: The rate of this direction; None if it is not limited.
        payload_bytes: The size of the vectors in all messages. It does not count with message:
            fixed, where all messages have the size of one together, as in the papers that price so.
        exchanges: How often the job's latency is paid.
    """
    latency = exchanges * network.latency_seconds
    if megabit_per_second is None:
        return Duration.constant(latency)
    return Duration.constant(latency + message_bits(network, payload_bytes) / (megabit_per_second * BITS_PER_MEGABIT))


def message_bits(network: Network, payload_bytes: int) -> float:
    """Returns the bits of all messages of a job in one direction: those of the payload, or with
    message: fixed the number that the scenario states."""
    return 8.0 * payload_bytes if network.message_megabytes is None else network.message_megabytes * BITS_PER_MEGABYTE


def local_steps(scenario: Scenario, seed: int, counts: Counts | None = None) -> LocalSteps:
    """Returns the local steps of jobs. `counts` are needed if the scenario states epochs."""
    steps = scenario.local.steps
    if isinstance(steps, int):
        return LocalSteps(values=steps)
    if steps is not None:
        return _different_steps(steps, scenario, seed)
    sizes = given(counts, scenario, "local.epochs").sum(axis=1)
    return LocalSteps(values=((scenario.local.epochs or 0) * np.ceil(sizes / scenario.local.batch_size)).astype(np.int32))


def steps_of_all(scenario: Scenario, seed: int, counts: Counts | None) -> int:
    """Returns the number of local steps that all clients have, which is the most that a polled
    client does. UsageError if it differs between clients or jobs."""
    drawn = local_steps(scenario, seed, counts)
    steps = np.unique(np.asarray(drawn.values)) if drawn.values is not None else np.empty(0)
    if len(steps) != 1:
        got = f"gives {steps[0]} to {steps[-1]}" if len(steps) else "draws another for every job"
        raise UsageError(
            f"scenario {scenario.name}: a polled client does at most max_steps steps, one number for all clients, and the scenario's "
            f"part local {got}; set max_steps of the algorithm, or local.steps to a number"
        )
    return int(steps[0])


def one_step(duration: Duration, steps: float | Weights) -> Duration:
    """Returns the time of one local step. If the time of a whole job is drawn, a step takes an
    equal share of it. `steps` of a job are one number, or one per client (N,)."""
    if duration.per_step:
        return duration
    if duration.kind == "lognormal":
        return dataclasses.replace(duration, a=duration.a - np.log(steps), per_step=True)
    b = duration.b / steps if duration.kind == "uniform" and duration.b is not None else duration.b
    return dataclasses.replace(duration, a=duration.a / steps, b=b, per_step=True)


def mean_steps(scenario: Scenario, seed: int, counts: Counts | None = None) -> Weights:
    """Returns the mean number of local steps of every client's jobs (N,). For steps that are drawn
    for every job it is the mean of the normal distribution, but at least 1."""
    steps = local_steps(scenario, seed, counts)
    mean = max(1.0, steps.normal[0]) if steps.values is None and steps.normal is not None else steps.values
    return np.broadcast_to(np.asarray(mean, np.float64), scenario.clients).copy()


def step_seconds(scenario: Scenario, seed: int, counts: Counts | None = None) -> Weights:
    """Returns the mean virtual seconds of one local step of every client (N,), as in `one_step`.
    They are infinite for a Pareto time of shape <= 1. `counts` are needed where `needs_counts` says
    so."""
    duration = one_step(compute(scenario, seed, counts), mean_steps(scenario, seed, counts))
    return np.broadcast_to(means(duration), scenario.clients).copy()


def job_seconds(scenario: Scenario, seed: int, counts: Counts | None = None) -> Weights:
    """Returns the mean virtual seconds that every client computes for a job (N,). They are infinite
    for a Pareto time of shape <= 1. `counts` are needed where `needs_counts` says so."""
    return step_seconds(scenario, seed, counts) * mean_steps(scenario, seed, counts)


def means(duration: Duration) -> Weights:
    """Returns the mean over draws: one number for all clients, or one per client (N,). It is
    infinite for a Pareto time of shape <= 1."""
    a, b = np.asarray(duration.a, np.float64), np.asarray(duration.b, np.float64)
    match duration.kind:
        case "uniform":
            a = (a + b) / 2
        case "lognormal":
            a = np.exp(a + b * b / 2)
        case "pareto":
            a = np.where(b > 1, a * b / np.maximum(b - 1, 1e-300), np.inf)
    return a


def poll_seconds(scenario: Scenario, seed: int, steps: int, counts: Counts | None) -> float:
    """Returns the period of polls for algorithms that do not set one: the mean over the clients of
    the computing time of `steps` local steps. UsageError if that time has no mean.

    Source: our choice, the papers do not say. A client of mean speed has just done all its steps at
    the first poll after its start.
    """
    seconds = steps * float(means(one_step(compute(scenario, seed, counts), steps)).mean())
    if not np.isfinite(seconds):
        raise UsageError(
            f"scenario {scenario.name}: its compute time has no mean to poll by; set period_seconds of the algorithm"
        )
    return seconds


def _different_steps(steps: DifferentSteps | tuple[int, ...], scenario: Scenario, seed: int) -> LocalSteps:
    """Returns the steps of clients that differ. In random mode the scheduler draws them for every
    job; otherwise every job of a client has the same number."""
    clients = scenario.clients
    values: Array
    match steps:
        case NormalSteps(mode="random"):
            return LocalSteps(normal=(steps.mean, steps.variance))
        case NormalSteps():
            z = np.array([RandomStream(seed, Purpose.steps, client).normal(1)[0] for client in range(clients)])
            values = np.maximum(steps.minimum, np.abs(steps.mean + math.sqrt(steps.variance) * z))
        case ExtremeSteps():
            values = np.append(np.full(clients - 1, steps.low), steps.high)
        case UniformSteps():
            streams = (RandomStream(seed, Purpose.steps, client) for client in range(clients))
            values = np.array([steps.low + stream.below(steps.high - steps.low) for stream in streams])
        case LinearSteps():
            values = steps.low + steps.increment * np.arange(1, clients + 1)
        case _:
            values = np.array(steps)
    if values.max() > LARGEST:
        raise UsageError(
            f"scenario {scenario.name}: local.steps: a client does at most {LARGEST} steps, got {values.max():.0f} for client "
            f"{values.argmax()}"
        )
    return LocalSteps(values=values.astype(np.int32))


def availability(scenario: Scenario, seed: int) -> Availability:
    """Returns when clients are there, which is a function of scenario and seed."""
    part = scenario.availability
    fields = dict(part)
    if isinstance(part, Alternating):
        del fields["rarely"]
        fields["mean_off_seconds"] = mean_absences(part, scenario.clients, seed)
    return Availability(**fields)


def mean_absences(a: Alternating, clients: int, seed: int) -> float | Weights:
    """Returns the mean absence in seconds: one number for all clients, or one per client (N,) where
    some are rarely there."""
    if a.rarely is None:
        return a.mean_off_seconds
    is_rare = draw_per_client(seed, Purpose.rarity, clients) < a.rarely.share
    return np.where(is_rare, a.rarely.mean_off_seconds, a.mean_off_seconds)


def batches(scenario: Scenario, counts: Counts) -> npt.NDArray[np.int32]:
    """Returns how many mini-batches cover the examples of every client (N,). A full-batch gradient
    counts as so many mini-batch gradients."""
    return np.asarray(np.ceil(counts.sum(axis=1) / scenario.local.batch_size), np.int32)


def full_gradient_seconds(scenario: Scenario, counts: Counts, seed: int) -> float:
    """Returns the virtual seconds until the slowest client has computed the gradient over all its
    examples. UsageError if the computing time has no mean."""
    seconds = float((step_seconds(scenario, seed, counts) * batches(scenario, counts)).max())
    if not np.isfinite(seconds):
        raise UsageError(
            f"scenario {scenario.name}: the algorithm asks for a full-batch gradient of every client, and its compute time has no mean"
        )
    return seconds
