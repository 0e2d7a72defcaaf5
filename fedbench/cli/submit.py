"""`fedbench submit`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fedbench.cli import completion
from fedbench.cli.output import say, show
from fedbench.cli.submissions import SUBMISSIONS, today
from fedbench.cli.suite import StoreOption, TunedOption, chosen, opened
from fedbench.errors import UsageError
from fedbench.papers import cells
from fedbench.papers.handing_in import HANDED_IN, hand_in
from fedbench.results.store import Store
from fedbench.submissions.make import Words, make
from fedbench.suites import suite as suites


def command(
    suite: Annotated[
        str,
        typer.Argument(
            help="Suite of the library; with --papers a paper or table, such as 000:T1.", autocompletion=completion.suites
        ),
    ],
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
    papers: Annotated[
        bool, typer.Option("--papers", help="Hand in cells of a paper, as `fedbench reproduce` made them.")
    ] = False,
    store: StoreOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help=f"Folder in which the folder NAME is written. Default: {SUBMISSIONS}; with --papers {HANDED_IN}.",
        ),
    ] = None,
) -> None:
    """Make a folder of your results for a submission.

    The records are those of the suite in the store. They are checked, and nothing is written if
    there are faults. Nothing is sent anywhere. With --papers they are those of a paper's cells that
    have a record of every seed.
    """
    if papers:
        options_given = {"--algorithm": algorithm, "--tuned": options, "--trials": trials, "--tuning-trials": tuning_trials}
        given = [name for name, value in options_given.items() if value]
        if given:
            raise UsageError(f"{given[0]}: a paper's cells have the options that it prints; leave it out")
        words = {"name": name, "title": title, "authors": author, "contact": contact, "date": today(), "about": about}
        return _hand_in(suite, (output or HANDED_IN) / name, store or Path("runs/papers"), words)
    if suite not in suites.names():
        raise UsageError(f"suite {suite!r:.80}: expected one that others have too: {', '.join(suites.names())}")
    found, where = opened(suite, store)
    _, selectors = chosen(found, None, algorithm)
    if options is not None and trials is None:
        trials = options.with_name(f"{options.stem}-trials.parquet")
    output = output or SUBMISSIONS
    made_by = Words(name, title, author, contact, today(), about, tuning_trials)
    report = make(output, made_by, found, selectors, where, options, trials)
    for question in report.questions:
        show(f"question: {question.line}")
    folder = output / name
    say(f"{len(report.records):,} records in {len(report.rows)} rows -> {folder}")
    has_own = report.manifest is not None and any(one.origin != "built in" for one in report.manifest.algorithms)
    say(f"next: fedbench leaderboard check {folder} --sample 3{' --run-plugins' * has_own}")
    say(f"then: a pull request that adds the folder {SUBMISSIONS / name} and nothing else")
    return None


def _hand_in(address: str, folder: Path, store: Path, words: Mapping[str, object]) -> None:
    for of, numbers in hand_in(folder, cells.chosen(address), Store(store), words).items():
        say(f"{of}: cells {numbers} -> {folder}")
        say(f"next: fedbench reproduce {of} --plan --archives {folder}")
    say(f"then: a pull request that adds the folder {HANDED_IN / folder.name} and nothing else")
