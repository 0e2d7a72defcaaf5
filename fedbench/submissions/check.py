"""Checks a submission without a run. The check finds faults, which keep the submission out, and
questions, which call for a run.

Nothing of the submission is executed. Every file is read once, within limits, so the bytes that are
hashed are the bytes that are checked.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fedbench import rules
from fedbench.documents.validity import Validity
from fedbench.errors import FedbenchError, RecordError
from fedbench.results import archive
from fedbench.results.archive import CURVES_FILE, RUNS
from fedbench.results.consistent import check_consistent
from fedbench.results.record import Record
from fedbench.submissions import bounded_reading, outliers, tuning
from fedbench.submissions import manifest as manifests
from fedbench.submissions import rows as rows_of
from fedbench.submissions.faults import FaultsError, Finding, fault, few, refuse
from fedbench.submissions.folder import TRIALS, Files, check_digests
from fedbench.submissions.folder import read as files_of
from fedbench.submissions.manifest import MANIFEST, Manifest
from fedbench.submissions.rows import Row
from fedbench.submissions.trainers import trainer_faults
from fedbench.submissions.tuning import TrialRun
from fedbench.suites import suite as suites
from fedbench.suites import trials
from fedbench.suites.findings.reference import REFERENCES
from fedbench.suites.suite import Suite

ENOUGH = 3  # so many records must be run again for the rung RE_RUN, or all if there are fewer
ARCHIVE = "archive"


@dataclass(frozen=True)
class Again:
    """A run that was run again, and why: it was `drawn` at random among the records, a question
    `asked` for it, or it is a run of a `trial`. `verdict` is that of `fedbench.engine.verify`, or
    `not run`."""

    run_id: str
    named: str
    verdict: str
    first_difference: str | None = None
    why: str = "drawn"


@dataclass(frozen=True)
class Report:
    """What was found about a submission.

    digest: the digest of its manifest, None if the manifest cannot be read.
    trials: the runs from which the options of its tuned rows were chosen.
    again: what became of the records and trials that were run again.
    whole_draw: whether all of its records could be drawn to be run again.
    """

    name: str
    digest: str | None = None
    manifest: Manifest | None = None
    records: tuple[Record, ...] = ()
    rows: tuple[Row, ...] = ()
    trials: tuple[TrialRun, ...] = ()
    faults: tuple[Finding, ...] = ()
    questions: tuple[Finding, ...] = ()
    again: tuple[Again, ...] = ()
    whole_draw: bool = False

    @property
    def validity(self) -> Validity | None:
        """Returns the validity that this report alone gives, None for what does not have the form
        of a submission."""
        if self.manifest is None:
            return None
        if self.faults:
            return Validity.SELF_REPORTED
        is_re_run = self.whole_draw and not self.open and all(one.verdict == "identical" for one in self.again)
        return Validity.RE_RUN if is_re_run and self._has_run_enough else Validity.CHECKED

    @property
    def _has_run_enough(self) -> bool:
        """Whether ENOUGH records were drawn at random, beside those for which questions asked, and
        ENOUGH trials."""
        why = Counter(one.why for one in self.again)
        records, trials = len(self.records) - why["asked"], len(self.trials)
        return why["drawn"] >= min(ENOUGH, records) and why["trial"] >= min(ENOUGH, trials)

    @property
    def open(self) -> tuple[Finding, ...]:
        """Returns the questions that no run has answered."""
        same = {one.run_id for one in self.again if one.verdict == "identical"}
        return tuple(one for one in self.questions if not one.runs or not same.issuperset(one.runs))

    def as_dict(self) -> dict[str, Any]:
        """Returns the report without the records, as JSON values."""
        return {
            "submission": self.name,
            "digest": self.digest,
            "validity": self.validity,
            "suite": None if self.manifest is None else self.manifest.suite.name,
            "records": len(self.records),
            "rows": [{"point": row.point, "row": row.name, "seeds": len(row.runs)} for row in self.rows],
            "faults": [one.line for one in self.faults],
            "questions": [one.line for one in self.questions],
            "open": [one.line for one in self.open],
            "again": [asdict(one) for one in self.again],
            "rules": rules.VERSION,
        }

    @property
    def report_digest(self) -> str:
        """Returns the SHA-256 digest of `as_dict`."""
        return hashlib.sha256(json.dumps(self.as_dict(), sort_keys=True).encode()).hexdigest()


def check(folder: Path, *, references: Path = REFERENCES, archives: Path | None = None, apart: bool = True) -> Report:
    """Returns what can be said of the submission in a folder without a run. Nothing that the
    submission holds makes it raise an error.

    Args:
        folder: the submission's folder, which has its name.
        references: folder of the files of reference times.
        archives: folder of the committed archives of suites, which show what is an outlier.
        apart: whether the tables are first read in another process, with bounded memory and time.

    Raises:
        FedbenchError: if the references or the archives themselves are damaged.
    """
    digest, manifest = None, None
    try:
        files = files_of(folder)
        digest = manifests.digest(files[MANIFEST])
        manifest = manifests.parse(files[MANIFEST])
        suite = _suite(manifest)
        refuse([*_header(folder, manifest), *check_digests(files, manifest)])
        if apart:
            bounded_reading.read(folder)
        records, rows, tried = _read(files, suite, manifest)
    except FaultsError as error:
        return Report(folder.resolve().name, digest, manifest, faults=error.faults)
    found = few(list(outliers.questions(rows, suite, references, archives)))
    return Report(manifest.name, digest, manifest, tuple(records), tuple(rows), tuple(tried), questions=tuple(found))


def _suite(manifest: Manifest) -> Suite:
    """Returns the suite of the package that the manifest names. No file is opened because a
    submission names it."""
    said = manifest.suite
    if said.name not in suites.names():
        raise fault(MANIFEST, f"suite.name: expected one of {', '.join(suites.names())}, got {said.name!r}")
    suite = suites.load(said.name)
    if said.hash != suite.design_hash():
        raise fault(MANIFEST, f"suite.hash: the design of suite {suite.name} is {suite.design_hash()} here, got {said.hash}")
    return suite


def _header(folder: Path, manifest: Manifest) -> Iterator[Finding]:
    name = folder.resolve().name
    if manifest.name != name:
        yield Finding(MANIFEST, f"name: expected that of the folder, {name!r:.80}, got {manifest.name!r}")
    if manifest.rules != rules.VERSION:
        yield Finding(MANIFEST, f"rules: expected version {rules.VERSION}, got {manifest.rules}")


def _read(files: Files, suite: Suite, manifest: Manifest) -> tuple[list[Record], list[Row], list[TrialRun]]:
    records = read_tables(files)
    refuse(_own_faults(records))
    refuse(rows_of.record_faults(records))
    frozen, known = tuning.frozen_in(files, suite, manifest.plugins)
    rows, faults = rows_of.rows(records, suite, manifest, frozen)
    refuse([*faults, *rows_of.option_faults(rows, manifest)])
    refuse(trainer_faults(records))  # which makes their algorithms and outlines their tasks, so all have to be of the suite
    refuse(tuning.faults(rows, suite, frozen, known, manifest.plugins))
    return records, rows, list(tuning.runs(rows, suite, frozen, known, manifest.plugins))


def read_tables(files: Files) -> list[Record]:
    """Returns the records, which are not checked one by one yet. Raises FaultsError if a table is
    damaged, of another form, or too large."""
    try:
        if TRIALS in files:
            trials.table(files[TRIALS], TRIALS)
        records = list(archive.parse(files[RUNS], files[CURVES_FILE], ARCHIVE))
    except RecordError as error:
        raise FaultsError([_in_file(error)]) from None
    if not records:
        raise fault(RUNS, "expected at least one record, got none")
    return records


def _own_faults(records: Sequence[Record]) -> Iterator[Finding]:
    for record in records:
        try:
            check_consistent(record, f"{ARCHIVE}, run {record.run_id}")
        except FedbenchError as error:
            yield _in_file(error)


def _in_file(error: FedbenchError) -> Finding:
    """Turns the error of a reader, whose text begins with the place, into a finding."""
    text = str(error).removeprefix(ARCHIVE).removeprefix(": ").removeprefix(", ")
    file, colon, more = text.partition(": ")
    return Finding(file, more) if colon and file in (RUNS, CURVES_FILE, TRIALS) else Finding(RUNS, text)
