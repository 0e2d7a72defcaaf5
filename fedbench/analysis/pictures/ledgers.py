"""What ledgers say on whose results were used, and how old they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from fedbench.analysis.pictures import Rows, is_reference
from fedbench.analysis.statistics import Estimate, estimate
from fedbench.errors import RecordError
from fedbench.results.record import Record


@dataclass(frozen=True)
class Staleness:
    """How old the results of one row are when they are used.

    shares: of the used results of all seeds, those with staleness 0, 1, 2, ..; `beyond` is the
    share of those that are older than the ledger counts one by one. The sum of all is 1, unless no
    result was used. mean: over seeds. largest: of any seed.
    """

    row: str
    shares: tuple[float, ...]
    beyond: float
    mean: Estimate
    largest: int


@dataclass(frozen=True)
class Participation:
    """How unequally the clients of one row take part.

    least, mean, most: used results of the client that gives fewest, of the mean client and of the
    one that gives most, each the mean over seeds. gini: 0 if all give the same, towards 1 if one
    gives all.
    """

    row: str
    clients: int
    least: float
    mean: float
    most: float
    gini: Estimate


def staleness(rows: Rows) -> tuple[Staleness, ...]:
    """Returns the staleness of every row, in their order. RecordError for a record whose ledger has
    no histogram."""
    return tuple(_staleness(row, runs) for row, runs in rows.items())


def participation(rows: Rows) -> tuple[Participation, ...]:
    """Returns the participation of every row but the references, which are one worker with
    everybody's data. RecordError for a record whose ledger lacks it."""
    return tuple(_participation(row, runs) for row, runs in rows.items() if not is_reference(runs))


def _staleness(row: str, runs: Sequence[Record]) -> Staleness:
    counts = [sum(column) for column in zip_longest(*(_of(run, "staleness_histogram") for run in runs), fillvalue=0)]
    used = sum(_used(run) for run in runs)
    shares = tuple(count / used for count in counts) if used else ()
    mean = estimate(_of(run, "staleness_mean") for run in runs)
    return Staleness(row, shares, 1 - sum(counts) / used if used else 0.0, mean, max(_of(run, "staleness_max") for run in runs))


def _participation(row: str, runs: Sequence[Record]) -> Participation:
    clients = int(runs[0].meta["spec"]["scenario"]["clients"])
    least, most = (sum(_of(run, f"participation_{end}") for run in runs) / len(runs) for end in ("min", "max"))
    mean = sum(_used(run) for run in runs) / len(runs) / clients
    return Participation(row, clients, least, mean, most, estimate(_of(run, "participation_gini") for run in runs))


def _used(run: Record) -> int:
    """Returns how many results a run used. One that is drawn several times counts as often, and is
    counted in the histogram; very old ones are not."""
    return int(max(_of(run, "jobs_consumed"), sum(_of(run, "staleness_histogram"))))


def _of(run: Record, name: str) -> Any:
    found = run.meta["ledger"].get(name)
    if found is None:
        raise RecordError(f"record {run.run_id} ({run.scenario}, {run.selector}, seed {run.seed}): its ledger has no {name!r}")
    return found
