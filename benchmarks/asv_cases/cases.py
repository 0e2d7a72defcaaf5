"""What asv times: ours of every case, in an environment with numpy only, over the kernels of any commit."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

runpy.run_path(str(Path(__file__).resolve().parents[2] / "fedbench/bench/graft.py"))["graft"]()

from fedbench.bench import CASES, missing  # noqa: E402  # this tree's, whatever the commit had
from fedbench.bench.catalogue import alone  # noqa: E402

READY: dict[str, Callable[[], Any]] = {}  # asv sets up before every sample


def ready(name: str) -> Callable[[], Any]:
    """What is timed, checked once; NotImplementedError, asv's word for a skip, if the commit lacks the kernel."""
    case = CASES[name]
    if reason := missing(case.ours):
        raise NotImplementedError(reason)
    if name not in READY:
        given = case.inputs(case.size)
        started = case.ours.start(given)
        case.check(case.ours, started, case.reference(given))
        READY[name] = started.act
    return READY[name]


class Kernels:
    """Seconds a call."""

    params: ClassVar = [case.name for case in alone()]
    param_names: ClassVar = ["case"]
    timeout = 120.0
    sample_time = 0.05
    repeat = (3, 9, 3.0)
    rounds = 1
    warmup_time = 0.0

    def setup(self, name: str) -> None:
        self.act = ready(name)

    def time_case(self, name: str) -> None:
        self.act()


class Memory:
    """Peak of the process, interpreter and numpy included."""

    params: ClassVar = [case.name for case in alone() if case.memory]
    param_names: ClassVar = ["case"]
    timeout = 120.0

    def setup(self, name: str) -> None:
        if reason := missing(CASES[name].ours):
            raise NotImplementedError(reason)

    def peakmem_case(self, name: str) -> None:
        case = CASES[name]
        case.ours.start(case.inputs(case.size)).act()
