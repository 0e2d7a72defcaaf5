"""Checks the contracts of tasks and scenarios, for `fedbench test`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fedbench import registry
from fedbench.engine.data import load_task
from fedbench.engine.plan import plan
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.setup import Setup
from fedbench.engine.spec import RunSpec
from fedbench.proof.findings import Finding, expect, findings
from fedbench.results.digests import Digest
from fedbench.scenarios.data_parts import Overlapping
from fedbench.scenarios.load import load, validate
from fedbench.scenarios.schema import Scenario
from fedbench.tasks.task import Task

PROBES = {"fedavg": "cohort_size", "fedbuff": "concurrency"}
"""One algorithm with rounds and one without, and the option that says how many clients are at
work."""
AT_WORK = 10  # at most
SMALL = ("clients=10", "partition.kind=iid", "local.steps=3", "budget.updates=30")


# ---- tasks ----


def check_task(name: str, model: str) -> Iterator[Finding]:
    """Yields the findings on a registered task with one of its models."""

    def fresh() -> Task:
        load_task.cache_clear()
        return load_task(name, model)

    def declared() -> str:
        task = fresh()
        expect(task.spec() == {"name": name, "model": model}, f"expected the task {name} with model {model}, got {task.spec()}")
        return f"{task.dataset.classes} classes, examples of {task.dataset.shape}, model of {task.model.dim} parameters"

    def data() -> str:
        digests = {content(fresh()) for _ in range(2)}
        expect(len(digests) == 1, "loading again gives other data; splits may not depend on chance")
        dataset = fresh().dataset
        for part in ("train", "test"):
            missing = np.setdiff1d(np.arange(dataset.classes), getattr(dataset, part).y)
            expect(not missing.size, f"{part} has no example of classes {missing.tolist()}")
        return f"{len(dataset.train)} train, {len(dataset.test)} test examples"

    def start() -> str:
        model = fresh().model
        x = [model.x0(seed) for seed in (0, 0, 1)]
        expect(x[0].tobytes() == x[1].tobytes(), "x0 of seed 0 differs when it is drawn again")
        expect(x[0].tobytes() != x[2].tobytes(), "x0 is the same for seeds 0 and 1")
        expect(bool(np.isfinite(x[0]).all()), "x0 is not finite")
        return "x0 by seed"

    def runs() -> str:
        scenario = load("digits-demo", [*SMALL, f"task.name={name}", f"task.model={model}"])
        records = [
            Run(RunSpec(scenario, registry.algorithm("fedavg"), 0), options=RunOptions(workers=w, wave_size=s)).record()
            for w, s in ((1, None), (1, None), (2, 1))
        ]
        expect(records[0].state == "finished", f"a run ends as {records[0].state}")
        expect(records[0].digests == records[1].digests, "a second run differs from the first")
        expect(records[0].digests == records[2].digests, "with two workers and waves of one job the run differs")
        return f"30 updates of fedavg: test accuracy {records[0].final.test_accuracy:.3f}"

    return findings({"declared": declared, "data": data, "start": start, "repeatable": runs})


def content(task: Task) -> str:
    """Returns a digest of all training and test examples."""
    parts = (task.dataset.train, task.dataset.test)
    return Digest().add(*(array for part in parts for array in (part.x, part.y))).hex()


# ---- scenarios ----


def check_scenario(name: str) -> Iterator[Finding]:
    """Yields the findings on a scenario, which is a name in the library or a YAML file."""

    def setup(seed: int, algorithm: str = "fedavg") -> Setup:
        return Setup(RunSpec(load(name), registry.algorithm(algorithm), seed))

    def declared() -> str:
        scenario: Scenario = load(name)
        again = validate(scenario.resolved(), name)
        expect(again.content_hash() == scenario.content_hash(), "resolved and read again it has another hash")
        expect(bool(scenario.about), "about: expected a sentence that says what it is")
        return f"{scenario.name}, {scenario.clients} clients, hash {scenario.content_hash()[:12]}"

    def draws() -> str:
        one, again, other = (setup(seed).inputs_digest() for seed in (0, 0, 1))
        expect(one == again, "seed 0 draws other shards, durations or start when it is asked again")
        expect(one != other, "seeds 0 and 1 draw the same")
        return "by seed"

    def shards() -> str:
        found = setup(0).shards
        sizes, used = found.sizes, np.unique(found.rows)
        expect(int(sizes.min()) > 0, f"clients {np.flatnonzero(sizes == 0)[:10].tolist()} have no examples")
        may_overlap = isinstance(load(name).partition, Overlapping)
        expect(may_overlap or len(used) == sizes.sum(), "an example belongs to two clients")
        return f"{sizes.min()} .. {sizes.max()} examples a client, {len(used)} in all"

    def plans() -> str:
        ends, scenario = [], load(name)
        at_work = min(AT_WORK, scenario.clients, scenario.at_work or scenario.clients)
        for algorithm, option in PROBES.items():
            spec = RunSpec(scenario, registry.algorithm(f"{algorithm}[{option}={at_work}]"), 0)
            one, again = plan(spec), plan(spec)
            expect(one.plan_digest == again.plan_digest, f"{algorithm}: a second plan differs from the first")
            expect(one.outcome == "finished", f"{algorithm}: the plan ends as {one.outcome}; {one.message}")
            expect(one.updates > 0, f"{algorithm}: the budget ends before the first update")
            ends.append(f"{algorithm} {one.updates} updates, ended by {one.ended_by}")
        return "; ".join(ends)

    return findings({"declared": declared, "draws": draws, "shards": shards, "plans": plans})
