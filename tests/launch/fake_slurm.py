"""A cluster of one machine for tests: the commands of Slurm that the product calls, in one file.

`install` links the file under their names into a folder. `sbatch` leaves a process behind that
works at the jobs of an array, as many at a time as the array allows, and `most` has the largest
number of jobs that ran at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(sys.argv[0]).absolute().parent


def install(folder: Path) -> Path:
    """Returns the folder, with the commands in it."""
    folder.mkdir()
    for name in ("sbatch", "srun", "squeue", "scancel"):
        program = folder / name
        program.write_text(
            f'#!{sys.executable} -IS\n__file__ = "{__file__}"\nexec(compile(open(__file__).read(), __file__, "exec"))\n'
        )
        program.chmod(0o755)
    return folder


def most_at_once(folder: Path) -> int:
    """Returns the largest number of jobs that ran at a time."""
    return max(map(int, (folder / "most").read_text().split()))


def scripts(folder: Path) -> list[str]:
    """Returns what was handed to sbatch, the oldest first."""
    return [file.read_text() for file in sorted(folder.glob("*.script"))]


@contextlib.contextmanager
def locked() -> Iterator[None]:
    with (HERE / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def sbatch(script: str) -> None:
    with locked():
        number = 1 + len(list(HERE.glob("*.script")))
        text = Path(script).read_text()
        (HERE / f"{number:03}.script").write_text(text)
    array = re.search(r"--array=0-(\d+)%(\d+)", text)
    names = [f"{number}_{i}" for i in range(int(array[1]) + 1)] if array else [f"{number}"]
    for name in names:
        (HERE / f"{name}.job").write_text("")
    print(f"Submitted batch job {number}", flush=True)
    if os.fork() == 0:
        os.setsid()
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        work(script, text, names, int(array[2]) if array else 1)


def work(script: str, text: str, names: list[str], at_once: int) -> None:
    """Runs the jobs that nobody cancelled, in their order."""
    Path(HERE / f"{names[0]}.sh").write_text(text)
    running: dict[str, subprocess.Popen[bytes]] = {}
    while names or running:
        for name in [one for one, process in running.items() if process.poll() is not None]:
            del running[name]
            (HERE / f"{name}.job").unlink(missing_ok=True)
        while names and len(running) < at_once:
            name = names.pop(0)
            if (HERE / f"{name}.job").exists():
                whole, _, index = name.partition("_")
                ids = {"SLURM_ARRAY_JOB_ID": whole, "SLURM_ARRAY_TASK_ID": index} if index else {}
                more = {
                    "SLURM_JOB_ID": whole,
                    "SLURM_PROCID": "0",
                    "SLURM_LOCALID": "0",
                    "SLURM_NTASKS": "1",
                    "SLURM_NODEID": "0",
                }
                running[name] = subprocess.Popen(
                    ["bash", HERE / f"{whole}{'_0' * bool(index)}.sh"], env=os.environ | ids | more, start_new_session=True
                )
                (HERE / f"{name}.job").write_text(str(running[name].pid))
        with (HERE / "most").open("a") as file:
            file.write(f"{len(running)}\n")
        time.sleep(0.05)


def srun(*arguments: str) -> None:
    """Runs the command behind its own options, with the output where they say."""
    rest = list(arguments)
    while rest[0].startswith("--"):
        option = rest.pop(0)
        if option in ("--output", "--error"):
            array, index = os.environ.get("SLURM_ARRAY_JOB_ID", ""), os.environ.get("SLURM_ARRAY_TASK_ID", "")
            place = (
                rest.pop(0).replace("%A", array).replace("%a", index).replace("%j", os.environ["SLURM_JOB_ID"]).replace("%t", "0")
            )
            os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 1 if option == "--output" else 2)
    os.execvp(rest[0], rest)


def squeue(*arguments: str) -> None:
    name = next(one.partition("=")[2] for one in arguments if one.startswith("--jobs="))
    if (HERE / f"{name}.job").exists():
        print(name)


def scancel(*arguments: str) -> None:
    for name in arguments:
        with contextlib.suppress(OSError, ValueError):
            pid = (HERE / f"{name}.job").read_text()
            (HERE / f"{name}.job").unlink()
            os.killpg(int(pid), signal.SIGKILL)


if __name__ == "__main__":
    {"sbatch": sbatch, "srun": srun, "squeue": squeue, "scancel": scancel}[Path(sys.argv[0]).name](*sys.argv[1:])
