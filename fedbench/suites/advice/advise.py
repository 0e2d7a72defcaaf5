"""What a map of costs says to somebody who has to choose an algorithm for a scenario."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from fedbench.analysis.map import saved
from fedbench.analysis.map.prediction import MOST_ROWS
from fedbench.analysis.map.saved import Saved
from fedbench.engine.heterogeneity import Heterogeneity
from fedbench.errors import UsageError, nearest
from fedbench.registry import selector_of
from fedbench.scenarios.load import load, overrides_of, settings, validate
from fedbench.scenarios.schema import Scenario
from fedbench.suites.advice import words
from fedbench.suites.advice.answer import Answer
from fedbench.suites.advice.nearby import Nearby, Worth
from fedbench.suites.advice.place import Level, is_other_task, levels, outside
from fedbench.suites.advice.rows import refused, started, tuned_near
from fedbench.tasks.given import Task, is_given
from fedbench.written import Ratio

SHIPPED = Path(__file__).with_name("map.npz")
SEEDS = 5
"""So many seeds has the run that is suggested."""


@dataclass(frozen=True)
class Choice:
    """An algorithm to try.

    Attributes
    ----------
    algorithm : str
        Its name on the map.
    selector : str
        The algorithm with options to start from, as `run` takes it.
    tuned_at : str
        The point of the map at which these options were tuned; empty for default options.
    probability : float or None
        That it is within 10 % of the best. None where the map does not predict the cost that is to
        be small.
    ratios : dict of Ratio
        By cost, its expected cost over that of the best on that axis, with the ends of a 95 %
        interval. Of a cost that the map does not predict, the geometric mean of the regrets at the
        nearest points, with the smallest and the largest in the place of an interval. A cost that
        the map does not have of it is missing.
    at_least : tuple of str
        The costs whose ratio is a lower bound, since targets were missed at these points.
    """

    algorithm: str
    selector: str
    tuned_at: str
    probability: float | None
    ratios: Mapping[str, Ratio]
    at_least: tuple[str, ...] = ()


@dataclass(frozen=True)
class Advice:
    """Which algorithms to try on a scenario; printing it shows the answer in words.

    Attributes
    ----------
    scenario : str
        The scenario's name.
    cost : str
        The cost that is to be small: seconds, gradient_evaluations or bytes.
    is_sure : bool
        Whether at most five algorithms are enough, so that with 90 % probability one of them is
        within 10 % of the best. False where the map does not predict the cost.
    needed : int or None
        How many algorithms are enough. None where the map does not predict the cost.
    choices : tuple of Choice
        These algorithms, the most probable one first; of more than five, the first five. Where the
        map does not predict the cost, the five that cost least at the nearest points.
    among : int
        How many algorithms without public data are compared: those of the map that can run on the
        scenario and, where it does not predict the cost, have runs at all of the nearest points.
    refused : dict of str
        By algorithm that cannot run there, why.
    others : dict of tuple of str
        By other cost, the algorithms that are enough there; empty if they are more than five. Of a
        cost that the map does not predict, the five that cost least at the nearest points.
    with_public_data : tuple of Choice
        The same of the algorithms that use the server's public data, if the scenario has any. They
        are compared with each other alone; the words and the command have the first.
    levels : tuple of Level
        What was measured in the scenario.
    outside : tuple of str
        What the map has not measured of such a scenario, in words.
    transfer : tuple of str
        For another task or model, how far the order of the algorithms was the same on others; empty
        if the map does not know.
    is_far : bool
        Whether a factor is so far outside that the answer is a guess.
    measured_at : dict of tuple of str
        By cost that the map does not predict between its points, the nearest of them, at which the
        answer was measured; the nearest one first.
    worth : Worth or None
        What such an answer was worth at the points of the map, each left out in turn; None where
        the map predicts the cost.
    basis : str
        What the answer rests on.
    command : str
        The command that runs the choices on the scenario; for a task that was given in Python, a
        call of `run`.
    """

    scenario: str
    cost: str
    is_sure: bool
    needed: int | None
    choices: tuple[Choice, ...]
    among: int
    refused: Mapping[str, str]
    others: Mapping[str, tuple[str, ...]]
    with_public_data: tuple[Choice, ...]
    levels: tuple[Level, ...]
    outside: tuple[str, ...]
    transfer: tuple[str, ...]
    is_far: bool
    measured_at: Mapping[str, tuple[str, ...]]
    worth: Worth | None
    basis: str
    command: str

    def as_dict(self) -> dict[str, object]:
        """Returns the answer as plain data, which JSON can hold.

        Returns
        -------
        dict
            The attributes. A level that is outside without bound has None as `beyond`.
        """
        found = asdict(self)
        for level in found["levels"]:
            level["beyond"] = level["beyond"] if np.isfinite(level["beyond"]) else None
        return found

    def __str__(self) -> str:
        """Returns the answer in words, at most 25 lines."""
        return "\n".join(words.lines(self))


def advise(
    scenario: str | Path | Scenario,
    *,
    overrides: Sequence[str] = (),
    task: Task | None = None,
    cost: str = "seconds",
    map: str | Path | None = None,
    seed: int = 0,
) -> Advice:
    """Returns which algorithms to try on a scenario, and how sure that is, from a map of costs.

    Parameters
    ----------
    scenario : str, path or Scenario
        A name of the library, the path of a YAML file, or a scenario.
    overrides : sequence of str
        Settings "key.path=value", applied to the scenario in order.
    task : Task, optional
        Examples and a model that are given in Python, in the place of the scenario's task.
    cost : str
        The cost that is to be small: seconds, gradient_evaluations or bytes.
    map : path, optional
        The file of a map. None takes the one that comes with fedbench.
    seed : int
        The seed whose clients are measured.

    Returns
    -------
    Advice
        The algorithms, with options to start from.

    Raises
    ------
    UsageError
        The scenario or the map cannot be read, something cannot be measured, or no algorithm of
        the map runs.
    """
    given = load(scenario, settings(overrides, task))
    read = saved.read(SHIPPED if map is None else Path(map))
    named = (given.name, overrides_of(given) or ()) if isinstance(scenario, Scenario) else (str(scenario), settings(overrides))
    return _advice(given, read, cost, seed, partial(_command, given, *named))


def _advice(given: Scenario, read: Saved, cost: str, seed: int, command: Callable[[list[str]], str]) -> Advice:
    about = read.about
    if cost not in read.costs:
        raise UsageError(f"advise: unknown cost {cost!r}{nearest(cost, read.costs)}")
    here, costs = Heterogeneity(given, seed), read.costs[cost]
    found = levels(here, costs, about.numbers)
    place = {level.factor: level.taken for level in found}
    with_cap = given.model_copy(update={"at_work": given.at_work or given.clients})
    selectors = {name: about.selectors.get(name, name) for one in read.costs.values() for name in one.algorithms}
    tuned = {name: tuned_near(name, place, costs, about) for name in selectors}
    reasons = refused(selectors, with_cap, [seed, *range(SEEDS)], {name: options for name, (_, options) in tuned.items()})
    answers, apart = (
        {
            axis: (Answer if one.predicts else Nearby).of(one, place, about, reasons, public_data=public_data)
            for axis, one in read.costs.items()
        }
        for public_data in (False, True)
    )
    answer, near = answers[cost], {axis: one for axis, one in answers.items() if isinstance(one, Nearby)}
    if not answer.among:
        why = next((f": {reason}" for reason in reasons.values() if reason), "")
        raise UsageError(f"advise: no algorithm of the map runs on scenario {given.name}{why}")

    def choices(of: Mapping[str, Answer | Nearby]) -> tuple[Choice, ...]:
        return tuple(_choice(name, of, cost, selectors[name], with_cap, tuned[name]) for name in of[cost].enough[:MOST_ROWS])

    chosen, with_public_data = choices(answers), choices(apart)
    return Advice(
        scenario=given.name,
        cost=cost,
        is_sure=cost not in near and len(answer.enough) <= MOST_ROWS,
        needed=None if cost in near else len(answer.enough),
        choices=chosen,
        among=answer.among,
        refused={name: reason for name, reason in reasons.items() if reason},
        others={axis: tuple(one.enough) if len(one.enough) <= MOST_ROWS else () for axis, one in answers.items() if axis != cost},
        with_public_data=with_public_data,
        levels=found,
        outside=tuple(outside(here, found, about)),
        transfer=tuple(words.transferred(about, cost)) if is_other_task(given, validate(about.scenario, "map")) else (),
        is_far=any(level.is_far for level in found),
        measured_at={axis: one.points for axis, one in near.items()},
        worth=near[cost].worth if cost in near else None,
        basis=words.basis(about, costs),
        command=command([choice.selector for choice in (*chosen, *with_public_data[:1])]),
    )


def _command(given: Scenario, name: str, changes: Sequence[str], selectors: list[str]) -> str:
    """Returns the command that runs algorithms on the scenario. A task that was given in Python is
    not known elsewhere, so there it is a call."""
    if is_given(given.task.name):
        others = [one for one in changes if given.task.name not in one]
        return f"fb.run({name!r}, {selectors}, seeds={SEEDS}, overrides={others}, task=task)"
    words = [word for key, several in (("--set", changes), ("-a", selectors)) for one in several for word in (key, one)]
    return shlex.join(["fedbench", "run", name, *words, "--seeds", str(SEEDS)])


def _choice(
    name: str,
    answers: Mapping[str, Answer | Nearby],
    cost: str,
    selector: str,
    scenario: Scenario,
    near: tuple[str, Mapping[str, object]],
) -> Choice:
    ratios = {axis: one.ratio(name) for axis, one in answers.items()}
    return Choice(
        algorithm=name,
        selector=selector_of(started(selector, near[1], scenario)),
        tuned_at=near[0],
        probability=answers[cost].probability(name),
        ratios={axis: ratio for axis, ratio in ratios.items() if ratio is not None},
        at_least=tuple(axis for axis, one in answers.items() if ratios[axis] is not None and one.misses(name)),
    )
