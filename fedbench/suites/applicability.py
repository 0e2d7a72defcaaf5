"""Finds out which algorithms run on which scenarios, and why the others are refused. Runs are only
planned, nothing is trained."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from fedbench import registry
from fedbench.engine.spec import RunSpec
from fedbench.errors import MissingDataError
from fedbench.origins import plain
from fedbench.protocols import Algorithm
from fedbench.scenarios.load import load
from fedbench.scenarios.load import names as scenario_names
from fedbench.scenarios.schema import Scenario
from fedbench.suites.findings.markdown import table
from fedbench.suites.price import planned
from fedbench.tasks.available import TO_BRING

Status = Literal["runs", "refused", "no data"]
PAGE = """\
# What runs where

Which algorithms run on which scenarios? The table has every built-in algorithm with its default
options, and every scenario of the library whose data come with fedbench or with Debian. A number
stands for a refusal; the reason is below the table. Seed 0.

`fedbench applicability -o docs/applicability.md` writes this page. For one pair, also of your own,
use `fedbench applicability SCENARIO -a ALGORITHM`, and for a scenario whose data you bring,
`fedbench applicability SCENARIO`.

"""
PART = """\
# What runs where: {title}

A number stands for a refusal; the reason is below the table. Seed 0. Made by `{command}`.

"""


@dataclass(frozen=True)
class Pair:
    """What becomes of an algorithm on a scenario. `reason` is that of the refusal, or says where
    the data were looked for; it is empty if the algorithm runs."""

    scenario: str
    algorithm: str
    status: Status
    reason: str


def paged() -> list[str]:
    """Returns the names of the scenarios on the page: those of the library whose data come with
    fedbench or with a package of the system."""
    return [name for name in scenario_names() if _comes_along(load(name))]


def _comes_along(scenario: Scenario) -> bool:
    is_traced = any(links.folder is not None for links in scenario.network.links.values())
    return plain(scenario.task.name) not in TO_BRING and not is_traced


def pairs(
    scenarios: Sequence[str | Scenario] = (), algorithms: Sequence[str | Algorithm] = (), overrides: Sequence[str] = ()
) -> Iterator[Pair]:
    """Yields every algorithm on every scenario, scenarios outermost.

    Args:
        scenarios: all of the library if it is empty.
        algorithms: all that are built in if it is empty.
        overrides: "key.path=value" applied to every scenario.

    Raises:
        UsageError: for unknown names or values.
    """
    chosen = [registry.algorithm(selector) for selector in algorithms or registry.ALGORITHMS]
    for name in scenarios or scenario_names():
        scenario = load(name, overrides)
        for algorithm in chosen:
            spec = RunSpec(scenario, algorithm, 0)
            yield Pair(scenario.name, spec.selector, *_tried(spec))


def _tried(spec: RunSpec) -> tuple[Status, str]:
    try:
        _, reason = planned(spec)
    except MissingDataError as error:
        return "no data", str(error)
    return ("refused" if reason else "runs"), reason


def page(found: Iterable[Pair], about: Sequence[str] = (), command: str = "") -> str:
    """Returns the page in Markdown: the table, and below it the reasons, to which its numbers
    refer.

    Args:
        found: the pairs on the page.
        about: names of what was asked for, for the title; empty for all that comes along.
        command: the command that makes the page; empty for the page of the library.
    """
    found = list(found)
    scenarios = list(dict.fromkeys(pair.scenario for pair in found))
    numbers = {reason: number for number, reason in enumerate(dict.fromkeys(p.reason for p in found if p.reason), 1)}
    cells = {(pair.algorithm, pair.scenario): str(numbers.get(pair.reason, pair.status)) for pair in found}
    rows = [[name, *(cells[name, scenario] for scenario in scenarios)] for name in dict.fromkeys(p.algorithm for p in found)]
    reasons = "\n".join(f"{number}. {reason}" for reason, number in numbers.items())
    head = PAGE if not command else PART.format(title=" and ".join(about), command=command)
    return f"{head}{table(['', *scenarios], rows)}\n\n{reasons}\n"
