"""What a race on one scenario has found so far, in words and in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fedbench.written import Ratio


@dataclass(frozen=True)
class Best:
    """A row that may be the best on one axis.

    Attributes
    ----------
    row : str
        Its selector with all options, as `fedbench run -a` takes it.
    cost : float
        The geometric mean of what it spends until it holds the targets.
    misses : bool
        Whether it misses a target with some seed, so that the cost is a lower bound.
    regret : Ratio
        Its cost over that of the cheapest row, with Hsu's interval.
    """

    row: str
    cost: float
    misses: bool
    regret: Ratio


@dataclass(frozen=True)
class Next:
    """What the next look at a system takes and can show.

    Attributes
    ----------
    seeds : int
        How many seeds every row has then.
    minutes : float
        About how many more minutes its runs take.
    resolution : float, optional
        The smallest ratio of costs in seconds that it shows with probability 0.8; None where it is
        not known.
    apart : tuple of str
        The rows in the set of today that are dearer than the leader by more than that.
    """

    seeds: int
    minutes: float
    resolution: float | None
    apart: tuple[str, ...]


@dataclass(frozen=True)
class System:
    """The rows that share a system, and so are compared.

    Attributes
    ----------
    words : str
        The system, such as `10 of 20 clients at work`.
    rows : tuple of str
        All rows that have raced.
    left : tuple of str
        The rows that were not dropped.
    seeds : int
        How many seeds all of them have.
    best : mapping
        By axis the rows that may be the best, from the cheapest on. Empty without a statement.
    unranked : mapping
        By row that is left and in none of these sets, why that is so. Empty without a statement.
    unknown : str
        Why there is no statement; empty if there is one.
    resolution : float, optional
        The smallest ratio of costs in seconds that is shown with probability 0.8.
    next : Next, optional
        The next look, None if the race of these rows is over.
    """

    words: str
    rows: tuple[str, ...]
    left: tuple[str, ...]
    seeds: int
    best: Mapping[str, tuple[Best, ...]]
    unranked: Mapping[str, str]
    unknown: str
    resolution: float | None
    next: Next | None


@dataclass(frozen=True)
class Dropped:
    """A row that was dropped.

    Attributes
    ----------
    row : str
        The row.
    seeds : int
        After how many seeds.
    why : str
        The comparison that was closest to keeping it.
    """

    row: str
    seeds: int
    why: str


@dataclass(frozen=True)
class RaceResult:
    """What a race on one scenario has found so far.

    Attributes
    ----------
    scenario : str
        The scenario.
    store : Path
        The folder of all records, of the plan and of the decisions.
    stage : str
        Where it stands: first seed, tuning or race.
    rows : int
        How many rows began.
    systems : tuple of System
        The rows, by what they share.
    dropped : tuple of Dropped
        The rows that were dropped, when and why.
    refused : mapping
        By algorithm why it cannot run on the scenario.
    failed : mapping
        By row why a run of it failed.
    settled : bool
        Whether what failed is settled. If not, the next call tries it again.
    tuned : bool
        Whether options are tuned.
    capped : bool
        Whether the scenario caps how many clients work at a time (`at_work`), the same for all
        rows.
    minutes : float, optional
        About how many more minutes a first statement takes; None if there is one.
    tuning_minutes : float, optional
        How many minutes a race with tuned options takes at least; None if they are tuned, or if no
        option can be.
    """

    scenario: str
    store: Path
    stage: str
    rows: int
    systems: tuple[System, ...]
    dropped: tuple[Dropped, ...]
    refused: Mapping[str, str]
    failed: Mapping[str, str]
    settled: bool
    tuned: bool
    capped: bool
    minutes: float | None
    tuning_minutes: float | None

    def __str__(self) -> str:
        """Returns it in words, in at most 25 lines."""
        from fedbench.suites.own_race.words import lines

        return "\n".join(lines(self))

    def as_dict(self) -> dict[str, object]:
        """Returns it as values that JSON has.

        Returns
        -------
        dict
            The attributes by name. A ratio has its value, its low and its high end, None for one
            that is not known.
        """
        return {key: _plain(value) for key, value in vars(self).items()}


def _plain(value: object) -> object:
    if isinstance(value, Ratio):
        return dict(zip(("value", "low", "high"), value.numbers or (None, None, None), strict=True))
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Best | Next | System | Dropped):
        return {key: _plain(one) for key, one in vars(value).items()}
    return str(value) if isinstance(value, Path) else value
