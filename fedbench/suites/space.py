"""Search spaces: which options of an algorithm are tuned, and which values are tried."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedbench import registry
from fedbench.errors import UsageError, nearest
from fedbench.options import hints, takes_whole_numbers
from fedbench.protocols import Algorithm
from fedbench.scenarios.base import Float, Part
from fedbench.scenarios.problems import read

LIBRARY = Path(__file__).with_name("spaces")
DIGITS = 3  # significant digits of a value that is tried, so that selectors stay readable
RATE = "_lr"  # the end of the name of an option that is a rate of learning
Number = Annotated[Float, Field(ge=-1e9, le=1e9)]


class Interval(Part):
    """The values of an option from `low` to `high`. They are uniform, or uniform in the logarithm.
    They are whole numbers if the option takes whole numbers. `rate` says that it is a rate of
    learning, whatever its name; `RATE` has the names that say so themselves."""

    low: Number
    high: Number
    scale: Literal["log", "linear"] = "log"
    rate: bool = False

    def _check(self) -> None:
        if self.high <= self.low:
            raise ValueError(f"high must be > low, got low {self.low:g}, high {self.high:g}")
        if self.scale == "log" and self.low <= 0:
            raise ValueError(f"low must be > 0 with scale: log, got {self.low:g}")

    def at(self, u: float) -> float:
        """Returns the value at the place u in [0, 1], rounded to DIGITS digits."""
        inside = self.low * (self.high / self.low) ** u if self.scale == "log" else self.low + (self.high - self.low) * u
        return float(f"{inside:.{DIGITS}g}")

    def hashed(self) -> dict[str, object]:
        """Returns what changes a trial. `rate` came later, so its default is left out."""
        return self.model_dump(exclude=set() if self.rate else {"rate"})


class Options(Part):
    """The options of one algorithm that are tuned. `source` names the papers whose grids the
    intervals contain."""

    options: Annotated[dict[str, Interval], Field(min_length=1, max_length=4)]
    source: Annotated[str, Field(max_length=1000)] = ""


class Space(Part):
    """A search space, with an entry for every algorithm that can be tuned."""

    schema_version: Literal[1] = Field(alias="schema")
    name: str
    about: Annotated[str, Field(max_length=10_000)] = ""
    algorithms: dict[str, Options]

    def of(self, name: str) -> dict[str, Interval]:
        """Returns the intervals of an algorithm by option. Raises UsageError if it has no entry."""
        if name not in self.algorithms:
            raise UsageError(f"search space {self.name}: it has no entry for algorithm {name}{nearest(name, self.algorithms)}")
        return self.algorithms[name].options

    def content_hash(self, names: Collection[str]) -> str:
        """Returns the hash of the intervals of these algorithms. It does not depend on texts or on
        other algorithms. Raises UsageError if one of them has no entry."""
        content = {name: {key: one.hashed() for key, one in self.of(name).items()} for name in sorted(names)}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    def rates(self, name: str) -> list[str]:
        """Returns the tuned options of an algorithm that are rates of learning."""
        return [key for key, one in self.of(name).items() if one.rate or key.endswith(RATE)]

    def only(self, name: str, options: Collection[str]) -> Space | None:
        """Returns the space of these options of an algorithm, or of the first of its rates if it
        tunes none of them; None if it has no rate either."""
        kept = [key for key in self.of(name) if key in options] or self.rates(name)[:1]
        several = {key: one for key, one in self.of(name).items() if key in kept}
        return self.model_copy(update={"algorithms": {name: Options(options=several)}}) if kept else None

    def trials(self, cls: type[Algorithm], count: int, scramble: str | None = None) -> list[dict[str, float]]:
        """Returns the options of every trial of an algorithm. The first trial changes nothing, so
        it has the default options. Then come `count` scrambled Sobol' points. The scrambling is
        a function of the text `scramble`, by default of the names of the space and of the
        algorithm. Source of the points: Owen 1998, as implemented by `scipy.stats.qmc`."""
        from scipy.stats import qmc  # takes a second

        intervals = self.of(cls.name)
        text = f"{self.name} {cls.name}" if scramble is None else scramble
        key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        sampler = qmc.Sobol(len(intervals), scramble=True, rng=np.random.default_rng(key))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The balance properties", category=UserWarning)
            places = sampler.random(count).tolist()
        return [
            {},
            *(
                {key: value_of(cls, key, one.at(u)) for (key, one), u in zip(intervals.items(), place, strict=True)}
                for place in places
            ),
        ]


def value_of(cls: type[Algorithm], key: str, value: float) -> float:
    """Returns the value of an option, which is whole if the option takes whole numbers."""
    return round(value) if takes_whole_numbers(hints(cls)[key]) else value


def load(space: str | Path) -> Space:
    """Returns a search space by its name in the library, or by the path to a YAML file. There an
    algorithm may also be `path/to/mine.py:Mine`; its entry is found by the algorithm's own name.

    Raises UsageError for a file that cannot be read, an unknown algorithm or option, or an interval
    with values that the option does not take.
    """
    found = read(Space, space, LIBRARY, "search space")
    entries: dict[str, Options] = {}
    for name, entry in found.algorithms.items():
        cls = registry.find("algorithm", name)
        entries[cls.name] = entry
        for key, interval in entry.options.items():
            if key not in cls().options():
                raise UsageError(
                    f"search space {found.name}: algorithm {name} has no option {key!r}{nearest(key, cls().options())}"
                )
            for end in (interval.low, interval.high):
                cls.make({key: value_of(cls, key, end)})
    return found.model_copy(update={"algorithms": entries})
