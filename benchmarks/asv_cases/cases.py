"""What asv times: ours of every case, in an environment without torch, over the kernels and the
engine of any commit."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

runpy.run_path(str(Path(__file__).resolve().parents[2] / "fedbench/bench/other_build.py"))["use_these_cases"]()

from fedbench.bench import CASES, Ready, missing, select  # noqa: E402  # this tree's, whatever the commit had
from fedbench.bench.case import Outcome  # noqa: E402
from fedbench.bench.catalogue import whole  # noqa: E402
from fedbench.bench.runs import counted, counts  # noqa: E402
from fedbench.errors import UsageError  # noqa: E402

READY: dict[str, Callable[[], Any]] = {}  # asv sets up before every sample


def ready(
    name: str, start: Callable[[Any], Ready] | None = None, reference: Callable[[Any], Outcome] | None = None
) -> Callable[[], Any]:
    """What is timed, checked once; NotImplementedError, asv's word for a skip, if the commit lacks
    the kernel or a part of the inputs. `start` and `reference` take the place of the case's own."""
    case = CASES[name]
    if reason := missing(case.ours):
        raise NotImplementedError(reason)
    if name not in READY:
        try:
            given = case.inputs(case.size)
        except UsageError as error:
            raise NotImplementedError(str(error)) from error
        started = (start or case.ours.start)(given)
        case.check(case.ours, started, (reference or case.reference)(given))
        READY[name] = started.act
    return READY[name]


class Kernels:
    """Seconds a call."""

    params: ClassVar = [case.name for case in select()]
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


class Runs:
    """Seconds a run, with two workers; checked against its plan, since its rival needs torch."""

    params: ClassVar = [case.name for case in whole()]
    param_names: ClassVar = ["case"]
    timeout = 300.0
    number = 1
    repeat = (3, 5, 10.0)
    rounds = 1
    warmup_time = 0.0

    def setup(self, name: str) -> None:
        self.act = ready(name, counted, counts)

    def time_run(self, name: str) -> None:
        self.act()


class Memory:
    """Peak of the process, interpreter and numpy included."""

    params: ClassVar = [case.name for case in select() if case.memory]
    param_names: ClassVar = ["case"]
    timeout = 120.0

    def setup(self, name: str) -> None:
        if reason := missing(CASES[name].ours):
            raise NotImplementedError(reason)

    def peakmem_case(self, name: str) -> None:
        case = CASES[name]
        case.ours.start(case.inputs(case.size)).act()
