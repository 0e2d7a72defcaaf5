"""What a case is: inputs, our way, other ways, and what all of them must compute."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedbench.errors import FedbenchError

Act = Callable[[], Any]
Outcome = Mapping[str, Any]


class WrongResult(FedbenchError):
    """A way computes something else than the reference: its time would mean nothing."""


@dataclass(frozen=True)
class Ready:
    """A way that holds its inputs. `act` is timed; `read` names what one call returned (arrays or
    numbers), and is not timed."""

    act: Act
    read: Callable[[Any], Outcome]


@dataclass(frozen=True)
class Way:
    """One way of doing a case's work. `start` may not write to the inputs, which all ways of a case
    share.

    `needs` are modules, or `module:attribute`. A `limit` computes nothing: it shows how fast the
    case could be at best. A way that is known to be less accurate has a `tolerance` of its own.
    """

    name: str
    start: Callable[[Any], Ready]
    needs: tuple[str, ...] = ()
    limit: bool = False
    tolerance: float | None = None

    @property
    def library(self) -> str:
        """The foreign package whose release decides about this way's speed, or nothing."""
        package = self.needs[0].partition(":")[0].partition(".")[0] if self.needs else ""
        return "" if package == "fedbench" else package


@dataclass(frozen=True, kw_only=True)
class Case:
    """`inputs(size)` draws what every way gets; `reference(inputs)` is the truth, in numpy and
    float64.

    An outcome that is an integer must be equal, others may be off by `tolerance` of the largest
    value of the same name. A way may give fewer names than the reference, at least one. A call does
    `units(size)` of `unit`. A `heavy` case runs only when asked for. `memory`: the peak memory of a
    fresh process belongs to the result.
    """

    name: str
    group: str
    size: Any
    small: Any
    inputs: Callable[[Any], Any]
    ours: Way
    versus: tuple[Way, ...] = ()
    reference: Callable[[Any], Outcome]
    tolerance: float = 0.0
    unit: str = ""
    units: Callable[[Any], int] = lambda size: 1
    heavy: bool = False
    memory: bool = False

    def check(self, way: Way, ready: Ready, want: Outcome) -> None:
        """One call of the way, compared with the reference; WrongResult names the way, the value
        and the error."""
        got = ready.read(ready.act())
        if not got or not got.keys() <= want.keys():
            raise WrongResult(f"{self.name}: {way.name} gives {sorted(got)}, expected some of {sorted(want)}")
        allowed = self.tolerance if way.tolerance is None else way.tolerance
        for name, value in got.items():
            error = _distance(np.asarray(value), np.asarray(want[name]))
            if not error <= allowed:
                raise WrongResult(f"{self.name}: {way.name} has another {name}: off by {error:.2g}, allowed {allowed:g}")


def _distance(got: Any, want: Any) -> float:
    """Largest error over the largest true value; infinite for another shape and for whole numbers
    that differ."""
    if got.shape != want.shape:
        return float("inf")
    if want.dtype.kind in "iu":
        return 0.0 if np.array_equal(got, want) else float("inf")
    return float(np.abs(got - want).max() / np.abs(want).max())


def missing(way: Way) -> str:
    """Why the way cannot run here, in words; nothing if it can."""
    for need in way.needs:
        module, _, attribute = need.partition(":")
        package = module.partition(".")[0]
        if importlib.util.find_spec(package) is None:
            return f"{package} is not installed"
        if attribute and not hasattr(_imported(module), attribute):
            return f"this build has no {module}.{attribute}"
    return ""


def _imported(module: str) -> Any:
    return importlib.import_module(module) if importlib.util.find_spec(module) else None


def draws(*key: object) -> np.random.Generator:
    """The random stream of a key: the same on every machine, independent of all others."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return np.random.Generator(np.random.Philox(key=int.from_bytes(digest[:16], "little")))
