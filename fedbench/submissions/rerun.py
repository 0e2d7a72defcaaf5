"""Runs some records of a submission again, which are drawn at random. No other check finds numbers
that were invented well."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from fedbench import foreign
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.results.archive import RUNS
from fedbench.results.record import Record
from fedbench.submissions.check import Again, Report
from fedbench.submissions.faults import Finding
from fedbench.submissions.manifest import Manifest
from fedbench.submissions.rows import named

Tell = Callable[[str], None]


def rerun(report: Report, folder: Path, sample: int, draw: int, *, run_plugins: bool = False, tell: Tell | None = None) -> Report:
    """Returns the report with what became of the records that were run again. A report with faults
    comes back as it is, and nothing is run.

    Args:
        report: what `check` said of the submission.
        folder: the submission's folder, in which its plugins are.
        sample: the largest number of records that are run.
        draw: the seed of the draw. The authors should not know it beforehand.
        run_plugins: whether records of algorithms that are not built in may be drawn. Their code is
            then executed, with all rights of this process.
        tell: called with a line for each record.
    """
    if report.faults or report.manifest is None:
        return report
    plugins, tell = report.manifest.plugins, tell or (lambda line: None)
    others = {one.name for one in report.manifest.algorithms if one.origin != "built in"}
    several = [one for one in report.records if run_plugins or one.meta["spec"]["algorithm"]["name"] not in others]
    again, faults, questions = [], list(report.faults), list(report.questions)
    for record in random.Random(draw).sample(several, min(sample, len(several))):
        one, finding = _again(record, report.manifest, folder if record.meta["spec"]["algorithm"]["name"] in plugins else None)
        again.append(one)
        tell(f"{one.named}: {one.verdict}")
        if finding is not None:
            (faults if _is_fault(one, record) else questions).append(finding)
    return replace(
        report,
        again=tuple(again),
        faults=tuple(faults),
        questions=tuple(questions),
        whole_draw=len(several) == len(report.records),
    )


def _again(record: Record, manifest: Manifest, folder: Path | None) -> tuple[Again, Finding | None]:
    """Returns what became of a record, and a finding unless it is the same again. `folder` has the
    file of its algorithm, and is None if the algorithm is in no file."""
    name = named(record)
    algorithm = None
    if folder is not None:
        own = manifest.plugins[record.meta["spec"]["algorithm"]["name"]]
        algorithm = f"{folder / own.file}:{own.class_}"
    try:
        found = verify(record, algorithm=algorithm)
    except UsageError as error:
        return Again(record.run_id, name, "not run", None), Finding(RUNS, f"{name}: cannot be run again here: {error}")
    except (Exception, SystemExit) as error:  # a stranger's code may raise anything; other records go on
        return Again(record.run_id, name, "differs", None), Finding(
            RUNS, f"{name}: run again, it failed: {foreign.described(error)}"
        )
    one = Again(record.run_id, name, found["verdict"], found["first_difference"])
    if one.verdict == "identical":
        return one, None
    digests = " and ".join(str(found[which].get("result")) for which in ("recorded", "got"))
    return one, Finding(
        RUNS,
        f"{name}: run again, it is {one.verdict}, first in {one.first_difference}; digests.result: recorded and got {digests}",
    )


def _is_fault(one: Again, record: Record) -> bool:
    """Returns whether a record that came out otherwise is a fault. The native trainer gives the
    same bits on every machine, so no difference is tolerated. Torch does not."""
    native = record.meta["provenance"]["trainer"] == "native"
    return one.verdict == "differs" or (native and one.verdict == "within tolerance")
