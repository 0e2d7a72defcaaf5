"""Streams that refuse what is stale, close by a harmonic mean, or route tasks to queues: against
the model, and their laws."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench import kernels as k
from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS, Availability, Duration, Timing
from fedbench.types import Rounds, Stream
from tests.kernels import model, stream_model
from tests.kernels.plans import DETERMINISTIC, Plan, assert_equal, chunk_sizes, mixed_speeds, plan, systems, timing_of

# ---- against the model
# ---------------------------------------------------------------------------------------------------------


@DETERMINISTIC
@given(systems(), chunk_sizes, st.integers(1, 3), st.integers(0, 3), st.booleans(), st.booleans(), st.data())
def test_stale_jobs_equal_the_model(
    system: model.System, sizes: list[int], buffer: int, most: int, stops: bool, restart_self: bool, data: st.DataObject
) -> None:
    initial = data.draw(st.permutations(range(system.clients)))[: data.draw(st.integers(1, system.clients))]
    replacements: list[int] = []

    def choose(free: int, idle: list[int]) -> int:
        replacements.append(free if restart_self else data.draw(st.sampled_from(idle)))
        return replacements[-1]

    want = stream_model.stale_stream(system, initial, stream_model.of(buffer), most, stops, choose)
    dispatch = Stream(
        concurrency=len(initial),
        buffer_size=buffer,
        restart="self" if restart_self else "resample",
        max_staleness=most,
        stop_stale=stops,
        initial=tuple(initial),
        replacements=None if restart_self else tuple(replacements),
    )
    assert_equal(plan(timing_of(system), dispatch, sizes), want)


@DETERMINISTIC
@given(systems(), chunk_sizes, st.fractions(1, 12, max_denominator=4), st.sampled_from([None, 0, 2]), st.booleans())
def test_a_buffer_that_closes_by_the_harmonic_mean_equals_the_model(
    system: model.System, sizes: list[int], size: Fraction, most: int | None, stops: bool
) -> None:
    n, stops = system.clients, stops and most is not None
    system = dataclasses.replace(system, compute=[row * 5 for row in system.compute], steps=[row * 5 for row in system.steps])
    want = stream_model.stale_stream(system, range(n), stream_model.harmonic(size, n), most, stops, lambda free, _: free)
    dispatch = Stream(
        concurrency=n,
        buffer_size=float(size),
        close="harmonic",
        restart="self",
        max_staleness=most,
        stop_stale=stops,
        initial=tuple(range(n)),
    )
    assert_equal(plan(timing_of(system), dispatch, sizes), want)


@DETERMINISTIC
@given(systems(), chunk_sizes, st.integers(1, 3), st.data())
def test_routed_tasks_equal_the_model(system: model.System, sizes: list[int], buffer: int, data: st.DataObject) -> None:
    client = st.integers(0, system.clients - 1)
    initial = data.draw(st.lists(client, min_size=1, max_size=6))
    replacements: list[int] = []

    def route() -> int:
        replacements.append(data.draw(client))
        return replacements[-1]

    want = stream_model.routed(system, initial, buffer, route)
    dispatch = Stream(
        concurrency=len(initial),
        buffer_size=buffer,
        routing=(1 / system.clients,) * system.clients,
        initial=tuple(initial),
        replacements=tuple(replacements),
    )
    got = plan(timing_of(system), dispatch, sizes)
    assert_equal(got, want)
    assert got.totals["downloads"] == got.totals["jobs"]


# ---- laws
# ------------------------------------------------------------------------------------------------------------------------

UNEQUAL = mixed_speeds(20, seed=5, download=Duration.uniform(0.1, 0.6), max_updates=3000)


def ringmaster(threshold: int, *, stops: bool = False, **changes: Any) -> Stream:
    return Stream(concurrency=20, restart="self", max_staleness=threshold - 1, stop_stale=stops, **changes)


def rows(p: Plan, *names: str) -> list[Any]:
    return [p[name].tolist() for name in names]


@pytest.mark.parametrize("stops", [False, True])
@pytest.mark.parametrize("threshold", [1, 4, 20])
def test_what_is_consumed_is_fresh_and_what_is_not_was_stale(threshold: int, stops: bool) -> None:
    got = plan(UNEQUAL, ringmaster(threshold, stops=stops), (7, 100))
    assert max(tau.max() for tau in got.staleness) == threshold - 1
    unused, end = got["consumed_by"] < 0, got.end_ns
    raised = np.searchsorted(got.time, got["t_arrive"], side="left")  # versions made strictly before an arrival
    arrived = unused & (got["t_arrive"] >= 0) & (got["t_arrive"] < end)
    assert ((raised - got["base"])[arrived] >= threshold).all()
    stopped = got["t_stop"] >= 0
    assert stopped.any() == stops
    became = got.time[(got["base"] + threshold - 1)[stopped]]  # the update that made it stale
    assert (became == got["t_stop"][stopped]).all()
    assert not stops or not arrived.any()  # times are continuous, so no two clients arrive in one instant


@pytest.mark.parametrize("stops", [False, True])
def test_everybody_always_works(stops: bool) -> None:
    """A job of a client starts at the instant in which the one before arrived, was refused, or was
    stopped."""
    got = plan(UNEQUAL, ringmaster(3, stops=stops))
    ended = np.maximum(got["t_arrive"], got["t_stop"])
    for client in range(20):
        mine = np.flatnonzero(got["client"] == client)
        mine = mine[np.argsort(got["k"][mine])]
        assert got["k"][mine].tolist() == list(range(len(mine)))
        assert (got["t_dispatch"][mine[1:]] == ended[mine[:-1]]).all()
        assert got["t_dispatch"][mine[0]] == 0


def test_no_limit_is_the_stream_without_one() -> None:
    names = ("client", "k", "base", "consumed_by", "t_dispatch", "t_arrive")
    free = plan(UNEQUAL, Stream(concurrency=20, restart="self"))
    assert rows(plan(UNEQUAL, ringmaster(1 << 20)), *names) == rows(free, *names)
    assert rows(plan(UNEQUAL, ringmaster(1 << 20, stops=True)), *names) == rows(free, *names)


def test_one_fresh_result_is_a_round_of_the_first_to_arrive() -> None:
    """Ringmaster with R = 1 and stops is m-synchronous SGD with m = 1, event for event."""
    names = ("client", "k", "base", "consumed_by", "t_dispatch", "t_start", "t_finish", "t_arrive", "t_stop")
    stream, rounds = plan(UNEQUAL, ringmaster(1, stops=True)), plan(UNEQUAL, Rounds(over_selection=19))
    assert stream.time.tolist() == rounds.time.tolist()
    order = [np.lexsort((p["k"], p["client"])) for p in (stream, rounds)]
    for name in names:
        shown = [np.where(p[name] <= p.end_ns, p[name], -1) if name[:2] == "t_" else p[name] for p in (stream, rounds)]
        live = [one[o][(p["t_dispatch"] < p.end_ns)[o]] for one, o, p in zip(shown, order, (stream, rounds), strict=True)]
        if name == "t_stop":  # the last round stops its own, the stream's dispatches would come later in the instant
            live = [np.where(one == stream.end_ns, -1, one) for one in live]
        assert live[0].tolist() == live[1].tolist(), name


def test_stops_leave_no_places_behind() -> None:
    """Slow jobs are stopped again and again before they end: what the scheduler keeps stays as
    large as what is under way."""
    timing = Timing(clients=50, compute=Duration.constant(np.array([0.01] + [1000.0] * 49), per_step=True), max_updates=20_000)
    got = plan(timing, Stream(concurrency=50, restart="self", max_staleness=0, stop_stale=True), (999,))
    assert got.totals["open_jobs_peak"] == 50
    assert got.totals["jobs"] == 50 * 20_000
    assert (got["client"][got["consumed_by"] >= 0] == 0).all()


def test_stale_jobs_whose_clients_leave() -> None:
    """Clients come and go, jobs are lost, and stale ones stopped: nobody has two at a time, and
    chunks change nothing."""
    away = Availability(kind="alternating", mean_on_seconds=5.0, mean_off_seconds=2.0)
    for when in ("lost", "paused"):
        timing = mixed_speeds(
            12, seed=3, availability=Availability(**(vars(away) | {"when_offline": when})), dropout=0.05, max_updates=800
        )
        dispatch = Stream(concurrency=6, buffer_size=2, max_staleness=2, stop_stale=True)
        got = plan(timing, dispatch)
        assert got.key() == plan(timing, dispatch, (1, 3)).key()
        assert (got["t_stop"] >= 0).any()
        assert (got["t_lost"] >= 0).any()
        assert not ((got["t_stop"] >= 0) & (got["t_lost"] >= 0)).any()
        over = np.maximum.reduce([got["t_arrive"], got["t_stop"], got["t_lost"]])
        for client in range(12):
            mine = np.flatnonzero(got["client"] == client)
            mine = mine[np.argsort(got["k"][mine])]
            assert (got["t_dispatch"][mine[1:]] >= over[mine[:-1]]).all()


def test_staleness_of_circulating_tasks_adds_up() -> None:
    """Of T updates, the staleness of what was consumed and that of the C - 1 tasks that are left
    sum to T (C - 1)."""
    for tasks in (1, 7, 45):
        got = plan(UNEQUAL, Stream(concurrency=tasks, routing=(0.05,) * 20), (13,))
        T, left = len(got.time), got["consumed_by"] < 0
        assert left.sum() == tasks - 1
        assert sum(int(tau.sum()) for tau in got.staleness) + int((T - got["base"][left]).sum()) == T * (tasks - 1)
        for client in range(20):  # one after another, in the order of their dispatch
            mine = np.flatnonzero(got["client"] == client)
            mine = mine[np.argsort(got["k"][mine])]
            start = np.maximum(got["t_dispatch"][mine], 0)
            assert (got["t_start"][mine[1:]] >= got["t_arrive"][mine[:-1]]).all()
            assert (got["t_start"][mine] >= start).all()


def test_tasks_go_where_the_probabilities_send_them() -> None:
    r = np.arange(1, 21) / 210
    got = plan(UNEQUAL, Stream(concurrency=30, routing=tuple(r)))
    counts = np.bincount(got["client"], minlength=20)
    assert np.abs(counts / counts.sum() - r).max() < 0.01


def test_route() -> None:
    u = np.array([0.0, 0.24, 0.25, 0.5, 0.749, 0.75, 0.999])
    assert k.route([0.25, 0.5, 0.25], u).tolist() == [0, 0, 1, 1, 1, 2, 2]
    assert k.route(np.array([0.1] * 9 + [0.1 - 1e-10]), np.array([1 - 1e-12])).tolist() == [9]  # the sums end below u
    for p, message in (([0.5, 0.4], "sum to 1"), ([1.5, -0.5], "finite and > 0, got 1.5|> 0, got -0.5"), ([], "got none")):
        with pytest.raises(ValueError, match=message):
            k.route(p, u)


# ---- what is refused
# -------------------------------------------------------------------------------------------------------------

ROUTED = {"concurrency": 3, "routing": (0.5, 0.5)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency": 2, "stop_stale": True}, "stop_stale needs max_staleness"),
        ({"concurrency": 2, "max_staleness": -1}, "max_staleness: must be a whole number between 0"),
        ({"concurrency": 2, "max_staleness": 0, "order": "before_update"}, "max_staleness needs order after_update"),
        (
            {"concurrency": 2, "close": "harmonic", "restart": "self", "buffer_size": 0.5},
            "buffer_size: must be a number >= 1, got 0.5",
        ),
        ({"concurrency": 1, "close": "harmonic", "restart": "self"}, "all 2 clients at work, got concurrency 1"),
        ({"concurrency": 2, "close": "harmonic"}, "got concurrency 2 and restart resample"),
        ({"concurrency": 2, "close": "mean"}, "close: expected count or harmonic, got 'mean'"),
        ({"concurrency": 2, "buffer_size": 2.5}, "buffer_size: expected a whole number, got float"),
        (ROUTED | {"max_staleness": 1}, "with routing, max_staleness must be None, got 1"),
        (ROUTED | {"order": "before_update"}, "with routing, order must be after_update, got before_update"),
        (ROUTED | {"close": "harmonic"}, "with routing, close must be count, got harmonic"),
        (ROUTED | {"routing": (0.5, 0.25, 0.25)}, "expected 2 probabilities, got 3"),
        (ROUTED | {"routing": (0.5, 0.4)}, "must sum to 1"),
        (ROUTED | {"routing": (1.0, 0.0)}, "finite and > 0, got 0 .client 1"),
        (ROUTED | {"concurrency": 0}, "concurrency must be >= 1, got 0"),
        (ROUTED | {"initial": (0,)}, "initial lists 1 clients, concurrency is 3"),
        (ROUTED | {"initial": (0, 1, 2)}, "initial names client 2, there are 2 clients"),
        (ROUTED | {"replacements": (0,)}, "replacements has 1 entries, entry 1 was needed"),
    ],
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        plan(Timing(clients=2, compute=Duration.constant(1.0), max_updates=5), Stream(**options))


@pytest.mark.parametrize(
    "changes", [{"dropout": 0.1}, {"availability": Availability(kind="alternating", mean_on_seconds=5.0, mean_off_seconds=2.0)}]
)
def test_queues_need_everybody(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="nothing says what becomes of a queue whose client has left"):
        plan(Timing(clients=2, compute=Duration.constant(1.0), max_updates=5, **changes), Stream(**ROUTED))


def test_a_task_without_duration_is_refused() -> None:
    with pytest.raises(UsageError, match="zero cycle time"):
        plan(Timing(clients=2, compute=Duration.constant(0.0), max_updates=5), Stream(**ROUTED))


# ---- time
# ------------------------------------------------------------------------------------------------------------------------


def longest(times: np.ndarray[Any, Any], apart: int) -> float:
    """The longest that so many updates in a row take, in seconds, the first from time 0."""
    all_times = np.concatenate([[0], times])
    return float((all_times[apart:] - all_times[:-apart]).max()) / NANOSECONDS


@pytest.mark.parametrize(("stops", "R"), list(itertools.product([False, True], [1, 3, 8, 30])))
def test_time_bounds(stops: bool, R: int) -> None:
    """R updates of Ringmaster, one of Rennala with S = R and one of Malenia take no longer than
    their papers' bounds."""
    for seed in range(4):
        tau = np.sort(np.random.default_rng(seed).pareto(1.2, 12) + 0.1)
        timing = Timing(clients=12, compute=Duration.constant(tau), max_updates=400)
        m = np.arange(1, 13)
        t = 2 * ((R + m) / np.cumsum(1 / tau)).min()
        work = {"concurrency": 12, "restart": "self", "stop_stale": stops}
        assert longest(plan(timing, Stream(max_staleness=R - 1, **work)).time, R) <= t
        assert longest(plan(timing, Stream(buffer_size=R, max_staleness=0, **work)).time, 1) <= t
        malenia = plan(timing, Stream(buffer_size=float(R), close="harmonic", max_staleness=0, **work))
        assert longest(malenia.time, 1) <= 2 * (tau.max() + tau.mean() * R / 12)
