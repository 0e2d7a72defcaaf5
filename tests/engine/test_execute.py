"""The loop: waves, messages, memory, buffers, chunks, divergence, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedbench import registry
from fedbench.engine.execute import Diverged, Execution
from fedbench.engine.trainers.base import Assignment
from fedbench.errors import ClientError, FedbenchError
from fedbench.kernels.scheduler import Duration, LocalSteps, Timing
from fedbench.protocols import Algorithm
from fedbench.tables import ClientTable
from fedbench.types import Batch, Dispatch, Info, Job, LocalRule, Message, Reply, Rounds, State, Stream, Vector, Work

from .conftest import World, quadratic

ALL = [
    "fedavg[cohort_size=3]",
    "fedavg[cohort_size=5,sampling=with_replacement]",
    "fedasync[concurrency=4]",
    "fedbuff[buffer_size=3,concurrency=6,scaling=sqrt]",
    "fedbuff[buffer_size=5,concurrency=3]",
    "defedavg_iid[cohort_size=3]",
    "defedavg_iid[cohort_size=3,receive=peek]",
    "scaffold[cohort_size=4,init_control=grad]",
    "scaffold[sampling=all,weights=p,option=1]",
    "fedac[buffer_size=3,server_lr=0.1,concurrency=7]",
    "fedadam[cohort_size=3,amsgrad=true]",
    "fedavgm[cohort_size=3,nesterov=true]",
    "fedexp[cohort_size=3]",
    "fedagrac[sampling=all,calibration_rate=0.5]",
    "fedagrac[sampling=without_replacement,cohort_size=3,local_ref=eq4,calibration_rate=[[0,0.1],[4,1]]]",
    "feddyn[cohort_size=3,regularization=0.5]",
    "fedlin",
    "fednova[cohort_size=5,sampling=weighted,weights=uniform,momentum=0.5,prox=0.1]",
    "fedsgd",
    "fedprox[cohort_size=3,prox_form=l1_squared,weights=unbiased]",
    "asysg[cohort_size=3]",
    "favano[cohort_size=3,period_seconds=6,max_steps=3]",
    "favano[cohort_size=2,period_seconds=2,max_steps=3,alpha=deterministic]",
    "quafl[cohort_size=3,period_seconds=6,max_steps=3]",
    "defedavg_niid[cohort_size=4]",
    "defedavg_niid[cohort_size=3,send=on_demand,receive=peek,average=distinct]",
    "ca2fl[buffer_size=3,concurrency=4]",
    "ca2fl[buffer_size=5,concurrency=3,cache=immediate,h_norm=seen]",
    "fadas[buffer_size=3,server_lr=0.1,delay_adaptive=true]",
    "fadas[buffer_size=3,server_lr=0.1,amsgrad=false,repo_delta_base=true]",
    "mifa[sampling=without_replacement,cohort_size=3]",
    "mifa[sampling=without_replacement,cohort_size=3,start=wait_all,average=nonempty]",
    "ace",
    "ace[buffer_size=2,start=seen,restart=resample]",
    "aced[buffer_size=2,start=seen,delay_threshold=3]",
    "delayed_nesterov[buffer_size=3,spread=0.25]",
    "rescaled_asgd[weights=p]",
    "area",
    "area[buffer_size=5]",
    "fedawe[sampling=without_replacement,cohort_size=3]",
    "fedstale[cohort_size=3,participation=interval,cutoff=4]",
    "fedvarp[cohort_size=3]",
    "generalized_async[concurrency=17,routing=rates]",
    "generalized_async[buffer_size=3,weights=p]",
    "local_only",
    "malenia",
    "malenia[buffer_size=14.5,stop_stale=true]",
    "msync[cohort_size=3]",
    "rennala[buffer_size=4]",
    "ringmaster[delay_threshold=4]",
    "ringmaster[delay_threshold=3,stop_stale=true]",
    "ringleader",
    "ringleader[resend=newest,server_lr=0.3]",
]


def bits(execution: Execution) -> list[bytes]:
    return [(v.dense() if isinstance(v, ClientTable) else np.asarray(v)).tobytes() for _, v in sorted(execution.state.items())]


@pytest.mark.parametrize("selector", ALL)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_waves_chunks_and_memory_limits_change_no_bit(selector: str, dtype: str, world: Any) -> None:
    w: World = world(dtype=dtype)
    algorithm = registry.algorithm(selector)
    wanted = w.run(algorithm, wave_size=1)
    assert np.isfinite(wanted.state.x).all()
    assert wanted.state.x.dtype == np.dtype(dtype)
    for options in ({}, {"wave_size": 2}, {"wave_bytes": 1}, {"wave_bytes": 400}, {"workers": 3}, {"workers": 2, "wave_size": 3}):
        for size in (1, 3, 1000):
            assert bits(w.run(algorithm, size, **options)) == bits(wanted)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_plan_any_cut(data: st.DataObject) -> None:
    clients = data.draw(st.integers(2, 9))
    timing = Timing(
        clients=clients,
        seed=data.draw(st.integers(0, 99)),
        compute=Duration(kind=data.draw(st.sampled_from(["uniform", "exponential"])), a=1.0, b=4.0),
        download=Duration.constant(data.draw(st.sampled_from([0.0, 0.5]))),
        steps=LocalSteps(values=2),
        max_updates=10,
    )
    w = World(quadratic(clients), timing)
    buffer = data.draw(st.integers(1, clients))
    concurrency = data.draw(st.integers(1, clients))
    algorithm = registry.algorithm(f"fedac[buffer_size={buffer},concurrency={concurrency},server_lr=0.05]")
    wanted = w.run(algorithm, wave_size=1)
    assert bits(w.run(algorithm, data.draw(st.integers(1, 4)))) == bits(wanted)


@pytest.mark.parametrize(("selector", "shape"), [("fedavg", (6,)), ("local_only", (8, 6))])
def test_what_is_judged_is_a_copy(selector: str, shape: tuple[int, ...], world: Any) -> None:
    """A model may wait for its evaluation while the server goes on, in place too."""
    execution = world().execution(registry.algorithm(selector))
    judged = execution.judged()
    assert judged.x.shape == shape
    before = judged.x.copy()
    execution.state.x += 1
    if execution.memory is not None:
        execution.memory[0] = execution.memory[0] + 1
    assert np.array_equal(judged.x, before)
    assert not np.array_equal(execution.judged().x, before)


def test_waves_are_used_and_every_consumed_job_is_trained_once(world: Any) -> None:
    w: World = world()
    algorithm = registry.algorithm("fedbuff[buffer_size=2,concurrency=8]")
    execution = w.execution(algorithm)
    seen: list[tuple[int, int]] = []
    train = execution.backend.train

    def spy(wave: Sequence[Assignment]) -> list[Work]:
        seen.extend((a.job.client, a.job.k) for a in wave)
        return train(wave)

    execution.backend.train = spy  # type: ignore[method-assign]
    (chunk,) = w.chunks(algorithm)
    execution.run([chunk])
    consumed = chunk.consumed_by >= 0
    assert sorted(seen) == sorted(zip(chunk.client[consumed].tolist(), chunk.k[consumed].tolist(), strict=True))
    assert execution.waves < len(seen)
    assert not consumed.all()  # jobs in flight at the end are never trained


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_a_wave_has_as_many_jobs_for_every_worker_if_the_rest_can_wait(workers: int, world: Any) -> None:
    w: World = world(updates=60, clients=30)
    execution = w.execution(registry.algorithm("fedbuff[buffer_size=5,concurrency=25]"), workers=workers)
    sizes: list[int] = []
    train = execution.backend.train

    def spy(wave: Sequence[Assignment]) -> list[Work]:
        sizes.append(len(wave))
        return train(wave)

    execution.backend.train = spy  # type: ignore[method-assign]
    chunks = w.chunks(execution.algorithm)
    execution.run(chunks)
    assert sum(sizes) == sum(int((chunk.consumed_by >= 0).sum()) for chunk in chunks)
    uneven = [size for size in sizes[1:-3] if size % workers]  # the first is one job, and at the end there is nothing to wait for
    assert len(uneven) <= len(sizes) // 10


def test_messages_are_kept_no_longer_than_needed(world: Any) -> None:
    w: World = world(updates=30)
    algorithm = registry.algorithm("fedbuff[buffer_size=2,concurrency=8]")
    execution = w.execution(algorithm)
    most: list[int] = []

    class Watch:
        def before_update(self, e: Execution, version: int, time_ns: int) -> None: ...

        def after_update(self, e: Execution, version: int, time_ns: int) -> None:
            most.append(len(e.messages))

    execution.run(w.chunks(algorithm), [Watch()])
    assert 0 < max(most) <= 8
    assert most[-1] == 0


def test_fedavg_with_one_rate_is_the_mean_of_the_ends(world: Any) -> None:
    """server_lr = 1, all clients: x+ is the mean of the local ends, from the equation in numpy."""
    w: World = world(updates=1, dtype="float64")
    execution = w.run(registry.algorithm("fedavg[sampling=all,local_lr=0.1]"))
    ends = []
    for i in range(8):
        y = np.linspace(-1, 1, 6)
        for _ in range(i % 3 + 1):
            y = y - 0.1 * w.problem.A[i] @ (y - w.problem.c[i])
        ends.append(y)
    assert np.allclose(execution.state.x, np.mean(ends, axis=0), rtol=1e-14, atol=1e-14)


def test_a_diverging_run_says_which_version(world: Any) -> None:
    with pytest.raises(Diverged) as caught:
        world(updates=200).run(registry.algorithm("fedavg[cohort_size=3,local_lr=1e6]"))
    assert 0 < caught.value.version < 200


@dataclass(frozen=True, kw_only=True)
class Bad(Algorithm):
    """An algorithm that does one thing wrong."""

    name = "bad"
    wrong: str = ""

    def dispatch(self, info: Info) -> Dispatch:
        return Stream(concurrency=2) if self.wrong == "stream memory" else Rounds()

    def init(self, x0: Vector, tools: Any) -> State:
        return State(x=x0, memory=ClientTable(tools.info.clients, np.zeros_like(x0)))

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        if self.wrong == "local raises":
            raise RuntimeError("no")
        if self.wrong == "writes message":
            message.x[0] = 1
        if self.wrong == "writes memory":
            memory[0] = 1
        if self.wrong == "no rule":
            return None  # type: ignore[return-value]
        return self.rule(message.x.astype(np.float64) if self.wrong == "start dtype" else message.x)

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        if self.wrong == "unwanted":
            return Reply(delta=work.mean_gradient if job.k else work.public_logits)
        return Reply(delta=work.delta)

    def step(self, state: State, batch: Batch, tools: Any) -> None:
        if self.wrong == "dtype":
            state.x = state.x * np.float64(0.5)
        if self.wrong == "new name":
            state.y = state.x
        if self.wrong == "not sent":
            state.x = batch.deltas[0]
        if self.wrong == "stream memory":
            state.memory[0] = state.x


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ("local raises", ClientError, r"client 3, job k=0 \(base version 0, 1 steps\), local rule of bad: RuntimeError: no"),
        ("writes message", ClientError, "read-only"),
        ("writes memory", ClientError, "read-only"),
        ("no rule", ClientError, "local rule of bad: TypeError: must be a LocalRule, got NoneType"),
        ("start dtype", ClientError, r"local rule of bad: TypeError: start must be float32 \(6,\), got float64 \(6,\); a numpy"),
        ("unwanted", ClientError, "work has no public_logits: the LocalRule must want it"),
        ("dtype", FedbenchError, r"bad.step: x must stay float32 \(6,\), got float64 .*use Python floats"),
        ("new name", AttributeError, "State has no 'y'; it has memory, x"),
        ("not sent", AttributeError, "batch has no 'deltas'; the jobs sent delta"),
        ("stream memory", PermissionError, "only under Rounds and Poll"),
    ],
)
def test_wrong_algorithms_are_refused(wrong: str, error: type[Exception], message: str, world: Any) -> None:
    with pytest.raises(error, match=message):
        world(updates=2).run(Bad(wrong=wrong))
