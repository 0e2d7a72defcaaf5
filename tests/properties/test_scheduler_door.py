"""The scheduler's front door: right parameters with up to two odd ones are a plan, the same however
it is cut, or a refusal in words."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedbench.errors import UsageError
from fedbench.kernels.scheduler import Availability, Duration, Gradients, LocalSteps, Scheduler, Timing
from fedbench.types import Broadcast, Mailbox, Poll, Rounds, Stream, Turns

from .odd import PROFILE

CLIENTS = 3
ODD: list[Any] = [
    math.nan, math.inf, -math.inf, -1, 0, -0.5, 1e300, 10**400, True, "2", None, [], [1.0, 2.0], [[1.0]], "abc", b"1", 1j,
    np.array(1.0), np.ones((3, 1)), np.ones(2), np.ones(3, np.float32), np.ones(3, np.complex128), np.ones(3, ">f8"),
    np.ones(3, object), np.array(["1"] * 3), np.ma.masked_array(np.ones(3), [0, 1, 0]), np.ones((1, 3)).view(np.matrix),
    np.array([1, math.nan, 1]), np.array([1, math.inf, 1]), 2**31, 2**32 + 1, 2**63, 2**64, {1: 2}, object,
    [[1, 2]] * 2, [["1"]] * 3, [[math.nan]] * 3, [None] * 3, [[-1]] * 3, [[2**31]] * 3, ((7,),),
]  # fmt: skip
SECONDS = st.sampled_from([1, 0.5, np.float32(0.25), np.arange(1, 4) / 8, np.arange(1, 4), np.ones(6)[::2], [1, 2.5, 3], (1.0,)])
COUNTS = st.sampled_from([1, 2, 3, np.int64(2)])
COHORTS = st.sampled_from([(), ((0, 1), (2,), (1, 2)) * 9])
DURATIONS = st.one_of(
    st.builds(Duration, kind=st.sampled_from(["constant", "exponential"]), a=SECONDS, per_step=st.booleans()),
    st.builds(
        Duration, kind=st.sampled_from(["uniform", "lognormal", "pareto"]), a=st.just(1), b=st.sampled_from([2, 2.5]) | SECONDS
    ),
    st.builds(Duration, kind=st.just("table"), rows=st.sampled_from([[[1, 2] * 200] * 3, np.ones((3, 400))])),
)
STEPS = st.one_of(
    st.builds(LocalSteps, values=st.sampled_from([1, 5, [1, 2, 3], np.arange(3)])),
    st.builds(LocalSteps, normal=st.just((3.0, 2.0))),
)
POLICIES = st.one_of(
    st.builds(Rounds, select=st.sampled_from(["all", "weighted", "with_replacement", "without_replacement"]), cohort_size=COUNTS),
    st.builds(Stream, concurrency=COUNTS, buffer_size=COUNTS, restart=st.sampled_from(["resample", "self"])),
    st.builds(Broadcast, buffer_size=COUNTS, receive=st.sampled_from(["pop", "peek"])),
    st.builds(Mailbox, cohort_size=COUNTS, send=st.sampled_from(["continuous", "on_demand"]), selections=COHORTS),
    st.builds(Poll, period_seconds=st.sampled_from([1.0, 0.25]), max_steps=COUNTS, cohort_size=COUNTS),
    st.builds(Turns, resend=st.sampled_from(["turn", "newest", "never"])),
)
AVAILABILITY = st.sampled_from([
    Availability(),
    Availability(kind="periodic", period_seconds=4.0, on_fraction=np.array([0.5, 0.75, 1.0])),
    Availability(kind="alternating", mean_on_seconds=5.0, mean_off_seconds=2.0, when_offline="paused"),
    Availability(kind="table", rows=[[(0.0, 3.0), (4.0, 6.0)], np.array([[1.0, 9.0]]), [(0, 9)]], period_seconds=10.0),
])  # fmt: skip
TIMINGS = st.builds(
    Timing,
    clients=st.just(CLIENTS),
    seed=st.sampled_from([0, 7, 2**64 - 1]),
    compute=DURATIONS,
    download=DURATIONS | st.just(Duration.constant(0.0)),
    upload=DURATIONS | st.just(Duration.constant(0.0)),
    steps=STEPS,
    gradients=st.builds(
        Gradients, per_step=st.sampled_from([1, 2]), beside=st.sampled_from([None, np.full(CLIENTS, 3, np.int32)])
    ),
    availability=AVAILABILITY,
    dropout=st.sampled_from([0.0, 0.25]),
    max_updates=st.sampled_from([1, 9]),
    max_seconds=st.just(50.0),
    max_jobs=st.just(200),
)


def spoiled(data: st.DataObject, thing: Any) -> Any:
    """The dataclass with one field, or a field of a field, replaced by something odd."""
    field = data.draw(st.sampled_from([f.name for f in dataclasses.fields(thing)]), "field")
    value = getattr(thing, field)
    if dataclasses.is_dataclass(value):
        return dataclasses.replace(thing, **{field: spoiled(data, value)})
    return dataclasses.replace(thing, **{field: data.draw(st.sampled_from(ODD), f"odd {field}")})


def bounded(timing: Timing) -> bool:
    """Small enough to play: a huge budget of jobs is lawful, and only takes long."""
    return not isinstance(timing.max_jobs, int) or timing.max_jobs <= 200


def plan(timing: Timing, policy: Any, p: Any, cut: int) -> list[Any]:
    scheduler = Scheduler(timing, policy, p=p)
    times: list[int] = []
    clients: list[int] = []
    while True:
        chunk = scheduler.next(cut)
        times += chunk.time.tolist()
        clients += chunk.client[chunk.entries].tolist()
        if chunk.done:
            return [times, clients, scheduler.outcome, scheduler.end_ns]


@PROFILE
@given(timing=TIMINGS, policy=POLICIES, data=st.data())
def test_a_plan_or_a_refusal(timing: Timing, policy: Any, data: st.DataObject) -> None:
    p = data.draw(st.sampled_from([np.ones(3), np.array([0.0, 1, 2])]), "p")
    for what in data.draw(st.lists(st.sampled_from(["timing", "timing", "policy", "p"]), max_size=2), "spoiled"):
        if what == "p":
            p = data.draw(st.sampled_from(ODD), "odd p")
        elif what == "policy":
            policy = spoiled(data, policy)
        else:
            timing = spoiled(data, timing)
    if not bounded(timing):
        return
    try:
        whole = plan(timing, policy, p, 1 << 30)
    except UsageError as error:
        text = str(error)
        assert "\n" not in text, text
        assert not any(word in text for word in ("incompatible", "ambiguous", "has no", "iterable", "convert")), text
        assert len(text) < 300, text
        return
    assert whole[0] == sorted(whole[0])
    assert plan(timing, policy, p, 1) == whole
