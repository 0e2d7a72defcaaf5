"""Checks and returns what an algorithm declares: its dispatch policy, and of its cost traffic,
gradients, and the work and memory of the server."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

import numpy as np

from fedbench.errors import UsageError, quoted
from fedbench.protocols import Algorithm
from fedbench.types import Dispatch, GradientWork, Info, ServerMemory, ServerWork, Traffic

R = TypeVar("R")
T = TypeVar("T", bound=NamedTuple)


def dispatch(algorithm: Algorithm, info: Info) -> Dispatch:
    """Returns the dispatch policy. Raises UsageError unless it is one."""
    found = algorithm.dispatch(info)
    if type(found) not in Dispatch.__subclasses__():
        known = ", ".join(policy.__name__ for policy in Dispatch.__subclasses__())
        raise UsageError(f"algorithm {algorithm.name}: dispatch must return one of {known}, got {quoted(found)}")
    return found


def returned(algorithm: Algorithm, method: str, kind: type[R], value: object) -> R:
    """Returns what a method of an algorithm returned. Raises UsageError unless it is of the
    kind."""
    if not isinstance(value, kind):
        raise UsageError(f"algorithm {algorithm.name}: {method} must return {kind.__name__}, got {quoted(value)}")
    return value


def traffic(algorithm: Algorithm, info: Info) -> Traffic:
    """Returns what a job moves. Raises UsageError unless it is a Traffic of numbers >= 0 with whole
    exchanges."""
    return _checked(algorithm, "traffic", Traffic, algorithm.traffic(info), whole=("exchanges",))


def gradient_work(algorithm: Algorithm, info: Info) -> GradientWork:
    """Returns what a job computes. Raises UsageError unless it is a GradientWork of whole numbers
    with per_step >= 1 and full >= 0."""
    work = _checked(algorithm, "gradient_work", GradientWork, algorithm.gradient_work(info), whole=GradientWork._fields)
    if work.per_step < 1:
        raise UsageError(f"algorithm {algorithm.name}: gradient_work: per_step must be >= 1, got {work.per_step}")
    return work


def server_work(algorithm: Algorithm, info: Info) -> ServerWork:
    """Returns what the server computes. Raises UsageError unless it is a ServerWork of whole
    numbers >= 0."""
    return _checked(algorithm, "server_work", ServerWork, algorithm.server_work(info), whole=ServerWork._fields)


def server_memory(algorithm: Algorithm, info: Info) -> ServerMemory:
    """Returns what the server keeps. Raises UsageError unless it is a ServerMemory of whole numbers
    >= 0."""
    return _checked(algorithm, "server_memory", ServerMemory, algorithm.server_memory(info), whole=ServerMemory._fields)


def vector_bytes(vectors: float, model_bytes: int) -> int:
    """Returns the bytes of so many model-sized vectors, rounded up to a whole byte. What floats
    lose in the product (less than 1e-6 bytes) does not count."""
    return math.ceil(round(vectors * model_bytes, 6))


def _checked(algorithm: Algorithm, method: str, kind: type[T], value: object, whole: tuple[str, ...]) -> T:
    where = f"algorithm {algorithm.name}: {method}"
    if not isinstance(value, kind):
        raise UsageError(f"{where} must return {kind.__name__}({', '.join(kind._fields)}), got {quoted(value)}")
    plain: T = kind._make(
        number.item() if isinstance(number, np.generic) else number for number in value
    )  # numpy's numbers count as Python's
    for field, number in zip(kind._fields, plain, strict=True):
        expected = "a whole number" if field in whole else "a number"
        fits = isinstance(number, int if field in whole else int | float) and not isinstance(number, bool)
        if not fits or not 0 <= number < math.inf:
            raise UsageError(f"{where}: {field} must be {expected} >= 0, got {number!r}")
    return plain
