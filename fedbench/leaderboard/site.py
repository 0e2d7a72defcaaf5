"""Writes and checks a site: pages, their style and scripts, and the data from which they are made,
in one folder.

index.html                 the home page, if it is given, or the first overview
findings.html, NAME.html   overviews                     data/NAME.json, .csv   the documents, and their rows as a table
NAME/POINT.html            a scenario                    data/rows.js           all rows, as the table reads them
NAME/POINT/ROW.html        a row with its records        data/curves            the curves of a point, as the comparison reads them
algorithms/LABEL.html      an algorithm                  data/site.json         which documents and papers, speed, changes, home, ..
papers/KEY.html            a paper                       data/papers/KEY.json   what is said of it
assets/                    style and scripts             data/files.json        all of these files
docs/                      the documentation, as it was built
table.html, compare.html, algorithms.html, rules.html, papers.html, speed.html, submissions.html, changes.html
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import TemplateError

from fedbench import plain_files
from fedbench.analysis.axes import SECONDS, Axis
from fedbench.documents.paper import Paper
from fedbench.documents.parts import SCHEMA
from fedbench.documents.read import LARGEST, as_json, read
from fedbench.documents.site import Beside, Content, Files
from fedbench.documents.suite import Document
from fedbench.errors import RecordError, UsageError
from fedbench.leaderboard import browse, documentation
from fedbench.leaderboard.document import of_records
from fedbench.leaderboard.flat import as_csv
from fedbench.leaderboard.pages import algorithm, changes, home, overview, paper, record, rules, scenario, speed
from fedbench.leaderboard.pages.frame import NOTHING, Site
from fedbench.leaderboard.pages.papers import index as index_of_papers
from fedbench.leaderboard.places import RESERVED, slug
from fedbench.leaderboard.ways import HOME
from fedbench.refusals import refused_in

if TYPE_CHECKING:
    from fedbench.results.record import Record

TITLE = "fedbench leaderboard"
CONTENT, FILES = "data/site.json", "data/files.json"
ASSETS = ("style.css", "common.js", "page.js", "table.js", "compare.js", "parquet.js", "parquet.LICENSE")


def build(records: Iterable[Record], out: str | Path, *, title: str = TITLE, note: str = "", axis: str | Axis = SECONDS) -> Path:
    """Writes the site of any records, and returns the path of its `index.html`.

    Each file is replaced in one step. The same records give the same bytes.

    Args:
        records: those of any scenarios, in any order.
        out: the folder, which is made if need be.
        title: the heading of the front page.
        note: a sentence below the heading, such as what the page does not claim.
        axis: the axis on which runs are compared: seconds, updates, gradient_evaluations, steps or
            bytes.

    Raises:
        UsageError: there are no records, the axis is unknown, or `out` cannot be written.
        RecordError: a record lacks the axis.
    """
    return write([of_records(records, title, note, axis)], out)


def write(
    documents: Sequence[Document],
    out: str | Path,
    papers: Sequence[Paper] = (),
    beside: Beside = NOTHING,
    docs: Mapping[str, bytes] | None = None,
) -> Path:
    """Writes the site of some documents, and returns the path of its `index.html`.

    The same documents give the same bytes.

    Args:
        documents: those of suites and stores, see `document`. The first one is the front page.
        out: the folder, which is made if need be. Files that do not belong to a site stay. Files of
            an earlier site that this one does not have are removed.
        papers: the documents of papers.
        beside: what else it shows. If a submission has rows, they are in one of the documents. If
            there is a home page, the first overview is `findings.html`.
        docs: the files of the documentation, see `documentation`.

    Raises:
        UsageError: a name is reserved, malformed or there twice; there is too much of something; or
            `out` cannot be written.
    """
    names = [one.name for one in documents]
    if not names or len(set(names)) < len(names) or RESERVED & set(names) or any(slug(name) != name for name in names):
        told, taken = ", ".join(names) or "none", ", ".join(sorted(RESERVED))
        raise UsageError(
            f"leaderboard: expected names of lower case letters, digits and hyphens, each once, none of {taken}; got {told}"
        )
    with refused_in("leaderboard: more or other than a site shows"):
        keys, sums = tuple(one.key for one in papers), documentation.sums(docs or {})
        content = Content(schema=SCHEMA, documents=tuple(names), papers=keys, docs=sums, **dict(beside))
    site = Site(documents, papers, beside, has_docs=bool(docs))
    folder = Path(out)
    try:
        earlier = _files_in(folder)
        made = {name: text.encode() for name, text in [*_data(site, content).items(), *_made(site)]}
        made |= {f"{documentation.FOLDER}/{name}": found for name, found in (docs or {}).items()}
        made[FILES] = as_json(Files(tuple(sorted([*made, FILES])))).encode()
        for name, found in made.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            _replace(folder / name, found)
        for name in earlier - set(made):
            (folder / name).unlink(missing_ok=True)
    except UnicodeEncodeError as error:
        raise UsageError(f"leaderboard: a name holds {error.object[error.start]!a}, which is no whole character") from None
    except OSError as error:
        raise UsageError(
            f"leaderboard {folder}: cannot be written ({error.strerror}); choose a folder that you may write to"
        ) from None
    return folder / "index.html"


def check(out: str | Path) -> list[str]:
    """Returns what is wrong with a site, one line for each mistake. The list is empty if its pages
    and its tables say what its data say.

    All files are made again from the data and must be the same, so the version of fedbench must be
    the one that built the site. Raises UsageError if the folder has no site.
    """
    folder = Path(out)
    if not (folder / CONTENT).exists():
        raise UsageError(f"leaderboard {folder}: there is no {CONTENT}; `fedbench leaderboard build` writes it")
    try:
        content = read(folder / CONTENT, Content)
        documents = [read(folder / f"data/{name}.json", Document) for name in content.documents]
        papers = [read(folder / f"data/papers/{key}.json", Paper) for key in content.papers]
    except RecordError as error:
        return [str(error)]
    site = Site(documents, papers, content, has_docs=bool(content.docs))
    try:
        made = dict(_made(site))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, TemplateError) as error:
        return [f"{folder / 'data'}: not what a leaderboard is made from ({type(error).__name__}: {error})"]
    copied = {f"{documentation.FOLDER}/{name}" for name in content.docs}
    made[FILES] = as_json(Files(tuple(sorted([*_data(site, content), *made, *copied, FILES]))))
    foreign = sorted({file.relative_to(folder).as_posix() for file in folder.rglob("*.html")} - set(made) - copied)
    wrong_files = [wrong for name, text in made.items() if (wrong := _difference(folder / name, text))]
    wrong_files += documentation.problems(folder, content.docs)
    return [*wrong_files, *(f"{folder / name}: a page that the data do not give" for name in foreign)]


def _data(site: Site, content: Content) -> dict[str, str]:
    """Returns the files of data from which all others are made."""
    files = {CONTENT: as_json(content)} | {f"data/{one.name}.json": as_json(one) for one in site.documents}
    return files | {f"data/papers/{one.key}.json": as_json(one) for one in site.papers}


def _made(site: Site) -> Iterator[tuple[str, str]]:
    """Yields the addresses and the contents of all files that are made from the data."""
    for name in ASSETS:
        yield f"assets/{name}", (files("fedbench.leaderboard") / "assets" / name).read_text(encoding="utf-8")
    yield "data/rows.js", browse.script(site)
    for document in site.documents:
        yield f"data/{document.name}.csv", as_csv(document)
        yield site.places.overview(document.name), overview.render(site, document)
        for point in document.points:
            yield from browse.curves(site, document, point)
            yield site.places.scenario(document.name, point.name), scenario.render(site, document, point)
            for kind in document.kinds:
                for row in document.rows(kind, point.name):
                    address = site.places.record(document.name, point.name, row.label, kind)
                    yield address, record.render(site, document, point, kind, row)
    for label in algorithm.labels(site):
        yield site.places.algorithm(label), algorithm.render(site, label)
    yield from _of_its_own(site)


def _of_its_own(site: Site) -> Iterator[tuple[str, str]]:
    """Yields the pages that a site has once, and those of the papers. A page is left out if the
    site has nothing that it shows."""
    if site.beside.home:
        yield HOME, home.render(site, site.beside.home)
    yield "algorithms.html", algorithm.index(site)
    yield "table.html", site.page("table.html", "table.html", documents=site.documents)
    yield "compare.html", site.page("compare.html", "compare.html")
    yield "rules.html", rules.render(site)
    if site.papers:
        yield "papers.html", index_of_papers(site)
        for one in site.papers:
            yield site.places.paper(one.key), paper.render(site, one)
    if site.beside.speed:
        yield "speed.html", speed.render(site, site.beside.speed)
    if site.beside.submissions:
        newest = sorted(site.beside.submissions, key=lambda one: (one.date, one.name), reverse=True)
        yield "submissions.html", site.page("submissions.html", "submissions.html", submissions=newest)
    if site.beside.changes:
        yield "changes.html", changes.render(site)


def _files_in(folder: Path) -> set[str]:
    """Returns the files that a site in the folder names as its own, which may be removed. Files
    outside of the folder are left out. Empty if there is no list of files, or if it is
    malformed."""
    try:
        names = read(folder / FILES, Files)
    except RecordError:
        return set()
    return {name for name in names.root if not Path(name).is_absolute() and ".." not in Path(name).parts}


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _difference(path: Path, expected: str) -> str:
    """Returns what is wrong with a file that should have a content; empty if nothing is."""
    try:
        found = plain_files.text(path, LARGEST, "leaderboard")
    except UsageError as error:
        return str(error)
    if found == expected:
        return ""
    lines = zip(expected.splitlines(), found.splitlines(), strict=False)
    place = next((number for number, (one, other) in enumerate(lines, start=1) if one != other), None)
    where = f"line {place}" if place else "its end"
    return f"{path}: {where} is not what the data give; build the leaderboard again"
