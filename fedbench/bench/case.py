"""A case of the benchmark: its inputs, our way, other ways, and what all of them must compute."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from fedbench.errors import FedbenchError

if TYPE_CHECKING:
    from fedbench.types import Array

Size = TypeVar("Size")
Given = TypeVar("Given")
Result = TypeVar("Result")
Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Act = Callable[[], object]
Outcome = Mapping[str, npt.ArrayLike]


class WrongResult(FedbenchError):
    """A way computes something else than the reference, so that its time means nothing."""


class Ready:
    """A way that holds its inputs. `act` is timed. `read` is not timed; it turns what one call of
    `act` returned into arrays or numbers by name. `compile_seconds` is what it took to compile
    `act`, if it was compiled. `outcome` makes one more call, and reads it."""

    def __init__(
        self, act: Callable[[], Result], read: Callable[[Result], Outcome], compile_seconds: float | None = None
    ) -> None:
        self.act: Act = act
        self.compile_seconds = compile_seconds
        self.outcome: Callable[[], Outcome] = lambda: read(act())


@dataclass(frozen=True)
class Way(Generic[Given]):
    """One way of doing a case's work.

    Attributes:
        name: as results show it.
        start: makes the way ready. It may not write to the inputs, which all ways of a case share.
        needs: modules, or `module:attribute`, without which the way cannot run here.
        limit: whether it does not do the work, but shows how fast the case could be at best.
        tolerance: its own, if it is known to be less accurate than the case demands.
    """

    name: str
    start: Callable[[Given], Ready]
    needs: tuple[str, ...] = ()
    limit: bool = False
    tolerance: float | None = None

    @property
    def library(self) -> str:
        """The other package on whose release this way's speed depends, or empty text."""
        package = self.needs[0].partition(":")[0].partition(".")[0] if self.needs else ""
        return "" if package == "fedbench" else package


@dataclass(frozen=True, kw_only=True)
class Case(Generic[Size, Given]):
    """A piece of work that several ways do with the same inputs.

    Integers of an outcome must be equal to those of the reference. Other numbers may be off by
    the tolerance times the largest value of the same name. A way may give fewer names than the
    reference, but at least one.

    Attributes:
        name: as on the command line.
        group: several cases that can be chosen together.
        size: the size that is measured.
        small: a size that is only checked.
        inputs: draws what every way gets, for a size.
        ours: our way.
        versus: the other ways.
        reference: computes the true outcome of the inputs, in numpy and float64.
        tolerance: the largest error, relative.
        tolerances: those of names that have another one.
        asked: how many times as long as ours the fastest of the other ways shall take.
        unit: what a call does many times, if its time is worth showing.
        units: how many of them a call does, for a size.
        heavy: whether it runs only if it is asked for.
        memory: whether the peak memory of a fresh process belongs to the result.
    """

    name: str
    group: str
    size: Size
    small: Size
    inputs: Callable[[Size], Given]
    ours: Way[Given]
    versus: tuple[Way[Given], ...] = ()
    reference: Callable[[Given], Outcome]
    tolerance: float = 0.0
    tolerances: Mapping[str, float] = field(default_factory=dict)
    asked: float | None = None
    unit: str = ""
    units: Callable[[Size], int] = lambda size: 1
    heavy: bool = False
    memory: bool = False

    def check(self, way: Way[Given], ready: Ready, want: Outcome) -> None:
        """Calls the way once and compares the outcome with the true one, `want`. WrongResult names
        the way, the value and the error."""
        got = ready.outcome()
        if not got or not got.keys() <= want.keys():
            raise WrongResult(f"{self.name}: {way.name} gives {sorted(got)}, expected some of {sorted(want)}")
        for name, value in got.items():
            allowed = self.tolerances.get(name, self.tolerance) if way.tolerance is None else way.tolerance
            error = _distance(np.asarray(value), np.asarray(want[name]))
            if not error <= allowed:
                raise WrongResult(f"{self.name}: {way.name} has another {name}: off by {error:.2g}, allowed {allowed:g}")


AnyWay = Way[Any]
AnyCase = Case[Any, Any]
"""One of several cases, of which each has inputs of its own kind."""


def _distance(got: Array, want: Array) -> float:
    """Returns the largest error over the largest true value. It is infinite if shapes or integers
    differ."""
    if got.shape != want.shape:
        return float("inf")
    if want.dtype.kind in "iu":
        return 0.0 if np.array_equal(got, want) else float("inf")
    return float(np.abs(got - want).max() / np.abs(want).max())


def missing(way: AnyWay) -> str:
    """Returns in words why the way cannot run here, or empty text if it can."""
    for need in way.needs:
        module, _, attribute = need.partition(":")
        package = module.partition(".")[0]
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed"
        if attribute and not (importlib.util.find_spec(module) and hasattr(importlib.import_module(module), attribute)):
            return f"this build has no {module}.{attribute}"
    return ""


def draws(*key: object) -> np.random.Generator:
    """Returns the random stream of a key, which is the same on every machine and independent of all
    others."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
