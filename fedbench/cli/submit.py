"""`fedbench submit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli import completion
from fedbench.cli.output import say, show
from fedbench.cli.submissions import SUBMISSIONS, today
from fedbench.cli.suite import StoreOption, TunedOption, chosen, opened
from fedbench.errors import UsageError
from fedbench.submissions.make import Words, make
from fedbench.suites import suite as suites


def command(
    suite: Annotated[str, typer.Argument(help="Suite of the library.", autocompletion=completion.suites)],
    name: Annotated[str, typer.Option(help="Name of the submission and its folder: small letters, digits, hyphens.")],
    title: Annotated[str, typer.Option(help="Heading of the submission.")],
    author: Annotated[list[str], typer.Option(help="Author. Can be repeated.")],
    contact: Annotated[str, typer.Option(help="Address for questions to the authors.")],
    algorithm: Annotated[
        list[str] | None, typer.Option("--algorithm", "-a", help="Only this algorithm, or file.py:Class. Can be repeated.")
    ] = None,
    about: Annotated[str, typer.Option(help="Description, a paragraph.")] = "",
    options: TunedOption = None,
    trials: Annotated[
        Path | None, typer.Option(help="Table of all trials. Default: NAME-trials.parquet beside NAME.yaml of --tuned.")
    ] = None,
    tuning_trials: Annotated[
        int, typer.Option(help="Number of trials per row that you made to tune your own options.", min=0)
    ] = 0,
    store: StoreOption = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder in which the folder NAME is written.")] = SUBMISSIONS,
) -> None:
    """Make a folder of your results for a submission.

    The records are those of the suite in the store. They are checked, and nothing is written if
    there are faults. Nothing is sent anywhere.
    """
    if suite not in suites.names():
        raise UsageError(f"suite {suite!r:.80}: expected one that others have too: {', '.join(suites.names())}")
    found, where = opened(suite, store)
    _, selectors = chosen(found, None, algorithm)
    if options is not None and trials is None:
        trials = options.with_name(f"{options.stem}-trials.parquet")
    words = Words(name, title, author, contact, today(), about, tuning_trials)
    report = make(output, words, found, selectors, where, options, trials)
    for question in report.questions:
        show(f"question: {question.line}")
    folder = output / name
    say(f"{len(report.records):,} records in {len(report.rows)} rows -> {folder}")
    has_own = report.manifest is not None and any(one.origin != "built in" for one in report.manifest.algorithms)
    say(f"next: fedbench leaderboard check {folder} --sample 3{' --run-plugins' * has_own}")
    say(f"then: a pull request that adds the folder {SUBMISSIONS / name} and nothing else")
