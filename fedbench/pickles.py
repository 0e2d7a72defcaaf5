"""Reads pickles as data: nothing is imported and nothing is called but what the caller allows, and
what a pickle takes of memory is counted before it is loaded."""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from pickle import Unpickler, UnpicklingError
from pickletools import (
    TAKEN_FROM_ARGUMENT1,
    TAKEN_FROM_ARGUMENT4,
    TAKEN_FROM_ARGUMENT4U,
    TAKEN_FROM_ARGUMENT8U,
    opcodes,
)

from fedbench.errors import FedbenchError

MOST_BYTES = 400 << 20  # of memory, as `_check_size` counts it
MOST_OPERATIONS = 16_000_000
NUMBERS, GROUPS = b"IJKMLNFG\x88\x89\x8a\x8b", b"]l}d)t\x85\x86\x87\x8f\x91"
COSTS = {ord(op.code): 40 if ord(op.code) in NUMBERS else 240 if ord(op.code) in GROUPS else 16 for op in opcodes}
"""Bytes of memory for what an operation makes: a number in a list, a small list or dict in one, or
a place of the stack or the memo. That of a text is counted by its length."""
UNKNOWN = -99
STEPS = {ord(op.code): op.arg.n if op.arg else 0 for op in opcodes}
WIDTHS = {TAKEN_FROM_ARGUMENT1: 1, TAKEN_FROM_ARGUMENT4: 4, TAKEN_FROM_ARGUMENT4U: 4, TAKEN_FROM_ARGUMENT8U: 8}
TWO_LINES, PUTS, STOP = b"ci", b"pqr", ord(".")
TEXTS, TEXT = b"STUBCVX\x8c\x8d\x8e\x96", 64


def _check_size(content: bytes) -> None:
    """Raises UnpicklingError if a pickle would take more than MOST_BYTES for what it makes, states
    a length beyond its end, or remembers something at a place that is far beyond those before,
    for all of which it would get memory."""
    at = cost = operations = 0
    while at < len(content) and content[at] != STOP:
        code, at, operations = content[at], at + 1, operations + 1
        step = STEPS.get(code, UNKNOWN)
        begin, at = (at, at + step) if step >= 0 else _stretch(content, code, at)
        if at > len(content):
            raise UnpicklingError("it is truncated, or states a length beyond its end")
        if code in PUTS:
            _check_place(code, content[begin:at], operations)
        cost += COSTS[code] + (TEXT + at - begin if code in TEXTS else 0)
        if cost > MOST_BYTES or operations > MOST_OPERATIONS:
            raise UnpicklingError(f"it holds more than fits {MOST_BYTES >> 20} MB of memory")


def _stretch(content: bytes, code: int, at: int) -> tuple[int, int]:
    """Returns begin and end of what follows an operation of no fixed length."""
    step = STEPS.get(code, UNKNOWN)
    if step == UNKNOWN:
        raise UnpicklingError(f"no operation has the code {code}, which is at {at - 1}")
    if step in WIDTHS:
        begin = at + WIDTHS[step]
        return begin, begin + int.from_bytes(content[at:begin], "little")
    end = at
    for _ in range(1 + (code in TWO_LINES)):
        end = content.find(b"\n", end) + 1 or len(content) + 1
    return at, end


def _check_place(code: int, given: bytes, operations: int) -> None:
    """Raises UnpicklingError for a place of the memo that an ordinary pickle would not have yet."""
    place = given.strip() if code == PUTS[0] else str(int.from_bytes(given, "little")).encode()
    if not (place.isdigit() and len(place) <= 18 and int(place) <= operations):
        raise UnpicklingError(f"it remembers a value at place {place!r:.40}, and has made {operations:,} at most")


class _Restricted(Unpickler):
    def __init__(self, content: bytes, allowed: Mapping[str, object], modules: Collection[str]) -> None:
        super().__init__(io.BytesIO(content), encoding="latin1")
        self.allowed, self.modules = allowed, modules

    def find_class(self, module_name: str, global_name: str, /) -> object:
        if module_name not in self.modules or global_name not in self.allowed:
            known = ", ".join(self.allowed) or "no classes and no functions"
            raise UnpicklingError(f"it asks for {module_name}.{global_name}, allowed: {known}")
        return self.allowed[global_name]


def load(
    content: bytes,
    where: str,
    error: type[FedbenchError],
    allowed: Mapping[str, object] | None = None,
    modules: Collection[str] = (),
) -> object:
    """Returns the numbers, texts, lists, tuples and dicts that a pickle holds. Text of Python 2 is
    read as latin1.

    Args:
        content: the bytes of the file.
        where: what the file is, for messages.
        error: the kind of error that is raised if the pickle holds or asks for anything else. That
            is then not run.
        allowed: further classes and functions, by the names that a pickle has for them.
        modules: the modules under which a pickle may ask for these names.
    """
    try:
        _check_size(content)
        return _Restricted(content, allowed or {}, modules).load()
    except Exception as problem:  # a damaged pickle can fail in any way; allowed names have no effects of their own
        raise error(f"{where} ({type(problem).__name__}: {problem})") from problem
