"""Whether the core has become slower since a commit: python -m fedbench.bench.regress BASE (or
`make regress BASE=..`).

BASE is built in a temporary worktree and installed into a temporary environment that shares this
one's packages. Processes of both builds run the cases of this tree, kernels and whole runs, and
take their samples in turns. What counts is the time that processors work for a process, since other
work of the machine hardly shows in it. The places of code and arrays in memory make some processes
slower for as long as they live, so each build has several, of which the fastest is compared. A case
is slower if the median of after / before exceeds the threshold, its lower quartile exceeds 1, and
fresh processes find the same again; faster, likewise. The time that passes, but for waiting for a
processor, counts too, since a lost second worker shows there: its lower quartile must exceed a
threshold that is twice as far from 1. The exit status is 1 if a case is slower.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from fedbench.bench.case import AnyCase
from fedbench.bench.catalogue import select, whole
from fedbench.bench.compare import Change, verdict
from fedbench.bench.measure import Ratio, Seconds
from fedbench.bench.worker import Worker
from fedbench.errors import FedbenchError, UsageError
from fedbench.process import PYTHON

WATCHED = 1.15  # a slowdown of 1.3 is found in all of many trials, and one of 1.0 in none
PROCESSES, FEWEST = 3, 3  # processes of each build, and samples that each takes at least
CLOCKS = ("passed", "worked")
ROOT = Path(__file__).resolve().parents[2]
console = Console(highlight=False, soft_wrap=True)


@contextlib.contextmanager
def build(commit: str, repository: Path) -> Iterator[Path]:
    """Yields the Python of a temporary environment in which that commit is installed. It is removed
    afterwards, whatever happens."""
    if _run("git", "-C", repository, "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}", check=False).returncode:
        raise UsageError(f"unknown commit {commit!r} in {repository}")
    with tempfile.TemporaryDirectory(prefix="fedbench-regress-") as folder:
        tree, environment = Path(folder, "tree"), Path(folder, "environment")
        _run("git", "-C", repository, "worktree", "add", "--detach", tree, commit)
        try:
            venv.create(environment, symlinks=True)
            (packages,) = environment.glob("lib/python*/site-packages")
            # Lines of a .pth file only name paths, so no hook of an editable install there is run.
            (packages / "shared.pth").write_text(
                "".join(f"{p}\n" for p in sys.path if p.endswith("site-packages")), encoding="utf-8"
            )
            pip = (*PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
            _run(*pip, "--no-build-isolation", "--target", packages, tree)
            yield environment / "bin/python"
        finally:
            _run("git", "-C", repository, "worktree", "remove", "--force", tree)


def _run(*command: str | Path, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise FedbenchError(f"{' '.join(map(str, command))} failed:", *done.stderr.strip()[-2000:].split("\n"))
    return done


def change(case: AnyCase, pythons: tuple[Path, Path], rounds: int, threshold: float, *, small: bool = False) -> Change:
    """Returns the change of a case between the builds of two Pythons, before and after. A case that
    seems to have changed is measured again in fresh processes."""
    found = _measure(case, pythons, rounds, threshold, small)
    if found.verdict in ("slower", "faster"):
        again = _measure(case, pythons, 2 * rounds, threshold, small)
        return again if again.verdict == found.verdict else replace(again, verdict="same", note=f"seemed {found.verdict} once")
    return found


def _measure(case: AnyCase, pythons: tuple[Path, Path], rounds: int, threshold: float, small: bool) -> Change:
    taken: list[tuple[Seconds, Seconds]] = []
    for _ in range(PROCESSES):
        samples = _samples(case, pythons, max(FEWEST, rounds // PROCESSES), small)
        if isinstance(samples, Change):
            return samples
        taken.append(samples)
    passed, worked = (_change(case.name, taken, clock, threshold) for clock in CLOCKS)
    if worked.verdict != "slower" and passed.low is not None and passed.low > 2 * threshold - 1:
        return replace(passed, verdict="slower", note="in the time that passes")
    return worked


def _samples(case: AnyCase, pythons: tuple[Path, Path], rounds: int, small: bool) -> tuple[Seconds, Seconds] | Change:
    """Returns the samples (rounds, CLOCKS) of a process before and of one after, or why there are
    none."""
    with Worker(pythons[0]) as before, Worker(pythons[1]) as after:
        try:
            why = before.prepare(case.name, small=small)
        except FedbenchError as error:  # the old build may have had another signature, or a bug
            why = str(error)
        if why:
            return Change(case.name, "not comparable", note=f"before: {why}")
        if why := after.prepare(case.name, small=small):
            return Change(case.name, "not comparable", note=f"after: {why}")
        taken: dict[Worker, list[tuple[float, float]]] = {before: [], after: []}
        for number in range(rounds):
            for worker in (before, after) if number % 2 == 0 else (after, before):
                taken[worker].append(worker.sample())
    return np.array(taken[before]), np.array(taken[after])


def _change(name: str, taken: Sequence[tuple[Seconds, Seconds]], clock: str, threshold: float) -> Change:
    """Returns the change of what one clock says, between the fastest processes of both builds."""
    before, after = (
        np.sort([samples[:, CLOCKS.index(clock)] for samples in build], axis=1) for build in zip(*taken, strict=True)
    )
    ratio = Ratio.of(*(build[np.median(build, axis=1).argmin()] for build in (after, before)))
    return Change(name, verdict(ratio.median, ratio.low, ratio.high, threshold), ratio.median, ratio.low, ratio.high)


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fedbench.bench.regress", description=__doc__.partition("\n")[0])
    parser.add_argument("base", help="the commit before")
    parser.add_argument("--head", help="the commit after; default: what is installed here")
    parser.add_argument("--repository", type=Path, default=ROOT, help="checkout that holds the commits")
    parser.add_argument(
        "--case", action="append", default=[], help="a case, may be given several times; default: kernels and whole runs"
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threshold", type=float, default=WATCHED)
    parser.add_argument("--small", action="store_true", help="tiny inputs: to see that it works, not to judge")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser.parse_args(arguments)


def _main(given: argparse.Namespace) -> int:
    cases = select(given.case) if given.case else [*select(), *whole()]
    with contextlib.ExitStack() as stack:
        console.print(f"building {given.base}", style="dim") if not given.json else None
        base = stack.enter_context(build(given.base, given.repository))
        head = stack.enter_context(build(given.head, given.repository)) if given.head else Path(sys.executable)
        slower = []
        for case in cases:
            found = change(case, (base, head), given.rounds, given.threshold, small=given.small)
            print(json.dumps(vars(found))) if given.json else console.print(_line(found))
            slower += [case.name] if found.verdict == "slower" else []
    console.print(f"slower by more than {given.threshold:g}: {', '.join(slower) or 'none'}") if not given.json else None
    return 1 if slower else 0


def _line(found: Change) -> str:
    times = "" if found.slowdown is None else f"{found.slowdown:5.2f}x ({found.low:.2f}-{found.high:.2f})"
    return f"{found.case:<34} {found.verdict:<15} {times:<20} {found.note}".rstrip()


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status: 0 if nothing is slower, 1 if a case is or something went wrong, and
    2 for wrong use."""
    try:
        return _main(_arguments(arguments))
    except FedbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
