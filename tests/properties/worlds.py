"""Random configurations of the scheduler: every policy, availability, drop-out, deadlines. Times
are quarters of a second."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from fedbench.kernels.scheduler import Availability, Duration, Gradients, LocalSteps, Timing
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Turns

CASES = int(os.environ.get("FEDBENCH_FUZZ", "0"))
"""More than 0: so many cases of every property instead of the suite's few, drawn anew at each
run."""


def cases(count: int) -> settings:
    """`count` cases, the same ones in every run; or as many as FEDBENCH_FUZZ says."""
    options: Any = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
    return settings(derandomize=not CASES, max_examples=CASES or count, **options)


def quarters(low: int, high: int) -> st.SearchStrategy[float]:
    return st.integers(low, high).map(lambda q: q / 4)


@st.composite
def rows(draw: st.DrawFn, period: int | None) -> list[tuple[float, float]]:
    """Ascending windows of at least a quarter of a second; they may touch."""
    count, row, time = draw(st.integers(1, 4)), [], draw(st.integers(0, 6))
    for _ in range(count):
        until = time + draw(st.integers(1, 20))
        if period is not None and until > period:
            break
        row.append((time / 4, until / 4))
        time = until + draw(st.integers(0, 8))
    return row or [(0.0, 0.25)]


@st.composite
def availabilities(draw: st.DrawFn, clients: int, kinds: tuple[str, ...] = ("periodic", "alternating", "table")) -> Availability:
    when: Any = draw(st.sampled_from(["lost", "paused"]))
    kind = draw(st.sampled_from(kinds))
    per_client = {"min_size": clients, "max_size": clients}
    if kind == "periodic":
        phase = draw(st.none() | st.lists(quarters(0, 3), **per_client).map(np.array))
        fraction = np.array(draw(st.lists(quarters(1, 4), **per_client)))
        return Availability(kind=kind, period_seconds=draw(quarters(1, 40)), on_fraction=fraction, phase=phase, when_offline=when)
    if kind == "alternating":
        on, off = (np.array(draw(st.lists(quarters(low, 30), **per_client))) for low in (1, 0))
        return Availability(kind=kind, mean_on_seconds=on, mean_off_seconds=off, when_offline=when)
    period = draw(st.none() | st.integers(10, 60))
    table = [draw(rows(period)) for _ in range(clients)]
    return Availability(kind="table", rows=table, period_seconds=period and period / 4, when_offline=when)


@st.composite
def dispatches(draw: st.DrawFn, clients: int) -> Dispatch:
    """A policy that its clients can serve."""
    cohort = draw(st.integers(1, clients))
    deadline = draw(st.none() | quarters(1, 30))
    receive: Any = draw(st.sampled_from(["pop", "peek"]))
    match draw(st.sampled_from(["all", "without", "repeated", "stream", "broadcast", "mailbox", "poll", "turns"])):
        case "all":
            return Rounds(deadline_seconds=deadline, over_selection=draw(st.integers(0, clients - 1)))
        case "without":
            over = draw(st.integers(0, clients - cohort))
            return Rounds(select="without_replacement", cohort_size=cohort, deadline_seconds=deadline, over_selection=over)
        case "repeated":
            select: Any = draw(st.sampled_from(["with_replacement", "weighted"]))
            return Rounds(select=select, cohort_size=cohort, deadline_seconds=deadline, over_selection=draw(st.integers(0, 3)))
        case "stream":
            restart: Any = draw(st.sampled_from(["resample", "self"]))
            order: Any = draw(st.sampled_from(["after_update", "before_update"]))
            return Stream(concurrency=cohort, buffer_size=draw(st.integers(1, 4)), restart=restart, order=order)
        case "broadcast":
            return Broadcast(buffer_size=cohort, receive=receive)
        case "mailbox":
            send: Any = draw(st.sampled_from(["continuous", "on_demand"]))
            return Mailbox(cohort_size=cohort, send=send, receive=receive)
        case "turns":
            resend: Any = draw(st.sampled_from(["turn", "newest"]))
            return Turns(resend=resend)
        case _:
            return Poll(cohort_size=cohort, period_seconds=draw(quarters(1, 12)), max_steps=draw(st.integers(1, 5)))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Timing, Dispatch]:
    """A few clients and a few updates; most instants have ties. Nobody works for no time at all."""
    clients = draw(st.integers(1, 6))
    dispatch = draw(dispatches(clients))
    compute = draw(
        st.one_of(
            quarters(1, 8).map(lambda a: Duration.constant(a, per_step=True)),
            st.lists(quarters(1, 8), min_size=clients, max_size=clients).map(
                lambda a: Duration.constant(np.array(a), per_step=True)
            ),
            quarters(1, 8).map(lambda a: Duration.exponential(a, per_step=True)),
        )
    )
    timing = Timing(
        clients=clients,
        seed=draw(st.integers(0, 2**32)),
        compute=compute,
        download=Duration.constant(draw(quarters(0, 3))),
        upload=Duration.constant(draw(quarters(0, 3))),
        steps=LocalSteps(values=draw(st.integers(1, 2))),
        start_seconds=draw(quarters(0, 4)),
        max_updates=draw(st.integers(1, 12)),
        max_seconds=100.0,
        max_jobs=200,
    )
    if draw(st.booleans()):
        timing = replace(timing, dropout=draw(st.sampled_from([0.1, 0.5, 0.9])))
    if draw(st.integers(0, 3)) > 0:
        timing = replace(timing, availability=draw(availabilities(clients)))
    if not isinstance(dispatch, Turns) and draw(st.booleans()):  # which refuses a server whose work takes time
        timing = replace(timing, server_seconds=draw(quarters(1, 8)))
    if not isinstance(dispatch, Poll) and draw(st.booleans()):  # a polled client computes one gradient a step
        beside = draw(st.lists(st.integers(0, 2), min_size=clients, max_size=clients))
        timing = replace(timing, gradients=Gradients(per_step=draw(st.integers(1, 2)), beside=np.array(beside, np.int32)))
    return timing, dispatch
