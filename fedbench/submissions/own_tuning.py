"""The trials of algorithms in files, as their authors declare them in the manifest. They are
counted up from that alone: no code of a submission runs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fedbench import origins, registry
from fedbench.engine.isolation.find import isolated
from fedbench.engine.spec import RunSpec
from fedbench.results.record import run_id
from fedbench.scenarios.schema import Scenario
from fedbench.submissions.manifest import InFile
from fedbench.suites import space as spaces
from fedbench.suites.space import Interval
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import Tuned
from fedbench.suites.tuning import tuning_of
from fedbench.suites.tuning_parts import Sobol

Plugins = Mapping[str, InFile]
"""The algorithms in files of a submission, by name."""
NONE: Plugins = MappingProxyType({})


@dataclass(frozen=True)
class OwnSpec:
    """A run of an algorithm in a file, with all of its options."""

    scenario: Scenario
    entrant: InFile
    options: Mapping[str, object]
    seed: int

    @functools.cached_property
    def run_id(self) -> str:
        one = self.entrant
        return run_id(self.scenario.content_hash(), one.name, self.options, self.seed, one.sha256)

    @contextlib.contextmanager
    def opened(self, folder: Path) -> Iterator[RunSpec]:
        """Has the code, which lies in a submission's folder, run in a confined process, and yields
        the run. The errors are those of `isolated`."""
        one = self.entrant
        where = {"kind": "file", **one.model_dump(by_alias=True, include={"file", "class_", "sha256"})}
        with isolated(one.name, where, f"{folder / one.file}:{one.class_}", only_confined=True) as cls:
            yield RunSpec(self.scenario, cls.make(dict(self.options)), self.seed)


@dataclass(frozen=True)
class OwnTrial:
    """One set of values of the options that are tuned. Number 0 has the default ones."""

    number: int
    options: dict[str, float]
    specs: tuple[OwnSpec, ...]


def entrant_of(selector: str, plugins: Plugins) -> InFile | None:
    """Returns the algorithm in a file that a file of tuned options means by `path/to/mine.py:Mine`,
    wherever it lay; None if it is none of the submission."""
    match = origins.IN_FILE.fullmatch(registry.parse_selector(selector)[0])
    if match is None:
        return None
    named = Path(match["file"]).name, match["name"]
    return next((one for one in plugins.values() if named in ((one.file, one.class_), (one.file, None))), None)


def selectors(plugins: Plugins, frozen: Tuned | None) -> dict[str, str]:
    """Returns how the file of tuned options names the algorithms in files that it has."""
    several = dict.fromkeys(selector for chosen in frozen.points.values() for selector in chosen) if frozen is not None else ()
    return {one.name: selector for selector in several if (one := entrant_of(selector, plugins)) is not None}


def intervals(entrant: InFile) -> dict[str, Interval]:
    """Returns the declared intervals by option."""
    return {key: one.interval for key, one in (entrant.space or {}).items()}


def trials(entrant: InFile, suite: Suite, point: str, options: Mapping[str, object]) -> list[OwnTrial]:
    """Returns all trials of an algorithm at a point, as the rule makes them.

    Args:
        entrant: the algorithm, with its space.
        suite: a suite that makes all trials at once.
        point: the name of one of its points.
        options: all options of a run there. Those that are tuned are replaced.
    """
    part, space = tuning_of(suite), entrant.space or {}
    assert isinstance(part, Sobol)
    scenario = suite.scenario_at(suite.point(point), validation=True)
    base = {**options, **{key: one.default for key, one in space.items()}}
    text = f"{spaces.load(part.space).name} {entrant.name}"
    several = spaces.drawn(intervals(entrant), part.trials, text, {key for key, one in space.items() if one.whole})
    return [
        OwnTrial(number, own, tuple(OwnSpec(scenario, entrant, {**base, **own}, seed) for seed in suite.tuning_seeds(0)))
        for number, own in enumerate(several)
    ]
