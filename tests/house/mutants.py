"""Do the tests notice a mistake? Usage: python tests/house/mutants.py [--python-only] [--folder F]
[part of a name ..]

Every mutant of mutants.yaml is one published mistake, put into a copy of the tracked files; the
tests that it names must fail there, and pass without it. A mutant that names a claim of `fedbench
theory` is killed only if that claim does not hold. Mutants of csrc/ are built and tested without
Python (CMake preset dev). Prints a table; exits with 1 if a mutant survives, and with a message if
one is outdated or the tests fail without it. `--folder` keeps the copy and its build.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_suffix(".yaml")
SECONDS = 300  # more than any selection or build takes; a mutant that is not done by then hangs

# Python runs it at the start of every process that has the copy on its PYTHONPATH, also of those
# that tests start in other folders: they import the copy's package, also where an editable
# installation redirects imports.
CUSTOMIZE = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirect" not in type(finder).__name__]
"""
COPY = """
import resource
import sys
resource.setrlimit(resource.RLIMIT_DATA, (8 << 30, 8 << 30))  # a mistake that takes all memory takes no more than this
import fedbench
from pathlib import Path
if not Path(fedbench.__file__).resolve().is_relative_to(Path.cwd().resolve()):
    sys.exit(f"fedbench comes from {fedbench.__file__}, not from the copy")
"""
# pytest's arguments follow.
PYTEST = (
    COPY
    + """
import pytest
sys.exit(pytest.main(["-x", "-q", "-rf", "--tb=no", *sys.argv[1:]]))
"""
)
# A claim's name follows; stops at its first line that does not hold.
THEORY = (
    COPY
    + """
from fedbench.proof.theory.table import chosen, rows
for claim, row in rows(chosen(sys.argv[1:])):
    if not row.holds:
        print(f"FAILED {claim.name}: {row.check}: {row.measured:.4g}, expected {row.expected:.4g}")
        sys.exit(1)
"""
)
# Plugins; hypothesis works without its own, which takes longer to start than most tests to run.
WITHOUT = ("xdist", "cacheprovider", "hypothesispytest")


@dataclass(frozen=True)
class Mutant:
    """`old` becomes `new` in `file`; `tests` are test files or single tests of pytest, or for csrc/
    the name of a C++ test. `theory` is the claim of `fedbench theory` that must notice it by
    itself, in place of tests."""

    name: str
    file: str
    old: str
    new: str
    mistake: str
    tests: str = ""
    theory: str = ""

    @property
    def is_native(self) -> bool:
        return self.file.startswith("csrc/")

    @property
    def judge(self) -> str:
        """What must fail: the tests, or the claim."""
        return self.tests or self.theory


@dataclass(frozen=True)
class Verdict:
    mutant: Mutant
    failed: str | None
    """The first test that failed; None if the mutant survived."""
    seconds: float

    def __str__(self) -> str:
        word, detail = ("killed", self.failed) if self.failed else ("SURVIVED", self.mutant.mistake)
        return f"{word:<9} {self.mutant.name:<40} {self.seconds:5.1f} s  {detail}"


def read(table: Path = TABLE) -> list[Mutant]:
    mutants = [Mutant(**row) for row in yaml.safe_load(table.read_text())]
    names = [mutant.name for mutant in mutants]
    if len(set(names)) < len(names):
        sys.exit(f"{table.name}: names occur twice: {sorted({name for name in names if names.count(name) > 1})}")
    return mutants


def outdated(root: Path, mutants: Iterable[Mutant]) -> list[str]:
    """One line per mutant whose old text is not in its file exactly once."""
    lines = []
    for mutant in mutants:
        file = root / mutant.file
        count = file.read_text().count(mutant.old) if file.is_file() else 0
        if count != 1:
            lines.append(f"outdated: {mutant.name}: its old text occurs {count} times in {mutant.file}, expected once")
    return lines


def copy_tree(root: Path, copy: Path) -> None:
    """The tracked files and the built extension; files that are the same stay as they are, for
    incremental builds."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True).stdout.split("\0")
    files = {root / name: copy / name for name in names if (root / name).is_file()}
    extension = importlib.util.find_spec("fedbench._core")
    if extension is None or extension.origin is None:
        sys.exit("fedbench._core is not built")
    built = Path(extension.origin)
    files[built] = copy / "fedbench" / built.name
    for source, target in files.items():
        content = source.read_bytes()
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


@contextmanager
def planted(copy: Path, mutant: Mutant) -> Iterator[None]:
    file = copy / mutant.file
    text = file.read_text()
    file.write_text(text.replace(mutant.old, mutant.new))
    try:
        yield
    finally:
        file.write_text(text)


def run(copy: Path, *command: str) -> tuple[int | None, str]:
    """(exit status, None if it hangs; output). Every Python process that the command starts imports
    the copy."""
    (copy / "sitecustomize.py").write_text(CUSTOMIZE)
    environment = os.environ | {
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",  # a .pyc of the same second would hide a mutant
    }
    try:
        result = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, ""
    return result.returncode, result.stdout + result.stderr


def python_failure(copy: Path, tests: str) -> str | None:
    """The first test of a selection that fails, if one does."""
    status, output = run(copy, sys.executable, "-c", PYTEST, *(f"-pno:{plugin}" for plugin in WITHOUT), *tests.split())
    failed = re.search(r"^FAILED (\S+)", output, re.MULTILINE)
    if status == 0:
        return None
    if status is None:
        return f"no end after {SECONDS} s"
    if status != 1 or not failed:  # it does not even import, or there is no such test: no mistake that a test could notice
        sys.exit(f"no verdict: pytest {tests} ended with {status}\n{output[-2000:]}")
    return failed.group(1)


def theory_failure(copy: Path, claim: str) -> str | None:
    """The first line of a claim that does not hold, if there is one."""
    status, output = run(copy, sys.executable, "-c", THEORY, claim)
    if status is None:
        return f"no end after {SECONDS} s"
    failed = re.search(r"^FAILED (.+)", output, re.MULTILINE)
    if status != 0 and not failed:
        sys.exit(f"no verdict: theory {claim} ended with {status}\n{output[-2000:]}")
    return failed.group(1) if failed else None


def native_failure(copy: Path, target: str) -> str | None:
    """The first check of a C++ test that fails, if one does."""
    status, output = run(copy, "cmake", "--build", "--preset", "dev", "--target", target)
    if status != 0:
        sys.exit(f"no verdict: {target} does not build\n{output[-2000:]}")
    status, output = run(copy, f"build/dev/{target}")
    if status is None:
        return f"no end after {SECONDS} s"
    failed = re.search(r"^\S*/(\w+\.cpp:\d+): FAILED", output, re.MULTILINE)
    return None if status == 0 else f"{target} {failed.group(1) if failed else f'ended with {status}'}"


def examine(copy: Path, mutants: list[Mutant], failure: Callable[[Path, str], str | None]) -> Iterator[Verdict]:
    """Plants one after the other."""
    for mutant in mutants:
        begin = time.monotonic()
        with planted(copy, mutant):
            failed = failure(copy, mutant.judge)
        yield Verdict(mutant, failed, time.monotonic() - begin)


def check_unchanged(copy: Path, selections: Iterable[str], failure: Callable[[Path, str], str | None]) -> None:
    for tests in selections:
        if failed := failure(copy, tests):
            sys.exit(f"{failed} fails without a mutant")


def verdicts(copy: Path, mutants: list[Mutant]) -> Iterator[Verdict]:
    """Those of Python first, then those of the theory."""
    if lines := outdated(copy, mutants):
        sys.exit("\n".join(lines))
    native, theory = [m for m in mutants if m.is_native], [m for m in mutants if m.theory]
    python = [m for m in mutants if not m.is_native and not m.theory]
    if python:
        files = dict.fromkeys(file for mutant in python for file in mutant.tests.split())
        check_unchanged(copy, [" ".join(files)], python_failure)
        yield from examine(copy, python, python_failure)
    if theory:
        check_unchanged(copy, dict.fromkeys(mutant.theory for mutant in theory), theory_failure)
        yield from examine(copy, theory, theory_failure)
    if native:
        status, output = run(copy, "cmake", "--preset", "dev")
        if status != 0:
            sys.exit(f"cmake --preset dev fails\n{output[-2000:]}")
        check_unchanged(copy, dict.fromkeys(mutant.tests for mutant in native), native_failure)
        yield from examine(copy, native, native_failure)


def main(copy: Path, mutants: list[Mutant]) -> int:
    copy_tree(ROOT, copy)
    survivors = total = 0
    begin = time.monotonic()
    for verdict in verdicts(copy, mutants):
        print(verdict, flush=True)
        total += 1
        survivors += verdict.failed is None
    print(f"{total} mutants, {survivors} survived, {time.monotonic() - begin:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Do the tests notice a mistake?")
    parser.add_argument("names", nargs="*", help="only mutants with one of these in their name")
    parser.add_argument("--python-only", action="store_true", help="leave out those of csrc/, which have to be built")
    parser.add_argument("--folder", type=Path, help="of the copy; kept")
    asked = parser.parse_args()
    chosen = [m for m in read() if not (asked.python_only and m.is_native)]
    chosen = [m for m in chosen if not asked.names or any(part in m.name for part in asked.names)]
    if not chosen:
        sys.exit(f"no mutant has one of {asked.names} in its name")
    if asked.folder:
        sys.exit(main(asked.folder.resolve(), chosen))
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(Path(temporary), chosen))
