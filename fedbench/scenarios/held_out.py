"""Clients that are dealt examples and never take part (`partition.held_out_clients`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fedbench.kernels.random import Purpose, RandomStream
from fedbench.scenarios.partition import Rows, partition
from fedbench.scenarios.schema import Scenario
from fedbench.shards import Shards


class Shared(NamedTuple):
    """The rows of the clients that take part, and of those that are held out."""

    clients: Shards
    held_out: Shards


def shared(scenario: Scenario, labels: Rows, seed: int, owner: Rows | None = None, owners: int = 0) -> Shared:
    """Deals out the examples to all clients, and draws those that are held out. Both kinds stay in
    the order of the partition, whose arguments and errors this has."""
    more = scenario.held_out_clients
    if not more:
        return Shared(partition(scenario, labels, seed, owner, owners), Shards.of([]))
    everybody = scenario.model_copy(update={"clients": scenario.clients + more})
    shards = partition(everybody, labels, seed, owner, owners)
    held_out = np.zeros(len(shards), np.bool_)
    held_out[RandomStream(seed, Purpose.holdout, 5).permutation(len(shards))[:more]] = True
    return Shared(*(Shards.of([shards[i] for i in np.flatnonzero(held_out == one).tolist()]) for one in (False, True)))
