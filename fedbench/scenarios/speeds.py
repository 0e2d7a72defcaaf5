"""Draws how fast every client is, once per seed."""

from __future__ import annotations

import math

import numpy as np

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream, draw_per_client
from fedbench.scenarios.compute_parts import ExponentialSteps, Fadas, SizeScore
from fedbench.scenarios.draws import log_gamma
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.slowdowns import ByLabel, Slowdown
from fedbench.types import Integers, Weights

Counts = Weights
"""How many examples of every class every client has (N, C)."""


def rounded(factors: Weights) -> Weights:
    """Returns the factors, rounded to six decimals. So the last bits of powers and exponentials,
    which differ between machines, have no effect."""
    return np.asarray(np.round(factors, 6), np.float64)


def lognormal(log_sigma: float, k: int, purpose: Purpose, clients: int, seed: int) -> Weights:
    """Returns exp(log_sigma z) for every client (N,), where z ~ N(0, 1) is drawn from the client's
    stream number k of the purpose. UsageError if a factor is 0 or infinite to six decimals."""
    factors = rounded(np.exp(log_sigma * np.array([RandomStream(seed, purpose, i, k).normal(1)[0] for i in range(clients)])))
    if not (np.isfinite(factors) & (factors > 0)).all():
        odd = int(np.flatnonzero(~(np.isfinite(factors) & (factors > 0)))[0])
        raise UsageError(f"log_sigma {log_sigma:g}: the factor of client {odd} is {factors[odd]:g} to six decimals; lower it")
    return factors


def slowdowns(slowdown: Slowdown, clients: int, seed: int) -> Weights:
    """Returns the factor on the step time of every client (N,), by the law of the part.

    Source: Wang et al. 2024 (DeFedAvg), experiments ("speeds uniform on [1, 5]"), read as slowdowns
    unless kind = speed.
    """
    if slowdown.log_sigma is not None:
        return lognormal(slowdown.log_sigma, 5, Purpose.speed, clients, seed)
    u = draw_per_client(seed, Purpose.speed, clients)
    low, high = slowdown.low, slowdown.high
    if slowdown.shape is not None:
        return rounded(low * (1 - u * (1 - (low / high) ** slowdown.shape)) ** (-1 / slowdown.shape))
    drawn = low + (high - low) * u
    return drawn if slowdown.kind == "slowdown" else high / drawn


def dealt(factors: Weights, slowdown: Slowdown, seed: int, counts: Counts) -> Weights:
    """Returns the same factors (N,), dealt out by rank as `by_label` or `by_size` says; see
    `ByLabel`. UsageError if all classes would be rare."""
    if slowdown.by_label is not None:
        trait, strength = _share_of_rare_classes(slowdown.by_label, seed, counts), slowdown.by_label.strength
    elif slowdown.by_size is not None:
        trait, strength = counts.sum(axis=1), slowdown.by_size.strength
    else:
        return factors
    noise = np.array([RandomStream(seed, Purpose.speed, i, 1).normal(1)[0] for i in range(len(counts))])
    score = strength * _standardised(trait) + math.sqrt(1 - strength**2) * noise
    dealt = np.empty(len(counts))
    dealt[np.argsort(score, kind="stable")] = np.sort(factors)
    return dealt


def _share_of_rare_classes(by_label: ByLabel, seed: int, counts: Counts) -> Weights:
    classes = counts.shape[1]
    if by_label.rare_classes >= classes:
        raise UsageError(
            f"compute.slowdown.by_label.rare_classes must be less than the {classes} classes of the task, got {by_label.rare_classes}"
        )
    rare = RandomStream(seed, Purpose.speed, 0, 2).permutation(classes)[: by_label.rare_classes]
    return np.asarray(counts[:, rare].sum(axis=1) / counts.sum(axis=1))


def mean_step_seconds(steps: ExponentialSteps, clients: int, seed: int) -> Weights:
    """Returns the mean seconds of a local step of every client (N,)."""
    slow = np.argsort(draw_per_client(seed, Purpose.speed, clients), kind="stable")[: round(steps.slow_share * clients)]
    seconds = np.full(clients, steps.fast_mean_seconds)
    seconds[slow] = steps.slow_mean_seconds
    return seconds


def delay_classes(scenario: Scenario, assignment: SizeScore | Fadas, seed: int, counts: Counts | None) -> Integers:
    """Returns the class of every client (N,): 0 for short, 1 for medium, 2 for long."""
    if isinstance(assignment, Fadas):
        shapes = assignment.scale * np.array([3.0, 2.0, 1.0])
        return np.array([log_gamma(RandomStream(seed, Purpose.speed, i), shapes).argmax() for i in range(scenario.clients)])
    sizes = given(counts, scenario, "compute.assignment size_score").sum(axis=1)
    noise = np.array([RandomStream(seed, Purpose.speed, i).normal(1)[0] for i in range(scenario.clients)])
    score = _standardised(sizes) + assignment.gamma * noise
    long = math.floor(round(assignment.long_share * scenario.clients, 9))  # 0.29 * 100 is a little less than 29
    medium = round(assignment.medium_share * scenario.clients)
    classes = np.zeros(scenario.clients, np.int64)
    ranked = np.argsort(-score, kind="stable")
    classes[ranked[: long + medium]] = 1
    classes[ranked[:long]] = 2
    return classes


def given(counts: Counts | None, scenario: Scenario, what: str) -> Counts:
    """Returns the counts. UsageError if there are none, for the part `what` that needs them."""
    if counts is None:
        raise UsageError(f"scenario {scenario.name}: {what} needs to know who has which examples")
    return counts


def _standardised(values: Weights) -> Weights:
    """Returns the values shifted and scaled to mean 0 and variance 1; all 0 if they are equal, so
    that the noise alone decides."""
    spread = values.std()
    return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0))
