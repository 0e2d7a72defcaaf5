"""`fedbench new algorithm --in-package` writes everything that the tests want of an algorithm, or
nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from fedbench.bibliography import PAPERS
from fedbench.cli import new_in_package as package
from fedbench.cli.main import app
from fedbench.cli.new_in_package import FILES, Source, changed_text, complete_spaces, listed, write
from fedbench.errors import UsageError
from tests.house.rules import library_functions
from tests.house.vectors import reductions

ROOT = Path(__file__).resolve().parents[2]
KNOWN = Source("nguyen2022")
NEW = Source(
    "smith2026", title='On "Damping"', authors="Smith, van der Lee", venue="arXiv", link="https://arxiv.org/abs/2601.00001"
)


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a clone that the command changes."""
    for file in listed():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, tmp_path / file)
    for file in FILES:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(package, "CLONE", tmp_path)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("name", ["aaa", "middle_one", "zzz"])
def test_an_entry_is_in_its_place_and_nothing_else_changes(name: str) -> None:
    for file in (*complete_spaces(), package.ROWS, package.MUTANTS):
        lines = changed_text(file, name, KNOWN).splitlines()
        added = list((Counter(lines) - Counter((ROOT / file).read_text().splitlines())).elements())
        begin = next(number for number, line in enumerate(lines) if name in line or name.replace("_", "-") in line)
        assert (ROOT / file).read_text().splitlines() == lines[:begin] + lines[begin + len(added) :]
    for file in complete_spaces():
        names = list(yaml.safe_load(changed_text(file, name, KNOWN))["algorithms"])
        assert name in names
        assert names == sorted(names)
    planted = [row for row in yaml.safe_load(changed_text(package.MUTANTS, name, KNOWN)) if name in row["file"]]
    assert len(planted) == 2


def test_the_suites_that_have_all_algorithms_have_a_space_with_them() -> None:
    assert complete_spaces() == ["fedbench/suites/spaces/axes.yaml"]


@pytest.mark.parametrize("key", ["aaron2026", "smith2026", "zzz2026"])
def test_a_new_paper_is_in_its_place(key: str) -> None:
    source = Source(key, NEW.title, NEW.authors, NEW.venue, NEW.link)
    rows = tomllib.loads(changed_text(package.BIBLIOGRAPHY, "mine", source))
    assert list(rows) == sorted(rows)
    assert rows.pop(key) == {
        "authors": ["Smith", "van der Lee"], "year": 2026, "title": 'On "Damping"', "venue": "arXiv", "link": NEW.link,
    }  # fmt: skip
    assert set(rows) == set(PAPERS)
    assert source.paper().short == "Smith and van der Lee 2026"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (Source("nguyen2020"), "is not in fedbench/literature.toml; did you mean 'nguyen2022'.*give --title, --authors, --venue"),
        (Source("smith2026", title="A", venue="B"), "also give --authors$"),
        (Source("Smith et al."), "expected a name and a year, such as nguyen2022, got 'Smith et al.'"),
        (Source("nguyen2022", title="A"), "paper nguyen2022 is in fedbench/literature.toml; leave out --title"),
        (Source("nguyen2022b", "A", "Nguyen, B, C", "D"), "reads Nguyen et al. 2022, as nguyen2022 does"),
    ],
)
def test_a_paper_that_is_not_known(source: Source, message: str, clone: Path) -> None:
    before = contents(clone)
    with pytest.raises(UsageError, match=message):
        write("mine", "Mine", source)
    assert contents(clone) == before


@pytest.mark.parametrize("source", [KNOWN, NEW])
def test_everything_is_written_or_nothing(source: Source, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(clone)

    def refuse() -> None:
        raise UsageError("no page")

    monkeypatch.setattr(package, "_make_page", refuse)
    with pytest.raises(UsageError, match="no page"):
        write("mine", "Mine", source)
    assert contents(clone) == before

    monkeypatch.setattr(package, "_make_page", lambda: (clone / package.PAGE).write_text("made again"))
    written = write("mine", "Mine", source)
    after = contents(clone)
    assert set(written) == {file for file in after if after[file] != before.get(file)}
    assert (package.BIBLIOGRAPHY in written) == (source is NEW)
    with pytest.raises(UsageError, match=r"fedbench/algorithms/mine.py is there already; choose another name"):
        write("mine", "Mine", source)
    assert contents(clone) == after


def test_what_it_writes_keeps_the_rules_of_an_algorithm(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "_make_page", lambda: None)
    write("mine", "Mine", KNOWN)
    source = (clone / "fedbench/algorithms/mine.py").read_text()
    assert "weighted_sum" in source
    assert not [*reductions(source), *library_functions(source)]


def test_where_there_is_no_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package, "CLONE", tmp_path)
    with pytest.raises(UsageError, match=f"--in-package writes into a clone of the repository, and {tmp_path} is none"):
        write("mine", "Mine", KNOWN)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--in-package", "-d", "elsewhere"], "--in-package writes into the package; leave out --directory"),
        (["--venue", "NeurIPS"], "--venue needs --in-package"),
        (["--paper", "smith2026"], "--paper needs --in-package"),
    ],
)
def test_options_that_do_not_go_together(options: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["new", "algorithm", "mine", *options])
    assert message in str(result.exception)


@pytest.mark.slow
@pytest.mark.fashion
def test_what_it_writes_passes_as_it_stands(tmp_path: Path) -> None:
    """In a fresh clone, with a paper that is not there yet: style, rules and the tests that know
    all algorithms. The planted mistakes are noticed."""
    from tests.house.mutants import CUSTOMIZE, copy_tree

    clone, site = tmp_path / "clone", tmp_path / "site"
    copy_tree(ROOT, clone)
    site.mkdir()
    (site / "sitecustomize.py").write_text(CUSTOMIZE)
    environment = {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{clone}"}

    def run(*command: str) -> None:
        done = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout[-4000:]}{done.stderr[-2000:]}"

    def python(*arguments: str) -> None:
        run(sys.executable, *arguments)

    paper = ("--paper", "doe2026", "--title", "A rule", "--authors", "Doe, Roe, Poe", "--venue", "arXiv")
    python("-c", "from fedbench.cli.main import main; main()", "new", "algorithm", "my_algorithm", "--in-package", *paper)
    run("git", "init", "--quiet")
    run("git", "add", "--all")
    run("git", "-c", "user.name=me", "-c", "user.email=me@example.org", "commit", "--quiet", "--message", "A clone")
    for tool in ("ruff check", "ruff format --check", "tests.house.rules", "tests.house.prose", "codespell_lib"):
        python("-m", *tool.split())
    python("-m", "mypy", "fedbench/algorithms/my_algorithm.py")
    tests = "algorithms house types suites cli conformance engine/test_execute.py proof/test_contract.py test_descriptions.py"
    python("-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *(f"tests/{one}" for one in tests.split()))
    python("tests/house/mutants.py", "my-algorithm")
