"""Jobs of the native trainer: the same bits whoever computes them and when, Ctrl-C and progress."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench.kernels import build_info
from fedbench.kernels.train import JobColumns, LayerSpec, LocalJob, LocalTrainer, Rule

from .networks import (
    BY_PRODUCTS,
    DROPPED,
    FLATTEN,
    LEFT_OVER,
    RELU,
    SOFTMAX,
    Net,
    conv,
    full_gradient,
    linear,
    pool,
    with_outputs,
)

# Padding and stride, pools with a row left over, dropout of both kinds.
MIXED = Net(
    (2, 9, 9),
    (
        *(conv(2, 7, 3, 2, 1), RELU, LayerSpec("dropout2d", p=0.4), conv(7, 5, 3, 1, 2), pool(2)),
        *(FLATTEN, linear(45, 11), LayerSpec("dropout", p=0.3), RELU, linear(11, 3)),
    ),
    3,
)


# ---- bits ----


def wave(net: Net, dtype: Any) -> list[LocalJob]:
    """Ten jobs of different lengths, shards, rules and outputs; some shards are smaller than a
    batch of 10, none a multiple of it."""
    jobs = []
    for i in range(10):
        y = (net.start(dtype, seed=i) * (1 + i / 5)).astype(dtype)
        shard = np.arange(i, i + (4, 27, 48, 1, 33)[i % 5]) % 53
        correction = net.start(dtype, seed=99) if i % 3 == 1 else None
        anchor = net.start(dtype, seed=98) if i % 4 == 3 else None
        rule = Rule(y, 0.1, 0.1 * (i % 3), 0.2 * (i % 2), correction, anchor)
        job = LocalJob(i % 5, i, (0, 3, 11, 6, 1)[i % 5], shard, rule, y)
        jobs.append(with_outputs(job, BY_PRODUCTS[: i % 4]))
    return jobs


def bits(jobs: Sequence[LocalJob]) -> list[tuple[bytes | None, ...]]:
    return [tuple(None if (v := getattr(job, name)) is None else v.tobytes() for name in ("end", *BY_PRODUCTS)) for job in jobs]


def trained(trainer: LocalTrainer, jobs: Sequence[LocalJob]) -> list[tuple[bytes | None, ...]]:
    """Bits of the jobs, each in new arrays."""
    fresh = [with_outputs(job, [name for name in BY_PRODUCTS if getattr(job, name) is not None]) for job in jobs]
    trainer.train(fresh)
    return bits(fresh)


@pytest.mark.parametrize("net", [SOFTMAX, LEFT_OVER, MIXED], ids=["softmax", "left over", "mixed"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_job_has_the_same_bits_in_any_company(isa: str, net: Net, dtype: Any) -> None:
    """For 1, 2 and 4 threads, any order, any grouping, and after other work on the same trainer."""
    jobs, random = wave(net, dtype), np.random.default_rng(0)
    wanted = [trained(net.trainer(10, dtype=dtype, isa=isa), [job])[0] for job in jobs]
    x, _ = net.data(dtype=dtype)
    for threads in (1, 2, 4):
        trainer = net.trainer(10, dtype=dtype, isa=isa, threads=threads)
        assert trained(trainer, jobs) == wanted
        for _ in range(3):
            order = random.permutation(len(jobs))
            cuts = np.split(order, np.sort(random.choice(np.arange(1, 10), 3, replace=False)))
            found = {}
            for part in cuts:
                found |= dict(zip(part.tolist(), trained(trainer, [jobs[i] for i in part]), strict=True))
                full_gradient(trainer, jobs[3].rule.start, jobs[2].shard)
                trainer.logits(jobs[1].rule.start, x[:23], net.classes)
                trainer.forward(jobs[1].rule.start, x[:3], net.classes, (1, 2, 3, 0))
                trainer.pullback(np.ones((3, net.classes), dtype))
            assert [found[i] for i in range(len(jobs))] == wanted


def test_gradient_and_logits_have_the_same_bits_for_any_threads(isa: str) -> None:
    """300 examples are several tasks of an evaluation."""
    x, y = MIXED.data(300)[0], MIXED.start()
    rows = np.arange(53)
    found = set()
    for threads in (1, 2, 4):
        trainer = MIXED.trainer(isa=isa, threads=threads)
        found.add((trainer.logits(y, x, 3).tobytes(), full_gradient(trainer, y, rows).tobytes()))
    assert len(found) == 1
    one_by_one = np.concatenate([trainer.logits(y, x[i : i + 7], 3) for i in range(0, 300, 7)])
    assert np.allclose(one_by_one, trainer.logits(y, x, 3), rtol=0, atol=1e-14)


def test_nothing_given_is_written() -> None:
    """Start, correction, shard and slope may be read-only."""
    trainer, job = MIXED.trainer(), wave(MIXED, np.float64)[4]
    for array in (job.rule.start, job.rule.correction, job.shard):
        assert array is not None
        array.flags.writeable = False
    slope = np.ones((5, 3))
    slope.flags.writeable = False
    before = job.rule.start.tobytes()
    trainer.train([job])
    trainer.forward(job.rule.start, MIXED.data()[0][:5], 3, (1, 2, 3, 0))
    trainer.pullback(slope)
    assert job.rule.start.tobytes() == before
    assert (slope == 1).all()


def test_the_instruction_set_asked_for_computes(isa: str) -> None:
    assert SOFTMAX.trainer(isa=isa).isa == isa
    assert SOFTMAX.trainer().isa == build_info()["instruction_set"]


# ---- while it computes ----


def long_job(net: Net, steps: int) -> LocalJob:
    y = net.start()
    return LocalJob(0, 0, steps, np.arange(53), Rule(y, 0.01), np.empty_like(y))


def test_progress_is_told_and_may_stop_the_rest() -> None:
    class Stop(Exception):
        pass

    def stop(done: int) -> None:
        raise Stop

    trainer, told = DROPPED.trainer(threads=2), list[int]()
    wanted = trained(DROPPED.trainer(), [long_job(DROPPED, 5)])
    begin = time.monotonic()
    trainer.train([long_job(DROPPED, 10_000) for _ in range(5)], told.append)
    seconds = time.monotonic() - begin
    assert told == sorted(told)
    assert set(told) <= set(range(6))
    assert 1 <= len(told) <= 10 * seconds + 1
    begin = time.process_time()
    with pytest.raises(Stop):
        trainer.train([long_job(DROPPED, 400_000) for _ in range(5)], stop)
    assert time.process_time() - begin < 2, "a second of two threads"
    assert trained(trainer, [long_job(DROPPED, 5)]) == wanted


# What a shell runs in the background ignores SIGINT, and so do its children, unless they say
# otherwise.
INTERRUPTED = """
import os
import signal
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)
from fedbench.kernels.train import LayerSpec, LocalJob, LocalTrainer, Rule
layers = [LayerSpec("conv2d", 1, 32, 5), LayerSpec("flatten"), LayerSpec("linear", 32 * 24 * 24, 10)]
trainer = LocalTrainer(layers, np.zeros((60, 1, 28, 28), np.float32), np.arange(60) % 10, seed=0, batch_size=20, threads=2)
y = np.zeros(trainer.dim, np.float32)
jobs = [LocalJob(i, 0, 100_000, np.arange(60), Rule(y, 0.1), y.copy()) for i in range(3)]
started = []
try:
    trainer.train(jobs, lambda done: started or started.append(print("training", flush=True)))
except KeyboardInterrupt:
    print("stopped", flush=True)
    raise
"""


def processor_seconds(pid: int) -> float:
    """Returns what a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_ctrl_c_answers_within_a_second() -> None:
    """Three jobs of minutes each, on two threads. The processor's seconds count, since others may
    have it."""
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline() == "training\n"
    time.sleep(0.2)
    before = processor_seconds(process.pid)
    process.send_signal(signal.SIGINT)
    with process.stdout, process.stderr:
        output, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert usage.ru_utime + usage.ru_stime - before < 4, "two seconds of two threads, the interpreter's end included"
    assert output == "stopped\n"
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT


# ---- many jobs as columns ----


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_are_jobs(isa: str, dtype: Any) -> None:
    """Every rule, in both orders, on one thread and three."""
    jobs = wave(MIXED, dtype)
    for threads in (1, 3):
        trainer = MIXED.trainer(10, dtype=dtype, isa=isa, threads=threads)
        count = np.array([len(job.shard) for job in jobs])
        trainer.set_shards(np.concatenate([job.shard for job in jobs]), np.cumsum(count) - count, count)
        for order in (np.arange(10), np.arange(10)[::-1].copy()):
            given = [jobs[i] for i in order]
            out = [np.zeros((10, MIXED.dim), dtype), np.zeros((10, MIXED.dim), dtype)]
            columns_of = JobColumns(
                order.astype(np.int32),
                np.array([job.k for job in given], np.int32),
                np.array([job.steps for job in given], np.int32),
                [job.rule for job in jobs],
                order,
                out,
                order % 2,
                order,
            )
            trainer.train_columns(columns_of)
            alone = [with_outputs(replace(job, client=i)) for i, job in enumerate(jobs)]
            for one in alone:
                trainer.train([one])
            for i, one in enumerate(alone):
                assert out[i % 2][i].tobytes() == (one.end - one.rule.start).tobytes()
            first = [np.zeros((10, MIXED.dim), dtype)]
            trainer.train_columns(replace(columns_of, out=first, matrix=np.zeros(10, np.int64), sends="first_gradient"))
            assert all(first[0][i].tobytes() == alone[i].first_gradient.tobytes() for i in range(10))
