"""The data of those pictures of a suite that need more than records: which clients have which
labels, what clients do when, and which options were tried.

They need data sets and plans, so they are made once and kept in a file beside the records. A site
can then be made without data sets and plans.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from fedbench.analysis.pictures.sensitivity import Sensitivity
from fedbench.documents import read as documents
from fedbench.documents.pictures import Absences, Jobs, Labels, Pictures, Timeline
from fedbench.engine.label_map import LabelMap, label_map
from fedbench.engine.spec import RunSpec
from fedbench.engine.timeline import client_timeline
from fedbench.errors import UsageError
from fedbench.suites import tuned
from fedbench.suites.sensitivity import option_sensitivity
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import TUNED, Tuned
from fedbench.suites.tuning import Outcome, tuning_of

FILE = "pictures.json"
LARGEST = 32 << 20  # bytes of it
MAPPED, WATCHED = 100, 12  # the largest number of clients of a map, and of a timeline
WINDOW = 0.2  # the share of the budget that a timeline shows; less if it has more than MOST_JOBS jobs
MOST_JOBS = 150
DIGITS = 5  # significant digits of every number


def illustrate(suite: Suite, frozen: Tuned | None, known: Mapping[str, Outcome]) -> Pictures:
    """Returns label maps of the first seed, the beginning of its plans with tuned options or, in a
    suite without any, with default ones, and which options were tried if they were tried at once.
    With a design there are too many points for plans: a file of them is larger than all records.

    Args:
        suite: the suite.
        frozen: its tuned options; None for a suite that does not look for options.
        known: the outcomes of its trials by run id.

    Raises:
        MissingDataError: if a data set is not on this machine.
        RecordError: if the outcome of a trial is missing.
    """
    return Pictures(
        schema=1,
        suite=suite.content_hash(),
        labels={point.name: _thinned(label_map(suite.scenario_at(point), suite.seeds.numbers[0])) for point in suite.points},
        timelines=_timelines(suite, frozen) if suite.design is None else {},
        sensitivity=_sensitivity(suite, frozen, known) if frozen and tuning_of(suite).method == "sobol" else {},
    )


def _sensitivity(suite: Suite, frozen: Tuned, known: Mapping[str, Outcome]) -> dict[str, dict[str, Sensitivity]]:
    return {
        selector: {
            point.name: option_sensitivity(suite, point, selector, known)
            for point in suite.points
            if selector in frozen.points.get(point.name, {})
        }
        for selector in suite.selectors()
    }


def _timelines(suite: Suite, frozen: Tuned | None) -> dict[str, dict[str, Timeline]]:
    """Returns the timelines of all rows with tuned options, or with default ones if there are no
    tuned ones. References are left out. Raises UsageError for an algorithm that selects clients by
    the state of the model, since it has no plan without training."""
    found: dict[str, dict[str, Timeline]] = {}
    for point, row, specs in tuned.rows(suite, frozen, suite.points, suite.selectors()):
        if row.endswith(TUNED) == (frozen is not None) and not specs[0].algorithm.reference:
            found.setdefault(point, {})[row.removesuffix(TUNED)] = _timeline(specs[0])
    return found


def _timeline(spec: RunSpec) -> Timeline:
    """Returns the timeline of a run. Its jobs and absences are columns."""
    found = client_timeline(spec, end_seconds=WINDOW * spec.scenario.budget.seconds, clients=WATCHED)
    if len(found.jobs) > MOST_JOBS:
        until = sorted(job.begin for job in found.jobs)[MOST_JOBS]
        found = client_timeline(spec, end_seconds=until or found.end_seconds, clients=WATCHED)
    columns = {"jobs": _columns(found.jobs, Jobs), "absences": _columns(found.absences, Absences)}
    return Timeline.model_validate({**vars(found), **columns})


def _columns(rows: Sequence[object], kind: type[Jobs | Absences]) -> dict[str, list[object]]:
    return {name: [getattr(one, name) for one in rows] for name in kind.model_fields}


def _thinned(found: LabelMap) -> Labels:
    """Returns the map with at most MAPPED clients, chosen evenly from the fastest to the
    slowest."""
    places = np.linspace(0, len(found.clients) - 1, min(MAPPED, len(found.clients))).round().astype(np.int64).tolist()
    columns = {name: [getattr(found, name)[i] for i in places] for name in ("clients", "counts", "step_seconds")}
    return Labels.model_validate({**vars(found), **columns})


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    return [_rounded(one) for one in value] if isinstance(value, list | tuple) else value


def as_json(found: Pictures) -> str:
    """Returns the content of the file that keeps them."""
    return json.dumps(_rounded(found.model_dump(by_alias=True)), allow_nan=False, separators=(",", ":")) + "\n"


def read(file: Path, suite: Suite) -> Pictures:
    """Returns what a file keeps. Raises UsageError if it is missing, or not of this suite."""
    wanted = f"expected suite {suite.content_hash()} as `fedbench suite illustrate {suite.typed}` writes it"
    found = documents.read(file, Pictures, "pictures", wanted, most=LARGEST, error=UsageError)
    if found.suite != suite.content_hash():
        raise UsageError(f"pictures {file}: {wanted}, got {found.suite!r:.200}")
    return found
