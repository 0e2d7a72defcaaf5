"""Comparison of values, to the bit or within the tolerances of the vector format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from fedbench.kernels import TeacherMean
from fedbench.tables import ClientTable
from fedbench.types import State


class Unsupported(Exception):
    """The vector needs something that is not implemented."""


class Mismatch(Exception):
    """A value is not what the vector expects. `ratio` is the error as a fraction of its tolerance,
    or None if there is no such number."""

    def __init__(self, message: str, ratio: float | None = None) -> None:
        super().__init__(message)
        self.ratio = ratio


def bits(value: object) -> object:
    """Returns something that is equal for two values if they are the same to the bit: dtype, shape
    and bytes of an array, the same of the arrays of a table, and else the value itself."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, ClientTable | TeacherMean):
        return bits(value.snapshot())
    if isinstance(value, Mapping | State):
        return {name: bits(part) for name, part in value.items()}
    return [bits(item) for item in value] if isinstance(value, list | tuple) else value


def compare(got: object, want: object, tolerance: Mapping[str, float], where: str) -> float:
    """Returns the largest |got - want| / (atol + rtol |want|).

    Mismatch if it is above 1, shapes differ, a value of ours is not finite, or only one of two
    values is None; ValueError if what the vector has is not finite. `where` names the value in the
    message.
    """
    if want is None or got is None:
        if want is None and got is None:
            return 0.0
        raise Mismatch(f"{where}: expected {'null' if want is None else 'a value'}, got {'null' if got is None else 'a value'}")
    if isinstance(want, list) and any(item is None or isinstance(item, list) for item in want):
        parts = list(got) if isinstance(got, Iterable) else []
        if len(parts) != len(want):
            raise Mismatch(f"{where}: expected {len(want)} entries, got {len(parts)}")
        pairs = enumerate(zip(parts, want, strict=True))
        return max((compare(g, w, tolerance, f"{where}[{i}]") for i, (g, w) in pairs), default=0.0)
    ours, theirs = np.asarray(got, np.float64), np.asarray(want, np.float64)
    if ours.shape != theirs.shape:
        raise Mismatch(f"{where}: expected shape {theirs.shape}, got {ours.shape}")
    allowed = tolerance["atol"] + tolerance["rtol"] * np.abs(theirs)
    if not np.isfinite(allowed).all():
        raise ValueError(f"{where}: expected value and tolerance must be finite")
    if not np.isfinite(ours).all():
        raise Mismatch(f"{where}: not finite")
    ratio = float((np.abs(ours - theirs) / allowed).max(initial=0.0))
    if ratio > 1:
        raise Mismatch(f"{where}: error is {ratio:.3g} times the tolerance", ratio)
    return ratio
