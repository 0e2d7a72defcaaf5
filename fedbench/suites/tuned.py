"""The tuned options of a suite, which are frozen in results/tuned/<suite>.yaml. They are read,
written and turned into runs here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from pydantic import Field

from fedbench import origins, plain_files, registry
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.scenarios.base import Part
from fedbench.scenarios.problems import validated
from fedbench.suites.space import Space
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuning import RULE, Choice

TUNED = " (tuned)"
"""The end of the name of a row with tuned options."""


class Tuned(Part):
    """The options that were chosen, by point and selector. `space_hash` is the hash of what the
    search space has for these algorithms."""

    schema_version: Literal[1] = Field(alias="schema")
    suite: str
    design_hash: str
    space: str
    space_hash: str
    rule: int
    points: dict[str, dict[str, Choice]]


def content(suite: Suite, space: Space, chosen: Mapping[tuple[str, str], Choice]) -> Tuned:
    """Returns what is frozen: the choices by point and selector, with the rule by which and the
    search space from which they were chosen."""
    points: dict[str, dict[str, Choice]] = {}
    for (point, selector), choice in chosen.items():
        points.setdefault(point, {})[selector] = choice
    return Tuned(
        schema=1,
        suite=suite.name,
        design_hash=suite.design_hash(),
        space=space.name,
        space_hash=space.content_hash({suite.algorithm(selector).name for _, selector in chosen}),
        rule=RULE,
        points=points,
    )


def as_yaml(frozen: Tuned) -> str:
    """Returns YAML text with one line for each choice, so that a diff shows what changed."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in frozen.model_dump(by_alias=True, exclude={"points"}).items()]
    lines.append("points:" if frozen.points else "points: {}")
    for point, choices in frozen.points.items():
        lines.append(f"  {json.dumps(point)}:")
        lines += [f"    {json.dumps(name)}: {json.dumps(asdict(choices[name]))}" for name in sorted(choices)]
    return "\n".join(lines) + "\n"


def read(file: Path, suite: Suite) -> Tuned:
    """Returns the tuned options in a file. Raises UsageError if there are none in it, or if they
    are of another suite or design."""
    return parse(plain_files.mapping(file, "tuned options"), suite, str(file))


def parse(content: Mapping[str, object], suite: Suite, where: str) -> Tuned:
    """Returns the tuned options from the content of a file. `where` names the file in messages."""
    found = validated(Tuned, content, where)
    if (found.suite, found.design_hash) != (suite.name, suite.design_hash()):
        raise UsageError(
            f"tuned options {where}: they are of suite {found.suite} ({found.design_hash}), expected {suite.name} "
            f"({suite.design_hash()}); a design that changes is tuned again"
        )
    for point, choices in found.points.items():
        suite.point(point)
        for selector, choice in choices.items():
            _check_options(suite, point, selector, choice.options, where)
    return found


def _check_options(suite: Suite, point: str, selector: str, options: Mapping[str, object], where: str) -> None:
    """Raises UsageError for an unknown algorithm, or options that it does not have or take. What is
    in a file of a user's own is not run."""
    if origins.is_in_file(registry.parse_selector(selector)[0]):
        return
    try:
        suite.algorithm(selector, options)
    except UsageError as error:
        raise UsageError(f"tuned options {where}: points.{point}: {error}") from None


def rows(
    suite: Suite, frozen: Tuned | None, points: Sequence[Point], selectors: Sequence[str]
) -> Iterator[tuple[str, str, list[RunSpec]]]:
    """Yields the names of point and row, and the runs, of everything that a suite compares. A row
    is called `fedbuff` with default options, and `fedbuff (tuned)` with frozen ones if there are
    some."""
    for point in points:
        for selector in selectors:
            yield point.name, selector, suite.runs(point, selector)
            choice = None if frozen is None else frozen.points.get(point.name, {}).get(selector)
            if choice is not None:
                yield point.name, f"{selector}{TUNED}", suite.runs(point, selector, choice.options)
