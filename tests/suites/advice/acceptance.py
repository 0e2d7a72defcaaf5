"""Does advice hold? Asks it for forty scenarios, and then runs every algorithm of the map on them.

    python -m tests.suites.advice.acceptance FOLDER [--map FILE] [--price] [-j 2]

The scenarios follow from SEED, which was committed before any map. 25 lie on the map, between its
levels; of the others 5 have 30 or 1,000 clients, 7 another model, and 3 another task. All
algorithms have the options that the map holds for the place. Runs go to FOLDER, and the same
command goes on where it was cut short. `--price` says what is missing.

Advice holds if the named set has a row within 10 % of the best in 36 of 40, and the median regret
of the first named is 10 % or less. A row that misses a target has a lower bound for its cost: it is
neither the best nor within 10 %. Where advice cannot say, it names nothing, and that is no hit.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

import fedbench as fb
from fedbench.analysis.axes import SECONDS
from fedbench.analysis.costs import reached
from fedbench.analysis.map import saved
from fedbench.analysis.map.saved import Saved
from fedbench.engine.heterogeneity import Heterogeneity
from fedbench.engine.spec import RunSpec
from fedbench.registry import algorithm
from fedbench.results.record import Record
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.scenarios.schema import Scenario
from fedbench.suites import campaign
from fedbench.suites.advice.advise import SHIPPED
from fedbench.suites.advice.place import levels
from fedbench.suites.advice.rows import refused, started, tuned_near
from fedbench.suites.design import schema as designs
from fedbench.suites.price import Rate, planned

SEED, SEEDS, BASE, COST = 4605, 3, "map-fashion", SECONDS.name
ON, HITS, REGRET, CLOSE = 25, 36, 0.10, 1.1
CNN, SOFTMAX = ("task.model=cnn_21840",), ("task.model=softmax",)
DIGITS = ("task={name: digits, model: mlp}", "clients=40", "partition.min_examples=2", "public.size=142")
OFF = [*[("clients=30",)] * 3, *[("clients=1000",)] * 2, *[CNN] * 4, *[SOFTMAX] * 3, *[DIGITS] * 3]
SHARES = (0.8, 0.9, 0.95)
"""Targets for another task or model: shares of the accuracy of central training."""
CENTRAL = ("budget.stop_at_target=false", "budget.hold=points", "budget.seconds=20000", "targets=[]")


@dataclass(frozen=True)
class Asked:
    """A scenario, as keys of the map's scenario that are set. `other` are those that put it off the
    map; none if it lies on it."""

    other: tuple[str, ...]
    keys: tuple[str, ...]

    def scenario(self, accuracy: Mapping[tuple[str, ...], float]) -> Scenario:
        """The scenario; `accuracy` is that of central training, by the keys of a task."""
        keys = [*self.other, *self.keys]
        if self.other in accuracy:
            keys.append(f"targets=[{', '.join(f'{{value: {share * accuracy[self.other]:.3f}}}' for share in SHARES)}]")
        return load(BASE, keys)


design = functools.cache(lambda: designs.load("map"))


def drawn(seed: int = SEED) -> list[Asked]:
    """The scenarios, those on the map first."""
    generator = np.random.Generator(np.random.Philox(seed))
    return [Asked(other, tuple(_keys(generator, other))) for other in [*[()] * ON, *OFF]]


def _keys(draw: np.random.Generator, other: tuple[str, ...]) -> Iterator[str]:
    """A place within the ranges of all factors, seldom at a level. Speed is tied to something in
    every third scenario in which it can be."""
    most = next((int(key.split("=")[1]) for key in other if key.startswith("clients=")), 100)
    spread, available = max(0.0, draw.uniform(-0.2, 1.2)), min(1.0, draw.uniform(0.5, 1.25))
    upload, steps, work = (
        math.exp(draw.uniform(math.log(low), math.log(high))) for low, high in ((0.02, 3), (2, 30), (5, min(most, 100)))
    )
    skew, tie = str(draw.choice(["iid", "dirichlet", "dirichlet", "two_class"])), draw.random()
    alpha = math.exp(draw.uniform(math.log(0.1), 0))
    yield f"partition.kind={skew}"
    if skew == "dirichlet":
        yield f"partition.alpha={alpha:.3g}"
    by = "by_label" if tie < 1 / 6 and skew != "iid" else "by_size" if tie < 1 / 3 and skew == "dirichlet" else ""
    tied = f", {by}: {{strength: 0.9}}" if by else ""
    yield f"compute.slowdown={{{f'kind: lognormal, log_sigma: {spread:.3g}{tied}' if spread >= 0.005 else ''}}}"
    if available < 1:
        on = 15 * available
        yield f"availability={{kind: alternating, mean_on_seconds: {on:.3g}, mean_off_seconds: {15 - on:.3g}, when_offline: paused}}"
    yield from (f"network.upload_over_compute={upload:.3g}", f"local.steps={round(steps)}", f"at_work={round(work)}")
    place = {"spread": spread, "available": available, "upload": upload, "steps": steps, "at_work": work}
    yield f"budget.seconds={2000 * math.prod(_longer(name, value) for name, value in place.items()):.6g}"


def _longer(name: str, value: float) -> float:
    """By what the design of the map multiplies the budget at a level, between levels on the log
    scale."""
    factor = design().factors[name]
    scaled = math.log if factor.scale == "log" else float
    times = [math.log(level.times.get("budget.seconds", 1.0)) for level in factor.levels]
    return math.exp(float(np.interp(scaled(value), [scaled(number) for number in factor.numbers or ()], times)))


def central(of: Sequence[Asked]) -> dict[tuple[str, ...], RunSpec]:
    """The runs of central training, by the keys of a task that is not the map's."""
    tasks = dict.fromkeys(one.other for one in of if any(key.startswith("task") for key in one.other))
    return {keys: RunSpec(load(BASE, [*keys, *CENTRAL]), algorithm("centralised"), 0) for keys in tasks}


def accuracy_of(record: Record) -> float:
    """The median accuracy over the second half of a run."""
    seconds, accuracy = record.curves["seconds"], record.curves["test_accuracy"]
    return float(np.median(np.asarray(accuracy)[np.asarray(seconds) >= seconds[-1] / 2]))


Rows = Mapping[str, Sequence[RunSpec]]
"""The runs of every algorithm, by name."""


def rows(scenario: Scenario, given: Saved) -> Rows:
    """The runs of all algorithms of the map that are compared on a scenario, by name."""
    about, costs = given.about, given.costs[COST]
    place = {one.factor: one.taken for one in levels(Heterogeneity(scenario), costs, about.numbers)}
    selectors = {name: about.selectors.get(name, name) for name in costs.algorithms if name not in about.public_data}
    options = {name: tuned_near(name, place, costs, about)[1] for name in selectors}
    return {
        name: [RunSpec(scenario, started(selectors[name], options[name], scenario), seed) for seed in range(SEEDS)]
        for name, why in refused(selectors, scenario, 0, options).items()
        if not why
    }


@dataclass(frozen=True)
class Outcome:
    """What became of one advice: whether it named a row within CLOSE of the best, and the cost of
    the first over that of the best, infinite if it named none."""

    hit: bool
    regret: float


def outcome(named: Sequence[str], runs: Mapping[str, Sequence[Record]]) -> Outcome:
    """Judges an advice by the runs of all algorithms."""
    found = reached(runs).on(SECONDS)
    cost = dict(zip(found.rows, found.score.tolist(), strict=True))
    whole = dict(zip(found.rows, np.logical_not(found.missed.any(axis=(0, 2))).tolist(), strict=True))
    return judged(named, cost, whole)


def judged(named: Sequence[str], cost: Mapping[str, float], whole: Mapping[str, bool]) -> Outcome:
    """The same of log costs, and of whether a row misses nothing."""
    best = min((cost[name] for name in cost if whole[name]), default=math.inf)
    hit = any(whole.get(name, False) and cost[name] <= best + math.log(CLOSE) for name in named)
    return Outcome(hit, math.exp(cost[named[0]] - best) if named and named[0] in cost else math.inf)


def summary(found: Sequence[Outcome]) -> str:
    """How often advice holds, with the binomial interval of 95 %, and the regret of the first."""
    hits, regret = sum(one.hit for one in found), float(np.median([one.regret for one in found]))
    interval = binomtest(hits, len(found)).proportion_ci()
    return (
        f"{hits} of {len(found)} named sets have a row within 10 % of the best ({100 * interval.low:.0f} to {100 * interval.high:.0f} %); "
        f"median cost of the first over the best {regret:.3f}"
    )


def holds(found: Sequence[Outcome]) -> bool:
    """Whether advice is good enough."""
    return sum(one.hit for one in found) >= HITS and float(np.median([one.regret for one in found])) <= 1 + REGRET


def price(wanted: Sequence[RunSpec]) -> str:
    """What runs cost on one core: by their plans, and short runs of the first of every scenario."""
    hours = 0.0
    for _, several in itertools.groupby(wanted, key=lambda spec: spec.scenario.content_hash()):
        of_one = list(several)
        rate = Rate.measured(of_one[0])
        for spec in of_one:
            plan, _ = planned(spec)
            hours += 0.0 if plan is None else rate.seconds(plan.trained_steps) / 3600
    return f"{len(wanted):,} runs, {hours:.1f} core hours at most"


def computed(wanted: Sequence[RunSpec], store: Store, processes: int) -> Mapping[str, Record]:
    """The records of runs by id; those that the store lacks are computed. SystemExit names the
    first that fails."""
    tally = campaign.compute(wanted, store, processes=processes)
    for spec, why in tally.failed:
        raise SystemExit(f"{len(tally.failed)} runs failed, the same command tries again; the first: {spec.named}: {why}")
    found = {spec.run_id: store.find(spec.scenario.name, spec.algorithm.name, spec.run_id) for spec in wanted}
    return {run_id: record for run_id, record in found.items() if record is not None}


def answers(scenarios: Sequence[Scenario], specs: Sequence[Rows], records: Mapping[str, Record], file: Path) -> Iterator[Outcome]:
    """Asks for advice on every scenario, judges it by the runs, and prints what became of it."""
    for number, (scenario, rows_there) in enumerate(zip(scenarios, specs, strict=True), 1):
        advice = fb.advise(scenario, map=file, cost=COST)
        named = [choice.algorithm for choice in advice.choices] if advice.is_sure else []
        found = outcome(named, {name: [records[spec.run_id] for spec in several] for name, several in rows_there.items()})
        print(f"{number:2}  {'hit ' if found.hit else 'miss'}  {found.regret:.3f}  {', '.join(named) or 'cannot say'}")
        yield found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--map", type=Path, default=SHIPPED)
    parser.add_argument("--price", action="store_true")
    parser.add_argument("-j", "--processes", type=int, default=1)
    words = parser.parse_args(arguments)
    asked, given, store = drawn(), saved.read(words.map), Store(words.folder)
    store.prepare()
    reference = central(asked)
    trained = computed(list(reference.values()), store, words.processes)
    accuracy = {keys: accuracy_of(trained[spec.run_id]) for keys, spec in reference.items()}
    scenarios = [one.scenario(accuracy) for one in asked]
    specs = [rows(scenario, given) for scenario in scenarios]
    wanted = [spec for rows_there in specs for several in rows_there.values() for spec in several]
    if words.price:
        print(price(campaign.missing(store, wanted)))
        return
    found = list(answers(scenarios, specs, computed(wanted, store, words.processes), words.map))
    lies_on = [not one.other for one in asked]
    for where, wanted_there in (("on the map", True), ("off the map", False)):
        print(f"{where}: {summary([one for one, on in zip(found, lies_on, strict=True) if on == wanted_there])}")
    print(f"all: {summary(found)}")
    print(
        "advice holds"
        if holds(found)
        else f"advice does not hold: expected {HITS} of {ON + len(OFF)}, and a median of {1 + REGRET:.2f}"
    )


if __name__ == "__main__":
    main()
