"""Writing and checking a site: pages, what they look like, and the data from which they are made,
in one folder.

index.html, NAME.html      overviews                     data/NAME.json, .csv   the documents, and their rows as a table
NAME/POINT.html            a scenario                    data/rows.js           all rows, as the table reads them
NAME/POINT/ROW.html        a row with its records        data/curves            the curves of a point, as the comparison reads them
algorithms/LABEL.html      an algorithm                  data/site.json         which documents and papers, speed, changes, submissions
papers/KEY.html            a paper                       data/papers/KEY.json   what is said of it
assets/                    style and scripts             data/files.json        all of these files
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
from fedbench.leaderboard import browse
from fedbench.leaderboard.document import SCHEMA, of_records
from fedbench.leaderboard.flat import as_csv
from fedbench.leaderboard.form import Form, problem
from fedbench.leaderboard.pages import algorithm, changes, overview, paper, record, rules, scenario, speed, submissions, table
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pages.papers import index as index_of_papers
from fedbench.leaderboard.places import RESERVED, slug

if TYPE_CHECKING:
    from fedbench.results.record import Record

TITLE = "fedbench leaderboard"
LARGEST = 256 << 20  # bytes of a file of a site
CONTENT, FILES = "data/site.json", "data/files.json"
ASSETS = ("style.css", "common.js", "page.js", "table.js", "compare.js", "parquet.js", "parquet.LICENSE")


def build(records: Iterable[Record], out: str | Path, *, title: str = TITLE, note: str = "", axis: str | Axis = SECONDS) -> Path:
    """Write the site of any records into `out`, which is made if need be, and return the path of
    its `index.html`.

    Args:
        records: of any scenarios, in any order.
        out: the folder.
        title: heading of the front page.
        note: a sentence below the heading, such as what the page does not claim.
        axis: on which runs are compared: seconds, updates, gradient_evaluations, steps or bytes.

    Each file is replaced in one step; the same records give the same bytes. UsageError without
    records, for an unknown axis, or if `out` cannot be written. RecordError if a record lacks the
    axis.
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
) -> Path:
    """Write the site of documents into `out`, which is made if need be, and return the path of its
    `index.html`.

    Args: documents: of suites and stores, see `document`; the first one is the front page. out: the
        folder. What it holds beside the site stays; files of an earlier site that are no more are
        removed. asv: the suite's speed, see `pages.speed.read`. changed: what changed, see
        `pages.changes.read`. submitted: what others handed in, see `pages.submissions`; those that
        have rows have a document. papers: what is said of papers whose printed numbers were made
        again, see `paper_form`.

    The same documents give the same bytes. UsageError for names that are taken or alike, or if
    `out` cannot be written.
    """
    names = [one["name"] for one in documents]
    if not names or len(set(names)) < len(names) or RESERVED & set(names) or any(slug(name) != name for name in names):
        told, taken = ", ".join(names) or "none", ", ".join(sorted(RESERVED))
        raise UsageError(
            f"leaderboard: expected names of lower case letters, digits and hyphens, each once, none of {taken}; got {told}"
        )
    content = {"schema": SCHEMA, "documents": names, "speed": asv, "changes": list(changed), "submissions": list(submitted)}
    content["papers"] = [one["key"] for one in papers]
    texts = {CONTENT: _json(content)} | {f"data/{one['name']}.json": _json(one) for one in documents}
    texts |= {f"data/papers/{one['key']}.json": _json(one) for one in papers}
    data = {name: json.loads(text) for name, text in texts.items()}
    forms = _forms(content)
    for name, value in data.items():
        if wrong := problem(value, forms[name]):
            raise UsageError(f"leaderboard {name}: more or other than a site shows: {wrong}")
    folder = Path(out)
    try:
        earlier = _files_in(folder)
        made = {**texts, **dict(_made(_site(data)))}
        made[FILES] = _json(sorted([*made, FILES]))
        for name, text in made.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            _replace(folder / name, text)
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
    """What is wrong with a site, one line each; empty if its pages and its tables say what its data
    say.

    All of it is made again from the data and must be the same, so this holds for the version that
    built it.
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
            data[file] = content if file == CONTENT else _load(folder / file)
            wrong = problem(data[file], form)
            if wrong:
                return [f"{folder / file}: not what a leaderboard is made from: {wrong}"]
    except RecordError as error:
        return [str(error)]
    try:
        made = dict(_made(_site(data)))
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError, TemplateError) as error:
        return [f"{folder / 'data'}: not what a leaderboard is made from ({type(error).__name__}: {error})"]
    made[FILES] = _json(sorted([*data, *made, FILES]))
    foreign = sorted(name for name in _pages_in(folder) if name not in made)
    wrong_files = [wrong for name, text in made.items() if (wrong := _difference(folder / name, text))]
    return [*wrong_files, *(f"{folder / name}: a page that the data do not give" for name in foreign)]


def _pages_in(folder: Path) -> list[str]:
    return [file.relative_to(folder).as_posix() for file in folder.rglob("*.html")]


def _load(file: Path) -> Any:
    """RecordError, one line, if a file is missing, too large or not JSON."""
    try:
        return json.loads(plain_files.text(file, LARGEST, "leaderboard", RecordError))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{file}: not JSON ({error})") from None


def _site(data: Mapping[str, Any]) -> Site:
    content = data[CONTENT]
    return Site(
        [data[f"data/{name}.json"] for name in content["documents"]],
        content["speed"],
        content["changes"],
        content["submissions"],
        [data[f"data/papers/{key}.json"] for key in content["papers"]],
    )


def _forms(content: Mapping[str, Any]) -> dict[str, Form]:
    """Returns the files of data of a site, and the form of each."""
    forms: dict[str, Form] = {CONTENT: "site"}
    forms |= {f"data/{name}.json": "document" for name in content["documents"]}
    return forms | {f"data/papers/{key}.json": "paper" for key in content["papers"]}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n"


def _made(site: Site) -> Iterator[tuple[str, str]]:
    """Yields addresses and contents of all that is made from the data."""
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
                for row in document["sections"][kind].get(point["name"], {}).get("rows", ()):
                    address = site.places.record(document["name"], point["name"], row["label"], kind)
                    yield address, record.render(site, document, point, kind, row)
    for label in algorithm.labels(site):
        yield site.places.algorithm(label), algorithm.render(site, label)
    yield from _of_its_own(site)


def _of_its_own(site: Site) -> Iterator[tuple[str, str]]:
    """Yields the pages that every site has once, if it has what they show, and those of the
    papers."""
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
    """Returns the files of a site that is there, which are its own to remove; none if it does not
    say so, or names what lies elsewhere."""
    try:
        names = _load(folder / FILES)
    except RecordError:
        return set()
    if problem(names, "files"):
        return set()
    return {name for name in names if not Path(name).is_absolute() and ".." not in Path(name).parts}


def _replace(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _difference(path: Path, expected: str) -> str:
    """Returns what is wrong with a file; nothing if it says what it should."""
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
