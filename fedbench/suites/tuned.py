"""The options that were found for a suite, frozen in results/tuned/<suite>.yaml: read, written, and
turned into runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from fedbench import plain_files
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.scenarios.base import Part
from fedbench.scenarios.problems import validated
from fedbench.suites.space import Space
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuning import RULE, Choice

TUNED = " (tuned)"
"""What the name of a row ends with if its options were found."""


class Tuned(Part):
    """The options that were chosen, by point and selector. `space_hash` is of what the search space
    says of these algorithms."""

    schema_version: Literal[1] = Field(alias="schema")
    suite: str
    design_hash: str
    space: str
    space_hash: str
    rule: int
    points: dict[str, dict[str, Choice]]


def content(suite: Suite, space: Space, chosen: Mapping[tuple[str, str], Choice]) -> dict[str, Any]:
    """What is frozen: the choices by point and algorithm, with what they were chosen by and
    from."""
    points: dict[str, dict[str, Any]] = {}
    for (point, selector), choice in chosen.items():
        points.setdefault(point, {})[selector] = choice.as_dict()
    return {
        "schema": 1,
        "suite": suite.name,
        "design_hash": suite.design_hash(),
        "space": space.name,
        "space_hash": space.content_hash({suite.algorithm(selector).name for _, selector in chosen}),
        "rule": RULE,
        "points": points,
    }


def as_yaml(frozen: Mapping[str, Any]) -> str:
    """YAML with one line a choice, so that what changes is seen."""
    lines = [f"{key}: {json.dumps(value)}" for key, value in frozen.items() if key != "points"]
    lines.append("points:" if frozen["points"] else "points: {}")
    for point, by_selector in frozen["points"].items():
        lines.append(f"  {json.dumps(point)}:")
        lines += [f"    {json.dumps(selector)}: {json.dumps(choice)}" for selector, choice in sorted(by_selector.items())]
    return "\n".join(lines) + "\n"


def read(file: Path, suite: Suite) -> Tuned:
    """UsageError if the file is none, or of another suite or another design of it."""
    return parse(plain_files.mapping(file, "tuned options"), suite, str(file))


def parse(content: Mapping[str, Any], suite: Suite, where: str) -> Tuned:
    """Returns the same from what the file holds, which is at `where`."""
    found = validated(Tuned, content, where)
    if (found.suite, found.design_hash) != (suite.name, suite.design_hash()):
        raise UsageError(
            f"tuned options {where}: they are of suite {found.suite} ({found.design_hash}), expected {suite.name} "
            f"({suite.design_hash()}); a design that changes is tuned again"
        )
    return found


def rows(
    suite: Suite, frozen: Tuned | None, points: Sequence[Point], selectors: Sequence[str]
) -> Iterator[tuple[str, str, list[RunSpec]]]:
    """Point, row and runs of what a suite compares: `fedbuff` with its published options, and
    `fedbuff (tuned)` if there are frozen ones."""
    for point in points:
        for selector in selectors:
            yield point.name, selector, suite.runs(point, selector)
            choice = None if frozen is None else frozen.points.get(point.name, {}).get(selector)
            if choice is not None:
                yield point.name, f"{selector}{TUNED}", suite.runs(point, selector, choice.options)
