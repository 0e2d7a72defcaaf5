"""Checks rows that claim to be tuned. They must bring all trials that the suite asks for, and the
suite's rule must choose the same options from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from fedbench import plain_files
from fedbench.engine.spec import RunSpec
from fedbench.errors import FedbenchError
from fedbench.submissions import own_tuning
from fedbench.submissions.faults import Finding, fault
from fedbench.submissions.folder import TRIALS, TUNED, Files
from fedbench.submissions.manifest import MANIFEST, InFile
from fedbench.submissions.own_tuning import NONE, OwnSpec, Plugins
from fedbench.submissions.rows import Row
from fedbench.suites import space as spaces
from fedbench.suites import trials, tuned
from fedbench.suites.search import Searches
from fedbench.suites.suite import Suite
from fedbench.suites.tuned import Tuned
from fedbench.suites.tuning import RULE, Choice, Outcome, choose, tuning_of
from fedbench.suites.tuning_parts import Sobol

MOST_NAMED = 10  # missing runs of an algorithm in a file


def frozen_in(files: Files, suite: Suite, plugins: Plugins = NONE) -> tuple[Tuned | None, Mapping[str, Outcome]]:
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
        content = plain_files.mapping_in(plain_files.decoded(files[TUNED], TUNED), TUNED, tuned.LARGEST)
        frozen = tuned.parse(content, suite, TUNED)
        _check_options(frozen, suite, plugins)
        expected, rule = _space_hash(frozen, suite, plugins), RULE[tuning_of(suite).method]
        if (frozen.space_hash, frozen.rule) != (expected, rule):
            raise fault(TUNED, f"expected search space {expected} and rule {rule}, got {frozen.space_hash:.40} and {frozen.rule}")
        if frozen.draws:
            raise fault(TUNED, f"draws: a submission has the first draw only, got also {min(frozen.draws)}")
        name = TRIALS
        return frozen, trials.parse(files[TRIALS], suite.design_hash(), TRIALS)
    except FedbenchError as error:
        raise fault(name, str(error).removeprefix(f"{name}: ")) from None


def _space_hash(frozen: Tuned, suite: Suite, plugins: Plugins) -> str:
    """Returns the hash of what the suite's space and the manifest have for the algorithms whose
    options were chosen."""
    space, entries = spaces.load(tuning_of(suite).space), {}
    for selector in {one for chosen in frozen.points.values() for one in chosen}:
        if (own := own_tuning.entrant_of(selector, plugins)) is not None:
            entries[own.name] = own_tuning.intervals(own)
        else:
            cls = type(suite.algorithm(selector))
            entries[cls.name] = space.of(cls)
    return spaces.hash_of(entries)


@dataclass(frozen=True)
class TrialRun:
    """A run from which options were chosen: its specification, its outcome as the submission has
    it, and whether it is of the trial that was chosen."""

    named: str
    spec: RunSpec | OwnSpec
    outcome: Outcome
    chosen: bool


@dataclass(frozen=True)
class _Found:
    """How far a search comes with the outcomes of a submission: the trials that have all, by their
    numbers, with their runs and outcomes, what is missing, of how many runs, and the choice."""

    ended: Sequence[tuple[int, Sequence[RunSpec | OwnSpec], Sequence[Outcome]]]
    missing: Sequence[str]
    asked: int
    choice: Choice | None


def runs(
    rows: Sequence[Row], suite: Suite, frozen: Tuned | None, known: Mapping[str, Outcome], plugins: Plugins = NONE
) -> Iterator[TrialRun]:
    """Yields the runs of all trials of the tuned rows, which have no faults. The arguments are
    those of `faults`."""
    for row, selector, choice in _tuned_rows(rows, frozen, plugins):
        for number, specs, outcomes in _search(row, selector, suite, known, plugins).ended:
            for spec, outcome in zip(specs, outcomes, strict=True):
                words = f"trial {number} of {selector:.80} at {row.point:.60}, seed {spec.seed}"
                yield TrialRun(words, spec, outcome, number == choice.trial)


def _tuned_rows(rows: Sequence[Row], frozen: Tuned | None, plugins: Plugins) -> Iterator[tuple[Row, str, Choice]]:
    """Yields the tuned rows with their selectors, and what was chosen for them."""
    own = own_tuning.selectors(plugins, frozen)
    for row in rows:
        name = row.name.removesuffix(tuned.TUNED)
        if frozen is not None and name != row.name:
            selector = own.get(name, name)
            yield row, selector, frozen.points[row.point][selector]


def _search(row: Row, selector: str, suite: Suite, known: Mapping[str, Outcome], plugins: Plugins) -> _Found:
    """Returns how far the suite's own search comes with the outcomes of a submission."""
    if (own := own_tuning.entrant_of(selector, plugins)) is not None:
        return _own_search(own, row, suite, known)
    searches = Searches(suite, spaces.load(tuning_of(suite).space), lambda spec: known.get(spec.run_id))
    progress = searches.progress(suite.point(row.point), selector)
    missing = [f"run {spec.run_id} (seed {spec.seed})" for spec in progress.wanted]
    ended = [(trial.number, trial.specs, found) for trial, found in progress.ended]
    return _Found(ended, missing, len(progress.asked), progress.choice)


def _own_search(own: InFile, row: Row, suite: Suite, known: Mapping[str, Outcome]) -> _Found:
    """Returns the same for an algorithm in a file, whose trials are those of its space."""
    several = own_tuning.trials(own, suite, row.point, row.runs[0].spec.algorithm.options)
    missing = [
        f"trial {trial.number} seed {spec.seed} (run {spec.run_id})"
        for trial in several
        for spec in trial.specs
        if spec.run_id not in known
    ]
    asked = sum(len(trial.specs) for trial in several)
    if missing:
        return _Found([], missing, asked, None)
    ended = [(trial.number, trial.specs, [known[spec.run_id] for spec in trial.specs]) for trial in several]
    choice = choose({one.number: one.options for one in several}, {number: found for number, _, found in ended})
    return _Found(ended, [], asked, choice)


def _check_options(frozen: Tuned, suite: Suite, plugins: Plugins) -> None:
    """Raises an error for a point, algorithm or option that neither the suite nor the manifest
    has."""
    for point, by_selector in frozen.points.items():
        suite.point(point)
        for selector, choice in by_selector.items():
            if selector in suite.selectors():
                suite.algorithm(selector, choice.options, suite.point(point))
            elif why := _not_own(selector, choice, suite, plugins):
                raise fault(TUNED, f"points.{point}: {why}")


def _not_own(selector: str, choice: Choice, suite: Suite, plugins: Plugins) -> str:
    """Returns why an algorithm cannot have tuned rows, or not with this choice; empty if it
    can."""
    own = own_tuning.entrant_of(selector, plugins)
    if own is None:
        return f"{selector!r:.80} is no algorithm of suite {suite.name}, and none in a file of {MANIFEST}"
    if own.space is None:
        return f"{selector!r:.80}: {MANIFEST} must have the space that its options are of, got none"
    if not isinstance(tuning_of(suite), Sobol):
        return (
            f"{selector!r:.80}: suite {suite.name} does not make all trials at once, so only its own algorithms have tuned rows"
        )
    if choice.options and choice.options.keys() != own.space.keys():
        return f"{selector!r:.80}: expected the options {', '.join(own.space)}, got {', '.join(choice.options):.80}"
    return ""


def faults(
    rows: Sequence[Row], suite: Suite, frozen: Tuned | None, known: Mapping[str, Outcome], plugins: Plugins = NONE
) -> Iterator[Finding]:
    """Yields the tuned rows whose trials are not all there, or whose options the rule does not
    choose from them.

    Args:
        rows: the rows of the submission.
        suite: its suite.
        frozen: its tuned options, None if it has none; then no row is tuned.
        known: the outcomes of its trials by run id.
        plugins: its algorithms in files, with their spaces.
    """
    for row, selector, choice in _tuned_rows(rows, frozen, plugins):
        yield from _row_faults(row, selector, choice, suite, known, plugins)


def _row_faults(
    row: Row, selector: str, choice: Choice, suite: Suite, known: Mapping[str, Outcome], plugins: Plugins = NONE
) -> Iterator[Finding]:
    try:
        progress = _search(row, selector, suite, known, plugins)
    except (FedbenchError, ValueError, TypeError, OverflowError) as error:
        yield Finding(TRIALS, f"{row.name} at {row.point}: nothing can be chosen from its trials ({error})")
        return
    found, missing = progress.choice, progress.missing
    if found is None and not missing:
        yield Finding(
            TRIALS, f"{row.name} at {row.point}: the trials at its anchor are not all there, from whose options it begins"
        )
        return
    if found is None:
        several = f"{len(missing)} of {progress.asked} runs of its trials"
        more = f" and {len(missing) - MOST_NAMED:,} more" if len(missing) > MOST_NAMED else ""
        own = own_tuning.entrant_of(selector, plugins) is not None
        words = f"are missing: {', '.join(missing[:MOST_NAMED])}{more}" if own else f"are missing, the first is {missing[0]}"
        yield Finding(TRIALS, f"{row.name} at {row.point}: {several} {words}")
        return
    for key, value in asdict(found).items():
        said = asdict(choice)[key]
        if said != value:
            yield Finding(TUNED, f"{row.name} at {row.point}: {key}: its trials give {value!r:.80}, the file says {said!r:.80}")
            return
