"""Takes rights away from this process and its children, with Landlock: Linux, since 5.13."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
from collections.abc import Iterable
from pathlib import Path

# linux/landlock.h; the numbers of the calls are the same on every architecture
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
READ = EXECUTE | READ_FILE | READ_FOLDER
FILES = (0, 13, 14, 15, 15, 16)  # rights over files that versions 0, 1, .. of the kernel's interface know
TCP = 0b11  # bind and connect, since version 4
OTHERS = 0b11  # sockets without a file, and signals, to processes outside; since version 6
NO_NEW_PRIVILEGES = 38  # linux/prctl.h
NEW_IPC, NEW_USER, NEW_PROCESSES, NEW_NETWORK = 0x08000000, 0x10000000, 0x20000000, 0x40000000  # linux/sched.h
MEMORY_BYTES = 32 << 30  # of address space, a good part of which the libraries take


class _Rules(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("others", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def version() -> int:
    """Returns the version of Landlock that the kernel has, 0 if it has none."""
    try:
        return max(0, int(_libc().syscall(CREATE_RULESET, None, 0, VERSION)))
    except (OSError, AttributeError):  # another system, which has no such library or no such call
        return 0


def confine(readable: Iterable[Path], writeable: Path) -> bool:
    """Lets this process read what lies beneath the folders `readable`, read and write what lies
    beneath `writeable`, and open no other file. It can reach no network, and neither signal nor
    trace a process that is not its child.

    It must have no second thread yet. Returns whether all of this holds; if the kernel cannot do
    it, nothing is changed but the limits.
    """
    _limit()
    libc, known = _libc(), version()
    if not known:
        return False
    if libc.unshare(NEW_USER | NEW_NETWORK | NEW_PROCESSES | NEW_IPC) == 0:  # where the kernel lets us: no network of any kind
        _go_on_as_first_process()
    every = (1 << FILES[min(known, len(FILES) - 1)]) - 1
    rules = _Rules(every, TCP if known >= 4 else 0, OTHERS if known >= 6 else 0)
    size = 8 if known < 4 else 16 if known < 6 else 24
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return False
    for folder in readable:
        _allow(libc, ruleset, folder, READ)
    _allow(libc, ruleset, Path(os.devnull), every & (WRITE_FILE | READ_FILE | TRUNCATE))
    _allow(libc, ruleset, writeable, every)
    done = [libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), libc.syscall(RESTRICT_SELF, ruleset, 0)]
    os.close(ruleset)
    return not any(done)


def _go_on_as_first_process() -> None:
    """Goes on in a child, with which every process ends that it starts."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os._exit(0)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):  # a stricter limit is there already
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _allow(libc: ctypes.CDLL, ruleset: int, place: Path, rights: int) -> None:
    try:
        handle = os.open(place, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there needs no right
    rights &= ~READ_FOLDER if not place.is_dir() else ~0
    libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(_Beneath(rights, handle)), 0)
    os.close(handle)
