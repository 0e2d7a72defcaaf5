"""Reads a data set in a process of its own, whose memory and time are bounded.

The libraries that unpack Parquet, Arrow and images are not ours. A page of a few kilobytes may
unpack to two gigabytes whatever the file says, and a damaged file may end the process that reads
it. Usage: python -m fedbench.tasks.own.bounded FILE_DESCRIPTOR, with the request on standard input.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from fedbench import own_files
from fedbench.errors import FedbenchError, MissingDataError, RecordError, UsageError, one_line, shown
from fedbench.process import PYTHON
from fedbench.tasks.own import reading
from fedbench.tasks.own.choice import Wanted
from fedbench.tasks.own.limits import Limits
from fedbench.tasks.own.reading import Answer, Read, read_back, write

ERRORS = {error.__name__: error for error in (MissingDataError, RecordError, UsageError)}
QUIET = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MALLOC_ARENA_MAX": "2",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve a gigabyte of addresses
}


def read(path: Path, part: str, wanted: Wanted) -> Read:
    """Returns the columns of one part of a data set. UsageError, which names the file, if it is
    none, or cannot be read within its limits."""
    return read_back(*done("columns", _limits(path), part=part, **asdict(wanted)))


def parts(path: Path) -> list[str]:
    """Returns the parts that a data set has by itself: train, and test if there is one. Archives
    are not looked into by this process."""
    if own_files.kind_of(path) != "archive":
        return reading.parts(path)
    return list(done("parts", _limits(path))[0].parts)


def _limits(path: Path) -> Limits:
    return Limits(path, own_files.total_bytes(path, own_files.parts_of(path)))


def done(act: str, limits: Limits, **arguments: object) -> tuple[Answer, bytes | mmap.mmap]:
    """Returns what the other process says about the result of one of the ACTS, and the result
    itself, which may be written to."""
    handle = os.memfd_create("fedbench")
    try:
        bounds = {"memory": limits.reader_bytes, "seconds": limits.cpu_seconds}
        answer = _asked({"act": act, "path": str(limits.path), **bounds, "arguments": arguments}, handle)
        if answer is None:
            raise UsageError(
                f"task file {shown(limits.path)}: cannot be read within {limits.reader_bytes >> 20} MiB beside its examples and "
                f"{limits.cpu_seconds} s of CPU time, which is what its {limits.bytes:,} bytes are given; it is damaged, or packs far "
                "more than it seems"
            )
        if answer.error:
            raise ERRORS.get(answer.error, UsageError)(answer.message)
        size = os.fstat(handle).st_size
        return answer, mmap.mmap(handle, size, access=mmap.ACCESS_COPY) if size else b""
    finally:
        os.close(handle)


def _asked(request: Mapping[str, object], handle: int) -> Answer | None:
    """Returns the answer of another process; None if it came to its end without one."""
    command = [*PYTHON, "-m", "fedbench.tasks.own.bounded", str(handle)]
    ended = subprocess.run(
        command,
        input=json.dumps(request).encode(),
        capture_output=True,
        check=False,
        env={**os.environ, **QUIET},
        pass_fds=(handle,),
    )
    try:
        return Answer(**json.loads(ended.stdout)) if ended.returncode == 0 else None
    except (ValueError, TypeError):
        return None


def _columns(path: Path, out: BinaryIO, part: str, features: Sequence[str], exact: Sequence[str], **others: Any) -> Answer:
    return write(path, part, Wanted(features=tuple(features), exact=tuple(exact), **others), out)


def _parts(path: Path, out: BinaryIO) -> Answer:
    return Answer(parts=reading.parts(path))


def _texts(path: Path, out: BinaryIO, columns: Sequence[str]) -> Answer:
    from fedbench.tasks.own import texts

    texts.write(path, columns, out)
    return Answer()


ACTS: dict[str, Callable[..., Answer]] = {"columns": _columns, "texts": _texts, "parts": _parts}


def prepare(path: Path) -> None:
    """Imports what reads a data set, so that it is no part of what is bounded."""
    if path.suffix != ".npz":
        import pyarrow.parquet  # noqa: F401


def bound(memory: int, seconds: int) -> None:
    """Bounds what this process may take from now on: bytes of memory, of address space beyond what
    it has, and seconds of CPU time. To import what reads takes several of them on a busy
    machine."""
    pages = int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[0])
    most = pages * resource.getpagesize() + memory
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    last = math.ceil(time.process_time()) + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (last, last))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _unexpected(path: Path, error: Exception) -> str:
    """Returns a line about an error that no reader makes a message of, and where it was raised."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"task file {shown(path)}: cannot be read: {type(error).__name__}: {one_line(error)} ({Path(frame.filename).name}, "
        f"line {frame.lineno}); it is damaged, or this is a mistake of fedbench: report it"
    )


def main(handle: int) -> None:
    """Acts on the request and prints the answer, which is what was read, or an error."""
    request = json.load(sys.stdin)
    path = Path(request["path"])
    try:
        prepare(path)
        bound(request["memory"], request["seconds"])
        with os.fdopen(handle, "wb", closefd=False) as out:
            answer = ACTS[request["act"]](path, out, **request["arguments"])
    except FedbenchError as error:
        answer = Answer(error=type(error).__name__, message=str(error))
    except MemoryError:
        sys.exit(1)
    except Exception as error:
        answer = Answer(error="UsageError", message=_unexpected(path, error))
    sys.stdout.write(json.dumps(asdict(answer)))


if __name__ == "__main__":
    main(int(sys.argv[1]))
