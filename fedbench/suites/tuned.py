"""The tuned options of a suite, which are frozen in results/tuned/<suite>.yaml. They are read,
written and turned into runs here."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from fedbench import origins, plain_files, registry
from fedbench.engine.spec import RunSpec
from fedbench.errors import UsageError
from fedbench.scenarios.base import Part
from fedbench.scenarios.problems import validated
from fedbench.suites.anchors import near_to
from fedbench.suites.space import Space
from fedbench.suites.suite import Point, Suite
from fedbench.suites.tuning import RULE, Choice, tuning_of

MOST_DRAWS = 1000
Points = dict[str, dict[str, Choice]]
"""What was chosen, by point and selector."""
Chosen = Mapping[tuple[str, str], Choice]
TUNED = " (tuned)"
"""The end of the name of a row with tuned options."""

LARGEST = 1 << 21
"""The largest file in characters. A choice takes about 500, and a suite may have some thousand."""


class Tuned(Part):
    """The options that were chosen, by point and selector. `space_hash` is the hash of what the
    search space has for these algorithms. `points` has the first draw, whose options are those of
    the tuned rows; a choice that began from the options of an anchor names it. `draws` has the
    others by their numbers: what other luck would have chosen."""

    schema_version: Literal[1] = Field(alias="schema")
    suite: str
    design_hash: str
    space: str
    space_hash: str
    rule: int
    points: Points
    draws: dict[Annotated[int, Field(ge=1, le=MOST_DRAWS)], Points] = Field(default={})


def content(suite: Suite, space: Space, chosen: Chosen, draws: Mapping[int, Chosen] | None = None) -> Tuned:
    """Returns what is frozen: the choices by point and selector, with the rule by which and the
    search space from which they were chosen. `draws` has those of further draws."""
    everything = [chosen, *(draws or {}).values()]
    return Tuned(
        schema=1,
        suite=suite.name,
        design_hash=suite.design_hash(),
        space=space.name,
        space_hash=space.content_hash({type(suite.algorithm(selector)) for one in everything for _, selector in one}),
        rule=RULE[tuning_of(suite).method],
        points=_by_point(chosen),
        draws={draw: _by_point(one) for draw, one in sorted((draws or {}).items())},
    )


def _by_point(chosen: Chosen) -> Points:
    points: Points = {}
    for (point, selector), choice in chosen.items():
        points.setdefault(point, {})[selector] = choice
    return points


def as_yaml(frozen: Tuned) -> str:
    """Returns YAML text with one line for each choice, so that a diff shows what changed."""
    head = frozen.model_dump(by_alias=True, exclude={"points", "draws"})
    lines = [f"{key}: {json.dumps(value)}" for key, value in head.items()]
    lines += ["points:" if frozen.points else "points: {}", *_lines(frozen.points, "  ")]
    lines += ["draws:"] if frozen.draws else []
    for draw, points in frozen.draws.items():
        lines += [f"  {draw}:", *_lines(points, "    ")]
    return "\n".join(lines) + "\n"


def _lines(points: Points, indent: str) -> Iterator[str]:
    for point, choices in points.items():
        yield f"{indent}{json.dumps(point)}:"
        yield from (f"{indent}  {json.dumps(name)}: {json.dumps(_content(choices[name]))}" for name in sorted(choices))


def _content(choice: Choice) -> dict[str, object]:
    """Returns a choice as it is written. `anchor` came later, so none is left out."""
    return {key: value for key, value in asdict(choice).items() if key != "anchor" or value is not None}


def read(file: Path, suite: Suite) -> Tuned:
    """Returns the tuned options in a file. Raises UsageError if there are none in it, or if they
    are of another suite or design."""
    return parse(plain_files.mapping(file, "tuned options", LARGEST), suite, str(file))


def parse(content: Mapping[str, object], suite: Suite, where: str) -> Tuned:
    """Returns the tuned options from the content of a file. `where` names the file in messages."""
    found = validated(Tuned, content, where)
    if (found.suite, found.design_hash) != (suite.name, suite.design_hash()):
        raise UsageError(
            f"tuned options {where}: they are of suite {found.suite} ({found.design_hash}), expected {suite.name} "
            f"({suite.design_hash()}); a design that changes is tuned again"
        )
    for points in (found.points, *found.draws.values()):
        for point, choices in points.items():
            suite.point(point)
            for selector, choice in choices.items():
                _check_options(suite, point, selector, choice.options, where)
                _check_anchor(suite, point, selector, choice, where)
    return found


def _check_anchor(suite: Suite, point: str, selector: str, choice: Choice, where: str) -> None:
    """Raises UsageError if a choice names an anchor where it should not, or the other way round, or
    a wrong distance."""
    part = suite.anchors
    expected = (
        {None} if part is None or point in part.points else {near_to(part, suite.places, point, one) for one in part.points}
    )
    if choice.anchor not in expected:
        some = "no anchor" if expected == {None} else "one of the suite's anchors with its distance"
        found = "none" if choice.anchor is None else f"{choice.anchor.point} at {choice.anchor.distance:g}"
        raise UsageError(f"tuned options {where}: points.{point}.{selector}: expected {some}, got {found}")


def _check_options(suite: Suite, point: str, selector: str, options: Mapping[str, object], where: str) -> None:
    """Raises UsageError for an unknown algorithm, or options that it does not have or take. What is
    in a file of a user's own is not run."""
    if origins.is_in_file(registry.parse_selector(selector)[0]):
        return
    try:
        suite.algorithm(selector, options, suite.point(point))
    except UsageError as error:
        raise UsageError(f"tuned options {where}: points.{point}: {error}") from None


def rows(
    suite: Suite, frozen: Tuned | None, points: Sequence[Point], selectors: Sequence[str]
) -> Iterator[tuple[str, str, list[RunSpec]]]:
    """Yields the names of point and row, and the runs, of everything that a suite compares. A row
    is called `fedbuff` with default options, and `fedbuff (tuned)` with frozen ones if there are
    some. A suite may have the latter only."""
    for point in points:
        for selector in selectors:
            if suite.rows == "all":
                yield point.name, selector, suite.runs(point, selector)
            choice = None if frozen is None else frozen.points.get(point.name, {}).get(selector)
            if choice is not None:
                yield point.name, f"{selector}{TUNED}", suite.runs(point, selector, choice.options)
