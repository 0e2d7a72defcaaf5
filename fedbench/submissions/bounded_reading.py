"""Reads the tables of a submission in another process first, with bounded memory and time. Tables
that could be read so are then read by the caller.

A page of Parquet may unpack from a few kilobytes to two gigabytes, whatever the footer says, and
the code that unpacks it is not ours. Usage: python -m fedbench.submissions.bounded_reading FOLDER
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from fedbench.errors import FedbenchError
from fedbench.process import PYTHON
from fedbench.submissions.faults import FaultsError, fault

MEMORY_BYTES = 4 << 30  # of address space, a good part of which the libraries take
SECONDS = 120


def read(folder: Path) -> None:
    """Raises FaultsError if the tables in a folder cannot be read within the limits."""
    command = [*PYTHON, "-m", "fedbench.submissions.bounded_reading", str(folder.resolve())]
    quiet = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
    try:
        done = subprocess.run(command, capture_output=True, timeout=2 * SECONDS, check=False, env=quiet, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise fault("runs.parquet", f"cannot be read within {SECONDS} s") from None
    if done.returncode == 0:
        return
    said = done.stdout.decode(errors="backslashreplace").strip()
    if done.returncode != 1 or not said:
        said = f"runs.parquet: the tables cannot be read within {MEMORY_BYTES >> 30} GiB and {SECONDS} s"
    file, _, text = said.partition(": ")
    raise fault(file, text)


def main(folder: Path) -> int:
    """Returns 0 if the tables can be read, else prints the fault and returns 1."""
    from fedbench.submissions.check import read_tables
    from fedbench.submissions.folder import read as files_of

    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        read_tables(files_of(folder))
    except FaultsError as error:
        print(error.faults[0].line)
        return 1
    except FedbenchError as error:
        print(f"runs.parquet: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
