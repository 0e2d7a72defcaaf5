"""Takes rights away from this process and its children: Linux, since 6.2."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from fedbench.engine.isolation import system_calls

# linux/landlock.h; the numbers of the calls are the same on every architecture
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION, PATH_BENEATH = 1, 1
EXECUTE, WRITE_FILE, READ_FILE, READ_FOLDER, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
READ = EXECUTE | READ_FILE | READ_FOLDER
PLAIN_FILES = (
    WRITE_FILE | READ_FILE | READ_FOLDER | TRUNCATE | 1 << 5 | 1 << 8
)  # to remove and make them; no folder, link or device
LEAST = 3  # the version that guards truncation
FILES = (0, 13, 14, 15, 15, 16)  # rights over files that versions 0, 1, .. of the kernel's interface know
TCP = 0b11  # bind and connect, since version 4
OTHERS = 0b11  # sockets without a file, and signals, to processes outside; since version 6
DIE_WITH_PARENT, NO_NEW_PRIVILEGES = 1, 38  # linux/prctl.h
NEW_IPC, NEW_USER, NEW_PROCESSES, NEW_NETWORK = 0x08000000, 0x10000000, 0x20000000, 0x40000000  # linux/sched.h
LIMITS = {  # of address space, a good part of which the libraries take; of a file; and counts
    resource.RLIMIT_CORE: 0,
    resource.RLIMIT_AS: 16 << 30,
    resource.RLIMIT_FSIZE: 256 << 20,
    resource.RLIMIT_NPROC: 4096,
    resource.RLIMIT_NOFILE: 1024,
}


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


def confine(readable: Iterable[Path], writeable: Path, hidden: Collection[Path] = ()) -> bool:
    """Lets this process read what lies beneath the folders `readable` but for the `hidden` ones,
    read and write plain files in `writeable`, and open no other file. It can make no socket, change
    no file's mode, owner, times or attributes, and neither signal nor trace a process that is not
    its child. It ends with its parent.

    It must have no second thread yet. Returns whether all of this holds.
    """
    libc, known = _libc(), version()
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)
    for limit, most in LIMITS.items():
        with contextlib.suppress(ValueError, OSError):  # a stricter limit is there already
            resource.setrlimit(limit, (most, most))
    if not known:
        return False
    if libc.unshare(NEW_USER | NEW_NETWORK | NEW_PROCESSES | NEW_IPC) == 0:  # a second fence, where the kernel lets us
        _go_on_as_first_process(libc)
    every = (1 << FILES[min(known, len(FILES) - 1)]) - 1
    rules = _Rules(every, TCP if known >= 4 else 0, OTHERS if known >= 6 else 0)
    size = 8 if known < 4 else 16 if known < 6 else 24
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(rules), size, 0)
    if ruleset < 0:
        return False
    for folder in readable:
        for place, rights in _without(folder, hidden):
            _allow(libc, ruleset, place, rights)
    _allow(libc, ruleset, Path(os.devnull), every & (WRITE_FILE | READ_FILE | TRUNCATE))
    _allow(libc, ruleset, Path("/proc/self"), READ_FILE | READ_FOLDER)
    _allow(libc, ruleset, writeable, every & PLAIN_FILES)
    failed = libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.syscall(RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    return not failed and system_calls.refuse(libc) and known >= LEAST


def _without(folder: Path, hidden: Collection[Path]) -> Iterator[tuple[Path, int]]:
    """Yields what is to be allowed so that all of a folder can be read but for what is hidden."""
    inside = [one for one in hidden if one == folder or folder in one.parents]
    if not inside:
        yield folder, READ
    elif folder not in inside:
        yield folder, READ_FOLDER  # the names of what lies in it
        for child in folder.iterdir():
            if not (
                child.is_symlink() and any(child.resolve() in one.parents for one in inside)
            ):  # another way to the same place
                yield from _without(child, inside)


def _go_on_as_first_process(libc: ctypes.CDLL) -> None:
    """Goes on in a child, with which every process ends that it starts."""
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os._exit(0)
    libc.prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


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
