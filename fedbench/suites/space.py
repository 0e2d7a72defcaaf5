"""Search spaces: which options of an algorithm are tuned, and which values are tried."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from fedbench import plain_files, registry
from fedbench.errors import UsageError, nearest
from fedbench.options import MOST, hints, search, takes_whole_numbers, why_no_interval
from fedbench.protocols import Algorithm
from fedbench.scenarios.base import Float, Part
from fedbench.scenarios.problems import file_of, validated

LIBRARY = Path(__file__).with_name("spaces")
DIGITS = 3  # significant digits of a value that is tried, so that selectors stay readable
MOST_OPTIONS = 4  # of an algorithm that are tuned
RATE = "_lr"  # the end of the name of an option that is a rate of learning
Number = Annotated[Float, Field(ge=-MOST, le=MOST)]


class Interval(Part):
    """The values of an option from `low` to `high`. They are uniform, or uniform in the logarithm.
    They are whole numbers if the option takes whole numbers. `rate` says that it is a rate of
    learning, whatever its name; `RATE` has the names that say so themselves."""

    low: Number
    high: Number
    scale: Literal["log", "linear"] = "log"
    rate: bool = False

    def _check(self) -> None:
        if why := why_no_interval(self.low, self.high, self.scale):
            raise ValueError(why)

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

    options: Annotated[dict[str, Interval], Field(min_length=1, max_length=MOST_OPTIONS)]
    source: Annotated[str, Field(max_length=1000)] = ""

    def hashed(self) -> dict[str, object]:
        """Returns what changes a trial."""
        return {key: one.hashed() for key, one in self.options.items()}


class Space(Part):
    """A search space, with an entry for every algorithm that can be tuned. An algorithm without one
    has what its options declare, see `declared`."""

    schema_version: Literal[1] = Field(alias="schema")
    name: str
    about: Annotated[str, Field(max_length=10_000)] = ""
    algorithms: dict[str, Options]

    def of(self, cls: type[Algorithm]) -> dict[str, Interval]:
        """Returns the intervals of an algorithm by option: those of its entry, else those that it
        declares itself. Raises UsageError if there are none."""
        if found := self.entry(cls):
            return found.options
        own = "" if cls.name in registry.ALGORITHMS else ", and declares none, such as option(0.1, search=Log(0.001, 1))"
        near = nearest(cls.name, self.algorithms) if self.algorithms else ""
        raise UsageError(f"search space {self.name}: it has no entry for algorithm {cls.name}{own}{near}")

    def entry(self, cls: type[Algorithm]) -> Options | None:
        """Returns the entry of an algorithm, else what it declares itself; None if neither is
        there."""
        return self.algorithms.get(cls.name) or declared(cls)

    def hashed(self) -> dict[str, object]:
        """Returns what changes a trial: the name and all intervals."""
        return {"name": self.name, "algorithms": {name: entry.hashed() for name, entry in self.algorithms.items()}}

    def content_hash(self, several: Collection[type[Algorithm]]) -> str:
        """Returns the hash of the intervals of these algorithms. It does not depend on texts or on
        other algorithms. Raises UsageError if one of them has none."""
        return hash_of({cls.name: self.of(cls) for cls in several})

    def rates(self, cls: type[Algorithm]) -> list[str]:
        """Returns the tuned options of an algorithm that are rates of learning."""
        return [key for key, one in self.of(cls).items() if one.rate or key.endswith(RATE)]

    def only(self, cls: type[Algorithm], options: Collection[str]) -> Space | None:
        """Returns the space of these options of an algorithm, or of the first of its rates if it
        tunes none of them; None if it has no rate either."""
        kept = [key for key in self.of(cls) if key in options] or self.rates(cls)[:1]
        several = {key: one for key, one in self.of(cls).items() if key in kept}
        return self.model_copy(update={"algorithms": {cls.name: Options(options=several)}}) if kept else None

    def trials(self, cls: type[Algorithm], count: int, scramble: str | None = None) -> list[dict[str, float]]:
        """Returns the options of every trial of an algorithm. The first trial changes nothing, so
        it has the default options. Then come `count` scrambled Sobol' points. The scrambling is
        a function of the text `scramble`, by default of the names of the space and of the
        algorithm. Source of the points: Owen 1998, as implemented by `scipy.stats.qmc`."""
        intervals, kinds = self.of(cls), hints(cls)
        text = f"{self.name} {cls.name}" if scramble is None else scramble
        return drawn(intervals, count, text, {key for key in intervals if takes_whole_numbers(kinds[key])})


def drawn(intervals: Mapping[str, Interval], count: int, scramble: str, whole: Collection[str]) -> list[dict[str, float]]:
    """Returns no options, and then those of scrambled Sobol' points, of which some are `whole`
    numbers; see `Space.trials`."""
    from scipy.stats import qmc  # takes a second

    key = int.from_bytes(hashlib.sha256(scramble.encode()).digest()[:8], "little")
    sampler = qmc.Sobol(len(intervals), scramble=True, rng=np.random.default_rng(key))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The balance properties", category=UserWarning)
        places = sampler.random(count).tolist()
    values = [{key: one.at(u) for (key, one), u in zip(intervals.items(), place, strict=True)} for place in places]
    return [{}, *({key: round(value) if key in whole else value for key, value in one.items()} for one in values)]


def hash_of(entries: Mapping[str, Mapping[str, Interval]]) -> str:
    """Returns the hash of the intervals of algorithms, by name and option."""
    content = {name: Options(options=dict(entry)).hashed() for name, entry in entries.items()}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def value_of(cls: type[Algorithm], key: str, value: float) -> float:
    """Returns the value of an option, which is whole if the option takes whole numbers."""
    return round(value) if takes_whole_numbers(hints(cls)[key]) else value


def declared(cls: type[Algorithm]) -> Options | None:
    """Returns the entry that an algorithm declares by the `search` of its options, None if it
    declares none. Raises UsageError for too many, or for an end that an option does not take."""
    found = {key: one for key in cls().options() if (one := search(cls, key)) is not None}
    if not found:
        return None
    if len(found) > MOST_OPTIONS:
        raise UsageError(f"{cls.name}: at most {MOST_OPTIONS} options may declare a search, got {len(found)}: {', '.join(found)}")
    several = {key: Interval(low=one.low, high=one.high, scale=one.scale, rate=one.rate) for key, one in found.items()}
    _check_ends(cls, made := Options(options=several), "declared search")
    return made


def _check_ends(cls: type[Algorithm], entry: Options, where: str) -> None:
    """Raises UsageError if an option does not take an end of its interval."""
    for key, interval in entry.options.items():
        for end in (interval.low, interval.high):
            try:
                cls.make({key: value_of(cls, key, end)})
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None


def load(space: str | Path | Space) -> Space:
    """Returns a search space by its name in the library, or by the path to a YAML file. There an
    algorithm may also be `path/to/mine.py:Mine`; its entry is found by the algorithm's own name. A
    Space is returned as it is.

    Raises UsageError for a file that cannot be read, an unknown algorithm or option, or an interval
    with values that the option does not take.
    """
    if isinstance(space, Space):
        return space
    file = file_of(space, LIBRARY, "search space")
    return parse(plain_files.mapping(file, "search space"), str(file))


def parse(content: Mapping[str, object], where: str) -> Space:
    """Returns the search space that has this content. `where` names its place in messages. Raises
    UsageError as `load` does."""
    found = validated(Space, content, where)
    entries: dict[str, Options] = {}
    for name, entry in found.algorithms.items():
        cls = registry.find("algorithm", name)
        if cls.name in entries:
            raise UsageError(f"search space {found.name}: algorithm {cls.name} has two entries ({where})")
        entries[cls.name] = entry
        for key in entry.options:
            if key not in cls().options():
                raise UsageError(
                    f"search space {found.name}: algorithm {name} has no option {key!r}{nearest(key, cls().options())}"
                )
        _check_ends(cls, entry, f"search space {found.name}")
    return found.model_copy(update={"algorithms": entries})
