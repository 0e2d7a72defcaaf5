"""Runs some of a submission's records and trials again. No other check finds numbers that were
invented well."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from fedbench import foreign
from fedbench.engine.run import Run, RunOptions
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.errors import UsageError
from fedbench.results.archive import RUNS
from fedbench.results.record import Record
from fedbench.submissions.check import Again, Report
from fedbench.submissions.faults import Finding
from fedbench.submissions.folder import TRIALS
from fedbench.submissions.manifest import Manifest
from fedbench.submissions.rows import named
from fedbench.submissions.tuning import TrialRun
from fedbench.suites.tuning import Outcome

Tell = Callable[[str], None]
Found = tuple[Again, list[Finding], list[Finding]]
"""What became of a run, the faults and the questions."""


def rerun(report: Report, folder: Path, sample: int, draw: int, *, run_plugins: bool = False, tell: Tell | None = None) -> Report:
    """Returns the report with what became of the runs that were run again: at most `sample` records
    for which questions asked, as many that are drawn at random among the others, and as many trials
    of its tuned rows, one of a chosen trial among them. A report with faults comes back as it is,
    and nothing is run.

    Args:
        report: what `check` said of the submission.
        folder: the submission's folder, in which its plugins are.
        sample: the largest number of runs of each kind.
        draw: the seed of the draw. The authors should not know it beforehand.
        run_plugins: whether records of algorithms that are not built in may be drawn. Their code is
            then executed, in a process of its own.
        tell: called with a line for each run.
    """
    if report.faults or report.manifest is None:
        return report
    tell = tell or (lambda line: None)
    others = {one.name for one in report.manifest.algorithms if one.origin != "built in"}
    several = [one for one in report.records if run_plugins or one.spec.algorithm.name not in others]
    again, faults, questions = [], list(report.faults), list(report.questions)
    tried = [one for one in report.trials if run_plugins or isinstance(one.spec, RunSpec)]
    for one, its_faults, its_questions in _all(report, several, tried, folder, sample, random.Random(draw)):
        again.append(one)
        faults += its_faults
        questions += its_questions
        tell(f"{one.named}: {one.verdict}")
    whole = len(several) == len(report.records)
    return replace(report, again=tuple(again), faults=tuple(faults), questions=tuple(questions), whole_draw=whole)


def _all(
    report: Report, several: Sequence[Record], tried: Sequence[TrialRun], folder: Path, sample: int, dice: random.Random
) -> Iterator[Found]:
    assert report.manifest is not None
    named_by_questions = {run for one in report.questions for run in one.runs}
    asked = [one for one in several if one.run_id in named_by_questions]
    drawn = [one for one in several if one.run_id not in named_by_questions]
    for why, group in (("asked", asked), ("drawn", drawn)):
        for record in dice.sample(group, min(sample, len(group))):
            one, faults, questions = _again(record, report.manifest, folder)
            yield replace(one, why=why), faults, questions
    trials = dice.sample(tried, len(tried))
    first = next((one for one in trials if one.chosen), None)
    for trial in sorted(trials, key=lambda one: one is not first)[:sample]:
        yield _tried(trial, folder)


def _again(record: Record, manifest: Manifest, folder: Path) -> Found:
    """Returns what became of a record."""
    name, own = named(record), manifest.plugins.get(record.spec.algorithm.name)
    # A plugin whose methods talk to each other behind the engine's back depends on which jobs run
    # together: one by one here.
    options = RunOptions(wave_size=1) if record.spec.algorithm.origin else None
    try:
        place = None if own is None else f"{folder / own.file}:{own.class_}"
        found = verify(record, options, algorithm=place, only_confined=True)
    except UsageError as error:
        return Again(record.run_id, name, "not run"), [], [Finding(RUNS, f"{name}: cannot be run again here: {error}")]
    except (Exception, SystemExit) as error:  # a stranger's numbers may lead anywhere; other records go on
        failed = Finding(RUNS, f"{name}: run again, it failed: {foreign.described(error)[0]}")
        return Again(record.run_id, name, "differs"), [failed], []
    one = Again(record.run_id, name, found.verdict, found.first_difference)
    faults, questions = list(_too_many_at_work(record, found.clients_at_work)), list[Finding]()
    faults += [Finding(RUNS, f"{name}: {text}") for text in found.undeclared]
    faults += [Finding(RUNS, f"{name}: it lacks {text}, which a run has") for text in found.not_compared]
    if one.verdict != "identical":
        digests = f"{found.recorded.result} and {found.got.result}"
        differs = Finding(
            RUNS,
            f"{name}: run again, it is {one.verdict}, first in {one.first_difference}; digests.result: recorded and got {digests}",
        )
        (faults if _is_fault(one, record) else questions).append(differs)
    return one, faults, questions


def _is_fault(one: Again, record: Record) -> bool:
    """Returns whether a record that came out otherwise is a fault. The native trainer gives the
    same bits on every machine, so no difference is tolerated. Torch does not."""
    native = record.provenance.trainer == "native"
    return one.verdict == "differs" or (native and one.verdict == "within tolerance")


def _too_many_at_work(record: Record, at_work: int) -> Iterator[Finding]:
    """Yields a fault if more clients may work at a time than the record's option `concurrency`
    says."""
    most = record.spec.algorithm.options.get("concurrency")
    if isinstance(most, int) and at_work > most:
        yield Finding(RUNS, f"{named(record)}: option concurrency: {most} clients work at a time, the plan has up to {at_work}")


def _tried(trial: TrialRun, folder: Path) -> Found:
    """Returns what became of a run of a trial. That of a plugin has one job at a time, as its
    records have."""
    spec, run_id, name = trial.spec, trial.spec.run_id, trial.named
    try:
        if isinstance(spec, RunSpec):
            run = Run(spec)
            got = Outcome.of(run.record())
        else:
            with spec.opened(folder) as opened:
                run = Run(opened, options=RunOptions(wave_size=1))
                got = Outcome.of(run.record())
    except UsageError as error:
        unknown = Finding(TRIALS, f"{name}: cannot be run again here: {error}")
        return Again(run_id, name, "not run", why="trial"), [], [unknown]
    except (Exception, SystemExit) as error:
        if isinstance(spec, RunSpec):
            raise
        failed = Finding(TRIALS, f"{name}: run again, it failed: {foreign.described(error)[0]}")
        return Again(run_id, name, "differs", why="trial"), [failed], []
    said = asdict(trial.outcome)
    first = next((key for key, value in asdict(got).items() if value != said[key]), None)
    if first is None:
        return Again(run_id, name, "identical", why="trial"), [], []
    differs = Finding(TRIALS, f"{name}: {first}: run again, it is {getattr(got, first)!r:.80}, the file says {said[first]!r:.80}")
    again = Again(run_id, name, "differs", first, "trial")
    return (again, [differs], []) if run.choice.name == "native" else (again, [], [differs])
