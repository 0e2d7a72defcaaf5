"""The scenario of a reference that is not federated."""

from __future__ import annotations

import statistics

from fedbench.scenarios.availability_parts import Always
from fedbench.scenarios.compute_parts import DelayClasses, Devices, ExponentialSteps, PerStep, SizeScore
from fedbench.scenarios.data_parts import Iid
from fedbench.scenarios.network_parts import Network
from fedbench.scenarios.schema import Scenario
from fedbench.scenarios.server_parts import RoundsPart
from fedbench.scenarios.slowdowns import Slowdown


def pooled(scenario: Scenario) -> Scenario:
    """Returns the scenario of one worker that has all examples, is always there, and needs no
    network. Task, local work, budget, evaluation and targets stay as they are.

    The worker has the nominal speed: that of clients without slowdown, of fast clients, of the
    class short, or the mean of the devices. Where the harmonic mean of job times is held, its jobs
    take that time.
    """
    compute = scenario.compute
    if isinstance(compute, PerStep):
        compute = compute.model_copy(update={"slowdown": Slowdown()})
    if isinstance(compute, ExponentialSteps):
        compute = compute.model_copy(update={"slow_share": 0.0})
    if isinstance(compute, Devices):
        compute = compute.model_copy(update={"seconds_per_example": (statistics.fmean(compute.seconds_per_example),)})
    if isinstance(compute, DelayClasses):
        compute = compute.model_copy(update={"assignment": SizeScore(gamma=0.0, long_share=0.0, medium_share=0.0)})
    return scenario.model_copy(
        update={
            "clients": 1,
            "partition": Iid(),
            "local": scenario.local.of_one(scenario.clients),
            "compute": compute,
            "network": Network(),
            "availability": Always(),
            "dropout": 0.0,
            "at_work": None,
            "rounds": RoundsPart(),
        }
    )
