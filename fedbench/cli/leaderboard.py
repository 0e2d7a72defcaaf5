"""`fedbench leaderboard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedbench.analysis.axes import AXES
from fedbench.cli import options, submissions
from fedbench.cli.output import say, show
from fedbench.documents.paper import Paper
from fedbench.documents.site import Beside, Rivals
from fedbench.errors import UsageError
from fedbench.refusals import refused_in
from fedbench.results.store import Store
from fedbench.suites import suite as suites
from fedbench.suites.findings.reference import REFERENCES

app = typer.Typer(help="Build a leaderboard, or check a submission.", no_args_is_help=True)


@app.command()
def build(
    store: options.StoreOption = Path("runs"),
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the site.")] = Path("leaderboard"),
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "fedbench leaderboard",
    note: Annotated[str, typer.Option(help="Sentence below the heading.")] = "",
    axis: Annotated[str, typer.Option(help=f"Axis on which runs are compared and drawn: {', '.join(AXES)}.")] = "seconds",
) -> None:
    """Write a site of all records of a store.

    Open its index.html; it needs no network. A record that is damaged or inconsistent is left out
    and named. Accuracies are compared at the farthest place of the axis that all compared runs of a
    scenario reach.
    """
    from fedbench.leaderboard.site import build as build_page  # the other verbs start faster without it

    records, problems = Store(store).readable()
    for problem in problems:
        show(f"left out: {problem}")
    if not records:
        raise UsageError(f"store {store}: no finished records; `fedbench run` writes them")
    page = build_page(records, output, title=title, note=note, axis=axis)
    say(f"{len(records)} records -> {page}")


@app.command("suites")
def build_suites(
    several: options.SuitesArgument,
    folder: options.FolderOption = options.TUNED,
    archives: options.ArchivesOption = options.ARCHIVES,
    references: options.ReferencesOption = REFERENCES,
    asv: Annotated[Path | None, typer.Option("--speed", help="Folder of the results of asv, for the page on speed.")] = None,
    rivals: Annotated[
        Path | None, typer.Option("--rivals", help="File of `fedbench bench --save`, for the page on speed.")
    ] = None,
    log: Annotated[Path | None, typer.Option("--changes", help="YAML file of changes, for the page of changes.")] = None,
    handed_in: Annotated[Path | None, typer.Option("--submissions", help="Folder of submissions.")] = None,
    printed: Annotated[
        Path | None, typer.Option("--papers", help="Folder of the committed records of the papers, for the pages of papers.")
    ] = None,
    home: Annotated[
        Path | None, typer.Option("--home", help="YAML file of a home page; the first suite is then findings.html.")
    ] = None,
    docs: Annotated[
        Path | None, typer.Option("--docs", help="Folder of the built documentation, which becomes docs/ of the site.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the site.")] = Path("leaderboard"),
) -> None:
    """Write the site of suites from their archives.

    Open its index.html: the home page, or the page of the first suite. It needs no network. The
    pages show which algorithm costs least at every point with as many clients at work, and which
    others may be as cheap. They also show what `suite illustrate` and `suite map` have written
    beside an archive.
    """
    from fedbench.bench import report, table
    from fedbench.leaderboard import documentation  # the other verbs start faster without it
    from fedbench.leaderboard import home as home_page
    from fedbench.leaderboard.document import of_suite
    from fedbench.leaderboard.pages import changes, speed
    from fedbench.leaderboard.site import write
    from fedbench.suites import illustrations
    from fedbench.suites.findings import map_document
    from fedbench.suites.findings.document import document
    from fedbench.suites.findings.map_carried import elsewhere
    from fedbench.suites.findings.reference import reference_for
    from fedbench.suites.findings.results import load
    from fedbench.suites.mapped import statements

    timed = None if asv is None else speed.read(asv)
    if rivals is not None:
        if timed is None:
            raise UsageError("--rivals: expected --speed too, on whose page they stand")
        rows, made = report.load(rivals)
        with refused_in(f"rivals {rivals}"):
            compared = Rivals(about=table.about(made), head=table.HEAD, rows=tuple(table.cells(rows)))
        timed = timed.model_copy(update={"rivals": compared})
    logged = changes.read(log) if log is not None else ()
    papers = _papers(printed) if printed is not None else []
    manual = documentation.read(docs) if docs is not None else None
    documents = []
    results = [load(suites.load(suite), folder, archives) for suite in several]
    for suite, found in zip(several, results, strict=True):
        pictures = archives / found.suite.name / illustrations.FILE
        shown = illustrations.read(pictures, found.suite) if pictures.exists() else None
        if shown is None:
            show(f"suite {found.suite.name}: no maps, timelines and trials; `fedbench suite illustrate {suite}` makes them")
        map_ = None
        if found.suite.has_map:
            said = statements.read(archives / found.suite.name, found)
            map_ = map_document.document(found, said, elsewhere(found, results))
        overview = document(found, reference_for(found, references), map_)
        runs = {kind: found.complete(tuned=kind == "tuned") for kind in overview.kinds}
        documents.append(of_suite(overview, runs, shown))
    submitted, theirs = submissions.shown(handed_in) if handed_in is not None else ((), [])
    first = home_page.read(home, documents, show) if home is not None else None
    with refused_in("leaderboard: more or other than a site shows"):
        beside = Beside(speed=timed, changes=logged, submissions=submitted, home=first)
    page = write([*documents, *theirs], output, papers, beside, manual)
    more = f", {len(papers)} papers" if papers else ""
    say(f"{len(documents)} suites, {len(submitted)} submissions{more} -> {page}")


def _papers(folder: Path) -> list[Paper]:
    """Returns the documents of all papers, made from the committed records in a folder. In a
    checkout they also show our code beside the papers' lines."""
    from fedbench.papers import published  # the other verbs start faster without it

    if not folder.is_dir():
        raise UsageError(f"papers {folder}: there is no such folder; `fedbench reproduce --pack` makes it")
    root = Path(__file__).resolve().parents[2]
    return published.Committed.read(folder).documents(root if (root / "csrc").is_dir() else None)


@app.command()
def check(
    output: Annotated[Path, typer.Argument(help="Folder of a site, or of a submission.")] = Path("leaderboard"),
    sample: submissions.SampleOption = 0,
    draw: options.DrawOption = 0,
    run_plugins: submissions.PluginsOption = False,
    archives: options.ArchivesOption = options.ARCHIVES,
    record: submissions.RecordOption = False,
    as_json: options.JsonOption = False,
) -> None:
    """Check a site with its data, or a submission.

    A submission is a folder with submission.yaml. Nothing in it is executed, unless --run-plugins
    lets --sample draw records of its own algorithms. The exit code is 1 if the site and its data do
    not belong together, or if the submission has faults.
    """
    from fedbench.submissions.folder import is_submission

    if is_submission(output):
        return submissions.check_one(output, archives, sample, draw, run_plugins=run_plugins, record=record, as_json=as_json)
    from fedbench.leaderboard.site import check as check_page

    problems = check_page(output)
    for problem in problems:
        say(problem)
    if problems:
        raise typer.Exit(1)
    return say(f"{output}: page and data agree")


app.command("retract")(submissions.retract)
app.command("history")(submissions.show_history)
