"""Does a race keep the row that is the cheapest over many seeds, with few of the runs?

    OMP_NUM_THREADS=1 python -m tests.suites.own_race.kept FOLDER [--tune] [--repeats 10] [-j 2]

Each repeat has seeds of its own, on one of two scenarios by turns. A race runs to its end. Then all
rows get 40 other seeds, so that what made the race drop a row does not decide what was right. With
`--tune` the options of all rows are tuned first, by the trials of the race; there a row may be
dropped on its default options that would be the best after tuning. Expected: the cheapest row in
seconds of every system is among those that the race left in 9 of 10 repeats, with at most half of
the runs. How often it is in the set that is shown is printed too. Everything is stored in FOLDER,
and the same command goes on where it was cut short.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedbench.analysis.axes import SECONDS
from fedbench.analysis.board import board
from fedbench.engine.spec import RunSpec
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.suites import campaign
from fedbench.suites.own_race import field
from fedbench.suites.own_race import plan as plans
from fedbench.suites.own_race.plan import Given
from fedbench.suites.own_race.race import raced
from fedbench.suites.own_race.stages import Stages
from fedbench.suites.own_race.suite import MOST_SEEDS, OneScenario
from fedbench.suites.race.judging import Reason
from fedbench.suites.seats import group_of_row

COMMON = ("budget.seconds=20", "task.model=softmax", "evaluation={kind: log, first_seconds: 0.2, ratio: 1.05}")
SCENARIOS = (
    load("digits-demo", [*COMMON, "at_work=10", "targets=[{value: 0.7}, {value: 0.8}]"]),
    load("digits-demo", [*COMMON, "at_work=5", "partition.kind=iid", "targets=[{value: 0.8}, {value: 0.88}]"]),
)
OTHER = 500_000
"""The seeds of the comparison begin so far behind those of the race."""
ALGORITHMS: tuple[str, ...] = ()
"""Those that race; all of fedbench if none is named."""
LEAST_KEPT, MOST_RUNS = 0.9, 0.5


class Everybody(Stages):
    """The stages of a race in which nobody is dropped after one seed."""

    def behind(self) -> dict[str, Reason]:
        return {}


def repeat(folder: Path, number: int, *, tune: bool, processes: int) -> dict[str, Any]:
    """One race, and what other seeds of all rows say: of every system whether its cheapest row was
    left, and whether it is shown."""
    first_seed, scenario = MOST_SEEDS * number, SCENARIOS[number % len(SCENARIOS)]
    given = Given(scenario, ALGORITHMS, minutes=100_000, processes=processes, first_seed=first_seed, tune=tune)
    store, everything = Store(folder / f"race-{number}"), Store(folder / f"everything-{number}")
    found = raced(given, store, lambda line: None, progress=False)
    plan, started = plans.read(store.root, given), field.read(store.root)
    assert plan is not None
    assert started is not None
    everything.prepare()

    def compute(wanted: Sequence[RunSpec]) -> None:
        failed = campaign.compute(wanted, everything, processes=processes).failed
        assert not failed, failed[0]

    whole = Everybody(plan, scenario, everything, processes)
    whole._first_seed(compute, lambda line: None)
    whole._tune(compute, lambda line: None)
    suite = OneScenario.of(scenario, list(whole.finalists()), OTHER + first_seed)
    specs = {one: suite.runs(suite.here, one) for one in suite.selectors()}
    compute([spec for several in specs.values() for spec in several])
    by_id = {record.run_id: record for record in everything}
    kept, shown = {}, {}
    for system in found.systems:
        if len(system.rows) > 1:
            group = group_of_row(suite, None, suite.here, system.rows[0])
            runs = {
                one: [by_id[spec.run_id] for spec in several]
                for one, several in specs.items()
                if group_of_row(suite, None, suite.here, one) == group
            }
            cheapest = board(runs, groups=dict.fromkeys(runs, group)).ranking(group, SECONDS.name).leader
            row = whole.finalists()[str(cheapest)]
            kept[system.words] = row in {started.rows[one] for one in system.left}
            shown[system.words] = row in {started.rows[best.row] for best in system.best.get(SECONDS.name, ())}
    share = round(len(list(store)) / len(by_id), 3)
    return {"repeat": number, "rows": len(specs), "runs": len(list(store)), "share": share, "kept": kept, "shown": shown}


def main(arguments: Sequence[str] | None = None) -> bool:
    """Prints every repeat and how often the cheapest row was kept. Returns whether it was too
    seldom, or with too many runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("-j", "--processes", type=int, default=2)
    words = parser.parse_args(arguments)
    found = []
    for number in range(words.repeats):
        found.append(repeat(words.folder, number, tune=words.tune, processes=words.processes))
        print(json.dumps(found[-1]), flush=True)
    share = sum(one["share"] for one in found) / words.repeats
    is_kept, is_shown = (sum(all(one[key].values()) for one in found) for key in ("kept", "shown"))
    of = f"{words.repeats} repeats and shown in {is_shown}, with {share:.0%} of the runs"
    print(f"the cheapest row in seconds was kept in {is_kept} of {of}")
    return is_kept < LEAST_KEPT * words.repeats or share > MOST_RUNS


if __name__ == "__main__":
    sys.exit(main())
