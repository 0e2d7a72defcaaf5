"""Times several ways in turns, so that other work of the machine disturbs all of them alike."""

from __future__ import annotations

import contextlib
import gc
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from fedbench.bench.case import Act, AnyWay, Case, Given, Ready, Size, missing
from fedbench.bench.event_queue import CALIBRATION

SAMPLE_SECONDS = 0.02  # a sample repeats the call until it lasts about this long

Seconds = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Ratio:
    """Median, quartiles, least and most of their time over our time, over the rounds."""

    median: float
    low: float
    high: float
    least: float
    most: float

    @classmethod
    def of(cls, theirs: Seconds, ours: Seconds) -> Ratio:
        least, low, median, high, most = np.quantile(theirs / ours, (0, 0.25, 0.5, 0.75, 1)).tolist()
        return cls(median, low, high, least, most)


class Sampler:
    """Measures the seconds per call of one way. The check of the case has made the first call. The
    second call decides how often a sample repeats it."""

    def __init__(self, act: Act, sample_seconds: float = SAMPLE_SECONDS) -> None:
        self._act, self._calls = act, 1
        self._calls = max(1, math.ceil(sample_seconds / max(self(), 1e-7)))

    def __call__(self) -> float:
        act, calls = self._act, range(self._calls)
        start = time.perf_counter()
        for _ in calls:
            act()
        return (time.perf_counter() - start) / len(calls)

    def both(self) -> tuple[float, float]:
        """Returns the seconds per call that passed, less those in which threads of this process
        waited for a processor, and the seconds that processors worked for it. Other work of the
        machine hardly shows in either."""
        act, calls = self._act, range(self._calls)
        start, worked, waited = time.perf_counter(), time.process_time(), _waited()
        for _ in calls:
            act()
        worked, waited = time.process_time() - worked, max(0.0, _waited() - waited)
        passed = max(time.perf_counter() - start - waited, worked / (os.cpu_count() or 1))
        return passed / len(calls), worked / len(calls)


def _waited() -> float:
    """Returns the seconds that the threads of this process could run and did not, as Linux counts
    them; 0 where it does not."""
    files = Path("/proc/self/task").glob("*/schedstat")
    with contextlib.suppress(OSError):  # a thread may have ended
        return sum(int(file.read_text(encoding="utf-8").split()[1]) for file in files) / 1e9
    return 0.0


def in_turns(acts: Mapping[str, Act], rounds: int, sample_seconds: float = SAMPLE_SECONDS) -> dict[str, Seconds]:
    """Returns the seconds per call of every way (rounds,). A round takes one sample of each, and
    every other round takes them in reverse order. No garbage is collected meanwhile."""
    samplers = {name: Sampler(act, sample_seconds) for name, act in acts.items()}
    taken: dict[str, list[float]] = {name: [] for name in acts}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for number in range(rounds):
            for name in list(acts)[:: 1 if number % 2 == 0 else -1]:
                taken[name].append(samplers[name]())
            gc.collect()
    finally:
        if collecting:
            gc.enable()
    return {name: np.array(seconds) for name, seconds in taken.items()}


@dataclass(frozen=True)
class Measured:
    """The seconds per call of every way that ran, ours first, the reasons why others did not, and
    how long those took to compile that are compiled."""

    seconds: dict[AnyWay, Seconds]
    skipped: dict[AnyWay, str]
    compile_seconds: dict[AnyWay, float] = field(default_factory=dict)


def prepare(case: Case[Size, Given], size: Size) -> tuple[dict[AnyWay, Ready], dict[AnyWay, str]]:
    """Starts and checks every way that can run here, and returns these ways and the reasons why
    others cannot. A case without a rival gets the calibration loop.

    WrongResult if a way, ours or a rival, does not compute what the reference does.
    """
    ways = (case.ours, *case.versus)
    skipped = {way: reason for way in ways if (reason := missing(way))}
    if case.ours in skipped:
        return {}, {case.ours: skipped[case.ours]}
    given = case.inputs(size)
    want, ready = case.reference(given), dict[AnyWay, Ready]()
    for way in ways:
        if way not in skipped:
            ready[way] = way.start(given)
            case.check(way, ready[way], want)
    if all(way.limit for way in ready if way is not case.ours):
        ready[CALIBRATION] = CALIBRATION.start(given)
    return ready, skipped


def measure(case: Case[Size, Given], size: Size, rounds: int, sample_seconds: float = SAMPLE_SECONDS) -> Measured:
    """Checks the ways of a case, and then times them in turns over so many rounds."""
    ready, skipped = prepare(case, size)
    seconds = in_turns({way.name: r.act for way, r in ready.items()}, rounds, sample_seconds)
    compiled = {way: r.compile_seconds for way, r in ready.items() if r.compile_seconds is not None}
    return Measured({way: seconds[way.name] for way in ready}, skipped, compiled)
