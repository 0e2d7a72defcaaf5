"""`fedbench leaderboard check|retract|history` of submissions, and what the site shows of submissions."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli.output import print_json, say, show
from fedbench.documents.site import Submission
from fedbench.documents.suite import Document
from fedbench.documents.validity import Validity
from fedbench.errors import RecordError, UsageError
from fedbench.refusals import refused_in
from fedbench.submissions import history
from fedbench.submissions.accepted import accepted
from fedbench.submissions.check import Again, Report, check
from fedbench.submissions.faults import Finding
from fedbench.submissions.history import HISTORY, Kind
from fedbench.submissions.rerun import rerun
from fedbench.suites import suite as suites

SUBMISSIONS = Path("results/submissions")
SampleOption = Annotated[
    int,
    typer.Option(
        help="Submission: number of records drawn at random, of records in question, and of trials that are run again.",
        min=0,
    ),
]
PluginsOption = Annotated[
    bool,
    typer.Option(
        "--run-plugins",
        help="Also draw records of algorithms that are not built in. This executes code of strangers, confined to a folder.",
    ),
]
RecordOption = Annotated[bool, typer.Option("--record", help=f"Add the result of a submission to {HISTORY} beside its folder.")]


def shown(folder: Path) -> tuple[tuple[Submission, ...], list[Document]]:
    """Returns what the site says of every submission in a folder, and the documents of those that
    have records.

    Every submission has a board of its own, so it changes no rank on the boards of the suites.
    """
    from fedbench.leaderboard.document import of_records  # the other verbs start faster without it

    several, documents = [], []
    for one in accepted(folder, show):
        document = None
        if one.records:
            suite = suites.load(one.suite)
            points = {suite.scenario_at(point).content_hash(): point.name for point in suite.points}
            note = f"handed in by {', '.join(one.authors)}; {one.validity}"
            document = f"by-{one.name}"
            documents.append(of_records(one.records, one.title, note, name=document, points=points, validity=str(one.validity)))
        words = {name: getattr(one, name) for name in ("name", "title", "authors", "date", "suite", "validity", "reason")}
        places = {row.point for row in one.rows}
        with refused_in(f"submission {one.name}"):
            several.append(Submission(**words, document=document, rows=len(one.rows), points=len(places)))
    return tuple(several), documents


def check_one(folder: Path, archives: Path, sample: int, draw: int, *, run_plugins: bool, record: bool, as_json: bool) -> None:
    """Checks a submission, runs a sample of its records again, and shows what was found. Exits with
    1 if there are faults.

    Args:
        folder: the folder of the submission.
        archives: the folder of the archives of suites, which show what is an outlier.
        sample: how many records are run again.
        draw: the seed by which they are drawn.
        run_plugins: whether algorithms that are not built in may be executed.
        record: whether the result is added to the history.
        as_json: whether the report is shown as JSON.
    """
    report = check(folder, archives=archives)
    retracted = _retracted(folder, report.name)
    if retracted is not None:
        report = replace(report, faults=(*report.faults, retracted))
    if sample:
        report = rerun(report, folder, sample, draw, run_plugins=run_plugins, tell=show)
    if record:
        _record(folder, report)
    if as_json:
        print_json(report.as_dict())
    else:
        _show(report, sample)
    if report.faults:
        raise typer.Exit(1)


def _retracted(folder: Path, name: str) -> Finding | None:
    """Returns a fault if the history beside a submission has its retraction, whatever the
    submission holds now, or if the history cannot be read."""
    file = folder.resolve().parent / HISTORY
    try:
        events = history.read(file)
    except RecordError as error:
        return Finding(HISTORY, str(error))
    found = next((one for one in events if (one.submission, one.event) == (name, "retracted")), None)
    if found is None:
        return None
    return Finding(HISTORY, f"{name} was retracted on {found.date} ({found.reason}) and stays so; hand it in under another name")


def _show(report: Report, sample: int) -> None:
    for fault in report.faults:
        say(f"fault: {fault.line}")
    for question in report.questions:
        say(f"question: {question.line}{'' if question in report.open else ' (answered: run again, it is identical)'}")
    records, trials = ([one for one in report.again if (one.why == "trial") == is_trial] for is_trial in (False, True))
    if records:
        drawn = "" if report.whole_draw else ", drawn among those of built-in algorithms; --run-plugins draws among all"
        say(f"{_same(records)} of {len(records)} records that were run again are identical{drawn}")
    elif sample and not report.faults:
        say(
            "0 records were run again: none is of a built-in algorithm; --run-plugins draws among all, and executes code of strangers"
        )
    if trials:
        say(f"{_same(trials)} of {len(trials)} trials that were run again are identical")
    counts = f"{len(report.faults)} faults, {len(report.open)} open questions, {len(report.records)} records"
    say(f"{report.name}: {report.validity or 'no submission'} ({counts})")


def _same(several: Sequence[Again]) -> int:
    return sum(one.verdict == "identical" for one in several)


def _record(folder: Path, report: Report) -> None:
    """Adds lines to the history for the steps that the submission has reached and the history
    lacks.

    The steps are received, checked and re-run. A step belongs to the digest of the content that was
    looked at, so changed content goes through all steps again.
    """
    if report.digest is None or report.validity is None:
        raise UsageError(f"submission {folder}: it has not the form of one, so there is nothing to record")
    file = folder.resolve().parent / HISTORY
    reached = list(Validity).index(report.validity)
    steps: list[Kind] = ["received", "checked", "re-run"]
    known = {one.event for one in history.read(file) if (one.submission, one.digest) == (report.name, report.digest)}
    for kind in steps[: reached + 1]:
        if kind not in known:
            history.append(file, report.name, kind, report.digest, date=today(), report=report.report_digest)
            show(f"{file}: {report.name} {kind}")


def today() -> str:
    """Returns the date in UTC, such as 2031-05-17."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def retract(
    name: Annotated[str, typer.Argument(help="Name of a submission in the history.")],
    reason: Annotated[str, typer.Option(help="Reason, which is shown.")],
    submissions: Annotated[Path, typer.Option(help="Folder of the submissions and their history.")] = SUBMISSIONS,
) -> None:
    """Take a submission back.

    It stays visible, with the reason.
    """
    file = submissions / HISTORY
    own = [one for one in history.read(file) if one.submission == name]
    if not own:
        raise UsageError(f"history {file}: it has no submission {name!r:.80}")
    history.append(file, name, "retracted", own[-1].digest, date=today(), reason=reason)
    say(f"{name}: retracted")


def show_history(
    submissions: Annotated[Path, typer.Argument(help="Folder of the submissions and their history.")] = SUBMISSIONS,
    since: Annotated[Path | None, typer.Option(help="Earlier version of the history, with which it must begin.")] = None,
) -> None:
    """Show what became of submissions.

    The oldest event comes first. The exit code is 1 if lines were changed or taken out, or do not
    follow each other.
    """
    file = submissions / HISTORY
    if since is not None and not history.grown(history.content(since), history.content(file)):
        say(f"{file}: it does not begin with what {since} holds: lines were changed or taken out")
        raise typer.Exit(1)
    for one in history.read(file):
        say(f"{one.date} {one.submission}: {one.event}{f': {one.reason}' if one.reason else ''} ({one.digest[:16]})")
