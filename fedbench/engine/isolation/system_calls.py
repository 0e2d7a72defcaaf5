"""Takes system calls away from this process and its children, with a seccomp filter: those by which
Landlock can be gone around. The numbers are those of linux/unistd.h."""

from __future__ import annotations

import ctypes
import errno
import platform
import struct

SET_SECCOMP, FILTER = 22, 2  # linux/prctl.h, linux/seccomp.h
LOAD, EQUAL, AT_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06  # linux/bpf_common.h
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
NUMBER, ARCHITECTURE = 0, 4  # places in struct seccomp_data
OTHER_NUMBERS = 0x40000000  # where the calls of the x32 interface begin
NEWER = (425, 426, 427, 438, 452, 463, 466)  # io_uring, pidfd_getfd, fchmodat2, setxattrat and removexattrat: the same everywhere
# sockets; modes, owners, times and attributes of files; links, special files; namespaces and
# mounts; memory that no limit counts; keys, other processes, bpf
X86_64 = (
    *(41, 42, 49, 50, 90, 91, 92, 93, 94, 132, 235, 261, 280, 268, 260, 188, 189, 190, 197, 198, 199, 88, 266, 133, 259),
    *(308, 272, 165, 161, 155, 29, 319, 447, 248, 249, 250, 101, 310, 311, 321, 323),
)
AARCH64 = (
    *(198, 203, 200, 201, 52, 53, 54, 55, 88, 5, 6, 7, 14, 15, 16, 36, 33),
    *(268, 97, 40, 51, 41, 194, 279, 447, 217, 218, 219, 117, 270, 271, 280, 282),
)
REFUSED = {"x86_64": (0xC000003E, X86_64), "aarch64": (0xC00000B7, AARCH64)}  # by machine: linux/audit.h


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def refuse(libc: ctypes.CDLL) -> bool:
    """Refuses the calls from now on, with the error EPERM. The process must have promised to take
    no new privileges. Returns whether it is done; False on a machine whose numbers are not here."""
    if platform.machine() not in REFUSED:
        return False
    architecture, numbers = REFUSED[platform.machine()]

    def one(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
        return struct.pack("HBBI", code, if_true, if_false, value)

    program = [one(LOAD, ARCHITECTURE), one(EQUAL, architecture, 1), one(RETURN, REFUSE), one(LOAD, NUMBER)]
    program += [one(AT_LEAST, OTHER_NUMBERS, 0, 1), one(RETURN, REFUSE)]
    for number in (*numbers, *NEWER):
        program += [one(EQUAL, number, 0, 1), one(RETURN, REFUSE)]
    program.append(one(RETURN, ALLOW))
    content = _Program(len(program), b"".join(program))
    return bool(libc.prctl(SET_SECCOMP, FILTER, ctypes.byref(content), 0, 0) == 0)
