"""Where the parts of this check run, and how they take times.

With DRY set, the kernels are those of the emulation, tensors lie on the host, and times say
nothing.
"""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from benchmarks.gpu.rows import DRY

DEVICE = "cpu" if DRY else "cuda"
Call = Callable[[], object]


class Kernels(NamedTuple):
    """The module fedbench.kernels.cuda, the one whose calls wait for nothing, and how a tensor is
    handed to them."""

    cuda: Any
    later: Any
    given: Callable[[torch.Tensor], Any]


@functools.cache
def kernels() -> Kernels:
    if DRY:
        from tests.kernels import emulated

        modules = emulated.load().kernels, emulated.later()
        return Kernels(*modules, lambda t: emulated.Exported(t.numpy()))
    from fedbench.kernels import cuda, cuda_later

    torch.backends.cuda.matmul.allow_tf32 = False
    return Kernels(cuda, cuda_later, lambda t: t)


def random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, device=DEVICE)


def wait() -> None:
    if not DRY:
        torch.cuda.synchronize()


def call_seconds(call: Call, repeats: int = 30) -> float:
    """Returns the median seconds of a call and of the wait for what it left to do."""
    repeats = 1 if DRY else repeats
    for _ in range(3):
        call()
    wait()
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        wait()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def device_seconds(call: Call, count: int = 20, repeats: int = 5) -> float:
    """Returns the seconds of a call among many, between two events: the device's work, or the
    host's where that is more."""
    if DRY:
        return call_seconds(call)
    for _ in range(3):
        call()
    seconds = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(count):
            call()
        end.record()
        wait()
        seconds.append(begin.elapsed_time(end) / 1e3 / count)
    return statistics.median(seconds)


def micro(seconds: float) -> str:
    return f"{1e6 * seconds:.1f} us"


def rivals(part: str, calls: dict[str, Call], count: int = 10) -> str:
    """Returns the times of other ways, each with its name; one that fails says so and costs no
    other."""
    told = []
    for name, call in calls.items():
        try:
            told.append(f"{name} {micro(device_seconds(call, count, 3))}")
        except Exception as error:  # a rival is another's code: whatever it raises is its result
            told.append(f"{name}: {type(error).__name__}")
            print(f"{part}, {name}: {error}", flush=True)
    return ", ".join(told)
