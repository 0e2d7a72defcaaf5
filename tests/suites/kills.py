"""Kill `fedbench run` again and again, at random moments and beside every change of a name, and
look at what is left.

    OMP_NUM_THREADS=1 python tests/suites/kills.py FOLDER COUNT

After each kill the store is mended as the next runner does it: the records that were there before
must be there. Then the runs are finished with --resume: all records must be there once, each with
the digest of a run that nobody disturbed, and nothing else.
"""

from __future__ import annotations

import collections
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fedbench.cli.main import main as fedbench
from fedbench.results.store import Store

RUNS = ["fedbuff[buffer_size=2]", "scaffold[cohort_size=2]", "fedavg[cohort_size=2]"]
SMALL = ["clients=6", "budget.seconds=1.5", "local.steps=2", "task.model=softmax"]
KILL = "FEDBENCH_KILL_BEFORE"  # a process that has this variable dies at the change of a name of that number
CHANGES = ((Path, "rename"), (Path, "replace"), (Path, "unlink"), (shutil, "rmtree"))
MOST_CHANGES = 30


def _die_at_a_change() -> None:
    """Replace what changes names by what also counts, and kills this process before the change of a
    number, or after it."""
    number, when = os.environ[KILL].split()
    left = int(number)

    def counting(change: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0 and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = change(*arguments, **named)
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return counted

    for place, name in CHANGES:
        setattr(place, name, counting(getattr(place, name)))


if __name__ in ("__main__", "__mp_main__") and KILL in os.environ:
    _die_at_a_change()


@dataclass(frozen=True)
class Kill:
    """How a run is killed: after `seconds`, or at a change of names of a worker or of the only
    process."""

    trainer: str
    jobs: int
    again: bool  # over finished records, which it replaces
    seconds: float | None
    change: str

    @property
    def kind(self) -> str:
        return f"{self.trainer}, -j {self.jobs}, {'moment' if self.seconds is not None else 'change of a name'}"


def drawn(random_: random.Random, number: int) -> Kill:
    trainer, jobs = ("native", "torch")[number % 2], (1, 2)[number // 2 % 2]
    by_change = number // 4 % 2 == 0
    change = f"{random_.randint(1, MOST_CHANGES)} {random_.choice(('before', 'after'))}" if by_change else ""
    longest = (0.8, 4.0)[jobs - 1]
    return Kill(trainer, jobs, random_.random() < 0.5, None if by_change else random_.uniform(0, longest), change)


def _started(store: Path, *more: str, change: str = "") -> int:
    """A process in a group of its own; it has all that is imported here."""
    process = os.fork()
    if process:
        return process
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    silent = os.open(store.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    settings = [part for one in SMALL for part in ("--set", one)]
    sys.argv = [
        "fedbench",
        "run",
        "digits-demo",
        *(p for one in RUNS for p in ("-a", one)),
        *settings,
        "--store",
        str(store),
        *more,
    ]
    if change:
        os.environ[KILL] = change
        if "1" in more:  # of several processes the workers change names, and take this from the environment
            _die_at_a_change()
    try:
        fedbench()
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 0)
    finally:
        os._exit(70)


def _finished(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def digests(store: Path) -> dict[str, str]:
    return {record.run_id: record.digests.result for record in Store(store)}


def _left(store: Path) -> list[str]:
    """What is in the store beside records, locks and their folders."""
    inside = [*store.glob(".write-test*"), *store.glob("*/*/*.*"), *store.glob("*/*/*/*.writing-*")]
    return [str(path.relative_to(store)) for path in inside]


@contextlib.contextmanager
def _nobody_computes(store: Path, ids: list[str]) -> Iterator[None]:
    """Workers whose parent was killed end by themselves."""
    with contextlib.ExitStack() as stack:
        for run_id in ids:
            (store / ".locks").mkdir(parents=True, exist_ok=True)
            stack.enter_context(Store(store).lock_of(run_id).acquire(timeout=60))
        yield


def attempt(kill: Kill, store: Path, wanted: dict[str, str]) -> tuple[bool, list[str]]:
    """Kill one run; whether it was still under way, and what is wrong afterwards."""
    if not kill.again:
        shutil.rmtree(store, ignore_errors=True)
    before = set(digests(store)) if store.exists() else set()
    options = ("--trainer", kill.trainer, "--checkpoint-seconds", "0", "-j", str(kill.jobs))
    process = _started(store, *options, change=kill.change)
    if kill.seconds is not None:
        time.sleep(kill.seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    hit = _finished(process) != 0
    wrong = []
    with _nobody_computes(store, list(wanted)):
        pass
    Store(store).prepare()
    if not before <= set(digests(store)):
        wrong.append(f"lost: {before - set(digests(store))}")
    code = _finished(_started(store, *options, "--resume"))
    if code:
        wrong.append(f"the next run ended with {code}")
    if digests(store) != wanted:
        wrong.append(f"others: {digests(store)}, expected {wanted}")
    return hit, wrong + [f"left: {one}" for one in _left(store)]


def kills(folder: Path, count: int, seed: int = 0) -> tuple[dict[str, int], int, list[str]]:
    """(kills by kind, how many came while the run was under way, what was wrong)."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {}
    for trainer in ("native", "torch"):
        shutil.rmtree(folder / f"{trainer}-wanted", ignore_errors=True)
        assert _finished(_started(folder / f"{trainer}-wanted", "--trainer", trainer)) == 0
        wanted[trainer] = digests(folder / f"{trainer}-wanted")
        assert len(wanted[trainer]) == len(RUNS)
    random_, by_kind, hits, wrong = random.Random(seed), collections.Counter[str](), 0, []
    for number in range(count):
        kill = drawn(random_, number)
        by_kind[kill.kind] += 1
        hit, found = attempt(kill, folder / f"{kill.trainer}-{kill.jobs}", wanted[kill.trainer])
        hits += hit
        wrong += [f"{number}: {kill}: {one}" for one in found]
        if found:
            print(*found, sep="\n", flush=True)
        if number % 50 == 49:
            print(f"{number + 1} kills, {len(wrong)} wrong", flush=True)
    return dict(by_kind), hits, wrong


if __name__ == "__main__":
    by_kind, hits, wrong = kills(Path(sys.argv[1]), int(sys.argv[2]))
    print(json.dumps({"kills": by_kind, "under way": hits, "wrong": wrong}, indent=1))
    sys.exit(bool(wrong))
