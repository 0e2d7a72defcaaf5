"""Specifies a run by scenario, algorithm and seed; its id is a hash of the resolved
specification."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass

from fedbench import origins, own_models, registry
from fedbench.errors import RecordError, UsageError
from fedbench.kernels import checks
from fedbench.protocols import Algorithm
from fedbench.results.record import run_id
from fedbench.results.sections import Origin, Spec, Used
from fedbench.scenarios.load import overrides_of
from fedbench.scenarios.schema import Scenario
from fedbench.tasks import given
from fedbench.tasks.data import Dataset

LARGEST_SEED = 2**63 - 1


def seed_of(given: object) -> int:
    """Returns a seed that records and random streams take. UsageError for what is no whole number
    in [0, LARGEST_SEED]."""
    if not checks.is_whole(given) or not 0 <= given <= LARGEST_SEED:
        raise UsageError(f"seed: expected a whole number between 0 and {LARGEST_SEED}, got {given!r}")
    return int(given)


@dataclass(frozen=True)
class RunSpec:
    """The specification of a run. The scenario names the task. UsageError for a seed that is no
    whole number in [0, LARGEST_SEED]."""

    scenario: Scenario
    algorithm: Algorithm
    seed: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", seed_of(self.seed))

    @functools.cached_property
    def run_id(self) -> str:
        """The id that `results.record.run_id` gives to this specification."""
        algorithm, content = self.algorithm, self.origin.get("sha256", "")
        return run_id(self.scenario.content_hash(), algorithm.name, algorithm.options(), self.seed, content)

    @functools.cached_property
    def origin(self) -> dict[str, str]:
        """How to find the algorithm's class again; empty if it is built in."""
        return origins.origin(type(self.algorithm))

    @property
    def own(self) -> list[own_models.Named]:
        """The code of the scenario's model, loss, metrics and optimiser, as far as it is the user's
        own who has named it."""
        task = self.scenario.task
        codes = [] if task.model_sha256 is None else [(task.model, task.model_sha256)]
        codes += [] if task.own_loss is None else [task.own_loss]
        codes += [(one.code, one.sha256) for one in self.scenario.evaluation.metrics if one.code and one.sha256]
        local = self.scenario.local
        codes += [(local.optimizer, local.optimizer_sha256)] if local.optimizer and local.optimizer_sha256 else []
        return [found for code in codes if (found := own_models.allowed(*code)) is not None]

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles the run with what the user has named or given for it, so that another process may
        run it too."""
        return _again, (self.scenario, self.algorithm, self.seed, self.own, given.held(self.scenario.task.name))

    @property
    def selector(self) -> str:
        """The algorithm's name with the options that differ from their defaults:
        `name[param=value,...]`."""
        return registry.selector_of(self.algorithm)

    @property
    def named(self) -> str:
        """The run's name in a sentence, such as `fedavg seed 0`."""
        return f"{self.selector} seed {self.seed}"

    @property
    def recorded(self) -> Spec:
        """The specification as a record has it."""
        algorithm, origin = self.algorithm, self.origin
        return Spec(
            scenario=self.scenario,
            scenario_hash=self.scenario.content_hash(),
            algorithm=Used(
                name=algorithm.name,
                options=json.loads(json.dumps(algorithm.options())),
                origin=Origin.model_validate(origin) if origin else None,
                requires=tuple(sorted(algorithm.requires)),
                reference=algorithm.reference,
                title=algorithm.title,
            ),
            selector=self.selector,
            overrides=None if (settings := overrides_of(self.scenario)) is None else tuple(settings),
            seed=self.seed,
        )

    @classmethod
    def of(cls, recorded: Spec, algorithm: str | type[Algorithm] | None = None) -> RunSpec:
        """Returns the specification in a record. `algorithm` is the class, or file.py:Class for an
        algorithm that is neither built in nor an entry point; no other file is run, whatever the
        record names. Raises RecordError if the algorithm does not take the options."""
        used = recorded.algorithm
        if not isinstance(algorithm, type):
            algorithm = origins.recorded(used.name, used.where, algorithm) or registry.find("algorithm", used.name)
        try:
            return cls(recorded.scenario, algorithm.make(dict(used.options)), recorded.seed)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise RecordError(f"record: its specification lacks something, or is none ({error})") from None


def _again(
    scenario: Scenario, algorithm: Algorithm, seed: int, own: list[own_models.Named], examples: Mapping[str, Dataset]
) -> RunSpec:
    """Returns a run as another process has pickled it."""
    given.remember(examples)
    for one in own:
        own_models.remembered(one)
    return RunSpec(scenario, algorithm, seed)
