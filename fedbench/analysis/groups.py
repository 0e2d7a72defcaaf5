"""Groups: the rows of a scenario that share one system, and so may be compared.

A system is a cap on the jobs that are under way at a time, and the right to use public data. Rows
of different groups differ in what they are given, so no board mixes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fedbench import registry
from fedbench.errors import UsageError
from fedbench.protocols import Algorithm
from fedbench.results.record import Record
from fedbench.types import Info


@dataclass(frozen=True, order=True)
class Group:
    """One system.

    at_work: the largest number of clients that may be at work at a time; 0 where it is not known,
    because the algorithm is not built in.
    clients: how many clients there are.
    public_data: whether the server has unlabelled public data.
    """

    at_work: int
    clients: int
    public_data: bool = False

    @property
    def kind(self) -> str:
        """Returns the kind of system, which scenarios with other numbers of clients may share, such
        as `10 clients at work`."""
        work = "all clients" if self.is_all else f"{self.at_work:,} clients" if self.at_work else "an unknown number of clients"
        return f"{work} at work{', public data' if self.public_data else ''}"

    @property
    def is_all(self) -> bool:
        """Returns whether all clients may be at work."""
        return self.at_work >= self.clients

    @property
    def place(self) -> tuple[bool, bool, bool, int]:
        """Returns the key by which kinds of systems are listed: from the fewest clients at work to
        all, then those whose number is not known, and those with public data after all others."""
        return self.public_data, not self.at_work, self.is_all, self.at_work

    @property
    def words(self) -> str:
        """Returns the group in words, such as `10 of 100 clients at work`."""
        if not self.at_work:
            work = "clients at work unknown"
        elif self.is_all:
            work = f"all {self.clients:,} clients at work"
        else:
            work = f"{self.at_work:,} of {self.clients:,} clients at work"
        return f"{work}, public data" if self.public_data else work


def group_of(algorithm: Algorithm, clients: int, cap: int | None = None) -> Group:
    """Returns the group of an algorithm with its options in a scenario with so many clients. The
    scenario's cap on jobs under way (`at_work`), if it has one, makes the group of all that keep to
    it, also of those that stay below."""
    at_work = cap or algorithm.dispatch(Info(clients, lambda: np.ones(clients))).at_a_time(clients)
    return Group(min(clients, at_work), clients, "public_data" in algorithm.requires)


def group_of_run(run: Record) -> Group:
    """Returns the group of a run. Where the scenario has no cap, what is at work is not known of an
    algorithm that is not built in, since its code is not run here, nor of one that has other
    options today."""
    spec = run.spec
    clients, cap, given = spec.scenario.clients, spec.scenario.at_work, spec.algorithm
    if given.origin is not None or given.name not in registry.ALGORITHMS:
        return Group(cap or 0, clients, "public_data" in given.requires)
    cls: type[Algorithm] = registry.find("algorithm", given.name)
    try:
        return group_of(cls.make(given.options), clients, cap)
    except UsageError:
        return Group(cap or 0, clients, "public_data" in cls.requires)


def odd_ones(rows: Mapping[str, Sequence[Record]]) -> dict[str, str]:
    """Returns the rows of a scenario whose seeds are not those that most rows of their system have,
    with the reason in words. Of several sets of seeds that equally many have, the largest counts.
    References are looked at among themselves."""
    kinds: dict[tuple[bool, Group], dict[str, tuple[int, ...]]] = {}
    for row, runs in rows.items():
        is_reference = runs[0].spec.algorithm.reference
        key = is_reference, Group(0, 0) if is_reference else group_of_run(runs[0])
        kinds.setdefault(key, {})[row] = tuple(sorted(run.seed for run in runs))
    found: dict[str, str] = {}
    for seeds in kinds.values():
        counts = Counter(seeds.values())
        most = max(counts, key=lambda one: (counts[one], len(one), [-seed for seed in one]))
        found |= {row: f"it has seeds {_told(own)}, other rows have {_told(most)}" for row, own in seeds.items() if own != most}
    return found


def _told(seeds: Sequence[int]) -> str:
    """Returns `0 to 9`, or `0, 2, 5` if some are missing in between."""
    is_run = len(seeds) > 2 and seeds[-1] - seeds[0] == len(seeds) - 1
    return f"{seeds[0]} to {seeds[-1]}" if is_run else ", ".join(map(str, seeds))
