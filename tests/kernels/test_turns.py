"""Turns: the laws of its rounds, what is sent, and when. The plain Python model of it is in
tests/properties."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS, Availability, Duration, Scheduler, Timing
from fedbench.types import Stream, Turns
from tests.kernels import model
from tests.kernels.plans import DETERMINISTIC, ONE_SECOND, Plan, chunk_sizes, mixed_speeds, plan, systems, timing_of

POLICIES = [Turns(), Turns(resend="newest")]


def turns(p: Plan) -> list[int]:
    """The client whose turn every update was."""
    return [int(p["client"][entries[-1]]) for entries in p.entries]


def ages(p: Plan, clients: int) -> tuple[int, int]:
    """The largest number of updates since the version of an entry of the table, at any update; and
    the most versions in one entry."""
    versions: dict[int, set[int]] = {}
    oldest = most = 0
    for update, entries in enumerate(p.entries):
        if update % clients == 0:
            versions = {}
        for entry in entries.tolist():
            versions.setdefault(int(p["client"][entry]), set()).add(int(p["base"][entry]))
        oldest = max(oldest, update - min(map(min, versions.values())))
        most = max(most, *map(len, versions.values()))
    return oldest, most


@DETERMINISTIC
@given(systems(), chunk_sizes, st.sampled_from(POLICIES))
def test_the_laws_of_rounds(system: model.System, sizes: list[int], dispatch: Turns) -> None:
    """With ties everywhere: N updates a round, everybody's turn once in it, all of what was sent
    counts once, nobody rests."""
    clients = system.clients
    p = plan(timing_of(system), dispatch, sizes)
    for update, entries in enumerate(p.entries):
        first = update % clients == 0
        assert set(p["client"][entries].tolist()) == set(range(clients)) if first else len(entries) == 1
    for begin in range(0, len(p.entries), clients):
        had = turns(p)[begin : begin + clients]
        assert len(set(had)) == len(had)
    assert set(Counter(entry for entries in p.entries for entry in entries.tolist()).values()) == {1}
    last_first = p.time[(len(p.time) - 1) // clients * clients]
    assert (p["consumed_by"][p["t_arrive"] < last_first] >= 0).all()
    jobs = {(int(c), int(k)): row for row, (c, k) in enumerate(zip(p["client"], p["k"], strict=True))}
    for (client, k), row in jobs.items():
        before = p["t_arrive"][jobs[client, k - 1]] if k else 0
        assert p["t_dispatch"][row] == before, "a client starts again in the instant of its arrival"
        assert p["base"][row] >= (p["base"][jobs[client, k - 1]] if k else 0)
    oldest, versions = ages(p, clients)
    assert oldest <= 2 * clients - 2
    assert versions == 1 or dispatch.resend == "newest"


@pytest.mark.parametrize("clients", [1, 2, 3, 10])
def test_the_bound_of_delay_is_attained(clients: int) -> None:
    """The first who has a turn in a round holds its version to the end of the next round."""
    assert ages(plan(mixed_speeds(clients, 8, max_updates=6 * clients), Turns()), clients) == (2 * clients - 2, 1)


@pytest.mark.parametrize("dispatch", POLICIES, ids=repr)
def test_a_round_takes_at_most_twice_the_slowest_job(dispatch: Turns) -> None:
    """With fixed compute times and no network. Some rounds come near."""
    worst = 0.0
    for seed in range(12):
        random = np.random.default_rng(seed)
        clients = int(random.integers(2, 12))
        tau = random.lognormal(0.0, 1.0, clients)
        p = plan(Timing(clients=clients, compute=Duration.constant(tau), max_updates=40 * clients), dispatch)
        ends = p.time[clients - 1 :: clients] / NANOSECONDS
        worst = max(worst, float(np.diff(ends, prepend=0.0).max() / (2 * tau.max())))
    assert 0.8 < worst <= 1


@pytest.mark.parametrize("dispatch", POLICIES, ids=repr)
def test_one_client_makes_an_update_of_every_job(dispatch: Turns) -> None:
    timing = mixed_speeds(1, 2, download=Duration.constant(0.5), max_updates=20)
    assert plan(timing, dispatch).key() == plan(timing, Stream(concurrency=1, restart="self")).key()


def test_a_version_is_sent_once_and_only_after_a_turn() -> None:
    """N at first, then one after every turn; a download takes 0.75 s, and going on takes none."""
    p = plan(mixed_speeds(7, 3, download=Duration.constant(0.75), max_updates=70), Turns())
    sent = p["t_start"] - p["t_dispatch"] > 0
    assert set((p["t_start"] - p["t_dispatch"]).tolist()) == {0, round(0.75 * NANOSECONDS)}
    pairs = list(zip(p["client"][sent].tolist(), p["base"][sent].tolist(), strict=True))
    assert len(set(pairs)) == len(pairs) == p.totals["downloads"] == 7 + 70 - 1  # the plan ends with the last turn
    resumed = np.concatenate([chunk.resumed for chunk in p.chunks])
    assert sorted(resumed.tolist()) == sorted(p["t_dispatch"][~sent].tolist())


def test_every_start_is_from_the_newest_version() -> None:
    p = plan(mixed_speeds(7, 3, download=Duration.constant(0.75), max_updates=70), Turns(resend="newest"))
    newest = np.searchsorted(p.time, p["t_dispatch"], side="right")
    assert p["base"].tolist() == newest.tolist()
    assert plan(mixed_speeds(7, 3, download=Duration.constant(0.75), max_updates=70), Turns()).key() != p.key()


def test_kept_versions_are_those_that_somebody_holds() -> None:
    """Everybody holds one; the newest goes to the client that has had its turn, in the place of the
    one that it held."""
    clients = 8
    p = plan(mixed_speeds(clients, 4, max_updates=80), Turns(), [1])
    assert p.totals["messages_peak"] == max(len(chunk.live_bases) for chunk in p.chunks) == clients


@pytest.mark.parametrize(
    ("gone", "message"),
    [
        (0, "stalled before update 1: waiting for clients [2], at 5 virtual seconds"),
        (1, "stalled before update 2: waiting for clients [0, 1], at 5 virtual seconds"),
        (3, "stalled before update 6: waiting for clients [0], at 5 virtual seconds"),
    ],
)
def test_whom_a_stalled_plan_waits_for(gone: int, message: str) -> None:
    """Jobs of 1 s. Clients 0 and 1 leave at `gone` and half a second; before the first update it is
    client 2 that leaves."""
    late, early = [(0.0, 5.0)], [(0.0, gone + 0.5)]
    rows = [late, late, early] if gone == 0 else [early, early, late]
    timing = Timing(clients=3, compute=ONE_SECOND, availability=Availability(kind="table", rows=rows), max_updates=9)
    scheduler = Scheduler(timing, Turns())
    scheduler.next()
    assert (scheduler.outcome, scheduler.stalled_message) == ("stalled", message)


REFUSED: list[tuple[str, dict[str, Any], Turns]] = [
    ("turns: resend must be one of turn, newest, got 'never'", {}, Turns(resend="never")),  # type: ignore[arg-type]
    ("zero cycle time: job 0 of client 0", {"compute": Duration.constant(0.0)}, Turns()),
    ("zero cycle time: job 1 of client 0", {"compute": Duration.constant(0.0), "download": ONE_SECOND}, Turns()),
]


@pytest.mark.parametrize(("message", "changes", "dispatch"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(message: str, changes: dict[str, Any], dispatch: Turns) -> None:
    with pytest.raises(UsageError, match=message):
        plan(Timing(**({"clients": 2, "compute": ONE_SECOND, "max_updates": 9} | changes)), dispatch)
