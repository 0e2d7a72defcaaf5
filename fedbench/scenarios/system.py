"""From a scenario to what the virtual clock needs: durations and steps as arrays."""

from __future__ import annotations

import dataclasses

import numpy as np

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, draw_per_client
from fedbench.kernels.scheduler import Availability, Duration, LocalSteps
from fedbench.scenarios.schema import (
    Alternating,
    Always,
    Constant,
    Exponential,
    Lognormal,
    Network,
    Pareto,
    Periodic,
    PerJob,
    PerStep,
    Scenario,
    Slowdown,
    Uniform,
    Windows,
)
from fedbench.types import Weights

BITS_PER_MEGABYTE = 8e6
BITS_PER_MEGABIT = 1e6


def slowdowns(slowdown: Slowdown, clients: int, seed: int) -> Weights:
    """Factor on the step time of every client (N,): U(low, high), or high / U(low, high) where speeds are uniform.

    Source: [000] experiments ("speeds uniform on [1, 5]"), read as slowdowns unless kind = speed.
    """
    drawn = slowdown.low + (slowdown.high - slowdown.low) * draw_per_client(seed, Purpose.speed, clients)
    return drawn if slowdown.kind == "slowdown" else slowdown.high / drawn


def compute(scenario: Scenario, seed: int) -> Duration:
    """Computing time of a step or a job."""
    match scenario.compute:
        case PerStep(step_seconds=seconds, slowdown=slowdown):
            return Duration(a=seconds * slowdowns(slowdown, scenario.clients, seed), per_step=True)
        case PerJob(time=time):
            return _drawn(time)


def _drawn(time: Constant | Uniform | Exponential | Lognormal | Pareto) -> Duration:
    match time:
        case Constant():
            return Duration(a=time.seconds)
        case Uniform():
            return Duration(kind="uniform", a=time.low_seconds, b=time.high_seconds)
        case Exponential():
            return Duration(kind="exponential", a=time.mean_seconds)
        case Lognormal():
            return Duration(kind="lognormal", a=time.log_mean, b=time.log_sigma)
        case Pareto():
            return Duration(kind="pareto", a=time.scale_seconds, b=time.shape)


def transfer(network: Network, megabit_per_second: float | None, payload_bytes: int) -> Duration:
    """Time of one message: latency + size / rate; 0 where the rate is not limited and there is no latency."""
    if megabit_per_second is None:
        return Duration(a=network.latency_seconds)
    bits = 8.0 * payload_bytes if network.message_megabytes is None else network.message_megabytes * BITS_PER_MEGABYTE
    return Duration(a=network.latency_seconds + bits / (megabit_per_second * BITS_PER_MEGABIT))


def local_steps(scenario: Scenario, sizes: Weights | None) -> LocalSteps:
    """Local steps of every client; `sizes` (N,) are needed only where the scenario speaks of epochs."""
    if scenario.local.steps is not None:
        return LocalSteps(values=scenario.local.steps)
    if sizes is None or scenario.local.epochs is None:
        raise UsageError(f"scenario {scenario.name}: local.epochs needs the shard sizes")
    return LocalSteps(values=(scenario.local.epochs * np.ceil(sizes / scenario.local.batch_size)).astype(np.int32))


def steps_of_all(scenario: Scenario, sizes: Weights | None) -> int:
    """The number of local steps, where all clients have the same: the most that a polled client does."""
    steps = np.unique(np.asarray(local_steps(scenario, sizes).values))
    if len(steps) > 1:
        raise UsageError(
            f"scenario {scenario.name}: a polled client does at most max_steps steps, one number for all clients, and local.epochs "
            f"gives {steps[0]} to {steps[-1]}; set max_steps of the algorithm, or local.steps"
        )
    return int(steps[0])


def one_step(duration: Duration, steps: int) -> Duration:
    """The time of one local step; of a job whose time is drawn as a whole, whatever its steps, an equal share."""
    if duration.per_step:
        return duration
    if duration.kind == "lognormal":
        return dataclasses.replace(duration, a=duration.a - np.log(steps), per_step=True)
    b = duration.b / steps if duration.kind == "uniform" and duration.b is not None else duration.b
    return dataclasses.replace(duration, a=duration.a / steps, b=b, per_step=True)


def mean_seconds(duration: Duration) -> float:
    """Mean over clients and draws; infinite for a Pareto time of shape <= 1."""
    a, b = np.asarray(duration.a, np.float64), np.asarray(duration.b, np.float64)
    match duration.kind:
        case "uniform":
            a = (a + b) / 2
        case "lognormal":
            a = np.exp(a + b * b / 2)
        case "pareto":
            a = np.where(b > 1, a * b / np.maximum(b - 1, 1e-300), np.inf)
    return float(a.mean())


def poll_seconds(scenario: Scenario, seed: int, steps: int) -> float:
    """The period of polls that nobody sets: the mean over the clients of the computing time of `steps` local steps.

    Source: our choice, the papers do not say. A client of mean speed has just done all its steps at the first poll after its start.
    """
    seconds = steps * mean_seconds(one_step(compute(scenario, seed), steps))
    if not np.isfinite(seconds):
        raise UsageError(
            f"scenario {scenario.name}: its compute time has no mean to poll by; set period_seconds of the algorithm"
        )
    return seconds


def availability(scenario: Scenario, seed: int) -> Availability:
    """When clients are there; a function of scenario and seed."""
    match scenario.availability:
        case Always():
            return Availability()
        case Periodic() as a:
            return Availability(
                kind="periodic",
                period_seconds=a.period_seconds,
                on_fraction=a.on_fraction,
                phase=a.phase,
                when_offline=a.when_offline,
            )
        case Alternating() as a:
            return Availability(
                kind="alternating",
                mean_on_seconds=a.mean_on_seconds,
                mean_off_seconds=mean_absences(a, scenario.clients, seed),
                when_offline=a.when_offline,
            )
        case Windows() as a:
            return Availability(kind="table", rows=a.rows, period_seconds=a.period_seconds, when_offline=a.when_offline)


def mean_absences(a: Alternating, clients: int, seed: int) -> float | Weights:
    """Mean absence in seconds: one for all clients, or one per client (N,) where some are rarely there."""
    if a.rarely is None:
        return a.mean_off_seconds
    is_rare = draw_per_client(seed, Purpose.rarity, clients) < a.rarely.share
    return np.where(is_rare, a.rarely.mean_off_seconds, a.mean_off_seconds)


def full_gradient_seconds(scenario: Scenario, sizes: Weights, seed: int, download: float, upload: float) -> float:
    """Virtual time until every client has received the model, computed one full-batch gradient and sent it."""
    if not isinstance(scenario.compute, PerStep):
        raise UsageError(
            f"scenario {scenario.name}: the algorithm asks for a full-batch gradient of every client, whose duration is known "
            "only with compute.kind = per_step"
        )
    steps = np.ceil(sizes / scenario.local.batch_size)
    seconds = scenario.compute.step_seconds * slowdowns(scenario.compute.slowdown, scenario.clients, seed) * steps
    return float(download + seconds.max() + upload)
