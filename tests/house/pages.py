"""Runs the code of pages in Markdown, and compares what it prints with what the page shows.
Usage: python -m tests.house.pages [--fix] docs/learn/get-started.md ..

    ```console              lines with `$ ` are run by bash; what follows is what they print, `...` stands for anything
    ```python               is run as a script; a ```text block right below is what it prints
    # mine.py               as the first line: the block is written into this file, and not run
    ```yaml                 must have known keys of a scenario
    ```text, ```cpp, ..     is not run
    ```sh                   cannot be run here, see NOT_HERE

All blocks of a page run in one empty folder, from the first to the last. With --fix the page gets
what was printed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from fedbench.cli.layout import wrapped
from fedbench.scenarios.schema import Scenario

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^ *```(\w+)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# ([\w.-]+\.(?:py|yaml))\n")
VARYING = re.compile(
    r"(?<=\()\d+\.\d(?= s\)$)|(?<=^wall s )\s*[\d.]+|(?<=^peak mb )\s*[\d.]+|(?<=runs, about )[\d.]+(?= s$)"
    r"|(?<=commit )[0-9a-f]{12}|\d\.\d\.\d\.dev\d+",
    re.MULTILINE,
)
"""What differs from run to run: seconds of a clock, memory, and the version of fedbench itself."""
WIDTH = 100  # columns of what a page shows
KINDS = {"console", "python", "yaml", "text", "cpp", "sh"}
NOT_HERE = {
    "README.md": "installs",
    "docs/clusters.md": "needs a cluster",
    "docs/network-traces.md": "needs logs of others",
    "docs/shakespeare.md": "takes minutes, and a test runs the scenario",
    "docs/submissions.md": "takes hours, and tests hand in a smaller suite",
    "docs/versions.md": "installs",
    "docs/learn/get-started.md": "installs",
    "docs/learn/review-a-claim.md": "needs the folder of somebody",
    "docs/learn/speed.md": "takes minutes, and other libraries",
}
"""Pages with blocks of the kind sh, and why these are not run."""
IN_CLONE = {"docs/learn/review-a-claim.md"}
"""Pages whose code runs in the repository, where it only reads."""
KEYS = {field.alias or name for name, field in Scenario.model_fields.items()} | {"extends"}


@dataclass(frozen=True)
class Block:
    """A block of code: its language, the file that it is for, its text, and the line at which it
    begins."""

    kind: str
    file: str | None
    text: str
    line: int


@dataclass(frozen=True)
class Said:
    """What a block was expected to print, and what it printed."""

    command: str
    expected: str
    printed: str
    exit_code: int
    line: int

    @property
    def is_right(self) -> bool:
        return self.exit_code == 0 and matches(self.expected, self.printed)


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page. ValueError names one of an unknown kind."""
    for found in BLOCK.finditer(text):
        kind, body = found.groups()
        line = text.count("\n", 0, found.start()) + 1
        if kind not in KINDS:
            raise ValueError(f"line {line}: a block of kind {kind}; expected {', '.join(sorted(KINDS))}")
        file = FILE.match(body)
        yield Block(kind, file[1] if file else None, body, line)


def matches(expected: str, printed: str) -> bool:
    """Whether a text is what was expected, in which `...` stands for anything and empty means
    that nothing is asked. Spaces and breaks of lines do not count, since a page wraps long
    lines."""
    if not expected.strip():
        return True
    if not expected.replace("...", "").strip():
        return False  # dots alone would hide an error
    pattern = ".*?".join(re.escape(" ".join(part.split())) for part in expected.split("..."))
    return re.fullmatch(pattern, " ".join(printed.split()), re.DOTALL) is not None


def run(page: Path, folder: Path) -> Iterator[Said]:
    """Runs a page's blocks in a folder, and gives what each printed."""
    before: Said | None = None
    name = page.relative_to(ROOT).as_posix() if page.is_relative_to(ROOT) else page.name
    folder = ROOT if name in IN_CLONE else folder
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.file is not None:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.kind == "text" and before is not None:
            yield Said(before.command, block.text, before.printed, before.exit_code, block.line)
        elif block.kind == "console":
            for line, (command, expected) in _commands(block):
                yield Said(command, expected, *_run(["bash", "-c", command], folder), line)
        elif block.kind == "python":
            before = Said("the script", "", *_run([sys.executable, "-c", block.text], folder), block.line)
            yield before
            continue
        elif block.kind == "yaml":
            unknown = set(yaml.safe_load(block.text)) - KEYS
            if unknown:
                raise ValueError(f"{page}:{block.line}: no keys of a scenario: {', '.join(sorted(unknown))}")
        elif block.kind == "sh" and name not in NOT_HERE:
            raise ValueError(f"{page}:{block.line}: a block that is not run; use console, or say why in NOT_HERE")
        before = None


def _commands(block: Block) -> Iterator[tuple[int, tuple[str, str]]]:
    """The commands of a block with what follows them, each with its line. One goes on after a
    backslash."""
    command, expected, at, goes_on = "", "", 0, False
    for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
        if line.startswith("$ ") and not goes_on:
            if command:
                yield at, (command, expected)
            command, expected, at = line[2:], "", number
        elif goes_on:
            command += "\n" + line
        else:
            expected += line + "\n"
        goes_on = (line.startswith("$ ") or goes_on) and line.endswith("\\")
    if command:
        yield at, (command, expected)


def _run(command: list[str], folder: Path) -> tuple[str, int]:
    """What a command prints, errors among it, and its exit code."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "MPLBACKEND": "Agg", "NO_COLOR": "1"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    return done.stdout, done.returncode


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def fixed(text: str, told: list[Said]) -> str:
    """The page with what was printed in the place of what it showed, where that was wrong."""
    lines = text.splitlines()
    for one in sorted(told, key=lambda one: -one.line):
        if not matches(one.expected, one.printed) or any(len(line) > WIDTH for line in one.expected.splitlines()):
            begin = one.line + (one.command.count("\n") if lines[one.line - 1].startswith("$ ") else 0)
            end = begin + len(one.expected.splitlines())
            printed = VARYING.sub("...", _trimmed(one.printed)).splitlines()
            lines[begin:end] = [part for line in printed for part in wrapped(line, WIDTH)]
    return "\n".join(lines) + "\n"


def main() -> None:
    fix = "--fix" in sys.argv
    is_wrong = False
    for name in [one for one in sys.argv[1:] if one != "--fix"]:
        page = Path(name).resolve()
        with tempfile.TemporaryDirectory() as folder:
            told = list(run(page, Path(folder)))
        for one in told:
            if not one.is_right:
                is_wrong = True
                print(f"{name}:{one.line}: {one.command}: exit code {one.exit_code}, printed\n{one.printed}")
        if fix:
            page.write_text(fixed(page.read_text(encoding="utf-8"), told), encoding="utf-8")
    raise SystemExit(is_wrong and not fix)


if __name__ == "__main__":
    main()
