"""Reads what a home page shows: which questions it answers from which suite, and how to cite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from fedbench import plain_files
from fedbench.bibliography import entry
from fedbench.documents.home import Home
from fedbench.documents.suite import Document
from fedbench.errors import UsageError, nearest
from fedbench.refusals import refused_in

SCHEMA = 1


def read(file: Path, documents: Sequence[Document], tell: Callable[[str], None] = lambda _: None) -> Home:
    """Returns what a YAML file says of a home page.

    Args:
        file: it has the keys schema, suite, baseline, questions and citation, which names a file in
            the Citation File Format, relative to the file itself. With `map`, the page begins with
            the map of this suite, if it is one of the documents.
        documents: those of the site, which have to answer the questions.
        tell: hears if the suite of the map is none of them.

    Raises:
        UsageError: a file is missing or has another form, or a question has no answer.
    """
    given = plain_files.mapping(file, "home")
    if given.pop("schema", None) != SCHEMA:
        raise UsageError(f"home {file}: expected schema: {SCHEMA} as the first line")
    citation = given.pop("citation", None)
    if not isinstance(citation, str):
        raise UsageError(f"home {file}: citation: expected the name of a file such as CITATION.cff, got {citation!r:.60}")
    with refused_in(f"home {file}"):
        home = Home.model_validate({**given, **cited(file.parent / citation)})
    if home.map and home.map not in [one.name for one in documents]:
        tell(f"home {file}: suite {home.map} is not given, so the page begins with {home.suite} and no map")
        home = home.model_copy(update={"map": ""})
    _check(home, documents, file)
    return home


def cited(file: Path) -> dict[str, str]:
    """Returns the BibTeX entry, the licence and the address of the source code that a file in the
    Citation File Format names. UsageError if it lacks the title, the authors, the date or the
    licence."""
    given = plain_files.mapping(file, "citation")
    date, authors = str(given.get("date-released", "")), given.get("authors")
    for key in ("title", "authors", "date-released", "license"):
        if not given.get(key):
            raise UsageError(f"citation {file}: {key}: expected a value, got none")
    if not isinstance(authors, list) or not all(isinstance(one, dict) for one in authors):
        raise UsageError(f"citation {file}: authors: expected a list of people or entities, got {authors!r:.60}")
    source = str(given.get("repository-code", ""))
    fields = {
        "author": " and ".join(_name(one) for one in authors),
        "title": f"{{{given['title']}}}",
        "version": str(given.get("version", "")),
        "year": date[:4],
        "url": source,
    }
    bibtex = entry("software", "fedbench", {name: text for name, text in fields.items() if text})
    return {"bibtex": bibtex, "licence": str(given["license"]), "source": source}


def _name(author: Mapping[str, object]) -> str:
    """Returns a person as BibTeX has it, or an entity in braces, which keep it whole."""
    names = [str(author[key]) for key in ("family-names", "given-names") if author.get(key)]
    return ", ".join(names) if names else f"{{{author.get('name', '')}}}"


def _check(home: Home, documents: Sequence[Document], file: Path) -> None:
    """Raises UsageError if a question has no answer in the documents."""

    def known(key: str, value: str, names: Sequence[str]) -> None:
        if value not in names:
            raise UsageError(f"home {file}: {key}: unknown name {value!r}{nearest(value, names)}")

    known("suite", home.suite, [one.name for one in documents])
    if home.map and next(one for one in documents if one.name == home.map).map is None:
        raise UsageError(f"home {file}: map: expected a suite over the points of a design, got {home.map}, which has no map")
    document = next(one for one in documents if one.name == home.suite)
    kind = document.kinds[0]
    known("baseline", home.baseline, [one.label for one in document.algorithms])
    for number, one in enumerate(home.questions, start=1):
        where = f"question {number}"
        known(f"{where}: point", one.point, [point.name for point in document.points])
        known(f"{where}: system", one.system, document.systems(kind))
        group = document.systems_at(kind, one.point).get(one.system)
        if group is None or not group.axes[one.axis].best:
            what = f"{one.point}, {one.system}, {one.axis}"
            raise UsageError(f"home {file}: {where}: expected a board with a set of the best, got none at {what}")
