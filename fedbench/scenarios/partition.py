"""Who has which training examples: keyed by the seed, independent of the algorithm; disjoint and
complete, unless they are to overlap."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench.errors import UsageError
from fedbench.kernels.random import Purpose, RandomStream, draw_share_of_every_class
from fedbench.scenarios.data_parts import HELD_OUT, Dirichlet, Iid, Natural, Overlapping, ShardsOfClasses, TwoClass
from fedbench.scenarios.draws import log_gamma, shares
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.shards import classes_in_shards, shards_per_class
from fedbench.shards import Shards

Rows = npt.NDArray[np.int64]
Parts = list[Rows]
"""One array of row numbers per client."""


def public_rows(scenario: Scenario, examples: int, seed: int) -> Rows | None:
    """The training rows (ascending) that the server holds unlabelled and nobody else has; None if
    the scenario has no such data."""
    if scenario.public is None or scenario.public.source != HELD_OUT or scenario.public.size is None:
        return None
    size = scenario.public.size
    if size >= examples:
        raise UsageError(
            f"scenario {scenario.name}: public.size must leave the clients some of the {examples} training examples, got {size}"
        )
    return np.sort(RandomStream(seed, Purpose.holdout, 1).permutation(examples)[:size])


def rows_of_other_task(scenario: Scenario, examples: int, seed: int) -> Rows:
    """The rows (ascending) of another task's training set that the server holds unlabelled."""
    size = scenario.public.size if scenario.public is not None else None
    if size is not None and size > examples:
        raise UsageError(
            f"scenario {scenario.name}: public.size must be at most the {examples} training examples of the source, got {size}"
        )
    return np.sort(RandomStream(seed, Purpose.holdout, 2).permutation(examples)[:size])


def validation_rows(share: float, labels: Rows, seed: int, scenario: str) -> Rows:
    """The training rows (ascending) that are held out for validation: of every class the share,
    rounded, by a keyed permutation. UsageError, naming the scenario, if that is nothing or
    everything."""
    found = draw_share_of_every_class(labels, share, seed, 0)
    if len(found) in (0, len(labels)):
        raise UsageError(
            f"scenario {scenario}: validation.share {share:g} holds out {len(found)} of {len(labels)} training examples; there "
            "must be some on both sides"
        )
    return found


def partition(scenario: Scenario, labels: Rows, seed: int, owner: Rows | None = None) -> Shards:
    """The rows of every client; every row of `labels` (n,) that is not public is one client's,
    unless they overlap or somebody owns it who is no client. `owner` (n,): whose rows they are,
    where the data set knows it.

    UsageError if a client would have no example.
    """
    public = public_rows(scenario, len(labels), seed)
    if public is None:
        return _partition(scenario, labels, owner, seed)
    private = np.delete(np.arange(len(labels)), public)
    return _partition(scenario, labels[private], None if owner is None else owner[private], seed).among(private)


def _partition(scenario: Scenario, labels: Rows, owner: Rows | None, seed: int) -> Shards:
    match scenario.partition:
        case Overlapping() as part:
            return overlapping(len(labels), scenario.clients, seed, part)
        case Natural() as part:
            if owner is None:
                raise UsageError(
                    f"scenario {scenario.name}: partition natural needs a data set that says who owns an example, and that of task "
                    f"{scenario.task.name} does not; choose another partition"
                )
            return Shards.of(natural(owner, scenario.clients, seed, part))
    return Shards.of(_disjoint(scenario, labels, seed))


def _disjoint(scenario: Scenario, labels: Rows, seed: int) -> Parts:
    """Ascending rows."""
    if scenario.clients > len(labels):  # said before anything of the size of the clients is made
        raise UsageError(
            f"scenario {scenario.name}: partition {scenario.partition.kind} leaves at least {scenario.clients - len(labels)} of "
            f"{scenario.clients} clients without an example: the task has {len(labels)} training examples; ask for fewer clients"
        )
    match scenario.partition:
        case Iid():
            shards = iid(len(labels), scenario.clients, seed)
        case TwoClass():
            shards = two_class(labels, scenario.clients, seed)
        case Dirichlet() as part:
            shards = dirichlet(labels, scenario.clients, seed, part)
        case ShardsOfClasses() as part:
            shards = classes_in_shards(labels, scenario.clients, seed, part)
    empty = [client for client, rows in enumerate(shards) if len(rows) == 0]
    if empty:
        raise UsageError(
            f"scenario {scenario.name}: partition {scenario.partition.kind} leaves {len(empty)} of {scenario.clients} clients without "
            f"an example (client {empty[0]} is the first): the task has {len(labels)} training examples; ask for fewer clients"
        )
    return shards


def iid(examples: int, clients: int, seed: int) -> Parts:
    """A keyed permutation cut into `clients` parts whose sizes differ by at most one."""
    order = RandomStream(seed, Purpose.partition).permutation(examples)
    return [np.sort(part) for part in np.array_split(order, clients)]


def natural(owner: Rows, clients: int, seed: int, part: Natural) -> Parts:
    """The rows of `clients` owners, in the order of their numbers. Of owners of one size, those
    with the lower numbers are larger. UsageError if fewer than `clients` own at least
    `part.min_examples`."""
    owners, sizes = np.unique(owner, return_counts=True)
    able = np.flatnonzero(sizes >= part.min_examples)
    if len(able) < clients:
        raise UsageError(
            f"partition natural: {clients} clients need as many owners with at least {part.min_examples} examples each, of "
            f"{len(owners)} owners {len(able)} have so many; lower min_examples or ask for fewer clients"
        )
    if part.select == "largest":
        chosen = able[np.argsort(-sizes[able], kind="stable")[:clients]]
    else:
        chosen = able[RandomStream(seed, Purpose.partition, 9).permutation(len(able))[:clients]]
    by_owner = np.split(np.argsort(owner, kind="stable"), np.cumsum(sizes)[:-1])
    return [by_owner[i] for i in np.sort(chosen)]


def overlapping(examples: int, clients: int, seed: int, part: Overlapping) -> Shards:
    """Every client has a stretch of one keyed permutation, which goes on at its beginning, from a
    place that is drawn uniformly: so many of the examples without repetition, whoever else has
    them. UsageError if that is more than there are."""
    size = part.examples_per_client
    if size > examples:
        raise UsageError(
            f"partition overlapping: examples_per_client must be at most the {examples} training examples of the task, got {size}"
        )
    order = RandomStream(seed, Purpose.partition, 7).permutation(examples)
    begin = np.floor(RandomStream(seed, Purpose.partition, 8).uniform(clients) * examples).astype(np.int64)
    return Shards(np.concatenate([order, order[: size - 1]]), begin, np.full(clients, size))


def two_class(labels: Rows, clients: int, seed: int) -> Parts:
    """2 N shards of one class each, two of different classes to every client.

    A class gets shards in proportion to its size (largest remainders), cut from a keyed permutation
    of its examples; sizes are equal where the numbers divide. Shards are dealt in keyed order; a
    client with two of one class swaps its second shard with a drawn client, if both then have two
    classes. Source: Wang et al. 2024 (DeFedAvg), experiments; the details are not stated there.
    """
    classes, counts = np.unique(labels, return_counts=True)
    if 2 * clients > len(labels):
        raise UsageError(
            f"partition two_class: {2 * clients} shards for {clients} clients need as many examples, the task has {len(labels)}; ask for "
            "fewer clients"
        )
    per_class = shards_per_class(counts, 2 * clients)
    if per_class.min() == 0:
        raise UsageError(
            f"partition two_class: {2 * clients} shards for {clients} clients leave class {classes[per_class.argmin()]} of "
            f"{len(classes)} classes without one, so its examples would be lost; ask for more clients"
        )
    if per_class.max() > clients:
        raise UsageError(
            f"partition two_class: class {classes[per_class.argmax()]} fills {per_class.max()} of {2 * clients} shards, so {clients} "
            "clients cannot all have two different classes"
        )
    shards: list[tuple[int, Rows]] = []
    for k, (label, count) in enumerate(zip(classes, per_class, strict=True)):
        rows = np.flatnonzero(labels == label)
        rows = rows[RandomStream(seed, Purpose.partition, 0, 1 + k).permutation(len(rows))]
        shards += [(int(label), part) for part in np.array_split(rows, count) if count]
    dealt = [shards[i] for i in RandomStream(seed, Purpose.partition).permutation(len(shards))]
    first, second = dealt[:clients], dealt[clients:]
    _separate(first, second, RandomStream(seed, Purpose.partition, 1))
    return [np.sort(np.concatenate([a[1], b[1]])) for a, b in zip(first, second, strict=True)]


DIRICHLET_DRAWS = 100


def dirichlet(labels: Rows, clients: int, seed: int, part: Dirichlet) -> Parts:
    """For each class, a keyed permutation of its examples cut at the cumulative shares of the
    clients.

    Drawn again until every client has `min_examples`, at most DIRICHLET_DRAWS times: with a small
    alpha that would take for ever. Then the draw whose smallest client is largest is filled up: a
    client below the floor takes examples of the largest one. Source: by class as in yujiaw98/FADAS;
    with stop_at_mean as in HarliWu/FedaGrac (`__getDirichletData__`).
    """
    if clients * part.min_examples > len(labels):
        raise UsageError(
            f"partition dirichlet: {clients} clients with at least {part.min_examples} examples each need "
            f"{clients * part.min_examples}, the task has {len(labels)}; lower min_examples or ask for fewer clients"
        )
    classes, totals = np.unique(labels, return_counts=True)
    best = np.zeros((len(classes), clients), np.int64)
    for draw in range(DIRICHLET_DRAWS):
        counts = _dirichlet_counts(totals, clients, part, seed, draw)
        if counts.sum(axis=0).min() >= best.sum(axis=0).min():
            best = counts
        if best.sum(axis=0).min() >= part.min_examples:
            break
    pieces: list[list[Rows]] = []
    for k, label in enumerate(classes):
        rows = np.flatnonzero(labels == label)
        rows = rows[RandomStream(seed, Purpose.partition, 2, k).permutation(len(rows))]
        pieces.append(np.split(rows, np.cumsum(best[k])[:-1]))
    shards = [np.concatenate(of_client) for of_client in zip(*pieces, strict=True)]
    return [np.sort(rows) for rows in _filled_up(shards, part.min_examples)]


def _dirichlet_counts(totals: Rows, clients: int, part: Dirichlet, seed: int, draw: int) -> Rows:
    """One attempt: how many of the `totals` examples of each class every client gets (classes,
    N)."""
    counts = np.zeros((len(totals), clients), np.int64)
    for k, total in enumerate(totals.tolist()):
        weights = log_gamma(RandomStream(seed, Purpose.partition, 3, draw * len(totals) + k), np.full(clients, part.alpha))
        if part.stop_at_mean:
            weights[counts.sum(axis=0) >= totals.sum() / clients] = -np.inf
        cuts = np.floor(np.cumsum(shares(weights))[:-1] * total).astype(np.int64)
        counts[k] = np.diff(np.concatenate([[0], np.minimum(cuts, total), [total]]))
    return counts


def _filled_up(shards: Parts, floor: int) -> Parts:
    """Clients below the floor, in order, take the last examples of whoever has most, so many that
    both sides stay above it."""
    for client in range(len(shards)):
        while len(shards[client]) < floor:
            largest = max(range(len(shards)), key=lambda i: len(shards[i]))
            count = min(floor - len(shards[client]), len(shards[largest]) - floor)
            shards[client] = np.concatenate([shards[client], shards[largest][-count:]])
            shards[largest] = shards[largest][:-count]
    return shards


def _separate(first: list[tuple[int, Rows]], second: list[tuple[int, Rows]], stream: RandomStream) -> None:
    """Swap second shards until nobody has one class twice. A draw that helps nobody is drawn
    again."""
    clients = len(first)
    for i in range(clients):
        for _ in range(10_000):
            if first[i][0] != second[i][0]:
                break
            j = stream.below(clients)
            if first[i][0] != second[j][0] and first[j][0] != second[i][0]:
                second[i], second[j] = second[j], second[i]
        else:
            raise UsageError(f"partition two_class: found no second class for client {i} in 10000 draws")
