"""The data of pictures of ledgers: whose results were used, and how old they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from fedbench.analysis.pictures import Rows, is_reference
from fedbench.analysis.statistics import Estimate, estimate
from fedbench.errors import RecordError
from fedbench.results.record import Record


@dataclass(frozen=True)
class Staleness:
    """How old the results of one row are when they are used.

    shares: the shares of the results with staleness 0, 1, 2, .. in all used results of all seeds.
    beyond: the share of results that are older than the ledger counts one by one. With `shares` the
    sum is 1, unless no result was used.
    mean: the mean staleness over seeds.
    largest: the largest staleness of any seed.
    """

    row: str
    shares: tuple[float, ...]
    beyond: float
    mean: Estimate
    largest: int


@dataclass(frozen=True)
class Participation:
    """How unequally the clients of one row take part.

    least, mean, most: the number of used results of the client that gives fewest, of the mean
    client, and of the client that gives most. Each is a mean over seeds.
    gini: the Gini coefficient, 0 if all give the same number, towards 1 if one gives all.
    """

    row: str
    clients: int
    least: float
    mean: float
    most: float
    gini: Estimate


def staleness(rows: Rows) -> tuple[Staleness, ...]:
    """Returns the staleness of every row, in their order. Raises RecordError for a record whose
    ledger has no histogram."""
    return tuple(_staleness(row, runs) for row, runs in rows.items())


def participation(rows: Rows) -> tuple[Participation, ...]:
    """Returns the participation of every row but the references, which have a single worker. Raises
    RecordError for a record whose ledger lacks it."""
    return tuple(_participation(row, runs) for row, runs in rows.items() if not is_reference(runs))


def _staleness(row: str, runs: Sequence[Record]) -> Staleness:
    counts = [sum(column) for column in zip_longest(*map(_histogram, runs), fillvalue=0)]
    used = sum(_used(run) for run in runs)
    shares = tuple(count / used for count in counts) if used else ()
    mean = estimate(_known(run, "staleness_mean") for run in runs)
    largest = max(run.ledger.staleness_max for run in runs)
    return Staleness(row, shares, 1 - sum(counts) / used if used else 0.0, mean, largest)


def _participation(row: str, runs: Sequence[Record]) -> Participation:
    clients = runs[0].spec.scenario.clients
    least, most = (sum(_known(run, f"participation_{end}") for run in runs) / len(runs) for end in ("min", "max"))
    mean = sum(_used(run) for run in runs) / len(runs) / clients
    return Participation(row, clients, least, mean, most, estimate(_known(run, "participation_gini") for run in runs))


def _used(run: Record) -> int:
    """Returns how many results a run used. The histogram counts a result as often as it is drawn,
    which the number of consumed jobs does not; it leaves out very old results, which that number
    has. So the larger of both is taken."""
    return int(max(_known(run, "jobs_consumed"), sum(_histogram(run))))


def _histogram(run: Record) -> Sequence[int]:
    _known(run, "staleness_histogram")
    return run.ledger.staleness_histogram or ()


def _known(run: Record, name: str) -> float:
    """Returns an entry of the ledger. Raises RecordError for a record that was made before it was
    counted."""
    found: float | None = getattr(run.ledger, name)
    if found is None:
        raise RecordError(f"record {run.run_id} ({run.scenario}, {run.selector}, seed {run.seed}): its ledger has no {name!r}")
    return found
