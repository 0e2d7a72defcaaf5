"""The schema of a suite: scenarios with overrides x algorithms with options x seeds, and how
options are tuned."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr

from fedbench import registry
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError, nearest
from fedbench.protocols import Algorithm
from fedbench.scenarios import load as scenarios
from fedbench.scenarios import problems
from fedbench.scenarios.base import Part
from fedbench.scenarios.evaluation_parts import EvaluationPart
from fedbench.scenarios.problems import validated
from fedbench.scenarios.schema import Scenario
from fedbench.suites import anchors
from fedbench.suites import space as spaces
from fedbench.suites.at_work import capped
from fedbench.suites.design import schema as designs
from fedbench.suites.design.schema import Design, Kind, Value
from fedbench.suites.in_file import content_of
from fedbench.suites.race.schema import Race
from fedbench.suites.tuning_parts import Anchors, Halving, Name, Rung, Seeds, Tuning

LIBRARY = Path(__file__).with_name("library")
Text = Annotated[str, Field(max_length=10_000)]
EVERYBODY = "all"


class Point(Part):
    """One scenario of a suite: the suite's own, or another one, with keys `set` to other values.
    `axis` says in words what differs. A point of a design has its `kind`, its `levels` by factor,
    and their `places`: numbers from 0 to 1, or texts, by which points are near or far."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
    about: Text = ""
    axis: Annotated[str, Field(max_length=100)] = ""
    scenario: str | None = None
    set: dict[str, object] = Field(default={})
    kind: Kind | None = None
    levels: dict[str, Value] = Field(default={})
    places: dict[str, Value] = Field(default={})


class Suite(Part):
    """Scenarios x algorithms x seeds. `options` are set for every algorithm that has them. They
    belong to the system that the suite describes, such as how many clients work at a time. They are
    not tuned. `design` names a design, whose rows are the points (`fedbench.suites.design`); the
    suite's file may then name some of them as `points`. `evaluation` replaces that of the scenarios
    in all runs that are compared; options are tuned with the scenarios' own. With a `race`, rows
    that cannot be the best any more get no further seeds. `rows` says whether rows with default
    options are compared as well, or only those with tuned ones."""

    schema_version: Literal[1] = Field(alias="schema")
    name: Name
    about: Text
    scenario: str | None = None
    design: str | None = None
    points: Annotated[tuple[Point, ...], Field(min_length=1, max_length=1000)]
    algorithms: Annotated[tuple[str, ...], Field(min_length=1, max_length=1000)]
    options: dict[str, object] = Field(default={})
    seeds: Seeds
    evaluation: EvaluationPart | None = None
    tuning: Tuning | None = None
    race: Race | None = None
    rows: Literal["all", "tuned"] = "all"
    _read: dict[tuple[str, ...], Scenario] = PrivateAttr(default_factory=dict)  # scenarios that were read from their files
    _beside: tuple[Path, ...] = PrivateAttr(default=())  # folders in which its design is looked for first
    _typed: str = PrivateAttr(default="")

    def _check(self) -> None:
        for i, point in enumerate(self.points):
            if point.scenario is None and self.scenario is None:
                raise ValueError(f"points.{i}: {point.name} has no scenario, and neither has the suite")
            if any(point.name == other.name for other in self.points[:i]):
                raise ValueError(f"points.{i}: the name {point.name} is given twice")
        if self.race is not None and (last := self.race.looks[-1].seeds) != self.seeds.count:
            raise ValueError(f"race.looks: the last look has all {self.seeds.count} seeds of the suite, got {last}")
        if self.race is not None and (odd := sorted({*(self.race.points or ())} - {point.name for point in self.points})):
            raise ValueError(f"race.points: {odd[0]} is no point of the suite")
        if self.tuning is not None:
            self.tuning_seeds(draw=0)
        elif self.rows == "tuned":
            raise ValueError("rows: tuned rows need a part `tuning`")
        if self.anchors is not None:
            anchors.check(self.anchors, self.places)

    @property
    def typed(self) -> str:
        """Returns the word by which a command names the suite: its name in the library, or the path
        of its file."""
        return shlex.quote(self._typed or self.name)

    @property
    def is_shipped(self) -> bool:
        """Returns whether it is one of fedbench's own."""
        return LIBRARY in self._beside

    @property
    def anchors(self) -> Anchors | None:
        """Returns the suite's part `tuning.anchors`, None if options are tuned at every point."""
        return self.tuning.anchors if isinstance(self.tuning, Halving) else None

    def is_elsewhere(self, point: Point) -> bool:
        """Returns whether the suite has anchors, and the point is none of them."""
        return self.anchors is not None and point.name not in self.anchors.points

    @property
    def places(self) -> dict[str, dict[str, Value]]:
        """Returns the places of all points, by name of the point and by factor."""
        return {point.name: point.places for point in self.points}

    def designed(self) -> Design:
        """Returns the design whose rows are the points. Raises UsageError if it has none."""
        if self.design is None:
            raise UsageError(f"suite {self.name}: its points are those of no design, so there are no factors to map")
        return designs.load(self.design, self._beside)

    @property
    def has_map(self) -> bool:
        """Returns whether a map can be made of it: its points are all those of a design."""
        return self.design is not None and len(self.points) == sum(map(len, self.designed().rows().values()))

    def tuning_seeds(self, draw: int) -> range:
        """Returns the seeds of a draw of the tuning. Raises ValueError if there is one among them
        that is compared."""
        seeds = range(0) if self.tuning is None else self.tuning.seeds_of(draw)
        if common := sorted(set(seeds) & set(self.seeds.numbers)):
            key = "tuning.first_seed" if isinstance(self.tuning, Halving) else "tuning.seeds"
            where = f" in draw {draw}" if draw else ""
            raise ValueError(f"{key}: options may not be tuned on the seeds that are compared, got {common[0]} in both{where}")
        return seeds

    def point(self, name: str) -> Point:
        """Returns the point of a name. Raises UsageError if there is none."""
        found = [point for point in self.points if point.name == name]
        if not found:
            raise UsageError(f"suite {self.name}: unknown point {name!r}{nearest(name, [one.name for one in self.points])}")
        return found[0]

    def scenario_at(self, point: Point, *, validation: bool = False, rung: Rung | None = None) -> Scenario:
        """Returns the resolved scenario of a point. With `validation` it is measured on the
        examples that are held out for tuning. In a `rung` it has that share of the time, and a run
        stops as soon as its last target is held; the times of evaluation are the same."""
        if validation and self.tuning is not None:
            changes = [f"validation.share={self.tuning.validation_share}"]
            if isinstance(self.tuning, Halving) and self.tuning.evaluation_ratio is not None:
                changes.append(f"evaluation.ratio={self.tuning.evaluation_ratio}")
            if rung is None:
                return self._scenario(point, *changes)
            seconds = round(rung.budget_share * self._scenario(point, *changes).budget.seconds, 9)
            stop = {"seconds": seconds, "stop_at_target": True, "hold_points": 1, "hold": "window"}
            return self._scenario(point, *changes, *(f"budget.{key}={json.dumps(value)}" for key, value in stop.items()))
        if self.evaluation is not None:
            return self._scenario(point, f"evaluation={json.dumps(self.evaluation.model_dump(mode='json'))}")
        return self._scenario(point)

    def _scenario(self, point: Point, *more: str) -> Scenario:
        """Returns the resolved scenario of a point with more keys changed."""
        changes = [*(f"{key}={json.dumps(value)}" for key, value in point.set.items()), *more]
        key = (str(point.scenario or self.scenario), *changes)
        if key not in self._read:
            try:
                self._read[key] = scenarios.load(key[0], changes)
            except UsageError as error:
                raise UsageError(f"suite {self.name}, point {point.name}: {error}") from None
        return self._read[key]

    def selectors(self) -> list[str]:
        """Returns the selectors of the algorithms, sorted. The word `all` in the suite's file
        stands for every built-in algorithm that is not named there."""
        named = {registry.parse_selector(one)[0] for one in self.algorithms if one != EVERYBODY}
        others = [name for name in registry.ALGORITHMS if name not in named]
        several = [others if one == EVERYBODY else [one] for one in self.algorithms]
        return sorted({selector for group in several for selector in group})

    def algorithm(self, selector: str, options: Mapping[str, object] | None = None, at: Point | None = None) -> Algorithm:
        """Returns an algorithm. The values of its options are those in `options`, else those in the
        selector, else the one that the cap on jobs asks for `at` a point (`at_work`), else those
        that the suite sets, else its defaults."""
        name, own = registry.parse_selector(selector)
        cls = registry.find("algorithm", name)
        known = {field.name for field in dataclasses.fields(cls)}
        common = {key: value for key, value in self.options.items() if key in known}
        given = {**own, **(options or {})}
        cap = {} if at is None else capped(cls, given, self.scenario_at(at))
        return cls.make({**common, **cap, **given})

    def published(self, selector: str) -> list[dict[str, Any]]:
        """Returns the published options of an algorithm for its tuning. Those that the suite sets
        for its system are left out."""
        several = self.tuning.published if isinstance(self.tuning, Halving) else ()
        name, parsed = registry.parse_selector(selector)[0], [registry.parse_selector(one) for one in several]
        return [{key: value for key, value in own.items() if key not in self.options} for other, own in parsed if other == name]

    def runs(self, point: Point, selector: str, options: Mapping[str, object] | None = None) -> list[RunSpec]:
        """Returns the runs of an algorithm at a point, a run for each seed; see `algorithm` for
        `options`."""
        scenario, algorithm = self.scenario_at(point), self.algorithm(selector, options, point)
        return [RunSpec(scenario, algorithm, seed) for seed in self.seeds.numbers]

    def seeds_at(self, point: str) -> Sequence[int]:
        """Returns the seeds of a row at a point, if no look of a race drops it."""
        numbers = self.seeds.numbers
        return numbers if self.race is None else numbers[: self.race.at(point)[-1].seeds]

    def resolved(self) -> dict[str, object]:
        """Returns everything that can change a result: scenarios by their hashes, algorithms with
        all of their options, seeds, how options are tuned, and the race if there is one.
        Descriptions are left out."""
        algorithms = [self.algorithm(selector) for selector in self.selectors()]
        return {
            "schema": self.schema_version,
            "name": self.name,
            "points": {point.name: self.scenario_at(point).content_hash() for point in self.points},
            "algorithms": sorted(f"{one.name} {json.dumps(one.options(), sort_keys=True)}" for one in algorithms),
            "seeds": list(self.seeds.numbers),
            "tuning": None if self.tuning is None else self.tuning.hashed(),
            **({} if self.race is None else {"race": self.race.model_dump(mode="json", exclude_none=True)}),
            **({} if self.rows == "all" else {"rows": self.rows}),
            **({} if not (own := self._declared(algorithms)) else {"declared": own}),
        }

    def _declared(self, algorithms: Iterable[Algorithm]) -> dict[str, object]:
        """Returns the intervals that algorithms declare themselves, and that are used since the
        suite's search space has no entry for them."""
        if self.tuning is None or not (own := [one for one in algorithms if one.name not in registry.ALGORITHMS]):
            return {}
        known = spaces.load(self.tuning.space).algorithms
        return {one.name: entry.hashed() for one in own if one.name not in known and (entry := spaces.declared(type(one)))}

    def content_hash(self) -> str:
        """Returns the hash of everything that can change a result."""
        return _hash(self.resolved())

    def design_hash(self) -> str:
        """Returns the hash of everything on which tuned options depend. Algorithms and seeds of the
        suite are not part of it, since another algorithm or seed leaves tuned options valid."""
        content, places = self.resolved(), {} if self.anchors is None else {"places": self.places}
        points = {point.name: self._scenario(point).content_hash() for point in self.points}
        known = {name: content[name] for name in ("schema", "name", "tuning")}
        return _hash(known | {"points": points, "options": self.options} | places)


def _hash(content: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def names() -> list[str]:
    """Returns the names of the library's suites."""
    return problems.names(LIBRARY)


def load(suite: str | Path | Suite) -> Suite:
    """Returns a suite by its name in the library or by the path to a YAML file. A Suite is returned
    as it is.

    Raises UsageError for an unknown name, an unreadable file, an unknown key (with the nearest
    match) or a value out of range.
    """
    if isinstance(suite, Suite):
        return suite
    file = problems.file_of(suite, LIBRARY, "suite")
    found = validated(Suite, content_of(file), str(file))
    found._beside, found._typed = (file.parent,), str(suite)
    for point in found.points:
        found.scenario_at(point)
        for rung in found.tuning.rungs_at(point.name) if isinstance(found.tuning, Halving) else ():
            found.scenario_at(point, validation=True, rung=rung)
    known = {key for selector in found.selectors() for key in found.algorithm(selector).options()}
    for key in found.options:
        if key not in known:
            raise UsageError(f"suite {found.name}: options.{key}: none of its algorithms has this option{nearest(key, known)}")
    _check_published(found)
    return found


def _check_published(suite: Suite) -> None:
    """Raises UsageError for published options of an algorithm that the suite does not have, or that
    this does not take."""
    own = {registry.parse_selector(selector)[0]: selector for selector in suite.selectors()}
    for i, one in enumerate(suite.tuning.published if isinstance(suite.tuning, Halving) else ()):
        try:
            name = registry.parse_selector(one)[0]
            if name not in own:
                raise UsageError(f"the suite has no algorithm {name!r}{nearest(name, own)}")
            for options in suite.published(own[name]):
                suite.algorithm(own[name], options)
        except UsageError as error:
            raise UsageError(f"suite {suite.name}: tuning.published.{i}: {error}") from None
