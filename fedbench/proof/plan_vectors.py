"""Plan vectors: the scheduler's plan is compared with a timeline that was made by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import NANOSECONDS, Chunk, Duration, LocalSteps, Scheduler, Timing
from fedbench.proof.compare import Mismatch, Unsupported
from fedbench.types import Broadcast, Dispatch, Mailbox, Poll, Rounds, Stream, Turns

Key = tuple[int, int]  # client, k
TIMES = ("t_dispatch", "t_start", "t_finish", "t_arrive")
COLUMNS = ("client", "k", "base", "steps", "consumed_by", *TIMES, "t_stop")


def _support(policy: dict[str, Any], **known: tuple[str, str]) -> None:
    """Raises Unsupported if an option of a policy has a value that we do not know."""
    for name, values in known.items():
        if policy.get(name, values[0]) not in values:
            raise Unsupported(f"{policy['kind']} with {name} {policy[name]!r}")


def _stream(policy: dict[str, Any], clients: int) -> Stream:
    _support(policy, restart=("self", "resample"), dispatch=("after_update", "before_update"))
    _support(policy, queue=("none", "fifo"), close=("count", "harmonic"))
    return Stream(
        concurrency=policy["concurrency"],
        buffer_size=policy["buffer"],
        restart=policy["restart"],
        order=policy["dispatch"],
        initial=tuple(policy["initial"]),
        replacements=tuple(policy["replacements"]) if policy["restart"] == "resample" else None,
        max_staleness=policy.get("max_staleness"),
        stop_stale=policy.get("stop_stale", False),
        close=policy.get("close", "count"),
        routing=(1 / clients,) * clients if policy.get("queue") == "fifo" else None,
    )


def _dispatch(policy: dict[str, Any], clients: int) -> Dispatch:
    kind = policy["kind"]
    if kind == "rounds":
        selections = tuple(map(tuple, policy["selections"]))
        return Rounds(select="scripted", selections=selections, over_selection=policy.get("over_selection", 0))
    if kind == "stream":
        return _stream(policy, clients)
    if kind == "broadcast":
        _support(policy, receive=("pop", "peek"))
        return Broadcast(buffer_size=policy["buffer"], receive=policy["receive"])
    if kind == "mailbox":
        _support(policy, send=("continuous", "on_demand"), receive=("pop", "peek"))
        return Mailbox(send=policy["send"], receive=policy["receive"], selections=tuple(map(tuple, policy["selections"])))
    if kind == "poll":
        selections = tuple(map(tuple, policy["selections"]))
        return Poll(period_seconds=policy["period"], max_steps=policy["max_steps"], selections=selections)
    if kind == "turns":
        _support(policy, resend=("turn", "newest"))
        return Turns(resend=policy["resend"])
    raise Unsupported(f"policy {kind!r}")


def _table(values: Any, rows: list[list[Any]]) -> list[list[Any]]:
    """Returns a list per client with a value per job. It is given as one value for all, or one per
    client, each of which may be a list of one value per job."""
    per_client = values if isinstance(values, list) else [values] * len(rows)
    return [v if isinstance(v, list) else [v] * len(row) for v, row in zip(per_client, rows, strict=True)]


def read_schedule(schedule: dict[str, Any]) -> tuple[Timing, Dispatch]:
    """Returns a vector's `schedule` as our Timing and Dispatch. Unsupported if its policy is not
    implemented."""
    dispatch, compute = _dispatch(schedule["policy"], schedule["clients"]), schedule["compute"]
    polled = isinstance(dispatch, Poll)  # steps are found at the poll, and `compute` is of one step
    timing = Timing(
        clients=schedule["clients"],
        compute=Duration.table(compute, per_step=polled),
        download=Duration.constant(schedule["download"]),
        upload=Duration.constant(schedule["upload"]),
        steps=LocalSteps(values=1) if polled else LocalSteps(rows=_table(schedule["steps"], compute)),
        max_updates=schedule["updates"],
    )
    return timing, dispatch


UNUSED = {"discarded", "open"}
"""Fates that a plan cannot distinguish, since a job that has arrived may wait in the buffer when
the plan ends."""


@dataclass(frozen=True)
class Timeline:
    """A plan in the terms of the vectors: jobs by (client, k), and updates as (time, version, jobs,
    staleness). Times are in nanoseconds."""

    jobs: dict[Key, dict[str, int]]
    updates: list[tuple[int, int, list[Key], list[int]]]


def play(schedule: dict[str, Any], chunk_size: int) -> Timeline:
    """Returns the plan of a schedule, planned in chunks of `chunk_size` updates."""
    timing, dispatch = read_schedule(schedule)
    scheduler = Scheduler(timing, dispatch)
    timeline = Timeline({}, [])
    while True:
        chunk = scheduler.next(chunk_size)
        _collect(timeline, chunk)
        if chunk.done:
            break
    if scheduler.outcome != "finished":
        raise Mismatch(scheduler.stalled_message)
    return timeline


def _collect(timeline: Timeline, chunk: Chunk) -> None:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*(getattr(chunk, n).tolist() for n in COLUMNS), strict=True)]
    for row in rows:
        timeline.jobs[row["client"], row["k"]] = row
    for u, time in enumerate(chunk.time.tolist()):
        version = chunk.first_version + u
        jobs = [rows[i] for i in chunk.entries[chunk.offsets[u] : chunk.offsets[u + 1]].tolist()]
        keys = [(job["client"], job["k"]) for job in jobs]
        timeline.updates.append((time, version + 1, keys, [version - job["base"] for job in jobs]))


def check_plan(vector: dict[str, Any], precision: str) -> float:
    """Returns 0.0 if the plan is exactly the expected one, however it is cut into chunks. Raises
    Unsupported or Mismatch otherwise."""
    try:
        timeline = play(vector["schedule"], 1 << 20)
        for size in (1, 3):
            if play(vector["schedule"], size) != timeline:
                raise Mismatch(f"chunks of {size} updates change the plan")
    except UsageError as error:
        raise Mismatch(str(error)) from None
    _compare(vector, timeline)
    return 0.0


def _ns(seconds: float) -> int:
    return round(seconds * NANOSECONDS)


def _compare(vector: dict[str, Any], got: Timeline) -> None:
    want = vector["expected"]
    slack = round(vector["tolerance"]["time"] * NANOSECONDS)
    key = {job["job"]: (job["client"], job["k"]) for job in want["jobs"]}
    if len(got.updates) != len(want["updates"]):
        raise Mismatch(f"updates: expected {len(want['updates'])}, got {len(got.updates)}")
    for n, (g, w) in enumerate(zip(got.updates, want["updates"], strict=True)):
        expected = (w["version"], [key[j] for j in w["jobs"]], w["staleness"])
        if abs(g[0] - _ns(w["time"])) > slack or g[1:] != expected:
            raise Mismatch(f"updates[{n}]: expected {(_ns(w['time']), *expected)}, got {g}")
    end = _ns(want["updates"][-1]["time"])
    for w in want["jobs"]:
        _compare_job(got.jobs.get((w["client"], w["k"])), w, end, slack)
    _compare_job_set(vector, got, set(key.values()), end)


def _compare_job(got: dict[str, int] | None, want: dict[str, Any], end: int, slack: int) -> None:
    where = f"job of client {want['client']}, k={want['k']}"
    if got is None:
        raise Mismatch(f"{where}: missing")
    if (got["base"], got["steps"]) != (want["base"], want["steps"]):
        raise Mismatch(f"{where}: expected base {want['base']}, steps {want['steps']}, got {got['base']}, {got['steps']}")
    if "fate" in want and (fate := _fate(got, end)) != want["fate"] and not {fate, want["fate"]} <= UNUSED:
        raise Mismatch(f"{where}: expected to be {want['fate']}, is {fate}")
    for name in (*TIMES, "t_stop"):
        g = got[name] if 0 <= got[name] <= end else None
        w = None if want.get(name) is None or _ns(want[name]) > end else _ns(want[name])
        if (g is None) != (w is None) or (g is not None and w is not None and abs(g - w) > slack):
            raise Mismatch(f"{where}: expected {name} {w}, got {g}")


def _fate(got: dict[str, int], end: int) -> str:
    """Returns what has become of a job by the end of the plan."""
    if got["consumed_by"] >= 0:
        return "consumed"
    return "stopped" if 0 <= got["t_stop"] <= end else "discarded" if 0 <= got["t_arrive"] <= end else "open"


def _compare_job_set(vector: dict[str, Any], got: Timeline, want: set[Key], end: int) -> None:
    """Compares which jobs there are: the consumed ones and, except under a poll, those that were
    dispatched (under broadcast and mailbox: started) strictly before the last update."""
    kind = vector["schedule"]["policy"]["kind"]
    begin = "t_start" if kind in ("broadcast", "mailbox") else "t_dispatch"
    ours = {key for update in got.updates for key in update[2]}
    if kind != "poll":
        ours |= {key for key, job in got.jobs.items() if 0 <= job[begin] < end}
    if ours != want:
        raise Mismatch(f"jobs: missing {sorted(want - ours)}, not expected {sorted(ours - want)}")
