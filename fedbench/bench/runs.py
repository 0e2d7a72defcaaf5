"""Whole runs: plan, local training, server updates, evaluation and record, with the native trainer beside the torch trainer.

The one file of the bench that goes through the engine; where only the kernels are built, as in asv's environments, it is skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from fedbench.bench.case import Case, Outcome, Ready, Way
from fedbench.bench.server import TORCH

NEEDS = ("pydantic", "fedbench.kernels.train:LocalTrainer")


class Size(NamedTuple):
    scenario: str
    overrides: tuple[str, ...]
    algorithm: str


def spec_of(size: Size) -> Any:
    from fedbench import registry
    from fedbench.engine.spec import RunSpec
    from fedbench.scenarios.load import load

    return RunSpec(load(size.scenario, size.overrides), registry.algorithm(size.algorithm), 0)


def _run(spec: Any, trainer: str) -> Ready:
    from fedbench.engine.run import Run, RunOptions

    def read(record: Any) -> Outcome:
        facts, final = record.meta["ledger"], record.meta["final"]
        return {"updates": facts["updates"], "trained_steps": facts["trained_steps"], "test_accuracy": final["test_accuracy"]}

    return Ready(lambda: Run(spec, options=RunOptions(trainer=trainer)).record(), read)


def native(spec: Any) -> Ready:
    return _run(spec, "native")


def with_torch(spec: Any) -> Ready:
    return _run(spec, "torch")


def planned(spec: Any) -> Outcome:
    """Updates and steps from the plan alone; the accuracy from the torch trainer."""
    from fedbench.engine.plan import plan

    summary = plan(spec)
    run = with_torch(spec)
    accuracy = run.read(run.act())["test_accuracy"]
    return {"updates": summary.updates, "trained_steps": summary.trained_steps, "test_accuracy": accuracy}


CASES = (
    Case(
        name="run-fedbuff-fashion",
        group="train",
        size=Size("defedavg-fashion-iid", ("task.model=cnn_21840", "budget.updates=20"), "fedbuff[concurrency=40,server_lr=0.3]"),
        small=Size("digits-demo", ("budget.updates=3",), "fedbuff"),
        inputs=spec_of,
        ours=Way("fedbench", native, NEEDS),
        versus=(Way("trainer-torch", with_torch, TORCH),),
        reference=planned,
        tolerance=0.03,  # of the accuracy: dropout and ties make small differences
        heavy=True,
    ),
)
