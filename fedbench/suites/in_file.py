"""What the file of a suite holds, with its scenarios, the points of its design and the search space
that it brings in the place of their names, and its metrics in full."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fedbench import plain_files
from fedbench.errors import UsageError, nearest
from fedbench.scenarios import load as scenarios
from fedbench.scenarios import own_data, problems
from fedbench.suites import space as spaces
from fedbench.suites.design import schema as designs
from fedbench.suites.design.points import points


def content_of(file: Path) -> Mapping[str, object]:
    """Returns the content of a suite's file. Raises UsageError for a design, a search space or a
    metric that cannot be read."""
    content = _with_space(_with_points(_with_scenarios(plain_files.mapping(file, "suite"), file), file), file)
    return own_data.with_metrics(content, str(file), by_user=True)


def _with_scenarios(content: Mapping[str, object], file: Path) -> Mapping[str, object]:
    """Returns the content of a suite's file with the paths of the scenarios, its own and those of
    points, that lie in its folder. Others are names of the library, or looked for in the working
    directory."""

    def placed(part: Mapping[str, object]) -> Mapping[str, object]:
        given = part.get("scenario")
        is_beside = isinstance(given, str) and given.endswith((".yaml", ".yml")) and (file.parent / given).is_file()
        return {**part, "scenario": str(file.parent / str(given))} if is_beside else part

    points = content.get("points")
    if isinstance(points, list):
        content = {**content, "points": [placed(one) if isinstance(one, Mapping) else one for one in points]}
    return placed(content)


def _with_points(content: Mapping[str, object], file: Path) -> Mapping[str, object]:
    """Returns the content of a suite's file with the points of its design, if it names one: all of
    them, or those whose names it gives. They are points of the suite's scenario."""
    name, scenario, some = content.get("design"), content.get("scenario"), content.get("points")
    if not isinstance(name, str):
        return content
    if not isinstance(scenario, str):
        raise UsageError(f"suite {file}: a design needs the suite's scenario, whose keys it sets, got none")
    found = {str(point["name"]): point for point in points(designs.load(name, [file.parent]), scenarios.load(scenario))}
    if some is None:
        return {**content, "points": list(found.values())}
    if not isinstance(some, list) or not some:
        raise UsageError(f"suite {file}: points: expected names of points of design {name}, got {some!r:.80}")
    for i, one in enumerate(some):
        if not isinstance(one, str) or one not in found:
            raise UsageError(f"suite {file}: points.{i}: design {name} has no point {one!r:.80}{nearest(str(one), found)}")
    return {**content, "points": [found[one] for one in some]}


def _with_space(content: Mapping[str, object], file: Path) -> Mapping[str, object]:
    """Returns the content of a suite's file with its search space, if that is in the file or in
    another one, whose path is relative to the folder of the suite. One of the library keeps its
    name."""
    tuning = content.get("tuning")
    if not isinstance(tuning, dict) or "space" not in tuning:
        return content
    given: object = tuning["space"]
    found: object
    if isinstance(given, dict):
        found = spaces.parse(given, f"{file}: tuning.space")
    elif isinstance(given, str):
        place = problems.file_of(given, spaces.LIBRARY, "search space")
        found = given if place.parent == spaces.LIBRARY else spaces.load(file.parent / place)
    else:
        what = "a name, a path to a .yaml file, or a search space"
        raise UsageError(f"suite {file}: tuning.space must be {what}, got {given!r:.80}")
    return {**content, "tuning": {**tuning, "space": found}}
