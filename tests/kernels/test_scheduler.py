"""The scheduler against a plain Python model, closed forms, statistics of what it draws, and its errors."""

from __future__ import annotations

import gc
import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.kernels.reference import philox4x32
from fedbench.kernels.scheduler import NANOSECONDS, Duration, LocalSteps, Scheduler, Timing
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream
from tests.kernels import model
from tests.kernels.plans import (
    DETERMINISTIC,
    JOB_COLUMNS,
    ONE_SECOND,
    assert_equal,
    chi_square,
    chunk_sizes,
    mixed_speeds,
    plan,
    selected,
    systems,
    timing_of,
)

# ---- against the model ---------------------------------------------------------------------------------------------------------


@DETERMINISTIC
@given(systems(), chunk_sizes, st.data())
def test_rounds_equal_the_model(system: model.System, sizes: list[int], data: st.DataObject) -> None:
    cohort = st.lists(st.integers(0, system.clients - 1), min_size=1, max_size=6).map(tuple)
    selections = tuple(data.draw(st.lists(cohort, min_size=system.updates, max_size=system.updates)))
    got = plan(timing_of(system), Rounds(select="scripted", selections=selections), sizes)
    assert_equal(got, model.rounds(system, selections))
    assert got.totals["downloads"] == got.totals["jobs"]


@DETERMINISTIC
@given(systems(), chunk_sizes, st.integers(1, 4), st.booleans(), st.booleans(), st.data())
def test_stream_equals_the_model(
    system: model.System, sizes: list[int], buffer: int, before: bool, restart_self: bool, data: st.DataObject
) -> None:
    initial = data.draw(st.permutations(range(system.clients)))[: data.draw(st.integers(1, system.clients))]
    replacements: list[int] = []

    def choose(arrived: int, idle: list[int]) -> int:
        replacements.append(arrived if restart_self else data.draw(st.sampled_from(idle)))
        return replacements[-1]

    want = model.stream(system, initial, buffer, before, choose)
    dispatch = Stream(
        concurrency=len(initial),
        buffer_size=buffer,
        restart="self" if restart_self else "resample",
        order="before_update" if before else "after_update",
        initial=tuple(initial),
        replacements=None if restart_self else tuple(replacements),
    )
    assert_equal(plan(timing_of(system), dispatch, sizes), want)


@DETERMINISTIC
@given(systems(), chunk_sizes, st.integers(1, 5), st.booleans())
def test_broadcast_equals_the_model(system: model.System, sizes: list[int], buffer: int, pop: bool) -> None:
    buffer = min(buffer, system.clients) if pop else buffer
    got = plan(timing_of(system), Broadcast(buffer_size=buffer, receive="pop" if pop else "peek"), sizes)
    assert_equal(got, model.broadcast(system, buffer, pop))
    assert got.totals["downloads"] == system.clients * system.updates  # every version but the last


# ---- what is drawn -------------------------------------------------------------------------------------------------------------

CLIENTS = 20_000
DRAWN = {
    "uniform": (Duration(kind="uniform", a=1.0, b=4.0), 2.5, 3 / math.sqrt(12)),
    "exponential": (Duration(kind="exponential", a=3.0), 3.0, 3.0),
    "lognormal": (Duration(kind="lognormal", a=0.25, b=0.5), math.exp(0.375), math.exp(0.375) * math.sqrt(math.expm1(0.25))),
    "pareto": (Duration(kind="pareto", a=2.0, b=5.0), 2.5, math.sqrt(4 * 5 / (16 * 3))),
}


def uniforms(seed: int, purpose: int, client: int, k: int) -> Any:
    """The stream's uniform numbers, from the reference generator's words."""
    for draw in itertools.count():
        block = philox4x32((draw, k, client, purpose), (seed & 0xFFFFFFFF, seed >> 32))
        for high, low in (block[:2], block[2:]):
            yield ((high << 32 | low) >> 11) * 2.0**-53


def normal(u: Any) -> float:
    for a, b in zip(u, u, strict=False):
        x, y = 2 * a - 1, 2 * b - 1
        s = x * x + y * y
        if 0 < s < 1:
            return x * math.sqrt(-2 * math.log(s) / s)
    raise AssertionError


FORMULAS = {
    "uniform": lambda u: 1 + 3 * next(u),
    "exponential": lambda u: -3 * math.log1p(-next(u)),
    "lognormal": lambda u: math.exp(0.25 + 0.5 * normal(u)),
    "pareto": lambda u: 2 * (1 - next(u)) ** (-1 / 5),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_drawn_durations(kind: str) -> None:
    duration, mean, deviation = DRAWN[kind]
    seed = 0x1234_5678_9ABC_DEF0
    p = plan(Timing(clients=CLIENTS, seed=seed, compute=duration, max_updates=2), Rounds())
    seconds = (p["t_finish"] - p["t_start"]) / NANOSECONDS
    assert abs(seconds.mean() - mean) < 5 * deviation / math.sqrt(len(seconds))
    assert abs(seconds.std() / deviation - 1) < 0.1
    for row in (*range(20), *range(CLIENTS, CLIENTS + 20)):
        client, k = int(p["client"][row]), int(p["k"][row])
        assert seconds[row] == pytest.approx(FORMULAS[kind](uniforms(seed, 3, client, k)), rel=1e-13, abs=0.51e-9)
    assert {0, 1} == set(p["k"][[0, CLIENTS]].tolist())


def test_durations_of_download_and_upload_have_their_own_streams() -> None:
    one = Duration(kind="exponential", a=1.0)
    p = plan(Timing(clients=3, seed=7, compute=one, download=one, upload=one), Rounds())
    for row, client in enumerate(p["client"].tolist()):
        times = [p[name][row] for name in ("t_dispatch", "t_start", "t_finish", "t_arrive")]
        for purpose, (a, b) in zip((4, 3, 5), itertools.pairwise(times), strict=True):
            assert (b - a) / NANOSECONDS == pytest.approx(
                -math.log1p(-next(uniforms(7, purpose, client, 0))), rel=1e-13, abs=0.51e-9
            )


def test_drawn_steps() -> None:
    steps = LocalSteps(normal=(3.0, 4.0))
    timing = Timing(clients=CLIENTS, seed=5, compute=Duration(a=0.5, per_step=True), steps=steps)
    p = plan(timing, Rounds())
    for row in range(50):
        expected = max(1, math.floor(abs(3 + 2 * normal(uniforms(5, 6, int(p["client"][row]), 0)))))
        assert p["steps"][row] == expected
    assert (p["t_finish"] - p["t_start"] == p["steps"].astype(np.int64) * (NANOSECONDS // 2)).all()
    k = np.arange(2, 12)  # P(K = k) = P(k <= |X| < k + 1), and everything below 2 counts as 1
    z = scipy.stats.norm(3, 2)
    share = np.concatenate([[z.cdf(2) - z.cdf(-2)], z.cdf(k + 1) - z.cdf(k) + z.cdf(-k) - z.cdf(-k - 1)])
    counts = np.bincount(p["steps"], minlength=13)[1:12]
    assert np.abs(counts / CLIENTS - share).max() < 5 * 0.5 / math.sqrt(CLIENTS)


def test_with_replacement_is_uniform_and_counts_multiplicities() -> None:
    p = plan(Timing(clients=10, compute=ONE_SECOND, max_updates=400), Rounds(select="with_replacement", cohort_size=25))
    clients = selected(p)
    assert clients.shape == (400, 25)
    assert chi_square(np.bincount(clients.ravel(), minlength=10), np.full(10, 0.1)) > 1e-6
    # A multinomial has variance n q (1 - q) = 2.25 per client and round, too little or too much would be something else.
    per_round = np.stack([np.bincount(row, minlength=10) for row in clients])
    assert abs(per_round.var() / 2.25 - 1) < 0.1
    assert all(len(set(entries.tolist())) == len(set(row.tolist())) for entries, row in zip(p.entries, clients, strict=True))


def test_weighted_selection_follows_p() -> None:
    weights = np.array([0.5, 0.25, 0.0, 0.2, 0.05])
    p = plan(Timing(clients=5, compute=ONE_SECOND, max_updates=1000), Rounds(select="weighted", cohort_size=10), p=weights)
    counts = np.bincount(selected(p).ravel(), minlength=5)
    assert counts[2] == 0
    assert chi_square(counts[weights > 0], weights[weights > 0]) > 1e-6


def test_without_replacement_is_uniform_over_pairs() -> None:
    p = plan(Timing(clients=5, compute=ONE_SECOND, max_updates=3000), Rounds(select="without_replacement", cohort_size=2))
    pairs = Counter(tuple(sorted(row)) for row in selected(p).tolist())
    assert len(pairs) == 10
    assert all(a != b for a, b in pairs)
    assert chi_square(np.array(list(pairs.values())), np.full(10, 0.1)) > 1e-6


def test_a_round_depends_on_its_own_stream_only() -> None:
    """Round t draws from (seed, selection, 0, t): Fisher-Yates over 0 .. N-1 with words of that stream."""
    p = plan(Timing(clients=7, seed=3, compute=ONE_SECOND, max_updates=5), Rounds(select="without_replacement", cohort_size=3))
    for t, clients in enumerate(selected(p).tolist()):
        words = itertools.chain.from_iterable(philox4x32((draw, t, 0, 7), (3, 0)) for draw in itertools.count())
        pool = list(range(7))
        for i in range(3):
            j = i + (next(words) * (7 - i) >> 32)  # below 2^32 / 7 of all words are rejected: none here
            pool[i], pool[j] = pool[j], pool[i]
        assert sorted(pool[:3]) == clients  # consumed in client order, all being equally fast


def test_resampling_is_uniform_over_idle_clients() -> None:
    """Equal, constant speeds and concurrency 1: the replacement is any of the N clients, the arrived one included."""
    p = plan(Timing(clients=6, compute=ONE_SECOND, max_updates=6000), Stream(concurrency=1))
    clients = p["client"]
    assert chi_square(np.bincount(clients, minlength=6), np.full(6, 1 / 6)) > 1e-6
    same = float((clients[1:] == clients[:-1]).mean())
    assert abs(same - 1 / 6) < 5 * math.sqrt(5 / 36 / 6000)


# ---- closed forms --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order", "expected"), [("after_update", 39 / 8), ("before_update", 40 / 8)])
@pytest.mark.parametrize("restart", ["resample", "self"])
def test_mean_staleness(order: Any, expected: float, restart: Any) -> None:
    """M_c - 1 other arrivals during a flight, whatever the speeds: (M_c - 1) / M updates, M_c / M if dispatched before them."""
    dispatch = Stream(concurrency=40, buffer_size=8, order=order, restart=restart)
    p = plan(mixed_speeds(100, 1, max_updates=5000), dispatch)
    taus = np.concatenate(p.staleness)
    assert (taus >= 0).all()
    assert taus[400:].mean() == pytest.approx(expected, rel=0.01)


def test_concurrency_is_kept() -> None:
    """After the first 40 dispatches there is one at every arrival, and a client's jobs do not overlap."""
    p = plan(mixed_speeds(60, 2, max_updates=500), Stream(concurrency=40, buffer_size=7))
    arrivals = np.sort(p["t_arrive"][p["consumed_by"] >= 0])
    dispatches = np.sort(p["t_dispatch"])
    assert (dispatches[:40] == 0).all()
    assert len(dispatches) == 7 * 500 + 40 - 1  # nothing starts after the last update
    assert np.array_equal(dispatches[40:], arrivals[:-1])
    for client in range(60):
        rows = np.flatnonzero(p["client"] == client)
        rows = rows[np.argsort(p["k"][rows])]
        assert p["k"][rows].tolist() == list(range(len(rows)))
        assert (p["t_dispatch"][rows][1:] >= p["t_arrive"][rows][:-1]).all()


@pytest.mark.parametrize("restart", ["resample", "self"])
def test_fedbuff_with_everybody_is_synchronous(restart: Any) -> None:
    """M = M_c = N and equal durations: the timeline of Rounds(select="all")."""
    timing = Timing(clients=9, compute=Duration(a=1.5), download=Duration(a=0.25), upload=Duration(a=0.5), max_updates=20)
    rounds, stream = plan(timing, Rounds()), plan(timing, Stream(concurrency=9, buffer_size=9, restart=restart))
    for name in JOB_COLUMNS:
        assert np.array_equal(rounds[name], stream[name]), name
    assert np.array_equal(rounds.time, stream.time)
    assert np.array_equal(np.stack(rounds.entries), np.stack(stream.entries))
    assert rounds.time.tolist() == [round(2.25 * NANOSECONDS) * (t + 1) for t in range(20)]


def test_peek_is_fedbuff_with_self_restart() -> None:
    """DeFedAvg-IID that keeps its model, zero download time: event for event a Stream of all clients that restart themselves."""
    timing = Timing(clients=6, compute=Duration(a=np.array([1, 1.5, 2, 2.25, 3, 7.75])), upload=Duration(a=0.25), max_updates=40)
    peek = plan(timing, Broadcast(buffer_size=4, receive="peek"))
    stream = plan(timing, Stream(concurrency=6, buffer_size=4, restart="self"))
    for name in ("client", "k", "base", "consumed_by", "t_start", "t_finish", "t_arrive"):
        assert np.array_equal(peek[name], stream[name]), name
    assert np.array_equal(np.stack(peek.entries), np.stack(stream.entries))


def test_pop_with_everybody_is_synchronous() -> None:
    timing = Timing(clients=4, compute=Duration(a=np.array([1, 2, 3, 1.5])), max_updates=10)
    pop, rounds = plan(timing, Broadcast(buffer_size=4)), plan(timing, Rounds())
    assert pop.time.tolist() == rounds.time.tolist() == [3 * NANOSECONDS * t for t in range(1, 11)]
    assert np.array_equal(np.stack(pop.entries), np.stack(rounds.entries))
    assert not np.concatenate(pop.staleness).any()


def test_totals_of_rounds() -> None:
    totals = plan(Timing(clients=5, compute=ONE_SECOND, max_updates=3), Rounds()).totals
    assert totals == {"jobs": 15, "downloads": 15, "messages_peak": 1, "open_jobs_peak": 5}


@pytest.mark.parametrize(
    "dispatch", [Stream(concurrency=8, buffer_size=3), Broadcast(buffer_size=3), Broadcast(buffer_size=3, receive="peek")]
)
def test_totals_by_counting(dispatch: Dispatch) -> None:
    """open_jobs_peak counts jobs from their start to the update that consumes them."""
    p = plan(mixed_speeds(8, 3, max_updates=60), dispatch)
    begin = p["t_dispatch"] if isinstance(dispatch, Stream) else p["t_start"]
    closed = np.where(p["consumed_by"] >= 0, p.time[p["consumed_by"]], p.end_ns)
    peak = max(int(((begin <= t) & (closed > t)).sum()) for t in begin.tolist())
    assert p.totals["open_jobs_peak"] == peak
    assert p.totals["jobs"] == len(p["client"])


# ---- chunks --------------------------------------------------------------------------------------------------------------------

POLICIES: list[Dispatch] = [
    Rounds(),
    Rounds(select="with_replacement", cohort_size=6),
    Stream(concurrency=7, buffer_size=3),
    Stream(concurrency=7, buffer_size=3, restart="self", order="before_update"),
    Broadcast(buffer_size=3),
    Broadcast(buffer_size=3, receive="peek"),
    Mailbox(cohort_size=4),
    Mailbox(cohort_size=4, receive="peek"),
    Mailbox(cohort_size=4, receive="peek", send="on_demand"),
    Poll(cohort_size=3, period_seconds=2.5, max_steps=4),
]


@pytest.mark.parametrize("dispatch", POLICIES, ids=repr)
@pytest.mark.parametrize(
    "budget", [{"max_updates": 50}, {"max_updates": 10_000, "max_seconds": 60.0}, {"max_updates": 10_000, "max_jobs": 200}]
)
def test_chunks_do_not_change_the_plan(dispatch: Dispatch, budget: dict[str, Any]) -> None:
    timing = mixed_speeds(10, 4, download=Duration(a=0.5), **budget)
    whole = plan(timing, dispatch)
    assert len(whole.time) >= 2
    for sizes in ([1], [2], [7, 1, 3]):
        assert plan(timing, dispatch, sizes).key() == whole.key()


@pytest.mark.parametrize("dispatch", POLICIES, ids=repr)
def test_live_bases_cover_what_later_chunks_use(dispatch: Dispatch) -> None:
    p = plan(mixed_speeds(10, 5, download=Duration(a=0.75), max_updates=60), dispatch, [2, 1, 3])
    later: set[int] = set()
    checked = 0
    for chunk in reversed(p.chunks):
        live, version = chunk.live_bases.tolist(), chunk.first_version + len(chunk.time)
        assert live == sorted(set(live))
        assert {base for base in later if base <= version} <= set(live)
        checked += len([base for base in later if base < version])
        later |= set(chunk.base.tolist())
    assert p.chunks[-1].live_bases.size == 0
    assert checked > 0 or isinstance(dispatch, Rounds)


def test_columns_are_read_only_views_that_keep_their_memory() -> None:
    timing = mixed_speeds(10, 6, max_updates=200)
    names = (*JOB_COLUMNS, "time", "offsets", "entries", "live_bases")
    scheduler = Scheduler(timing, Stream(concurrency=5, buffer_size=3))
    chunk = scheduler.next(150)
    views = {name: getattr(chunk, name) for name in names}
    copies = {name: view.copy() for name, view in views.items()}
    for name, view in views.items():
        assert view.base is not None
        assert np.shares_memory(view, getattr(chunk, name))
        assert view.size > 0
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.setflags(write=True)
    del chunk
    scheduler.next()
    del scheduler
    gc.collect()
    blocks = [np.full(1 << 12, -7, np.int64) for _ in range(100)]  # would land in freed memory
    assert len(blocks) == 100
    for name, view in views.items():
        assert np.array_equal(view, copies[name]), name
    types = {name: view.dtype.name for name, view in views.items()}
    assert {name for name, kind in types.items() if kind == "int32"} == {
        "client",
        "k",
        "base",
        "steps",
        "consumed_by",
        "live_bases",
    }
    assert {name for name, kind in types.items() if kind == "int64"} == set(names) - {
        n for n, kind in types.items() if kind == "int32"
    }


# ---- budgets -------------------------------------------------------------------------------------------------------------------


def test_budget_of_updates() -> None:
    p = plan(Timing(clients=2, compute=ONE_SECOND, max_updates=3), Rounds())
    assert (len(p.time), p.ended_by, p.end_ns) == (3, "updates", 3 * NANOSECONDS)


def test_budget_of_time_includes_its_last_instant() -> None:
    timing = {"clients": 2, "compute": Duration(a=np.array([1, 2])), "max_updates": 100}
    p = plan(Timing(max_seconds=4.0, **timing), Rounds())
    assert (p.time.tolist(), p.ended_by, p.end_ns) == ([2 * NANOSECONDS, 4 * NANOSECONDS], "time", 4 * NANOSECONDS)
    p = plan(Timing(max_seconds=3.75, **timing), Rounds())
    assert (p.time.tolist(), p.ended_by, p.end_ns) == ([2 * NANOSECONDS], "time", round(3.75 * NANOSECONDS))
    assert (p["consumed_by"] == [0, 0, -1, -1]).all()


def test_budget_of_jobs() -> None:
    p = plan(Timing(clients=3, compute=ONE_SECOND, max_updates=100, max_jobs=7), Stream(concurrency=3, restart="self"))
    assert p.ended_by == "jobs"
    assert p.totals["jobs"] == len(p["client"]) >= 7
    assert p.totals["jobs"] <= 7 + 3  # the dispatches of one instant belong together
    scheduler = Scheduler(Timing(clients=3, compute=ONE_SECOND, max_updates=9), Rounds())
    while not scheduler.next(2).done:
        assert scheduler.outcome == "running"
    assert scheduler.outcome == "finished"


def test_start_of_the_clock() -> None:
    p = plan(Timing(clients=1, compute=ONE_SECOND, start_seconds=10.0, max_updates=2), Rounds())
    assert p.time.tolist() == [11 * NANOSECONDS, 12 * NANOSECONDS]
    late = plan(Timing(clients=1, compute=ONE_SECOND, start_seconds=10.0, max_seconds=9.0), Rounds())
    assert (len(late.time), late.ended_by, late.totals["jobs"]) == (0, "time", 0)


# ---- errors --------------------------------------------------------------------------------------------------------------------

THREE = {"clients": 3, "compute": ONE_SECOND, "max_updates": 10}
REFUSED: list[tuple[str, dict[str, Any], Dispatch]] = [
    ("concurrency 4 is more than the 3 clients", {}, Stream(concurrency=4)),
    ("initial lists 1 clients, concurrency is 2", {}, Stream(concurrency=2, initial=(0,), restart="self")),
    ("client 0 is dispatched while it still works", {}, Stream(concurrency=2, initial=(0, 1), replacements=(0, 0, 0))),
    ("initial names client 3, there are 3 clients", {}, Stream(concurrency=1, initial=(3,), restart="self")),
    ("replacements has 2 entries, entry 2 was needed", {}, Stream(concurrency=1, initial=(0,), replacements=(1, 2))),
    ("replacements names client -1", {}, Stream(concurrency=1, initial=(0,), replacements=(-1,))),
    ("an update needs 4 arrivals, but with receive = pop each of the 3 clients", {}, Broadcast(buffer_size=4)),
    ("download times must be constant", {"download": Duration(kind="uniform", a=1, b=2)}, Broadcast()),
    ("cohort_size 4 without replacement is more than the 3 clients", {}, Rounds(select="without_replacement", cohort_size=4)),
    ("cohort_size must be >= 1", {}, Rounds(select="with_replacement")),
    ("expected 3 probabilities, got 0", {}, Rounds(select="weighted", cohort_size=1)),
    ("selections has 1 rounds, round 1 was needed", {}, Rounds(select="scripted", selections=((0,),))),
    ("selections of round 0 name client 3", {}, Rounds(select="scripted", selections=((3,),))),
    ("selections of round 0 are empty", {}, Rounds(select="scripted", selections=((),))),
    ("zero cycle time: job 0 of client 0", {"compute": Duration()}, Rounds()),
    (
        "compute: seconds must be between 0 and 1e9, got -1 [(]client 1[)]",
        {"compute": Duration(a=np.array([1, -1, 1]))},
        Rounds(),
    ),
    ("compute: seconds must be .* got nan", {"compute": Duration(a=math.nan)}, Rounds()),
    ("compute: must be between 0 and 1e9 seconds, got -1", {"compute": Duration(kind="table", rows=[[-1.0]] * 3)}, Rounds()),
    ("compute: the list of client 0 has 1 entries, entry 1 was", {"compute": Duration(kind="table", rows=[[1.0]] * 3)}, Rounds()),
    ("compute: expected 3 rows, one per client, got 2", {"compute": Duration(kind="table", rows=[[1.0]] * 2)}, Rounds()),
    ("upload: expected 1 or 3 values, one per client, got 2", {"upload": Duration(a=np.array([1.0, 2.0]))}, Rounds()),
    (
        "compute: high must be >= low, got 3 [(]client 1[)]",
        {"compute": Duration(kind="uniform", a=np.array([1, 5, 1]), b=3)},
        Rounds(),
    ),
    ("compute: expected 1 or 3 values", {"compute": Duration(kind="uniform", a=np.ones(2), b=np.ones(3))}, Rounds()),
    ("second parameter, got none", {"compute": Duration(kind="lognormal", a=0)}, Rounds()),
    ("sigma must be >= 0", {"compute": Duration(kind="lognormal", a=0, b=-1)}, Rounds()),
    ("shape must be > 0", {"compute": Duration(kind="pareto", a=1, b=0)}, Rounds()),
    ("compute of client 0, job 0: must be between 0 and 1e9", {"compute": Duration(kind="lognormal", a=30, b=0)}, Rounds()),
    ("steps: expected 1 or 3 values", {"steps": LocalSteps(values=[1, 2])}, Rounds()),
    ("steps: expected whole numbers between 0 and 2147483647", {"steps": LocalSteps(values=-1)}, Rounds()),
    ("steps: the list of client 0 has 1 entries", {"steps": LocalSteps(rows=[[1]] * 3)}, Rounds()),
    ("variance >= 0", {"steps": LocalSteps(normal=(1.0, -1.0))}, Rounds()),
    ("clients: must be between 1", {"clients": 0}, Rounds()),
    ("budget.updates: must be >= 1", {"max_updates": 0}, Rounds()),
    ("budget.jobs: must be >= 1", {"max_jobs": 0}, Rounds()),
    ("budget.seconds: must be between 0", {"max_seconds": -1.0}, Rounds()),
]


@pytest.mark.parametrize(("message", "changes", "dispatch"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refused(message: str, changes: dict[str, Any], dispatch: Dispatch) -> None:
    with pytest.raises(UsageError, match=message):
        plan(Timing(**(THREE | changes)), dispatch)


def test_scripted_initial_with_drawn_replacements() -> None:
    """A client never works on two jobs at a time; one named twice is refused."""
    for seed in range(20):
        timing = Timing(clients=3, seed=seed, compute=Duration(kind="exponential", a=1.0), upload=Duration(a=0.1), max_updates=50)
        p = plan(timing, Stream(concurrency=2, initial=(0, 1)))
        for client in range(3):
            rows = np.flatnonzero(p["client"] == client)
            rows = rows[np.argsort(p["k"][rows])]
            assert (p["t_dispatch"][rows][1:] >= p["t_arrive"][rows][:-1]).all()
    with pytest.raises(UsageError):
        plan(Timing(**THREE), Stream(concurrency=2, initial=(0, 0)))


def test_refused_chunk_size_and_policy() -> None:
    with pytest.raises(UsageError, match="max_updates: must be >= 1, got 0"):
        Scheduler(Timing(clients=1, compute=ONE_SECOND), Rounds()).next(0)
    with pytest.raises(UsageError, match="expected Rounds, Stream, Broadcast, Mailbox or Poll, got Dispatch"):
        Scheduler(Timing(clients=1), Dispatch())


def test_steps_of_the_policy_win() -> None:
    p = plan(Timing(clients=2, compute=Duration(a=1.0, per_step=True), steps=LocalSteps(values=9)), Rounds(steps=2))
    assert p["steps"].tolist() == [2, 2]
    assert p.time.tolist() == [2 * NANOSECONDS]


@pytest.mark.parametrize(
    ("message", "changes", "dispatch"),
    [
        ("steps: expected whole numbers between 0 and 2147483647", {"steps": LocalSteps(values=2**32 + 1)}, Rounds()),
        ("steps: expected whole numbers", {"steps": LocalSteps(values=1.9)}, Rounds()),  # type: ignore[arg-type]
        ("steps: expected whole numbers", {"steps": LocalSteps(values=[])}, Rounds()),
        ("steps: expected whole numbers", {"steps": LocalSteps()}, Rounds()),
        ("start_seconds: must be >= 0, got -1", {"start_seconds": -1.0}, Rounds()),
        ("compute: kind must be one of constant, .* got 'normal'", {"compute": Duration(kind="normal")}, Rounds()),  # type: ignore[arg-type]
        ("stream: restart must be one of resample, self, got 'no'", {}, Stream(concurrency=1, restart="no")),  # type: ignore[arg-type]
        ("initial lists client 0 twice", {}, Stream(concurrency=2, initial=(0, 0))),
    ],
)
def test_the_front_door_refuses(message: str, changes: dict[str, Any], dispatch: Dispatch) -> None:
    with pytest.raises(UsageError, match=message):
        plan(Timing(**(THREE | changes)), dispatch)


@pytest.mark.parametrize("p", [[1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 1.0]])
def test_weights_that_are_no_probabilities_are_refused(p: list[float]) -> None:
    with pytest.raises(UsageError, match="rounds: probabilities must"):
        Scheduler(Timing(**THREE), Rounds(select="weighted", cohort_size=2), p=np.array(p))


def test_pop_with_download_time_needs_no_other_duration() -> None:
    """Every version takes 1 s to arrive, computing nothing: an update a second."""
    p = plan(Timing(clients=2, download=Duration(a=1.0), max_updates=3), Broadcast(buffer_size=2))
    assert p.time.tolist() == [1 * NANOSECONDS, 2 * NANOSECONDS, 3 * NANOSECONDS]
