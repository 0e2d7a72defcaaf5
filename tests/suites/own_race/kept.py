"""Does a race keep the row that is the cheapest over all seeds, with few of the runs?

    OMP_NUM_THREADS=1 python -m tests.suites.own_race.kept FOLDER [REPEATS]

Each repeat has 40 seeds of its own. First a race runs to its end, with default options. Then all
rows get all 40 seeds, and the cheapest of every system is looked for among those that the race
left. Expected: it is there in 9 of 10 repeats, with at most half of the runs. Everything is stored
in FOLDER, and the same command goes on where it was cut short. It takes about 15 minutes on two
cores.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fedbench.analysis.board import BOARD_AXES, board
from fedbench.results.store import Store
from fedbench.scenarios.load import load
from fedbench.suites import campaign
from fedbench.suites.own_race import plan as plans
from fedbench.suites.own_race.plan import Given
from fedbench.suites.own_race.race import raced
from fedbench.suites.own_race.suite import MOST_SEEDS
from fedbench.suites.seats import group_of_row

SCENARIO = load(
    "digits-demo",
    [
        "at_work=10",
        "budget.seconds=20",
        "task.model=softmax",
        "targets=[{value: 0.7}, {value: 0.8}]",
        "evaluation={kind: log, first_seconds: 0.2, ratio: 1.05}",
    ],
)
LEAST_KEPT, MOST_RUNS = 0.9, 0.5


def repeat(folder: Path, number: int) -> dict[str, object]:
    """One race, and what all seeds say: of every system whether its cheapest row was left, by
    axis."""
    given = Given(SCENARIO, minutes=100_000, processes=2, first_seed=MOST_SEEDS * number, tune=False)
    store, everything = Store(folder / f"race-{number}"), Store(folder / f"everything-{number}")
    found = raced(given, store, lambda line: None, progress=False)
    plan = plans.read(store.root, given)
    assert plan is not None
    suite = plan.suite(SCENARIO)
    rows = {row: suite.runs(suite.here, row) for row in plan.entrants}
    everything.prepare()
    in_race = list(store)
    for record in in_race:
        if not everything.has(record.scenario, record.spec.algorithm.name, record.run_id):
            everything.write(record)
    specs = [spec for several in rows.values() for spec in several]
    assert not campaign.compute(specs, everything, processes=2).failed
    by_id = {record.run_id: record for record in everything}
    kept: dict[str, dict[str, bool]] = {}
    for system in found.systems:
        if len(system.rows) > 1:
            group = group_of_row(suite, None, suite.here, system.rows[0])
            runs = {
                row: [by_id[spec.run_id] for spec in rows[row]]
                for row in rows
                if group_of_row(suite, None, suite.here, row) == group
            }
            whole = board(runs, groups=dict.fromkeys(runs, group))
            kept[system.words] = {axis: whole.ranking(group, axis).leader in system.left for axis in BOARD_AXES}
    return {"repeat": number, "rows": len(rows), "runs": len(in_race), "share": round(len(in_race) / len(specs), 3), "kept": kept}


def main() -> None:
    folder, repeats = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10
    found = []
    for number in range(repeats):
        found.append(repeat(folder, number))
        print(json.dumps(found[-1]), flush=True)
    share = sum(float(str(one["share"])) for one in found) / repeats
    is_kept = [all(by_axis["seconds"] for by_axis in one["kept"].values()) for one in found]  # type: ignore[attr-defined]
    print(f"the cheapest row in seconds was kept in {sum(is_kept)} of {repeats} repeats, with {share:.0%} of the runs")
    sys.exit(sum(is_kept) < LEAST_KEPT * repeats or share > MOST_RUNS)


if __name__ == "__main__":
    main()
