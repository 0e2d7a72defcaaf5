"""Does advice hold? Asks it for scenarios drawn before any map, and then runs every algorithm of
the map on them.

    python -m tests.suites.advice.acceptance FOLDER [--map FILE] [--keep PLACE] [--picture FILE]
    [--price] [-j 2]

Advice is asked first, and its answers are written to FOLDER with the digest of the map; another map
needs another folder. Then all algorithms run with the options that the map holds for the place,
with FEW seeds each; those within 40 % of the best, and those that advice named, run with SEEDS. The
same command goes on where it was cut short. `--price` says what is missing. A run that fails leaves
its algorithm out, and is named; the same command tries it again. With `--keep` it begins from what
PLACE has of runs and answers, and at the end, also when it is cut short, PLACE gets all that FOLDER
has. `--picture` draws the result.

Advice holds if of the forty scenarios with a cap 36 have a row within 10 % of the best in the named
set, and the median regret of the first named is 10 % or less, in seconds (`judging`). All else that
is printed decides nothing: the ten scenarios with everybody at work, gradients and bytes, which are
judged by FEW seeds, how many of the printed ratios have what was measured in their interval, and
what two lists are worth that ask nobody: the five with the smallest mean regret at all points of
the map, and five drawn by chance. How often only one of two lists is good was added when the
results were there.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import json
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

import fedbench as fb
from fedbench.analysis.axes import SECONDS
from fedbench.analysis.map import saved
from fedbench.analysis.map.kept import Costs
from fedbench.analysis.map.saved import Saved
from fedbench.engine.heterogeneity import Heterogeneity
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.figures.style import WIDTHS, write
from fedbench.registry import algorithm
from fedbench.results import archive
from fedbench.results.record import Record
from fedbench.results.store import Store, write_atomically
from fedbench.scenarios.load import load
from fedbench.scenarios.schema import Scenario
from fedbench.suites import campaign
from fedbench.suites.advice import nearby
from fedbench.suites.advice.advise import SHIPPED, Choice
from fedbench.suites.advice.place import levels
from fedbench.suites.advice.rows import refused, started, tuned_near
from fedbench.suites.price import Rate, planned
from fedbench.written import Ratio
from tests.suites.advice import drawn, picture
from tests.suites.advice.drawn import Asked
from tests.suites.advice.judging import (
    BY_CHANCE,
    CLOSE,
    EVERYWHERE,
    HITS,
    OF,
    REGRET,
    Lists,
    Spent,
    alone,
    covered,
    holds,
    judged,
    shares,
    summary,
)

FEW, SEEDS, COST = 3, 10, SECONDS.name
CENTRAL = ("budget.stop_at_target=false", "budget.hold=points", "budget.seconds=20000", "targets=[]")
ANSWERS = "answers.json"
Rows = Mapping[str, Sequence[RunSpec]]
"""The runs of every algorithm, by name."""
Records = dict[str, Record]
"""By id of the run."""
Answers = Mapping[str, Sequence[Choice]]
"""By cost, the algorithms that advice names; none where it cannot say."""


def central(of: Sequence[Asked]) -> dict[tuple[str, ...], RunSpec]:
    """The runs of central training, by the keys of a task that is not the map's."""
    tasks = dict.fromkeys(one.other for one in of if one.is_other_task)
    return {keys: RunSpec(load(drawn.BASE, [*keys, *CENTRAL]), algorithm("centralised"), 0) for keys in tasks}


def accuracy_of(record: Record) -> float:
    """The median accuracy over the second half of a run."""
    seconds, accuracy = record.curves["seconds"], record.curves["test_accuracy"]
    return float(np.median(np.asarray(accuracy)[np.asarray(seconds) >= seconds[-1] / 2]))


def asked(scenarios: Sequence[Scenario], given: Saved, file: Path, folder: Path) -> list[Answers]:
    """What advice says of all scenarios: as it was written down before any run, if it was."""
    path = folder / ANSWERS
    of = {
        "map": hashlib.sha256(file.read_bytes()).hexdigest(),
        "commit": given.about.commit,
        "scenarios": [one.content_hash() for one in scenarios],
    }
    if not path.exists():
        said = [{cost: [asdict(one) for one in _named(scenario, file, cost)] for cost in given.costs} for scenario in scenarios]
        write_atomically(path, (json.dumps({"of": of, "answers": said}, indent=1) + "\n").encode())
    kept = json.loads(path.read_text(encoding="utf-8"))
    if kept["of"] != of:
        raise SystemExit(f"{path}: its answers are of another map or of other scenarios; take another folder")
    return [{cost: [_choice(one) for one in several] for cost, several in each.items()} for each in kept["answers"]]


def _named(scenario: Scenario, file: Path, cost: str) -> Sequence[Choice]:
    try:
        found = fb.advise(scenario, map=file, cost=cost)
    except UsageError as error:
        print(f"no answer for {scenario.content_hash()}, {cost}: {error}")
        return ()
    return found.choices if found.is_sure or found.worth else ()


def _choice(of: Mapping[str, object]) -> Choice:
    ratios = {axis: Ratio(*values.values()) for axis, values in of["ratios"].items()}
    return Choice(**{**of, "ratios": ratios})


def rows(scenario: Scenario, given: Saved) -> Rows:
    """The runs of all algorithms of the map that are compared on a scenario, by name."""
    about, costs = given.about, given.costs[COST]
    place = {one.factor: one.taken for one in levels(Heterogeneity(scenario), costs, about.numbers)}
    selectors = {name: about.selectors.get(name, name) for name in costs.algorithms if name not in about.public_data}
    options = {name: tuned_near(name, place, costs, about)[1] for name in selectors}
    return {
        name: [RunSpec(scenario, started(selectors[name], options[name], scenario), seed) for seed in range(SEEDS)]
        for name, why in refused(selectors, scenario, range(SEEDS), options).items()
        if not why
    }


def price(wanted: Sequence[RunSpec]) -> str:
    """What runs cost on one core: by their plans, and short runs of the first of every scenario."""
    hours = 0.0
    for _, several in itertools.groupby(wanted, key=lambda spec: spec.scenario.content_hash()):
        of_one = list(several)
        rate = Rate.measured(of_one[0])
        for spec in of_one:
            plan, _ = planned(spec)
            hours += 0.0 if plan is None else rate.seconds(plan.trained_steps) / 3600
    return f"{len(wanted):,} runs, {hours:.1f} core hours at most; {SEEDS - FEW} more of each row that may be the best"


def first(specs: Rows, count: int, names: Sequence[str] | None = None) -> list[RunSpec]:
    """The first runs of some rows, of all unless they are named."""
    return [spec for name, several in specs.items() if names is None or name in names for spec in several[:count]]


def computed(wanted: Sequence[RunSpec], store: Store, processes: int) -> Records:
    """The records of runs; those that the store lacks are computed."""
    for spec, why in campaign.compute(wanted, store, processes=processes).failed:
        print(f"failed: {spec.named}: {why}")
    found = {spec.run_id: store.find(spec.scenario.name, spec.algorithm.name, spec.run_id) for spec in wanted}
    return {run_id: record for run_id, record in found.items() if record is not None}


def spent(specs: Rows, records: Records, count: int, axis: str, names: Sequence[str] | None = None) -> Spent:
    """What rows spent, of those that have all of their first runs."""
    those = {
        name: several[:count]
        for name, several in specs.items()
        if (names is None or name in names) and all(spec.run_id in records for spec in several[:count])
    }
    runs = {name: [records[spec.run_id] for spec in several] for name, several in those.items()}
    return Spent.of(runs, axis) if runs else Spent({}, frozenset())


def again(specs: Rows, answers: Answers, records: Records) -> list[str]:
    """The rows that get all seeds: those that may be the best, and those that advice names."""
    return sorted({*spent(specs, records, FEW, COST).near(), *(choice.algorithm for choice in answers[COST])} & specs.keys())


def everywhere(costs: Costs, names: Collection[str]) -> list[str]:
    """The list of these algorithms that does not depend on the clients, as `nearby.worth` has
    it."""
    compete = np.array([name in names for name in costs.algorithms])
    means = nearby._means(nearby._over_best(costs.regret, compete), compete, share=0.5)
    return [costs.algorithms[k] for k in nearby._cheapest(means)]


def lists(answers: Answers, specs: Rows, records: Records, costs: Costs) -> Lists:
    """What advice names on a scenario, and what rows spent there."""
    whole = spent(specs, records, SEEDS, COST, again(specs, answers, records))
    named = [choice.algorithm for choice in answers[COST]]
    return Lists(named, everywhere(costs, specs), whole, spent(specs, records, FEW, COST))


def told(
    places: Sequence[Asked], said: Sequence[Answers], specs: Sequence[Rows], records: Records, several: Sequence[Lists]
) -> None:
    """Prints what became of every advice, and of all."""
    found = []
    for number, (place, one) in enumerate(zip(places, several, strict=True), 1):
        found.append(judged(one.named, one.whole))
        print(f"{number:2}  {'hit ' if found[-1].hit else 'miss'}  {found[-1].regret:.3f}  {one.words}; {place.words}")
    on, capped = drawn.ON, len(found) - drawn.AT_ONCE
    for where, those in (("on the map", found[:on]), ("off the map", found[on:capped]), ("all", found[:capped])):
        print(f"{where}: {summary(those)}")
    print("advice holds" if holds(found[:capped]) else f"advice does not hold: expected {HITS} of {OF}, and {1 + REGRET:.2f}")
    print(f"everybody at work: {summary(found[capped:])}")
    for cost in sorted(set(said[0]) - {COST}):
        each = [spent(there, records, FEW, cost) for there in specs[:capped]]
        names = [[choice.algorithm for choice in answers[cost]] for answers in said[:capped]]
        print(f"{cost}: {summary([judged(named, here) for named, here in zip(names, each, strict=True)])}")
    close = {kind: float(share[0]) * capped for kind, share in shares(several[:capped], np.array([CLOSE])).items()}
    print(
        f"the same five everywhere: {close[EVERYWHERE]:.0f} of {capped}; five drawn by chance: {close[BY_CHANCE]:.1f} of {capped} expected"
    )
    ours, theirs = alone(several[:capped])
    by_chance = binomtest(ours, ours + theirs).pvalue if ours + theirs else 1.0
    print(f"only the five named: {ours}; only the same five everywhere: {theirs} (sign test: p = {by_chance:.3f})")
    inside = [one for answers, here in zip(said, several, strict=True) for one in covered(answers[COST], COST, here.whole)]
    print(f"{sum(inside)} of {len(inside)} printed ratios have what was measured between their ends")


@contextlib.contextmanager
def kept(place: Path | None, store: Store) -> Iterator[None]:
    """Takes over the runs and the answers that a place has, and gives it all that there are in the
    end."""
    store.prepare()
    own = store.root / ANSWERS
    if place is not None and archive.is_archive(place):
        if own.exists() and own.read_bytes() != (place / ANSWERS).read_bytes():
            raise SystemExit(f"{own}: its answers are others than those in {place}; take another folder")
        shutil.copy(place / ANSWERS, own)
        archive.unpack(place, store)
    try:
        yield
    finally:
        if place is not None and own.exists():
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(own, place / ANSWERS)
            archive.write(place, list(store))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--map", type=Path, default=SHIPPED)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--price", action="store_true")
    parser.add_argument("-j", "--processes", type=int, default=1)
    words = parser.parse_args(arguments)
    store = Store(words.folder)
    with kept(words.keep, store):
        _main(words, store)


def _main(words: argparse.Namespace, store: Store) -> None:
    places, given = [*drawn.drawn(), *drawn.at_once()], saved.read(words.map)
    reference = central(places)
    trained = computed(list(reference.values()), store, words.processes)
    accuracy = {keys: accuracy_of(trained[spec.run_id]) for keys, spec in reference.items()}
    scenarios = [one.scenario(accuracy) for one in places]
    said, specs = asked(scenarios, given, words.map, words.folder), [rows(scenario, given) for scenario in scenarios]
    wanted = [spec for there in specs for spec in first(there, FEW)]
    if words.price:
        print(price(campaign.missing(store, wanted)))
        return
    records = computed(wanted, store, words.processes)
    more = [
        spec for there, answers in zip(specs, said, strict=True) for spec in first(there, SEEDS, again(there, answers, records))
    ]
    records |= computed(more, store, words.processes)
    several = [lists(answers, there, records, given.costs[COST]) for answers, there in zip(said, specs, strict=True)]
    told(places, said, specs, records, several)
    if words.picture is not None:
        write(picture.draw(several[: len(several) - drawn.AT_ONCE], WIDTHS["page"]), words.picture)


if __name__ == "__main__":
    main()
