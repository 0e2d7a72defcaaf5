"""The slow tests of what a change touches, for `.ci/run`. Usage: python -m tests.house.slow [BASE]

Without BASE the change is what HEAD has and origin/main lacks; if that is nothing, the last commit.
A file of tests is touched if it changed, or something of the package whose tests it holds. No file
is begun when MINUTES have passed, and those of ALONE never: what is left out is named, and runs at
night (`make slow`).
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MINUTES = 4
ALONE = {
    "benchmarks/test_cases.py": "all benchmark cases in full size",
    "benchmarks/test_rivals.py": "ratios of whole runs want a machine that does nothing else",
    "tests/kernels/test_aarch64.py": "`make aarch64` runs it",
}
FINE = (0, 5)  # pytest: all passed; all was skipped or left out
MARKED = re.compile(r"\bmark\.slow\b")


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def base() -> str:
    """Returns the commit before the change, or nothing in a clone that has one commit."""
    landed = git("merge-base", "HEAD", "origin/main")
    return landed if landed and landed != git("rev-parse", "HEAD") else git("rev-parse", "--verify", "--quiet", "HEAD~1")


def holders() -> list[str]:
    """Returns the files that have slow tests."""
    files = sorted([*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("benchmarks/test_*.py")])
    return [str(file.relative_to(ROOT)) for file in files if MARKED.search(file.read_text())]


def touched(changed: Iterable[str], files: Iterable[str]) -> list[str]:
    """Returns those of the files of tests that a change touches, given the paths that it changes.

    The tests of `fedbench/suites/findings` are in `tests/suites/findings`, those of `csrc` in
    `tests/kernels`, and those of `fedbench/bench` in `benchmarks` as well. What else lies below
    `tests/ROOM` serves the tests of that room.
    """
    rooms: set[str] = set()
    for path in changed:
        top, *inner = Path(path).parts
        room = inner[0] if len(inner) > 1 else ""
        rooms |= {"kernels"} if top == "csrc" else {room} if top in ("fedbench", "tests") and room else set()
        rooms |= {"benchmarks"} if top == "benchmarks" or (top, room) == ("fedbench", "bench") else set()
    return [file for file in files if rooms & {Path(file).parts[0], Path(file).parts[1]}]


def main(given: str = "") -> int:
    """Returns 1 if a test failed, else 0."""
    before = given or base()
    if not before:
        print("slow tests: skipped: no commit to compare with")
        return 0
    chosen = touched(git("diff", "--name-only", before).splitlines(), holders())
    begin, failed = time.monotonic(), []
    print(f"slow tests of what changed since {before[:12]}: {', '.join(chosen) or 'none'}")
    for file in chosen:
        if file in ALONE or time.monotonic() - begin > 60 * MINUTES:
            print(f"left to the night: {file} ({ALONE.get(file, f'{MINUTES} minutes have passed')})")
            continue
        command = [sys.executable, "-m", "pytest", "-q", "-m", "slow and not gpu", "--durations=25", file]
        failed += [file] if subprocess.run(command, cwd=ROOT, check=False).returncode not in FINE else []
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
