"""What the runs of a suite say, as numbers: who is first at which point, how sure that is, and what options have to do with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from fedbench import registry
from fedbench.analysis import bootstrap
from fedbench.analysis.board import Board, board, times
from fedbench.analysis.bootstrap import Floats, Interval, Strata
from fedbench.analysis.profiles import Reference, freeze
from fedbench.results.record import Record
from fedbench.suites.seats import Seats
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import TUNED, Tuned

BASELINE = "fedavg"
PUBLIC = "public_data"
REFERENCES = Path(__file__).parents[1] / "references"


def reference_file(suite: str) -> Path:
    """Returns where the package keeps the reference times of a suite, whether or not it has them."""
    return REFERENCES / f"{suite}.json"


@dataclass(frozen=True)
class Results:
    """The rows of a suite. `frozen`: the options of its tuned rows, None if it has none. `seats`: all runs that there are; a row counts
    as complete, and is compared, if every seed has its run."""

    suite: Suite
    frozen: Tuned | None
    seats: Seats

    @cached_property
    def tuned(self) -> dict[str, Board]:
        """By point, the complete rows with tuned options, by their labels."""
        return self._boards(tuned=True)

    @cached_property
    def published(self) -> dict[str, Board]:
        """By point, the complete rows with published options, by their labels."""
        return self._boards(tuned=False)

    @cached_property
    def limited(self) -> dict[str, Board]:
        """By point, the complete rows with tuned options that keep no more clients at work than the suite sets. Others compute more in the
        same time. All rows if the suite sets no number."""
        return self._boards(tuned=True, at_work=self.limit)

    @property
    def limit(self) -> float:
        """How many clients the suite lets work at a time, where an algorithm has a choice."""
        return float(self.suite.options.get("concurrency") or np.inf)

    @cached_property
    def incomplete(self) -> list[str]:
        """Returns point and row of those that lack a seed."""
        return [
            f"{row} at {point}" for point, rows in self.seats.items() for row, runs in rows.items() if not self._complete(runs)
        ]

    @cached_property
    def flattered(self) -> list[str]:
        """Returns the labels whose algorithm uses public data, where these are held out of the training data of a scenario."""
        runs = [
            run for run in self.runs.values() if (run.meta["spec"]["scenario"].get("public") or {}).get("source") == "held_out"
        ]
        names = {
            run.meta["spec"]["algorithm"]["name"] for run in runs if PUBLIC in run.meta["spec"]["algorithm"].get("requires", ())
        }
        return sorted(label for selector, label in self.labels.items() if registry.parse_selector(selector)[0] in names)

    @cached_property
    def runs(self) -> dict[str, Record]:
        """Returns the runs of all rows by their ids."""
        return {run.run_id: run for rows in self.seats.values() for runs in rows.values() for run in runs}

    @cached_property
    def targets(self) -> list[float]:
        """Returns the targets of all boards, the easiest first."""
        boards = (self.tuned or self.published).values()
        return sorted({arrival.target for one in boards for standing in one.standings for arrival in standing.arrivals})

    @cached_property
    def names(self) -> list[str]:
        """Returns the labels that are ranked somewhere, from the one that reaches the largest share of targets to the one that reaches
        least, with tuned options."""
        boards = [*self.tuned.values(), *self.published.values()]
        ranked = {one.row for found in boards for one in found.standings if one.place is not None}
        shares = {
            name: np.mean([one.solved for found in self.tuned.values() if (one := found.of(name))] or [0]) for name in ranked
        }
        return sorted(ranked, key=lambda name: (-shares[name], name))

    @cached_property
    def labels(self) -> dict[str, str]:
        """By selector: the algorithm's name, or the whole selector where several share the name."""
        names = {selector: registry.parse_selector(selector)[0] for selector in self.suite.selectors()}
        shared = {name for name in names.values() if list(names.values()).count(name) > 1}
        return {selector: selector if name in shared else name for selector, name in names.items()}

    def _complete(self, runs: Sequence[Record]) -> bool:
        return len(runs) == self.suite.seeds.count

    def at_work(self, label: str) -> float | None:
        """Returns how many clients a row with tuned options keeps at work, over time and points; None if it has no runs."""
        runs = [self.seats[point].get(f"{selector}{TUNED}", []) for point in self.seats for selector in self._selectors(label)]
        found = [np.mean([_at_work(run) for run in of_point]) for of_point in runs if of_point]
        return float(np.mean(found)) if found else None

    def _selectors(self, label: str) -> list[str]:
        return [selector for selector, name in self.labels.items() if name == label]

    def _boards(self, *, tuned: bool, at_work: float = np.inf) -> dict[str, Board]:
        pooled = frozenset(
            label
            for selector, label in self.labels.items()
            if registry.find("algorithm", registry.parse_selector(selector)[0]).pooled
        )
        found = {}
        for point, rows in self.seats.items():
            own = {
                self.labels[row.removesuffix(TUNED)]: runs
                for row, runs in rows.items()
                if row.endswith(TUNED) == tuned and self._complete(runs) and all(_at_work(run) <= at_work for run in runs)
            }
            if own:
                found[point] = board(own, references=pooled)
        return found

    def spread(self, label: str) -> list[tuple[float, float]]:
        """By point, where its options were looked for: the restricted mean seconds of the best and of the median trial, on the
        validation part."""
        chosen = [] if self.frozen is None else self.frozen.points.values()
        several = [of_point[selector] for of_point in chosen for selector in self._selectors(label) if selector in of_point]
        return [(one.spread["restricted_mean_seconds"][0], one.spread["restricted_mean_seconds"][2]) for one in several]


def _at_work(run: Record) -> float:
    """Returns how many clients work, as the mean over the run's virtual time."""
    ledger = run.meta["ledger"]
    return float(ledger["busy_seconds"] / ledger["end_seconds"]) if ledger["end_seconds"] else 0.0


def reference_of(results: Results) -> Reference:
    """Returns the best tuned rows of every problem, to be frozen, with the resolution of every point."""
    boards = results.tuned
    names = sorted({one.row for found in boards.values() for one in found.standings if one.place is not None})
    runs: dict[str, list[Record]] = {}
    for rows in results.seats.values():
        for row, of_row in rows.items():
            if row.endswith(TUNED):
                runs.setdefault(results.labels[row.removesuffix(TUNED)], []).extend(of_row)
    resolution = {point: round(found.resolution, 3) for point, found in boards.items() if found.resolution is not None}
    digests = {name: _digest(runs[name]) for name in names}
    return freeze(results.suite.name, {row: times(boards, row) for row in names}, digests, resolution)


def _digest(runs: Iterable[Record]) -> str:
    lines = sorted(f"{run.run_id} {run.meta['digests']['result']}\n" for run in runs)
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:32]


def ratio(first: Mapping[str, Board], a: str, second: Mapping[str, Board], b: str) -> Interval | None:
    """Returns how many times as long row b of `second` needs to the targets as row a of `first`: the geometric mean over the points that
    both are at, seeds paired. None if there is no such point."""
    strata = {}
    for point in first.keys() & second.keys():
        one, other = first[point].of(a), second[point].of(b)
        if one is not None and other is not None:
            strata[point] = np.array([(one.seconds[seed], other.seconds[seed]) for seed in sorted(one.seconds)])
    if not strata:
        return None
    return bootstrap.estimate(strata, _ratio)


def _ratio(means: Strata) -> Floats:
    """The geometric mean over points of second / first."""
    return np.asarray(np.exp(np.mean([np.log(both[:, 1] / both[:, 0]) for both in means.values()], axis=0)), np.float64)


def gain(board: Board) -> Interval | None:
    """Returns how many times as long the baseline needs as the earliest row of a board; None if the board lacks it, or nobody arrives."""
    return ratio({"": board}, board.first[0].row, {"": board}, BASELINE) if board.first else None


def first_at(boards: Mapping[str, Board], row: str) -> int:
    """Returns at how many points a row is first, or cannot be told from the first."""
    return sum(any(one.row == row for one in found.first) for found in boards.values())


def solved(boards: Mapping[str, Board], row: str) -> Interval:
    """Returns the share of targets and seeds that a row reaches within the budgets, every point alike."""
    strata = {
        point: np.isfinite([list(arrival.reached.values()) for arrival in found.arrivals]).T.astype(np.float64)
        for point, one in boards.items()
        if (found := one.of(row)) is not None
    }
    return bootstrap.estimate(strata, bootstrap.mean_of_scenarios)


def agreement(first: Board, second: Board) -> tuple[Interval, int] | None:
    """Returns Kendall's tau-b between two boards' orders of the rows that both rank, and the number of these rows: 1 for the same order,
    -1 for the opposite one. None with fewer than three such rows, or if all of one board need equally long.

    Source: Kendall 1945.
    """
    common = [
        one.row for one in first.standings if one.place is not None and (two := second.of(one.row)) and two.place is not None
    ]
    if len(common) < 3:
        return None
    strata = {name: _seconds(one, common) for name, one in (("first", first), ("second", second))}
    if any(np.ptp(values.mean(axis=0)) == 0 for values in strata.values()):
        return None
    return bootstrap.estimate(strata, _tau), len(common)


def _seconds(one: Board, rows: Sequence[str]) -> Floats:
    """Returns (seeds, rows)."""
    found = [standing for row in rows if (standing := one.of(row)) is not None]
    return np.array([[standing.seconds[seed] for standing in found] for seed in sorted(found[0].seconds)])


def _tau(means: Strata) -> Floats:
    from scipy.stats import kendalltau  # takes a second

    first, second = means.values()
    return np.array([kendalltau(one, other).statistic for one, other in zip(first, second, strict=True)])
