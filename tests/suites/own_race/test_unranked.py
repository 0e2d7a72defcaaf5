"""Why a row is left that is in no set of the best, and how near runs came to targets that none of
them holds. By made-up records."""

from __future__ import annotations

from fedbench.analysis.costs import costs
from fedbench.results.record import Record
from fedbench.suites.own_race.unranked import nearest_miss, of_targets, unranked
from tests.conftest import alter
from tests.suites.race.runs_made_up import row


def diverged(runs: list[Record], count: int) -> list[Record]:
    for run in runs[:count]:
        alter(run, "outcome.state", "diverged")
    return runs


def test_why_a_row_is_left() -> None:
    rows = {
        "fedavg": row("fedavg", 4),
        "fedprox": row("fedprox", 5),
        "feddyn": row("feddyn", None),
        "fedbuff": diverged(row("fedbuff", None), 2),
    }
    assert unranked(rows, costs(rows), ["fedavg"]) == {
        "fedprox": "by first touch, or by the level of a look, it may be the best",
        "feddyn": "it holds no target",
        "fedbuff": f"2 of {len(rows['fedbuff'])} runs diverged",
    }
    assert unranked(rows, costs(rows), rows) == {}
    for run in rows["feddyn"]:
        alter(run, "outcome.state", "stalled")
    assert unranked(rows, costs(rows), ["fedavg"])["feddyn"].endswith(" runs stalled")


def test_how_near_runs_came() -> None:
    runs = row("fedavg", None, seeds=3)
    for run, accuracy in zip(runs, (0.31, 0.527, 0.4), strict=True):
        run.curves["test_accuracy"][:] = 0.1
        run.curves["test_accuracy"][1] = accuracy
    assert nearest_miss(runs) == "52.7 % is the best of 3 runs"
    for run in runs:
        alter(run, "final.version", 0)
    assert nearest_miss(diverged(runs, 2)) == "40.0 % is the best of 3 runs, and none of them made an update"
    assert nearest_miss(diverged(runs, 3)) == "none of 3 runs finished"


def test_what_is_said_of_targets_after_the_first_runs() -> None:
    holds, never = row("fedavg", 4, seeds=1), row("fedprox", None, seeds=1)
    assert [*of_targets([{"fedavg": holds, "fedprox": never}])] == []
    (told,) = of_targets([{"fedprox": never}])
    assert told.startswith("no row holds a target that gets a verdict; ")
    holds[0].curves["test_accuracy"][:] = 0.99
    never[0].curves["test_accuracy"][:] = 0.99
    assert [*of_targets([{"fedavg": holds, "fedprox": never}])] == [
        "target 80 % gets no verdict: it is held before any training, or within ten steps of the evaluation grid"
    ]
    assert [*of_targets([])] == []
