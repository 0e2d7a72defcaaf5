"""The data of those pictures of a suite that need more than records: which clients have which
labels, what clients do when, and which options were tried.

They need data sets and plans, so they are made once and kept in a file beside the records. A site
can then be made without data sets and plans.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from fedbench import plain_files
from fedbench.engine.label_map import LabelMap, label_map
from fedbench.engine.spec import RunSpec
from fedbench.engine.timeline import Absence, Job, client_timeline
from fedbench.errors import UsageError
from fedbench.suites import tuned
from fedbench.suites.sensitivity import option_sensitivity
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import TUNED, Tuned
from fedbench.suites.tuning import Outcome

FILE = "pictures.json"
SCHEMA = 1
LARGEST = 32 << 20
MAPPED, WATCHED = 100, 12  # the largest number of clients of a map, and of a timeline
WINDOW = 0.2  # the share of the budget that a timeline shows; less if it has more than MOST_JOBS jobs
MOST_JOBS = 150
DIGITS = 5  # significant digits of every number


def illustrate(suite: Suite, frozen: Tuned | None, known: Mapping[str, Outcome]) -> dict[str, Any]:
    """Returns a mapping of JSON values. `labels` has by point a map of the labels of the first
    seed. `timelines` has by point and selector the beginning of the first seed's plan, with tuned
    options or, in a suite without any, the default ones. `sensitivity` has by selector and point
    which options were tried. `schema` and `suite` say what the mapping belongs to.

    Args:
        suite: the suite.
        frozen: its tuned options; None for a suite that does not look for options.
        known: the outcomes of its trials by run id.

    Raises:
        MissingDataError: if a data set is not on this machine.
        RecordError: if the outcome of a trial is missing.
    """
    found: dict[str, Any] = _rounded(
        {
            "schema": SCHEMA,
            "suite": suite.content_hash(),
            "labels": {
                point.name: asdict(_thinned(label_map(suite.scenario_at(point), suite.seeds.numbers[0])))
                for point in suite.points
            },
            "timelines": {point: dict(rows) for point, rows in _timelines(suite, frozen).items()},
            "sensitivity": {} if frozen is None else _sensitivity(suite, frozen, known),
        }
    )
    return found


def _sensitivity(suite: Suite, frozen: Tuned, known: Mapping[str, Outcome]) -> dict[str, dict[str, Any]]:
    return {
        selector: {
            point.name: asdict(option_sensitivity(suite, point, selector, known))
            for point in suite.points
            if selector in frozen.points.get(point.name, {})
        }
        for selector in suite.selectors()
    }


def _timelines(suite: Suite, frozen: Tuned | None) -> dict[str, dict[str, Any]]:
    """Returns the timelines of all rows with tuned options, or with default ones if there are no
    tuned ones. References are left out. Raises UsageError for an algorithm that selects clients by
    the state of the model, since it has no plan without training."""
    found: dict[str, dict[str, Any]] = {}
    for point, row, specs in tuned.rows(suite, frozen, suite.points, suite.selectors()):
        if row.endswith(TUNED) == (frozen is not None) and not specs[0].algorithm.pooled:
            found.setdefault(point, {})[row.removesuffix(TUNED)] = _timeline(specs[0])
    return found


def _timeline(spec: RunSpec) -> dict[str, Any]:
    """Returns the timeline of a run. Its jobs and absences are columns."""
    found = client_timeline(spec, end_seconds=WINDOW * spec.scenario.budget.seconds, clients=WATCHED)
    if len(found.jobs) > MOST_JOBS:
        until = sorted(job.begin for job in found.jobs)[MOST_JOBS]
        found = client_timeline(spec, end_seconds=until or found.end_seconds, clients=WATCHED)
    return asdict(found) | {"jobs": _columns(found.jobs, Job), "absences": _columns(found.absences, Absence)}


def _columns(several: Iterable[Any], kind: type[Any]) -> dict[str, list[Any]]:
    rows = list(several)
    return {field.name: [getattr(one, field.name) for one in rows] for field in fields(kind)}


def _thinned(found: LabelMap) -> LabelMap:
    """Returns the map with at most MAPPED clients, chosen evenly from the fastest to the
    slowest."""
    places = np.linspace(0, len(found.clients) - 1, min(MAPPED, len(found.clients))).round().astype(np.int64).tolist()
    several = {name: tuple(getattr(found, name)[i] for i in places) for name in ("clients", "counts", "step_seconds")}
    return LabelMap(found.scenario, found.seed, **several)


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {str(key): _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


def as_json(found: Mapping[str, Any]) -> str:
    """Returns the content of the file that keeps them."""
    return json.dumps(found, allow_nan=False, separators=(",", ":")) + "\n"


def read(file: Path, suite: Suite) -> dict[str, Any]:
    """Returns what a file keeps. Raises UsageError if it is missing, or not of this suite."""
    found = plain_files.json_in(file, LARGEST, "pictures")
    expected = {"schema": SCHEMA, "suite": suite.content_hash()}
    got = {name: found.get(name) for name in expected} if isinstance(found, dict) else found
    if got != expected:
        raise UsageError(
            f"pictures {file}: expected {expected}, got {got!r:.200}; `fedbench suite illustrate {suite.name}` makes it again"
        )
    return dict(found)
