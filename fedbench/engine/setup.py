"""From a RunSpec to the things a run is made of; each is made when it is first needed, so a plan loads no data."""

from __future__ import annotations

import functools

import numpy as np

from fedbench import registry
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.kernels.scheduler import Scheduler, Timing
from fedbench.results.digests import Digest
from fedbench.scenarios import system
from fedbench.scenarios.partition import Shards, partition
from fedbench.tasks.task import Task
from fedbench.types import Dispatch, Info, Rounds, Vector, Weights


@functools.lru_cache(maxsize=2)
def load_task(name: str, model: str) -> Task:
    """A task, kept for the next run of the same one in this process."""
    task: Task = registry.find("task", name)(model=model)
    return task


class Setup:
    """Task, shards, schedule and start of one run. Everything here depends on seed and scenario only, but for the dispatch."""

    def __init__(self, spec: RunSpec) -> None:
        self.spec = spec
        self.scenario = spec.scenario

    @functools.cached_property
    def task(self) -> Task:
        return load_task(self.scenario.task.name, self.scenario.task.model)

    @functools.cached_property
    def shards(self) -> Shards:
        return partition(self.scenario, self.task.dataset.train.y, self.spec.seed)

    @functools.cached_property
    def sizes(self) -> Weights:
        return np.array([len(rows) for rows in self.shards], np.float64)

    @functools.cached_property
    def info(self) -> Info:
        return Info(self.scenario.clients, lambda: self.sizes)

    @functools.cached_property
    def dispatch(self) -> Dispatch:
        dispatch = self.spec.algorithm.dispatch(self.info)
        missing = self.spec.algorithm.requires
        if missing:
            raise UsageError(
                f"algorithm {self.spec.algorithm.name} is not applicable: it needs {', '.join(sorted(missing))}, "
                f"which scenario {self.scenario.name} does not have"
            )
        return dispatch

    @functools.cached_property
    def payload_bytes(self) -> int:
        """Bytes of one model-sized vector in float32."""
        return 4 * self.task.model.dim

    def timing(self) -> Timing:
        """Durations, steps and budget for the virtual clock."""
        scenario, network = self.scenario, self.scenario.network
        down, up, _ = self.spec.algorithm.traffic(self.info)
        size = self.payload_bytes if network.message == "payload" and self._is_limited() else 0
        download = system.transfer(network, network.download_megabit_per_second, down * size)
        upload = system.transfer(network, network.upload_megabit_per_second, up * size)
        start = 0.0
        if self.dispatch.prelude:
            start = system.full_gradient_seconds(scenario, self.sizes, self.spec.seed, float(download.a), float(upload.a))
        return Timing(
            clients=scenario.clients,
            seed=self.spec.seed,
            compute=system.compute(scenario, self.spec.seed),
            download=download,
            upload=upload,
            steps=system.local_steps(scenario, self.sizes if scenario.local.epochs else None),
            start_seconds=start,
            max_updates=scenario.budget.updates,
            max_seconds=scenario.budget.seconds,
            max_jobs=scenario.budget.jobs,
        )

    def _is_limited(self) -> bool:
        network = self.scenario.network
        return network.download_megabit_per_second is not None or network.upload_megabit_per_second is not None

    def scheduler(self) -> Scheduler:
        """A fresh scheduler at virtual time 0."""
        weighted = isinstance(self.dispatch, Rounds) and self.dispatch.select == "weighted"
        return Scheduler(self.timing(), self.dispatch, p=self.info.p if weighted else None)

    def x0(self) -> Vector:
        """The initial model (d,) float32."""
        return self.task.model.x0(self.spec.seed)

    def inputs_digest(self) -> str:
        """Digest of what the scenario drew: shards, durations and the initial model."""
        timing, digest = self.timing(), Digest()
        for rows in self.shards:
            digest.add(rows)
        for duration in (timing.compute, timing.download, timing.upload):
            digest.add(np.atleast_1d(np.asarray(duration.a, np.float64)), np.atleast_1d(np.asarray(duration.b, np.float64)))
        return digest.add(self.x0()).hex()
