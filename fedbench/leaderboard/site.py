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

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import TemplateError

from fedbench import plain_files
from fedbench.analysis.axes import SECONDS, Axis
from fedbench.errors import RecordError, UsageError
from fedbench.leaderboard import browse, documentation
from fedbench.leaderboard.document import SCHEMA, of_records, rows_at
from fedbench.leaderboard.flat import as_csv
from fedbench.leaderboard.form import Form, problem
from fedbench.leaderboard.pages import (
    algorithm,
    changes,
    home,
    overview,
    paper,
    record,
    rules,
    scenario,
    speed,
    submissions,
    table,
)
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pages.papers import index as index_of_papers
from fedbench.leaderboard.places import RESERVED, slug
from fedbench.leaderboard.ways import HOME

if TYPE_CHECKING:
    from fedbench.results.record import Record

TITLE = "fedbench leaderboard"
LARGEST = 64 << 20  # bytes of a file of a site
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
    data = of_records(records, title, note, axis)
    if not data["points"]:
        raise UsageError("leaderboard: there are no finished records to show; `fedbench run` writes some")
    return write([data], out)


def write(
    documents: Sequence[Mapping[str, Any]],
    out: str | Path,
    *,
    asv: Mapping[str, Any] | None = None,
    changed: Sequence[Mapping[str, Any]] = (),
    submitted: Sequence[Mapping[str, Any]] = (),
    papers: Sequence[Mapping[str, Any]] = (),
    home: Mapping[str, Any] | None = None,
    docs: Mapping[str, bytes] | None = None,
) -> Path:
    """Writes the site of some documents, and returns the path of its `index.html`.

    The same documents give the same bytes.

    Args:
        documents: those of suites and stores, see `document`. The first one is the front page.
        out: the folder, which is made if need be. Files that do not belong to a site stay. Files of
            an earlier site that this one does not have are removed.
        asv: the speed of fedbench itself, see `pages.speed.read`.
        changed: what changed, see `pages.changes.read`.
        submitted: what others handed in, see `pages.submissions`. If a submission has rows, they
            are in one of the documents.
        papers: the documents of papers, see `paper_form`.
        home: what the home page shows, see `home`. Then the first overview is `findings.html`.
        docs: the files of the documentation, see `documentation`.

    Raises:
        UsageError: a name is reserved, malformed or there twice; a document has another form; or
            `out` cannot be written.
    """
    names = [one["name"] for one in documents]
    if not names or len(set(names)) < len(names) or RESERVED & set(names) or any(slug(name) != name for name in names):
        told, taken = ", ".join(names) or "none", ", ".join(sorted(RESERVED))
        raise UsageError(
            f"leaderboard: expected names of lower case letters, digits and hyphens, each once, none of {taken}; got {told}"
        )
    content = {"schema": SCHEMA, "documents": names, "speed": asv, "changes": list(changed), "submissions": list(submitted)}
    content |= {"papers": [one["key"] for one in papers], "home": home, "docs": documentation.sums(docs or {})}
    texts = {CONTENT: _json(content)} | {f"data/{one['name']}.json": _json(one) for one in documents}
    texts |= {f"data/papers/{one['key']}.json": _json(one) for one in papers}
    data = {name: json.loads(text) for name, text in texts.items()}
    forms: dict[str, Form] = {CONTENT: "site", **_forms(content)}
    for name, value in data.items():
        if wrong := problem(value, forms[name]):
            raise UsageError(f"leaderboard {name}: more or other than a site shows: {wrong}")
    folder = Path(out)
    try:
        earlier = _files_in(folder)
        made = {name: text.encode() for name, text in [*texts.items(), *_made(_site(data))]}
        made |= {f"{documentation.FOLDER}/{name}": found for name, found in (docs or {}).items()}
        made[FILES] = _json(sorted([*made, FILES])).encode()
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
        content = _load(folder / CONTENT)
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            return [f"{folder / CONTENT}: expected schema {SCHEMA}; build the leaderboard again"]
        wrong = problem(content, "site")
        if wrong:
            return [f"{folder / CONTENT}: not what a leaderboard is made from: {wrong}"]
        data = {CONTENT: content}
        for file, form in _forms(content).items():
            data[file] = _load(folder / file)
            wrong = problem(data[file], form)
            if wrong:
                return [f"{folder / file}: not what a leaderboard is made from: {wrong}"]
    except RecordError as error:
        return [str(error)]
    try:
        made = dict(_made(_site(data)))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, TemplateError) as error:
        return [f"{folder / 'data'}: not what a leaderboard is made from ({type(error).__name__}: {error})"]
    copied = {f"{documentation.FOLDER}/{name}" for name in content.get("docs", ())}
    made[FILES] = _json(sorted([*data, *made, *copied, FILES]))
    foreign = sorted({file.relative_to(folder).as_posix() for file in folder.rglob("*.html")} - set(made) - copied)
    wrong_files = [wrong for name, text in made.items() if (wrong := _difference(folder / name, text))]
    wrong_files += documentation.problems(folder, content.get("docs", {}))
    return [*wrong_files, *(f"{folder / name}: a page that the data do not give" for name in foreign)]


def _load(file: Path) -> Any:
    """Returns the content of a JSON file. Raises RecordError, of one line, if the file is missing,
    too large or not JSON."""
    return plain_files.json_in(file, LARGEST, "leaderboard", RecordError)


def _site(data: Mapping[str, Any]) -> Site:
    content = data[CONTENT]
    return Site(
        [data[f"data/{name}.json"] for name in content["documents"]],
        content["speed"],
        content["changes"],
        content["submissions"],
        [data[f"data/papers/{key}.json"] for key in content["papers"]],
        content.get("home"),
        content.get("docs", {}),
    )


def _forms(content: Mapping[str, Any]) -> dict[str, Form]:
    """Returns the files of data that the content of a site names, with the form of each."""
    forms: dict[str, Form] = {f"data/{name}.json": "document" for name in content["documents"]}
    return forms | {f"data/papers/{key}.json": "paper" for key in content["papers"]}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _made(site: Site) -> Iterator[tuple[str, str]]:
    """Yields the addresses and the contents of all files that are made from the data."""
    for name in ASSETS:
        yield f"assets/{name}", (files("fedbench.leaderboard") / "assets" / name).read_text(encoding="utf-8")
    yield "data/rows.js", browse.script(site)
    for document in site.documents:
        yield f"data/{document['name']}.csv", as_csv(document)
        yield site.places.overview(document["name"]), overview.render(site, document)
        for point in document["points"]:
            yield from browse.curves(site, document, point)
            yield site.places.scenario(document["name"], point["name"]), scenario.render(site, document, point)
            for kind in document["kinds"]:
                for row in rows_at(document, kind, point["name"]):
                    address = site.places.record(document["name"], point["name"], row["label"], kind)
                    yield address, record.render(site, document, point, kind, row)
    for label in algorithm.labels(site):
        yield site.places.algorithm(label), algorithm.render(site, label)
    yield from _of_its_own(site)


def _of_its_own(site: Site) -> Iterator[tuple[str, str]]:
    """Yields the pages that a site has once, and those of the papers. A page is left out if the
    site has nothing that it shows."""
    if site.home:
        yield HOME, home.render(site, site.home)
    yield "algorithms.html", algorithm.index(site)
    yield "table.html", table.render(site)
    yield "compare.html", table.compare(site)
    yield "rules.html", rules.render(site)
    if site.papers:
        yield "papers.html", index_of_papers(site)
        for one in site.papers:
            yield site.places.paper(one["key"]), paper.render(site, one)
    if site.speed:
        yield "speed.html", speed.render(site)
    if site.submissions:
        yield "submissions.html", submissions.render(site)
    if site.changes:
        yield "changes.html", changes.render(site)


def _files_in(folder: Path) -> set[str]:
    """Returns the files that a site in the folder names as its own, which may be removed. Files
    outside of the folder are left out. Empty if there is no list of files, or if it is
    malformed."""
    try:
        names = _load(folder / FILES)
    except RecordError:
        return set()
    if problem(names, "files"):
        return set()
    return {name for name in names if not Path(name).is_absolute() and ".." not in Path(name).parts}


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
