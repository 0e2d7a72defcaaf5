"""Writes a new algorithm into a clone of the repository: its files, and its entries in the files
that list all algorithms."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from fedbench.bibliography import PAPERS, Paper
from fedbench.cli.output import err, writing
from fedbench.errors import UsageError, nearest, one_line
from fedbench.extras import CLONE
from fedbench.process import PYTHON
from fedbench.registry import ALGORITHMS
from fedbench.suites import space

TEMPLATES = Path(__file__).with_name("templates")
BIBLIOGRAPHY, ROWS = "fedbench/literature.toml", "tests/engine/test_execute.py"
MUTANTS, PAGE = "tests/house/mutants.yaml", "docs/applicability.md"
FILES = {"fedbench/algorithms/{}.py": "algorithm.txt", "tests/algorithms/test_{}.py": "test_algorithm_in_package.txt"}
KEY = re.compile(r"[a-z]+(\d{4})[a-z0-9]*")
OPTIONS = "{local_lr: {low: 0.003, high: 1}, server_lr: {low: 0.1, high: 3}, buffer_size: {low: 2, high: 20}}"
IMPORTS = """\
from fedbench.bibliography import cited
from fedbench.protocols import Buffered, Fraction, Positive, Tools, option"""
DECLARED = """\
    server_lr: Positive = option(1.0, "The server's learning rate.")
    damping: Fraction = option(0.9, "The factor of an arrival's weight for every version that it is behind.", "an example")"""
PLANTED = """\
- name: {dashed}-damping-missing
  file: fedbench/algorithms/{name}.py
  old: k.power(self.damping, batch.staleness)
  new: k.power(self.damping, 0 * batch.staleness)
  tests: tests/algorithms/test_{name}.py
  mistake: a stale arrival counts in full
- name: {dashed}-sum
  file: fedbench/algorithms/{name}.py
  old: ' / len(batch.clients)'
  new: ''
  tests: tests/algorithms/test_{name}.py
  mistake: the sum over the buffer in the place of its mean
"""


@dataclass(frozen=True)
class Source:
    """The paper of a new algorithm by its key. The other fields are given if it is not in the
    bibliography yet."""

    key: str
    title: str = ""
    authors: str = ""
    venue: str = ""
    link: str = ""

    def paper(self) -> Paper:
        """Returns the paper. Raises UsageError if what is given is too little, or too much."""
        more = {"--title": self.title, "--authors": self.authors, "--venue": self.venue}
        if self.key in PAPERS:
            if given := [name for name, value in (more | {"--link": self.link}).items() if value]:
                raise UsageError(f"new algorithm: paper {self.key} is in {BIBLIOGRAPHY}; leave out {', '.join(given)}")
            return PAPERS[self.key]
        year = KEY.fullmatch(self.key)
        if year is None:
            raise UsageError(f"new algorithm: --paper: expected a name and a year, such as nguyen2022, got {self.key!r}")
        if lacking := [name for name, value in more.items() if not value.strip()]:
            raise UsageError(
                f"new algorithm: paper {self.key!r} is not in {BIBLIOGRAPHY}{nearest(self.key, PAPERS)}; "
                f"for a new one also give {', '.join(lacking)}"
            )
        authors = tuple(one.strip() for one in self.authors.split(","))
        found = Paper(authors, int(year[1]), self.title, self.venue, self.link)
        for key, known in PAPERS.items():
            if found.short == known.short or (found.link and found.link == known.link):
                raise UsageError(f"new algorithm: paper {self.key} reads {found.short}, as {key} does; use --paper {key}")
        return found

    def entry(self) -> str:
        """Returns the paper's entry in literature.toml."""
        found = self.paper()
        fields = {"authors": list(found.authors), "year": found.year, "title": found.title, "venue": found.venue}
        fields |= {"link": found.link} if found.link else {}
        return "\n".join(
            [f"[{self.key}]", *(f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items())]
        )


def complete_spaces() -> list[str]:
    """Returns the files of the search spaces that have an entry for every built-in algorithm."""
    names = sorted(file.stem for file in space.LIBRARY.glob("*.yaml"))
    return [f"fedbench/suites/spaces/{name}.yaml" for name in names if set(space.load(name).algorithms) >= set(ALGORITHMS)]


def listed() -> list[str]:
    """Returns the files that get an entry, besides those that are new."""
    return [BIBLIOGRAPHY, *complete_spaces(), ROWS, MUTANTS, PAGE]


def write(name: str, cls: str, source: Source) -> list[str]:
    """Writes all files and entries, or none if anything fails, and returns what was written,
    relative to the clone.

    Args:
        name: the name of the algorithm.
        cls: the name of its class.
        source: its paper.

    Raises:
        UsageError: this is no clone, a file is there already, the paper is not known, or the table
            of what runs where cannot be made.
    """
    if not all((CLONE / file).is_file() for file in listed()):
        raise UsageError(f"new algorithm: --in-package writes into a clone of the repository, and {CLONE} is none")
    short = source.paper().short
    words = {
        "name": name,
        "Class": cls,
        "imports": IMPORTS,
        "options": DECLARED,
        "cites": f"{short}, Alg. 1; the damping is an example.",
        "source": f'cited({source.key}="Alg. 1")',
    }
    made = {
        file.format(name): Template((TEMPLATES / one).read_text(encoding="utf-8")).substitute(words)
        for file, one in FILES.items()
    }
    for file in made:
        if (CLONE / file).exists():
            raise UsageError(f"new algorithm: {file} is there already; choose another name")
    changed = {file: changed_text(file, name, source) for file in listed() if file != PAGE}
    changed = {file: text for file, text in changed.items() if text != (CLONE / file).read_text(encoding="utf-8")}
    _replace_all({**made, **changed})
    return [*made, *changed, PAGE]


def changed_text(file: str, name: str, source: Source) -> str:
    """Returns the text of a file that lists algorithms, with the new one."""
    text = (CLONE / file).read_text(encoding="utf-8")
    if file == BIBLIOGRAPHY:
        return text if source.key in PAPERS else _inserted(text, r"^\[(\w+)\]$", source.key, f"{source.entry()}\n\n")
    if file == ROWS:
        return _before(file, text, r"(?<=\n)\]\n", "ALL = [", f'    "{name}[buffer_size=3,damping=0.5]",\n')
    if file == MUTANTS:
        planted = PLANTED.format(name=name, dashed=name.replace("_", "-"))
        return _before(file, text, r"\n# ----", "# ---- fedbench/algorithms ----", planted)
    return _inserted(text, r"^  (\w+):$", name, f"  {name}:\n    options: {OPTIONS}\n")


def _inserted(text: str, heading: str, name: str, entry: str) -> str:
    """Returns the text with an entry before the first one whose name comes after `name`."""
    for found in re.finditer(heading, text, re.MULTILINE):
        if found[1] > name:
            return text[: found.start()] + entry + text[found.start() :]
    return f"{text.rstrip()}\n" + ("\n" if entry.startswith("[") else "") + f"{entry.rstrip()}\n"


def _before(file: str, text: str, end: str, begin: str, entry: str) -> str:
    """Returns the text with an entry before the first `end` after `begin`."""
    found = re.compile(end).search(text, text.find(begin)) if begin in text else None
    if found is None:
        raise UsageError(f"new algorithm: {file}: expected a list that begins with {begin!r}")
    return text[: found.start()] + entry + text[found.start() :]


def _replace_all(texts: Mapping[str, str]) -> None:
    """Writes these files, and then the page that a command makes. If anything fails, all are again
    what they were."""
    before = {file: (CLONE / file).read_text(encoding="utf-8") if (CLONE / file).exists() else None for file in (*texts, PAGE)}
    try:
        with writing("new algorithm", CLONE, "clone"):
            for file, text in texts.items():
                (CLONE / file).write_text(text, encoding="utf-8")
        _make_page()
    except BaseException:
        for file, old in before.items():
            if old is None:
                (CLONE / file).unlink(missing_ok=True)
            else:
                (CLONE / file).write_text(old, encoding="utf-8")
        raise


def _make_page() -> None:
    """Makes the page of what runs where again. Another process does, which finds the new algorithm
    among those that are built in."""
    command = [*PYTHON, "-c", "from fedbench.cli.main import main; main()", "applicability", "-o", PAGE]
    with err.status(f"making {PAGE}"):
        made = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if made.returncode != 0:
        lines = made.stderr.strip().splitlines() or [f"exit code {made.returncode}"]
        raise UsageError(f"new algorithm: {PAGE} cannot be made: {one_line(Exception(lines[-1]), 400)}")
