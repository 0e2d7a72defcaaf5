"""What a hostile case is, and what has to become of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MOST_SECONDS = 20.0  # of CPU; most take less than one, and a core that others share counts up to twice as many
MOST_MEGABYTES = 600
LONGEST = 600  # characters of a line on standard error
ADDRESS_BYTES = 8 << 30  # no check: it saves the machine from a case that takes all memory


@dataclass(frozen=True)
class Pipe:
    """A named pipe that nobody writes to."""


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    to: str


@dataclass(frozen=True)
class Hole:
    """A file of so many null bytes, of which none is on the disk."""

    size: int


@dataclass(frozen=True)
class Folder:
    """An empty folder."""


Content = str | bytes | Pipe | Link | Hole | Folder
Made = Content | Callable[[], Content]


@dataclass(frozen=True)
class Case:
    """A command line, the files that it finds, and what it has to say.

    name: the kind of input and what is wrong with it.
    arguments: what follows `fedbench`.
    words: a regular expression that the error must match.
    files: what lies in the working directory, by path; a function makes what is large.
    code: the exit code.
    lines: how many lines the error has: two where a line of a plug-in's code is shown.
    environment: variables beside those of every case.
    """

    name: str
    arguments: Sequence[str]
    words: str
    files: Mapping[str, Made] = field(default_factory=dict)
    code: int = 2
    lines: int = 1
    environment: Mapping[str, str] = field(default_factory=dict)

    def lay_out(self, folder: Path) -> None:
        """Makes the files of the case."""
        for name, made in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            content = made() if callable(made) else made
            match content:
                case str():
                    path.write_text(content)
                case bytes():
                    path.write_bytes(content)
                case Pipe():
                    os.mkfifo(path)
                case Link():
                    path.symlink_to(content.to)
                case Hole():
                    path.touch()
                    os.truncate(path, content.size)
                case Folder():
                    path.mkdir()


@dataclass(frozen=True)
class Outcome:
    """What became of a case: the exit code, what it wrote to standard error, or to standard output
    if that is all, what it took, and the deeds that went beyond its folder."""

    code: int
    error: str
    seconds: float
    megabytes: float
    deeds: Sequence[str]


class Nursery:
    """The process in which cases are run; see nursery.py."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, case: Case, home: Path) -> Outcome:
        """Runs a case in the folder `home`."""
        here = home / "here"
        here.mkdir()
        case.lay_out(here)
        request = {
            "home": str(home),
            "arguments": list(case.arguments),
            "seconds": MOST_SECONDS + 2,
            "address_bytes": ADDRESS_BYTES,
            "environment": dict(case.environment),
        }
        answer = self._asked(request)
        deeds = (home / "deeds").read_text().splitlines()
        said = [(home / name).read_text(errors="surrogateescape") for name in ("stderr", "stdout")]
        return Outcome(
            answer["code"],
            said[0] or said[1],
            answer["seconds"],
            answer["megabytes"],
            [deed for deed in deeds if not any(f" '{place}" in deed for place in (f"{here}/", f"{here}'", f"{os.devnull}'"))],
        )

    def _asked(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer


@contextmanager
def nursery() -> Iterator[Nursery]:
    """Starts the process, and ends it."""
    command = [sys.executable, "-m", "tests.hostile.nursery"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Nursery(process)
        assert process.stdin is not None
        process.stdin.close()


def faults(case: Case, outcome: Outcome) -> list[str]:
    """Returns what is wrong with an outcome; nothing if it is as it has to be."""
    lines = outcome.error.splitlines()
    found = {
        f"exit code {outcome.code}, expected {case.code}": outcome.code != case.code,
        f"{len(outcome.error.strip().split(chr(10)))} lines, expected {case.lines}": len(outcome.error.strip().split("\n"))
        != case.lines,
        f"a line of {max(map(len, lines), default=0)} characters": any(len(line) > LONGEST for line in lines),
        "a character that is not printable": not outcome.error.replace("\n", "").isprintable(),
        "a traceback": "Traceback" in outcome.error,
        f"it does not say {case.words!r}": re.search(case.words, outcome.error) is None,
        f"{outcome.seconds:.1f} s of CPU": outcome.seconds >= MOST_SECONDS,
        f"{outcome.megabytes:.0f} MB": outcome.megabytes >= MOST_MEGABYTES,
        f"it did {outcome.deeds}": bool(outcome.deeds),
    }
    return [fault for fault, is_so in found.items() if is_so]
