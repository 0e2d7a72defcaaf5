"""The dispatch policy of a run: what the algorithm declares, with what the scenario adds. A policy
that the scenario does not allow is refused."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from fedbench.engine import declared
from fedbench.engine.alone import check_alone
from fedbench.errors import UsageError
from fedbench.scenarios import system
from fedbench.types import Dispatch, Poll, Rounds, Stream

if TYPE_CHECKING:
    from fedbench.engine.setup import Setup
    from fedbench.protocols import Algorithm

PUBLIC_ROWS = 2000
"""How many unlabelled examples an error message suggests: as many as FedEcho's paper takes, or
fewer where that is more than a tenth of the training data."""


def dispatch(setup: Setup) -> Dispatch:
    """Returns the policy. UsageError if the algorithm is not applicable: it needs what the scenario
    does not have, or has more jobs under way than `at_work` allows."""
    algorithm, scenario = setup.spec.algorithm, setup.scenario
    found = declared.dispatch(algorithm, setup.info)
    if algorithm.alone:
        check_alone(algorithm, scenario, setup.outline.model)
    offers = {"public_data"} if scenario.public is not None else set()
    if scenario.task.is_regression and "public_data" in algorithm.requires:
        raise UsageError(
            f"algorithm {algorithm.name} is not applicable: it distils the probabilities of classes, and scenario {scenario.name} has "
            "task.kind regression"
        )
    missing = sorted(algorithm.requires - offers)
    if missing:
        raise UsageError(
            f"algorithm {algorithm.name} is not applicable: it needs {', '.join(missing)}, which scenario "
            f"{scenario.name} does not have{_how_to_get_public_data(setup) if 'public_data' in missing else ''}"
        )
    local = scenario.local
    if algorithm.weighs_steps and local.schedule is not None and (local.steps_differ or bool(getattr(algorithm, "prox", 0.0))):
        raise UsageError(
            f"algorithm {algorithm.name} is not applicable: it weighs the gradients of a job by one rate, and local.schedule of scenario "
            f"{scenario.name} changes it; only by: version and prox=0 go with it"
        )
    if algorithm.sends == "first_gradient" and local.schedule is not None:
        raise UsageError(
            f"algorithm {algorithm.name} is not applicable: its clients send the first gradient and make no use of steps, whose rate "
            f"local.schedule of scenario {scenario.name} changes"
        )
    if local.step_rule:
        _check_step_rule(algorithm, local.step_rule)
    if isinstance(found, Stream) and found.routing is not None and algorithm.clients_remember:
        raise UsageError(f"algorithm {algorithm.name}: clients that keep a vector cannot have several tasks (routing)")
    if isinstance(found, Rounds):
        found = _in_rounds(setup, found)
    under_way = found.at_a_time(scenario.clients)
    if scenario.at_work is not None and under_way > scenario.at_work:
        raise UsageError(
            f"algorithm {algorithm.name} is not applicable: it may have {under_way} jobs under way, and scenario {scenario.name} allows "
            f"{scenario.at_work} (at_work)"
        )
    return _polled(setup, found) if isinstance(found, Poll) else found


def _check_step_rule(algorithm: Algorithm, step_rule: str) -> None:
    """Raises UsageError unless the algorithm's local steps are plain SGD, may be others, and
    matter."""
    terms = sorted(algorithm.rule_terms & {"momentum", "adamw"})
    if algorithm.weighs_steps:
        why = "it weighs the gradients of a job as SGD does"
    elif algorithm.sends == "first_gradient":
        why = "its clients send the first gradient and make no use of steps"
    elif terms:
        why = f"its local rule uses {' and '.join(terms)}"
    else:
        return
    raise UsageError(f"algorithm {algorithm.name} is not applicable: {why}, and {step_rule} takes the place of plain SGD")


def _how_to_get_public_data(setup: Setup) -> str:
    size = min(PUBLIC_ROWS, max(1, len(setup.task.dataset.train) // 10))
    return f"; hold some out of the training data: public: {{size: {size}}} in the scenario, or --set public.size={size}"


def _in_rounds(setup: Setup, found: Rounds) -> Rounds:
    """Returns the policy with what the scenario's part `rounds` asks for. How many more clients an
    algorithm itself selects than it waits for is part of the algorithm, and stays."""
    part = setup.scenario.rounds
    return dataclasses.replace(
        found,
        deadline_seconds=found.deadline_seconds if part.deadline_seconds is None else part.deadline_seconds,
        over_selection=found.over_selection or part.over_selection,
    )


def _polled(setup: Setup, found: Poll) -> Poll:
    """Returns the policy with the steps and the period that it leaves to the scenario."""
    max_steps, period = found.max_steps, found.period_seconds
    if max_steps is None:
        max_steps = system.steps_of_all(setup.scenario, setup.spec.seed, setup.counts_for_clock)
    if period is None:
        period = system.poll_seconds(setup.scenario, setup.spec.seed, max_steps, setup.counts_for_clock)
    return dataclasses.replace(found, max_steps=max_steps, period_seconds=period)


def rounds_text(setup: Setup) -> str:
    """Returns what the scenario's part `rounds` asks for and whether it applies, in words; empty if
    it asks for nothing."""
    text, found = setup.scenario.rounds.text, setup.dispatch
    return text if not text or isinstance(found, Rounds) else f"not applicable ({type(found).__name__}): {text}"
