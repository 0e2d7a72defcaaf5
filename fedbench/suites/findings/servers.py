"""What the work of a server would cost if it took time, and at which speed it costs the lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fedbench.analysis.costs import costs
from fedbench.analysis.server_speed import Arrival, arrival, overlapped, serial, speed_for
from fedbench.results.record import Record
from fedbench.suites.findings.numbers import rankings
from fedbench.suites.findings.results import Results


@dataclass(frozen=True)
class Lead:
    """A row whose server computes, beside the cheapest row whose server only adds, with as many
    clients at work, at the targets that get a verdict for both.

    seconds, rival_seconds: the mean times to these targets.
    gradients: what the server computes until a target, in gradients of an example, on average.
    slowest, fastest: the server's speeds, in gradients of an example a second, at which the row
    takes as long as the rival: if the work overlaps with the clients' as far as it can, and if
    everybody waits for it. None if it takes longer with any server.
    """

    row: str
    rival: str
    seconds: float
    rival_seconds: float
    gradients: float
    slowest: float | None
    fastest: float | None


def lead(results: Results, kind: str, point: str) -> Lead | None:
    """Returns the lead of the cheapest row of a kind of group with public data at a point. None
    without a rival, without common targets, if a run misses one of them, or if a race gave both
    groups different numbers of seeds."""
    group, board = results.systems[kind][point], results.tuned[point]
    plain = next((found for found in board.groups if found.at_work == group.at_work and not found.public_data), None)
    own, other = rankings(results, kind).get(point), board.ranking(plain) if plain is not None else None
    if own is None or own.leader is None or other is None:
        return None
    targets = [target for target in own.targets if target in other.targets]
    if not targets:
        return None
    rows = results.complete(tuned=True)[point]
    arrivals = _arrivals(rows[own.leader], targets)
    found = costs({row: rows[row] for row in other.rows}).at(targets)
    whole = ~found.missed.any(axis=(0, 2))
    if arrivals is None or not whole.any() or len(rows[own.leader]) != len(found.seeds):
        return None
    times = np.where(whole, found.spent.mean(axis=(0, 2)), np.inf)
    rival_seconds = float(times.min())
    return Lead(
        row=own.leader,
        rival=found.rows[int(times.argmin())],
        seconds=float(np.mean([one.seconds for one in arrivals])),
        rival_seconds=rival_seconds,
        gradients=float(np.mean([one.gradients for one in arrivals])),
        slowest=speed_for(arrivals, rival_seconds, overlapped),
        fastest=speed_for(arrivals, rival_seconds, serial),
    )


def _arrivals(runs: Sequence[Record], targets: Sequence[float]) -> list[Arrival] | None:
    """Returns how every run came to hold every target, None if one did not."""
    wanted = [target for target in runs[0].spec.scenario.compared if float(target.value) in targets]
    found = [arrival(run, target) for run in runs for target in wanted]
    return None if None in found else [one for one in found if one is not None]
