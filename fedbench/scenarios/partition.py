"""Decides which training examples every client has. This depends on the scenario and the seed, and
never on the algorithm."""

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
"""Row numbers of training examples: one array per client."""


def public_rows(scenario: Scenario, examples: int, seed: int) -> Rows | None:
    """Returns the training rows (ascending) that the server has unlabelled and no client has. None
    if the scenario holds out no public data. UsageError if no rows were left for the clients."""
    if scenario.public is None or scenario.public.source != HELD_OUT or scenario.public.size is None:
        return None
    size = scenario.public.size
    if size >= examples:
        raise UsageError(
            f"scenario {scenario.name}: public.size must leave the clients some of the {examples} training examples, got {size}"
        )
    return np.sort(RandomStream(seed, Purpose.holdout, 1).permutation(examples)[:size])


def rows_of_other_task(scenario: Scenario, examples: int, seed: int) -> Rows:
    """Returns the rows (ascending) of another task's training set that the server has unlabelled.
    UsageError if that task has fewer examples."""
    size = scenario.public.size if scenario.public is not None else None
    if size is not None and size > examples:
        raise UsageError(
            f"scenario {scenario.name}: public.size must be at most the {examples} training examples of the source, got {size}"
        )
    return np.sort(RandomStream(seed, Purpose.holdout, 2).permutation(examples)[:size])


def validation_rows(share: float, labels: Rows, seed: int, scenario: str) -> Rows:
    """Returns the training rows (ascending) that are held out for validation.

    They are the share of every class, rounded to a whole number of examples, by a keyed
    permutation. UsageError, which names the scenario, if these are no rows or all rows.
    """
    found = draw_share_of_every_class(labels, share, seed, 0)
    if len(found) in (0, len(labels)):
        raise UsageError(
            f"scenario {scenario}: validation.share {share:g} holds out {len(found)} of {len(labels)} training examples; there "
            "must be some on both sides"
        )
    return found


def partition(scenario: Scenario, labels: Rows, seed: int, owner: Rows | None = None, owners: int = 0) -> Shards:
    """Returns the rows of every client.

    Every row belongs to exactly one client, except for public rows, for partitions that overlap,
    and for rows whose owner is no client.

    Args:
        scenario: Its parts `clients`, `partition` and `public` are used.
        labels: The class of every training example (n,).
        seed: The seed of the run.
        owner: The owner of every training example (n,), if the data set states owners.
        owners: How many owners the data set states, if that is known, for the message.

    Raises:
        UsageError: A client would have no example, or the partition does not fit the data.
    """
    public = public_rows(scenario, len(labels), seed)
    if public is None:
        return _partition(scenario, labels, owner, owners, seed)
    private = np.delete(np.arange(len(labels)), public)
    return _partition(scenario, labels[private], None if owner is None else owner[private], owners, seed).among(private)


def _partition(scenario: Scenario, labels: Rows, owner: Rows | None, owners: int, seed: int) -> Shards:
    match scenario.partition:
        case Overlapping() as part:
            return overlapping(len(labels), scenario.clients, seed, part)
        case Natural() as part:
            if owner is None:
                raise UsageError(
                    f"scenario {scenario.name}: partition natural needs a data set that says who owns an example, and that of task "
                    f"{scenario.task.name} does not; choose another partition"
                )
            return Shards.of(natural(owner, scenario.clients, seed, part, owners))
    return Shards.of(_disjoint(scenario, labels, seed))


def _disjoint(scenario: Scenario, labels: Rows, seed: int) -> Parts:
    """Returns the ascending rows of every client, for partitions without common rows."""
    if scenario.clients > len(labels):  # checked before arrays of that many clients are made
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
    """Returns a keyed permutation, cut into `clients` parts whose sizes differ by at most one."""
    order = RandomStream(seed, Purpose.partition).permutation(examples)
    return [np.sort(part) for part in np.array_split(order, clients)]


def natural(owner: Rows, clients: int, seed: int, part: Natural, stated: int = 0) -> Parts:
    """Returns the rows of `clients` owners, in the order of the owners' numbers.

    Of owners with equally many examples, those with the lower numbers are taken for larger.
    UsageError if fewer than `clients` own at least `part.min_examples`; its message counts the
    owners that the data set `stated`, if that is known.
    """
    owners, sizes = np.unique(owner, return_counts=True)
    able = np.flatnonzero(sizes >= part.min_examples)
    if len(able) < clients:
        raise UsageError(
            f"partition natural: {clients} clients need as many owners with at least {part.min_examples} training examples each, of "
            f"{max(stated, len(owners))} owners {len(able)} have so many{_held_out(stated - len(owners))}; lower min_examples or ask for "
            "fewer clients"
        )
    if part.select == "largest":
        chosen = able[np.argsort(-sizes[able], kind="stable")[:clients]]
    else:
        chosen = able[RandomStream(seed, Purpose.partition, 9).permutation(len(able))[:clients]]
    by_owner = np.split(np.argsort(owner, kind="stable"), np.cumsum(sizes)[:-1])
    return [by_owner[i] for i in np.sort(chosen)]


def _held_out(owners: int) -> str:
    if owners <= 0:
        return ""
    return (
        f", and {owners} have no training example left, since those for testing, validation or the server were held out; with "
        "task.test: {share: 0.2, within: owner} every owner of your own data keeps one"
    )


def overlapping(examples: int, clients: int, seed: int, part: Overlapping) -> Shards:
    """Returns shards that may have common rows.

    Every client has a stretch of one keyed permutation, from a place that is drawn uniformly. A
    stretch that reaches the end of the permutation goes on at its beginning. UsageError if a client
    is to have more examples than there are.
    """
    size = part.examples_per_client
    if size > examples:
        raise UsageError(
            f"partition overlapping: examples_per_client must be at most the {examples} training examples of the task, got {size}"
        )
    order = RandomStream(seed, Purpose.partition, 7).permutation(examples)
    begin = np.floor(RandomStream(seed, Purpose.partition, 8).uniform(clients) * examples).astype(np.int64)
    return Shards(np.concatenate([order, order[: size - 1]]), begin, np.full(clients, size))


def two_class(labels: Rows, clients: int, seed: int) -> Parts:
    """Returns two shards of different classes for every client, of 2 N shards of one class each.

    A class gets shards in proportion to its size (by largest remainders). They are cut from a keyed
    permutation of its examples, and have one size where the numbers divide. Shards are dealt in a
    keyed order. A client with two shards of one class then swaps its second shard with a drawn
    client, if both have two classes afterwards. Source: Wang et al. 2024 (DeFedAvg), experiments;
    the details are not stated there. UsageError if the numbers do not allow it.
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
    """Returns a Dirichlet partition: a keyed permutation of the examples of each class is cut at
    the cumulative shares of the clients.

    Shares are drawn again until every client has `min_examples`. With a small alpha that would take
    for ever, so there are at most DIRICHLET_DRAWS draws. If none suffices, the draw whose smallest
    client is largest is filled up: a client below the minimum takes examples of the largest one.
    Source: by class as in yujiaw98/FADAS; with stop_at_mean as in HarliWu/FedaGrac
    (`__getDirichletData__`). UsageError if there are too few examples.
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
    """Returns how many of the `totals` examples of each class every client gets (classes, N), in
    the draw of this number."""
    counts = np.zeros((len(totals), clients), np.int64)
    for k, total in enumerate(totals.tolist()):
        weights = log_gamma(RandomStream(seed, Purpose.partition, 3, draw * len(totals) + k), np.full(clients, part.alpha))
        if part.stop_at_mean:
            weights[counts.sum(axis=0) >= totals.sum() / clients] = -np.inf
        cuts = np.floor(np.cumsum(shares(weights))[:-1] * total).astype(np.int64)
        counts[k] = np.diff(np.concatenate([[0], np.minimum(cuts, total), [total]]))
    return counts


def _filled_up(shards: Parts, floor: int) -> Parts:
    """Returns shards of at least `floor` examples. Clients with fewer take, in order, the last
    examples of the largest client, which never falls below the floor itself."""
    for client in range(len(shards)):
        while len(shards[client]) < floor:
            largest = max(range(len(shards)), key=lambda i: len(shards[i]))
            count = min(floor - len(shards[client]), len(shards[largest]) - floor)
            shards[client] = np.concatenate([shards[client], shards[largest][-count:]])
            shards[largest] = shards[largest][:-count]
    return shards


def _separate(first: list[tuple[int, Rows]], second: list[tuple[int, Rows]], stream: RandomStream) -> None:
    """Swaps second shards with drawn clients until no client has one class twice. A swap that would
    leave one of the two clients with one class is not made, and another client is drawn."""
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
