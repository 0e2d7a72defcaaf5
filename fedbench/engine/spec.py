"""Specifies a run by scenario, algorithm and seed; its id is a hash of the resolved
specification."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fedbench import origins, registry
from fedbench.errors import RecordError
from fedbench.protocols import Algorithm
from fedbench.results.record import run_id
from fedbench.scenarios.load import overrides_of, validate
from fedbench.scenarios.schema import Scenario


@dataclass(frozen=True)
class RunSpec:
    """The specification of a run. The scenario names the task."""

    scenario: Scenario
    algorithm: Algorithm
    seed: int

    @functools.cached_property
    def run_id(self) -> str:
        """The id that `results.record.run_id` gives to this specification."""
        algorithm = {"name": self.algorithm.name, "options": self.algorithm.options(), "origin": self.origin}
        return run_id(self.scenario.content_hash(), algorithm, self.seed)

    @functools.cached_property
    def origin(self) -> dict[str, str]:
        """How to find the algorithm's class again; empty if it is built in."""
        return origins.origin(type(self.algorithm))

    @property
    def selector(self) -> str:
        """The algorithm's name with the options that differ from their defaults:
        `name[param=value,...]`."""
        return registry.selector_of(self.algorithm)

    @property
    def named(self) -> str:
        """The run's name in a sentence, such as `fedavg seed 0`."""
        return f"{self.selector} seed {self.seed}"

    def as_dict(self) -> dict[str, Any]:
        """Returns the resolved specification, JSON-able, as `from_dict` reads it."""
        return {
            "task": self.scenario.task.model_dump(mode="json"),
            "scenario": self.scenario.resolved(),
            "scenario_hash": self.scenario.content_hash(),
            "algorithm": {"name": self.algorithm.name, "options": self.algorithm.options()} | self._facts(),
            "selector": self.selector,
            "overrides": overrides_of(self.scenario),
            "seed": self.seed,
        }

    def _facts(self) -> dict[str, Any]:
        """Returns what a reader of the record must know of the algorithm: its origin if it is not
        built in, what it requires, and whether it is a reference, one worker with everybody's data,
        which is not ranked."""
        facts = {"origin": self.origin, "requires": sorted(self.algorithm.requires), "reference": self.algorithm.pooled}
        return {name: value for name, value in facts.items() if value}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], algorithm: str | type[Algorithm] | None = None) -> RunSpec:
        """Returns the specification in a record. `algorithm` is the class, or file.py:Class for an
        algorithm that is neither built in nor an entry point; no other file is run, whatever the
        record names. Raises RecordError if the content is no specification."""
        try:
            scenario = validate(content["scenario"], "record")
            name, where = content["algorithm"]["name"], content["algorithm"].get("origin", {})
            if not isinstance(algorithm, type):
                algorithm = origins.recorded(name, where, algorithm) or registry.find("algorithm", name)
            return cls(scenario, algorithm.make(dict(content["algorithm"]["options"])), int(content["seed"]))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RecordError(f"record: its specification lacks something, or is none ({error})") from None
