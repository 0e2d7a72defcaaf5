"""Partitions in which every client holds examples of a fixed number of classes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.scenarios.data_parts import ShardsOfClasses

Rows = npt.NDArray[np.int64]

DRAWS = 1000  # most attempts at an unbalanced partition
TRADES = 10  # trades per client that mix a balanced one


def classes_in_shards(labels: Rows, clients: int, seed: int, part: ShardsOfClasses) -> list[Rows]:
    """Returns ascending row numbers of every client. No row is two clients', and every client has
    examples of exactly `part.classes_per_client` classes.

    If the partition is balanced, there are N c shards (for c classes per client) of nearly one
    size, cut like those of two_class, and every example is in one of them. Otherwise a class is
    split evenly over the clients that hold it, and no client gets the remainder of the division.
    Source: DP2 of FedaGrac; unbalanced as in HarliWu/FedaGrac (`__getPathologicalData__`), balanced
    because the paper says "equal volume". UsageError if the numbers do not allow it.
    """
    classes, counts = np.unique(labels, return_counts=True)
    if part.classes_per_client > len(classes):
        raise UsageError(f"partition shards: classes_per_client must be <= {len(classes)}, got {part.classes_per_client}")
    if clients * part.classes_per_client < len(classes):
        raise UsageError(
            f"partition shards: {clients} clients of {part.classes_per_client} classes cannot hold all {len(classes)} classes; ask "
            "for more clients"
        )
    deal = _balanced if part.balanced else _as_in_the_code
    holds = deal(counts, clients, part.classes_per_client, seed)
    pieces: list[list[Rows]] = [[] for _ in range(clients)]
    for k, label in enumerate(classes):
        holders = np.flatnonzero(holds[:, k])
        if counts[k] < len(holders):
            raise UsageError(
                f"partition shards: class {label} has {counts[k]} examples for the {len(holders)} clients that hold it; ask for fewer "
                "clients"
            )
        rows = np.flatnonzero(labels == label)
        rows = rows[RandomStream(seed, Purpose.partition, 4, k).permutation(len(rows))]
        used = len(rows) if part.balanced else len(rows) // len(holders) * len(holders)
        for client, piece in zip(holders, np.array_split(rows[:used], len(holders)), strict=True):
            pieces[client].append(piece)
    return [np.sort(np.concatenate(of_client)) for of_client in pieces]


def shards_per_class(counts: Rows, shards: int) -> Rows:
    """Returns how many of the shards every class gets: in proportion to its number of examples, by
    largest remainders."""
    share = counts * (shards / counts.sum())
    per_class: Rows = np.floor(share).astype(np.int64)
    for k in np.argsort(per_class - share, kind="stable")[: shards - per_class.sum()]:
        per_class[k] += 1
    return per_class


def _as_in_the_code(counts: Rows, clients: int, per_client: int, seed: int) -> npt.NDArray[np.bool_]:
    """Returns which client holds which class (N, C), drawn as in FedaGrac's code.

    A permutation of all classes, and then uniform draws, are reshaped to N rows of c classes. A row
    that has a class twice is drawn again, without replacement. In the authors' code a class of such
    a row can be left without a client. Here everything is drawn again in that case, up to DRAWS
    times.
    """
    classes = len(counts)
    for draw in range(DRAWS):
        stream = RandomStream(seed, Purpose.partition, 5, draw)
        drawn = stream.permutation(classes).tolist()
        drawn += [stream.below(classes) for _ in range(clients * per_client - classes)]
        holds = np.zeros((clients, classes), np.bool_)
        for client in range(clients):
            row = drawn[client * per_client : (client + 1) * per_client]
            if len(set(row)) < per_client:
                row = stream.permutation(classes)[:per_client].tolist()
            holds[client, row] = True
        if holds.any(axis=0).all():
            return holds
    raise UsageError(
        f"partition shards: {DRAWS} draws left a class of {classes} without one of {clients} clients; ask for more clients, or "
        "balanced: true"
    )


def _balanced(counts: Rows, clients: int, per_client: int, seed: int) -> npt.NDArray[np.bool_]:
    """Returns which client holds which class (N, C). As many clients hold a class as it has shards.

    The classes, largest first, go to the clients that have most room left. Then this is mixed:
    pairs of clients are drawn at random, and the classes that only one of the two holds are divided
    between them at random. Source of the mixing: the "curveball" trades of Strona et al. 2014,
    Nature Communications 5:4114.
    """
    per_class = shards_per_class(counts, clients * per_client)
    for k, word in ((int(per_class.argmin()), "without one"), (int(per_class.argmax()), "with more than there are clients")):
        if not 0 < per_class[k] <= clients:
            raise UsageError(
                f"partition shards: of {clients * per_client} shards for {clients} clients class {k} of {len(counts)} gets "
                f"{per_class[k]} by its size, which leaves it {word}; use balanced: false"
            )
    holds = np.zeros((clients, len(counts)), np.bool_)
    for k in np.argsort(-per_class, kind="stable"):
        roomiest = np.argsort(holds.sum(axis=1), kind="stable")[: per_class[k]]
        holds[roomiest, k] = True
    stream = RandomStream(seed, Purpose.partition, 6)
    for _ in range(TRADES * clients if clients > 1 else 0):
        _trade(holds, stream)
    return holds


def _trade(holds: npt.NDArray[np.bool_], stream: RandomStream) -> None:
    """Draws two clients, and divides the classes that only one of them holds between them at
    random. Both hold equally many classes, before and after."""
    a = stream.below(len(holds))
    b = (a + 1 + stream.below(len(holds) - 1)) % len(holds)
    only = np.flatnonzero(holds[a] != holds[b])
    if len(only):
        mine = only[stream.permutation(len(only))[: len(only) // 2]]
        holds[a, only], holds[b, only] = False, True
        holds[a, mine], holds[b, mine] = True, False
