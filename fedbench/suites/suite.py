"""What a suite is: scenarios with overrides x algorithms with options x seeds, as data, and how its
best options are looked for."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, model_validator

from fedbench import plain_files, registry
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError, nearest
from fedbench.protocols import Algorithm
from fedbench.scenarios import load as scenarios
from fedbench.scenarios.base import Float, Integer, Part
from fedbench.scenarios.problems import validated
from fedbench.scenarios.schema import Scenario

LIBRARY = Path(__file__).with_name("library")
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,99}$")]
Text = Annotated[str, Field(max_length=10_000)]
EVERYBODY = "all"


class Seeds(Part):
    """`count` seeds from `first` on."""

    first: Annotated[Integer, Field(ge=0, le=2**31 - 1)] = 0
    count: Annotated[Integer, Field(ge=1, le=10_000)]

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.count)


class Point(Part):
    """One scenario of a suite: the suite's own, or another one, with keys set to other values.
    `axis`: what differs, in words."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]{0,99}$")]
    about: Text = ""
    axis: Annotated[str, Field(max_length=100)] = ""
    scenario: str | None = None
    set: dict[str, Any] = Field(default={})


class Tuning(Part):
    """How options are looked for: `trials` of every algorithm at every point, drawn from the search
    space of the name, with these seeds, measured on a `validation_share` of the training data that
    is held out."""

    space: Name
    trials: Annotated[Integer, Field(ge=1, le=1024)]
    seeds: Seeds
    validation_share: Annotated[Float, Field(gt=0, lt=1)] = 0.1


class Suite(Part):
    """Scenarios x algorithms x seeds. `options` are set for every algorithm that has them: they
    belong to the system that the suite describes, such as how many clients work at a time, and are
    neither tuned nor an algorithm's own."""

    schema_version: Literal[1] = Field(alias="schema")
    name: Name
    about: Text
    scenario: str | None = None
    points: Annotated[tuple[Point, ...], Field(min_length=1, max_length=1000)]
    algorithms: Annotated[tuple[str, ...], Field(min_length=1, max_length=1000)]
    options: dict[str, Any] = Field(default={})
    seeds: Seeds
    tuning: Tuning | None = None
    _read: dict[tuple[str, ...], Scenario] = PrivateAttr(default_factory=dict)  # scenarios that were read from their files

    @model_validator(mode="after")
    def _points_have_scenarios_and_names(self) -> Suite:
        for i, point in enumerate(self.points):
            if point.scenario is None and self.scenario is None:
                raise ValueError(f"points.{i}: {point.name} has no scenario, and neither has the suite")
            if any(point.name == other.name for other in self.points[:i]):
                raise ValueError(f"points.{i}: the name {point.name} is given twice")
        return self

    @model_validator(mode="after")
    def _seeds_apart(self) -> Suite:
        tuning = set() if self.tuning is None else set(self.tuning.seeds.numbers)
        if common := sorted(tuning & set(self.seeds.numbers)):
            raise ValueError(f"tuning.seeds: options may not be tuned on the seeds that are compared, got {common[0]} in both")
        return self

    def point(self, name: str) -> Point:
        """UsageError if there is none of the name."""
        found = [point for point in self.points if point.name == name]
        if not found:
            raise UsageError(f"suite {self.name}: unknown point {name!r}{nearest(name, [one.name for one in self.points])}")
        return found[0]

    def scenario_at(self, point: Point, *, validation: bool = False) -> Scenario:
        """The resolved scenario of a point; with `validation`, measured on the examples that are
        held out for tuning."""
        changes = [f"{key}={json.dumps(value)}" for key, value in point.set.items()]
        if validation and self.tuning is not None:
            changes.append(f"validation.share={self.tuning.validation_share}")
        key = (str(point.scenario or self.scenario), *changes)
        if key not in self._read:
            try:
                self._read[key] = scenarios.load(key[0], changes)
            except UsageError as error:
                raise UsageError(f"suite {self.name}, point {point.name}: {error}") from None
        return self._read[key]

    def selectors(self) -> list[str]:
        """The algorithms as they are named: `all` stands for every built-in one that is not named
        by itself."""
        named = {registry.parse_selector(one)[0] for one in self.algorithms if one != EVERYBODY}
        others = [name for name in registry.ALGORITHMS if name not in named]
        several = [others if one == EVERYBODY else [one] for one in self.algorithms]
        return sorted({selector for group in several for selector in group})

    def algorithm(self, selector: str, options: dict[str, Any] | None = None) -> Algorithm:
        """An algorithm with its own options, those of the suite that it has, those of the selector
        and these, the last first."""
        name, own = registry.parse_selector(selector)
        cls: type[Algorithm] = registry.find("algorithm", name)
        known = cls().options()
        common = {key: value for key, value in self.options.items() if key in known}
        return cls.make(common | own | (options or {}))

    def runs(self, point: Point, selector: str, options: dict[str, Any] | None = None) -> list[RunSpec]:
        """The runs of an algorithm at a point, with its own options or with these, seed by seed."""
        scenario, algorithm = self.scenario_at(point), self.algorithm(selector, options)
        return [RunSpec(scenario, algorithm, seed) for seed in self.seeds.numbers]

    def resolved(self) -> dict[str, Any]:
        """Everything that can change a result: scenarios by their hashes, algorithms with all of
        their options, seeds, and how options are looked for. What is said about things is left
        out."""
        algorithms = [self.algorithm(selector) for selector in self.selectors()]
        return {
            "schema": self.schema_version,
            "name": self.name,
            "points": {point.name: self.scenario_at(point).content_hash() for point in self.points},
            "algorithms": sorted(f"{one.name} {json.dumps(one.options(), sort_keys=True)}" for one in algorithms),
            "seeds": list(self.seeds.numbers),
            "tuning": None if self.tuning is None else self.tuning.model_dump(mode="json"),
        }

    def content_hash(self) -> str:
        """Returns the hash of everything that can change a result."""
        return _hash(self.resolved())

    def design_hash(self) -> str:
        """Returns the hash of what options are looked for under. Another algorithm or seed changes
        nothing of what was found."""
        content = self.resolved()
        return _hash({name: content[name] for name in ("schema", "name", "points", "tuning")} | {"options": self.options})


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def names() -> list[str]:
    """Names of the library's suites."""
    return sorted(file.stem for file in LIBRARY.glob("*.yaml"))


def load(suite: str | Path | Suite) -> Suite:
    """A suite by library name, path to a YAML file, or as it is.

    Raises UsageError for an unknown name, an unreadable file, an unknown key (with the nearest
    match) or a value out of range.
    """
    if isinstance(suite, Suite):
        return suite
    text = str(suite)
    if not text.endswith((".yaml", ".yml")) and "/" not in text:
        if text not in names():
            raise UsageError(f"unknown suite {text!r}{nearest(text, names())}; a path to a .yaml file works too")
        text = str(LIBRARY / f"{text}.yaml")
    found = validated(Suite, plain_files.mapping(Path(text), "suite"), text)
    for point in found.points:
        found.scenario_at(point)
    for selector in found.selectors():
        found.algorithm(selector)
    return found
