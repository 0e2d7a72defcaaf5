"""How fast clients are: drawn slowdowns, slowdowns that follow their labels, and delay classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.scenarios.compute_parts import DelayClasses
from fedbench.scenarios.load import load
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.slowdowns import ByLabel, BySize, Slowdown
from fedbench.scenarios.speeds import dealt, delay_classes, slowdowns
from fedbench.scenarios.system import (
    compute,
    link_rates,
    needs_counts,
)
from fedbench.types import Weights


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


def of_two_sizes(clients: int) -> Weights:
    """Client i has i + 1 examples, of one class or another."""
    return np.diag(np.arange(1.0, clients + 1))


def correlation(counts: Weights, **tie: Any) -> float:
    """Of the rank in speed with the number of the client."""
    part = Slowdown(low=1, high=5, **tie)
    factors = slowdowns(part, len(counts), 1)
    found = dealt(factors, part, 1, counts)
    assert sorted(found) == sorted(factors), "how fast the clients are together is as it was"
    return float(np.corrcoef(np.argsort(np.argsort(found)), np.arange(len(counts)))[0, 1])


def test_slow_clients_own_the_rare_classes_the_more_the_stronger() -> None:
    strong, none, some = (correlation(of_two_classes(400), by_label=ByLabel(strength=s, rare_classes=1)) for s in (1, 0, 0.8))
    assert strong == pytest.approx(1.0)
    assert none == pytest.approx(0.0, abs=0.12)
    assert 0.65 < some < 0.9


def test_slow_clients_have_many_examples_the_more_the_stronger() -> None:
    strong, none, some = (correlation(of_two_sizes(400), by_size=BySize(strength=s)) for s in (1, 0, 0.8))
    assert strong == pytest.approx(1.0)
    assert none == pytest.approx(0.0, abs=0.12)
    assert 0.65 < some < 0.9


def test_of_equal_sizes_and_shares_the_noise_decides_alike() -> None:
    """Both ties rank by one rule."""
    ties: tuple[dict[str, Any], ...] = ({"by_label": ByLabel(strength=0.5, rare_classes=1)}, {"by_size": BySize(strength=0.9)})
    by_label, by_size = (dealt(np.arange(1.0, 21), Slowdown(high=5, **tie), 3, np.ones((20, 2))) for tie in ties)
    assert by_label.tolist() == by_size.tolist()


def test_slowdowns_are_dealt_out_once() -> None:
    with pytest.raises(UsageError, match="dealt out by one rank: expected by_label or by_size, got both"):
        load("digits-demo", ["compute.slowdown.by_label={strength: 0}", "compute.slowdown.by_size={strength: 0}"])
    with pytest.raises(UsageError, match=r"compute.slowdown.by_size.strength must be <= 1, got 1.5"):
        load("digits-demo", ["compute.slowdown.by_size={strength: 1.5}"])


def test_a_tie_to_size_is_in_the_clients_times() -> None:
    """Four clients of 10, 40, 30 and 20 examples."""
    scenario = load("digits-demo", ["clients=4", "compute.slowdown.by_size={strength: 1}"])
    assert needs_counts(scenario)
    with pytest.raises(UsageError, match=r"compute.slowdown.by_size needs to know who has which examples"):
        compute(scenario, 0)
    seconds = np.asarray(compute(scenario, 0, column(10, 40, 30, 20)).a)
    assert np.argsort(seconds).tolist() == [0, 3, 2, 1]
    free = np.asarray(compute(load(scenario, ["compute.slowdown.by_size=null"]), 0).a)
    assert sorted(seconds) == sorted(free)


def test_a_client_has_the_same_noise_whoever_else_there_is() -> None:
    """With equal shares only the noise ranks; more clients do not change the order of the first."""
    part = Slowdown(by_label=ByLabel(strength=0.5, rare_classes=1))
    few, many = (dealt(np.arange(1.0, n + 1), part, 3, np.ones((n, 2))) for n in (20, 200))
    assert np.argsort(few).tolist() == np.argsort(many[:20]).tolist()


def test_rare_classes_leave_others() -> None:
    scenario = load("digits-demo", ["compute.slowdown.by_label={strength: 1, rare_classes: 10}"])
    with pytest.raises(UsageError, match="needs to know who has which examples"):
        compute(scenario, 0)
    with pytest.raises(UsageError, match="less than the 10 classes of the task, got 10"):
        compute(scenario, 0, np.ones((scenario.clients, 10)))
    assert needs_counts(scenario)


# ---- delay classes [FedEcho, FADAS]


def delays(*overrides: str, clients: int = 50) -> Scenario:
    compute = "compute={kind: delay_classes, long_seconds: [500, 800]}"
    return load("digits-demo", [f"clients={clients}", compute, *overrides])


def column(*sizes: float) -> Weights:
    """Clients of so many examples, all of one class."""
    return np.array(sizes, np.float64)[:, None]


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
    shares = "compute.assignment={kind: size_score, gamma: 0, long_share: 0.58, medium_share: 0}"
    assert classes(delays(shares), 3, sizes).count(2) == 29, "and not 28, although 0.58 * 50 is a little less in binary"
    with pytest.raises(UsageError, match=r"long_share and medium_share must be at most 1 together, got 0\.7 and 0\.6"):
        delays("compute.assignment={kind: size_score, long_share: 0.7, medium_share: 0.6}")


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
