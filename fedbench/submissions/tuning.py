"""Checks rows that claim to be tuned. They must bring all trials that the suite asks for, and the
suite's rule must choose the same options from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from fedbench import plain_files
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError
from fedbench.submissions.faults import Finding, fault
from fedbench.submissions.folder import TRIALS, TUNED, Files
from fedbench.submissions.rows import Row
from fedbench.suites import space as spaces
from fedbench.suites import trials, tuned
from fedbench.suites.search import Progress, Searches
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import Tuned
from fedbench.suites.tuning import RULE, Choice, Outcome, tuning_of


def frozen_in(files: Files, suite: Suite) -> tuple[Tuned | None, Mapping[str, Outcome]]:
    """Returns the chosen options, and the outcomes of trials by run id. A submission without tuned
    rows has None and no outcomes.

    Raises FaultsError if only one of the two files is there, or if a file is damaged or of another
    suite.
    """
    for one, other in ((TUNED, TRIALS), (TRIALS, TUNED)):
        if one in files and other not in files:
            raise fault(other, f"the file is missing: {one} says that options were tuned, and both files belong together")
    if TUNED not in files:
        return None, {}
    name = TUNED
    try:
        space = spaces.load(tuning_of(suite).space)
        content = plain_files.mapping_in(plain_files.decoded(files[TUNED], TUNED), TUNED)
        frozen = tuned.parse(content, suite, TUNED)
        _check_options(frozen, suite)
        expected = space.content_hash({type(suite.algorithm(one)) for chosen in frozen.points.values() for one in chosen})
        rule = RULE[tuning_of(suite).method]
        if (frozen.space_hash, frozen.rule) != (expected, rule):
            raise fault(TUNED, f"expected search space {expected} and rule {rule}, got {frozen.space_hash:.40} and {frozen.rule}")
        if frozen.draws:
            raise fault(TUNED, f"draws: a submission has the first draw only, got also {min(frozen.draws)}")
        name = TRIALS
        return frozen, trials.parse(files[TRIALS], suite.design_hash(), TRIALS)
    except FedbenchError as error:
        raise fault(name, str(error).removeprefix(f"{name}: ")) from None


@dataclass(frozen=True)
class TrialRun:
    """A run from which options were chosen: its specification, its outcome as the submission has
    it, and whether it is of the trial that was chosen."""

    named: str
    spec: RunSpec
    outcome: Outcome
    chosen: bool


def runs(rows: Sequence[Row], suite: Suite, frozen: Tuned | None, known: Mapping[str, Outcome]) -> Iterator[TrialRun]:
    """Yields the runs of all trials of the tuned rows, which have no faults. The arguments are
    those of `faults`."""
    for row, selector, choice in _tuned_rows(rows, frozen):
        for trial, outcomes in _search(row, selector, suite, known).ended:
            for spec, outcome in zip(trial.specs, outcomes, strict=True):
                words = f"trial {trial.number} of {selector:.80} at {row.point:.60}, seed {spec.seed}"
                yield TrialRun(words, spec, outcome, trial.number == choice.trial)


def _tuned_rows(rows: Sequence[Row], frozen: Tuned | None) -> Iterator[tuple[Row, str, Choice]]:
    """Yields the tuned rows with their selectors, and what was chosen for them."""
    for row in rows:
        selector = row.name.removesuffix(tuned.TUNED)
        if frozen is not None and selector != row.name:
            yield row, selector, frozen.points[row.point][selector]


def _search(row: Row, selector: str, suite: Suite, known: Mapping[str, Outcome]) -> Progress:
    """Returns how far the suite's own search comes with the outcomes of a submission."""
    searches = Searches(suite, spaces.load(tuning_of(suite).space), lambda spec: known.get(spec.run_id))
    return searches.progress(suite.point(row.point), selector)


def _check_options(frozen: Tuned, suite: Suite) -> None:
    """Raises an error for a point, algorithm or option that the suite does not have."""
    for point, by_selector in frozen.points.items():
        suite.point(point)
        for selector, choice in by_selector.items():
            if selector not in suite.selectors():
                raise fault(TUNED, f"points.{point}: {selector!r:.80} is no algorithm of suite {suite.name}")
            suite.algorithm(selector, choice.options, suite.point(point))


def faults(rows: Sequence[Row], suite: Suite, frozen: Tuned | None, known: Mapping[str, Outcome]) -> Iterator[Finding]:
    """Yields the tuned rows whose trials are not all there, or whose options the rule does not
    choose from them.

    Args:
        rows: the rows of the submission.
        suite: its suite.
        frozen: its tuned options, None if it has none; then no row is tuned.
        known: the outcomes of its trials by run id.
    """
    for row, selector, choice in _tuned_rows(rows, frozen):
        yield from _row_faults(row, selector, choice, suite, known)


def _row_faults(row: Row, selector: str, choice: Choice, suite: Suite, known: Mapping[str, Outcome]) -> Iterator[Finding]:
    try:
        progress = _search(row, selector, suite, known)
    except (FedbenchError, ValueError, TypeError, OverflowError) as error:
        yield Finding(TRIALS, f"{row.name} at {row.point}: nothing can be chosen from its trials ({error})")
        return
    found, missing = progress.choice, progress.wanted
    if found is None and not missing:
        yield Finding(
            TRIALS, f"{row.name} at {row.point}: the trials at its anchor are not all there, from whose options it begins"
        )
        return
    if found is None:
        first = f"run {missing[0].run_id} (seed {missing[0].seed})"
        several = f"{len(missing)} of {len(progress.asked)} runs of its trials"
        yield Finding(TRIALS, f"{row.name} at {row.point}: {several} are missing, the first is {first}")
        return
    for key, value in asdict(found).items():
        said = asdict(choice)[key]
        if said != value:
            yield Finding(TUNED, f"{row.name} at {row.point}: {key}: its trials give {value!r:.80}, the file says {said!r:.80}")
            return
