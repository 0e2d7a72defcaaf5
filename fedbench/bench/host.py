"""Settings of the process that measures: its allocator, its threads, its memory."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable

from fedbench.bench.case import AnyCase
from fedbench.errors import FedbenchError
from fedbench.process import PYTHON

# By default glibc maps and unmaps every large temporary anew, so that a program of tensor
# expressions spends most of its time in page faults. With these settings it keeps the memory, which
# makes torch rivals up to seven times faster. Without them our ratios would be inflated.
MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": "8589934592",
    "MALLOC_TRIM_THRESHOLD_": "17179869184",
    "MALLOC_TOP_PAD_": "268435456",
}


def allocator_settings() -> str:
    """Returns the settings of `MALLOC` with which this process was not started, as a shell would
    set them; empty text if it has all."""
    return " ".join(f"{name}={value}" for name, value in MALLOC.items() if os.environ.get(name) != value)


def start_again() -> None:
    """Replaces this process by the same command with `MALLOC` in its environment, since glibc reads
    it only when a process starts."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], {**os.environ, **MALLOC})


def set_threads(threads: int, cases: Iterable[AnyCase]) -> None:
    """Sets the threads of one operation of torch, if a case needs torch. Our kernels use one."""
    if any(way.library == "torch" for case in cases for way in case.versus) and importlib.util.find_spec("torch"):
        import torch

        torch.set_num_threads(threads)


def peak_mb(case: AnyCase) -> float:
    """Returns the peak memory (MB) of a fresh process that does the case's work once, interpreter
    and numpy included."""
    environment = {name: value for name, value in os.environ.items() if name not in MALLOC}
    code = f"from fedbench.bench.host import work_once; work_once({case.name!r})"
    done = subprocess.run([*PYTHON, "-c", code], capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise FedbenchError(f"{case.name}: the process that measures memory failed: {done.stderr.strip().splitlines()[-1]}")
    return float(done.stdout)


def work_once(name: str) -> None:
    """Does a case's work once and prints this process's peak resident memory in MB, to which the
    peak of its parent does not count."""
    from fedbench.bench.catalogue import find
    from fedbench.process import peak_memory_mb  # an old build, over which the other cases run, has none

    case = find(name)
    case.ours.start(case.inputs(case.size)).act()
    peak = peak_memory_mb()
    if peak is None:
        raise FedbenchError("/proc/self/status: expected a line VmHWM")
    print(peak)
