"""Sets the option by which an algorithm keeps to a scenario's cap on jobs under way (`at_work`).

A suite sets it, at each of its points, into the options of the runs. The engine could set it where
it reads the cap, but then two runs of `fedavg[cohort_size=10]` would have cohorts of 5 and of 30,
and neither selector nor record would say so. A point could also name the options itself; but the
name `cohort_size` has other meanings for algorithms that keep everybody at work (Poll, Mailbox and
AsySG draw or await so many of them), so what an option does is asked of the algorithm's policy.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedbench.errors import UsageError
from fedbench.protocols import Algorithm
from fedbench.scenarios.schema import Scenario
from fedbench.types import Dispatch, Info, Rounds

NAMES = ("concurrency", "cohort_size")
MANY = 100  # clients of whom an option may leave one at work


def capped(cls: type[Algorithm], options: Mapping[str, object], scenario: Scenario) -> dict[str, object]:
    """Returns the option with which the algorithm has as many jobs under way as the scenario
    allows. Empty if the scenario has no cap, or if no option limits the jobs: then the algorithm
    has all clients at work.

    Args:
        cls: The algorithm.
        options: Those that are given, on which the policy may depend.
        scenario: Of its cap, those that rounds select in excess are taken off.
    """
    if scenario.at_work is None:
        return {}
    for name in NAMES:
        policy = _with_one(cls, {**options, name: 1})
        if policy is not None and policy.at_a_time(MANY) == 1:
            spare = scenario.rounds.over_selection if isinstance(policy, Rounds) else 0
            return {name: scenario.at_work - spare}
    return {}


def _with_one(cls: type[Algorithm], options: dict[str, object]) -> Dispatch | None:
    """Returns the policy with these options, or None if the algorithm does not take them."""
    try:
        return cls.make(options).dispatch(Info(MANY, lambda: np.ones(MANY)))
    except UsageError:
        return None
