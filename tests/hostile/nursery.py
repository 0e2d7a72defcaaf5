"""A process that has the command line imported, and forks a child for every case.

A child differs from `fedbench ...` in a shell only in that it need not import: it has its own
folder, limits, standard error, and a hook that writes down what the interpreter opens for writing,
starts or connects to. Usage: python -m tests.hostile.nursery, with a request in JSON on each line
of standard input.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import tempfile
from typing import Any

import fedbench.cli.main
import fedbench.registry
from fedbench.cli.verbs import VERBS

LAZY = (
    *(f"fedbench.cli.{verb.place.partition(':')[0]}" for verb in VERBS.values()),
    "fedbench.engine.run", "fedbench.leaderboard.pages.speed", "fedbench.suites.findings.document", "fedbench.tasks.digits",
    "pyarrow.parquet", "scipy.stats.qmc",
)  # fmt: skip
"""What the command line imports only when it needs it, which would take a second of most cases."""

MOST_WALL_SECONDS = 60  # for a child that waits; one that works is stopped by its CPU seconds
READING = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_DIRECTORY | os.O_NOFOLLOW
STARTS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.fork", "os.forkpty", "socket.connect")
CHANGES = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod")


def born(request: dict[str, Any]) -> dict[str, Any]:
    """Runs the command line in a child. Returns the status, the CPU seconds and the megabytes."""
    child = os.fork()
    if child == 0:
        try:
            live(request)
        finally:
            os._exit(99)  # the command line always exits by itself
    _, status, usage = os.wait4(child, 0)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "seconds": usage.ru_utime + usage.ru_stime,
        "megabytes": usage.ru_maxrss / 1024,
    }


def live(request: dict[str, Any]) -> None:
    """Becomes the command line. Its folder is `home/here`; everything it says goes to `home`."""
    import signal

    home = request["home"]
    os.chdir(f"{home}/here")
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        path = os.devnull if name == "stdin" else f"{home}/{name}"
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), number)
    os.environ.update(
        {"HOME": f"{home}/here", "TMPDIR": f"{home}/here", "FEDBENCH_DATA": f"{home}/here/data"}, **request["environment"]
    )
    tempfile.tempdir = None  # is looked for again
    seconds = int(request["seconds"])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (request["address_bytes"],) * 2)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(MOST_WALL_SECONDS)
    sys.dont_write_bytecode = True
    sys.argv = ["fedbench", *request["arguments"]]
    watch(f"{home}/deeds")
    try:
        fedbench.cli.main.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
        os._exit(code)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
        os._exit(1)


CHECKED = os.path.join(os.environ["FEDBENCH_CACHE"], "checked")
"""Where it is remembered that an archive was checked, which is no harm."""


def watch(deeds: str) -> None:
    """Writes down every file that is opened for writing, every change of a folder and every start
    of a process."""
    book = os.open(deeds, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def hook(event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = given
            done = not isinstance(path, int) and bool(flags & ~READING & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC))
        else:
            done, path = event in STARTS or event in CHANGES, given[0]
        is_path = event in (*CHANGES, "open") and isinstance(path, str | bytes | os.PathLike)
        place = os.path.abspath(os.fsdecode(path)) if is_path else repr(path)
        if done and not place.startswith(CHECKED):
            os.write(book, f"{event} {place!r}\n".encode(errors="backslashreplace"))

    sys.addaudithook(hook)


def main() -> None:
    for name in LAZY:
        importlib.import_module(name)
    fedbench.registry.find("task", "digits")()  # decoded for all
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nobody but this process answers
    for line in sys.stdin:
        answers.write(json.dumps(born(json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
