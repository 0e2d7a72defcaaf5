"""The home page: what it is read from, and what it shows."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedbench.cli.verbs import VERBS
from fedbench.documents.home import Question
from fedbench.documents.read import as_json
from fedbench.documents.site import Beside
from fedbench.documents.suite import Document
from fedbench.errors import UsageError
from fedbench.leaderboard import home
from fedbench.leaderboard.pages.home import COMMANDS, answer
from fedbench.leaderboard.site import check, write
from fedbench.results.record import Record
from tests.leaderboard.reading import HOSTILE, Page
from tests.leaderboard.suite import ALL, TEN, full, read
from tests.leaderboard.test_standings import AVERAGES

Make = Callable[..., Record]
ROOT = Path(__file__).resolve().parents[2]
CITATION = {
    "title": "fed & bench", "version": "0.1.0", "date-released": "2026-11-26", "license": "Apache-2.0",
    "authors": [{"name": "The fedbench developers"}, {"family-names": "Doe", "given-names": "J."}],
}  # fmt: skip
ASKED = {"question": "Some are slow", "point": "calm", "system": TEN}


def folder(at: Path, cff: dict[str, Any] | None = None, **changes: Any) -> Path:
    """A file of a home page, and the citation that it names. A key that is None is left out."""
    content = {"schema": 1, "suite": "made-up", "baseline": "slow", "citation": "CITATION.cff", "questions": [ASKED], **changes}
    (at / "CITATION.cff").write_text(yaml.safe_dump(CITATION | (cff or {})))
    (at / "home.yaml").write_text(yaml.safe_dump({key: value for key, value in content.items() if value is not None}))
    return at / "home.yaml"


@pytest.fixture(name="documents")
def _documents(record: Make) -> list[Document]:
    return [full(record, averages=AVERAGES), full(record, "other")]


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_a_site_with_a_home_page(documents: list[Document], tmp_path: Path) -> None:
    site = tmp_path / "site"
    write(documents, site, beside=Beside(home=home.read(folder(tmp_path), documents)))
    assert check(site) == []
    page = (site / "index.html").read_text()
    Page(page)
    said = words(page)
    for text in (
        "With 10 clients at work, fast is the best, within the noise, under 2 of 2 kinds of heterogeneity; with all clients at work, ",
        "with all clients at work, crowd and mob under 1 of 1.",
        "With 10 clients at work, always using near costs 1.20 times [1.10, 1.30] as much as the best of each point on average, and 2.00",
        "fast and near are the best, within the noise. slow takes at least 4.10 times as long [3.28, ∞].",
        "among the best: fast 10.0 s",
        "among the best: near 1.10 [0.88, 1.32]",
        "title = {{fed \\& bench}}",
        "author = {{The fedbench developers} and Doe, J.}",
        "Licence: Apache-2.0.",
        "6 algorithms · ",  # and a reference
    ):
        assert text in said, text
    assert 'href="made-up/calm.html"' in page
    assert "Suite made-up" in (site / "findings.html").read_text()
    assert 'href="findings.html" aria-current="page"' in (site / "findings.html").read_text()
    assert 'href="../index.html">fedbench' in (site / "made-up" / "calm.html").read_text()


def test_without_a_home_page_the_first_suite_is_first(documents: list[Document], tmp_path: Path) -> None:
    site = tmp_path / "site"
    write(documents, site, beside=Beside(home=home.read(folder(tmp_path), documents)))
    write(documents, site)
    assert check(site) == []
    assert "Suite made-up" in (site / "index.html").read_text()
    assert not (site / "findings.html").exists()


def test_answers_on_other_axes_and_systems(documents: list[Document]) -> None:
    first = answer(documents[0], "tuned", "slow", Question(**ASKED, axis="bytes"))
    assert (
        first.words
        == "`fast` and `near` are the best, within the noise. `slow` sends at least 4.10 times as many bytes [3.28, ∞]."
    )
    assert first.rows[0].cost == "1 kB"
    alone = answer(documents[0], "tuned", "slow", Question(**ASKED | {"system": ALL}))
    assert alone.words.startswith("`crowd` and `mob` are the best")
    assert [row.label for row in alone.rows] == ["crowd", "mob"], "the baseline is of another system"


def test_an_answer_names_the_next_and_counts_what_it_leaves_out(documents: list[Document]) -> None:
    content = json.loads(as_json(documents[0]))
    group = content["groups"]["tuned"]["calm"][0]
    assert group["kind"] == TEN
    group["axes"]["seconds"]["best"] = ["fast"]
    found = answer(read(content), "tuned", "fast", Question(**ASKED))
    assert found.words == "`fast` is the best. `near` takes 1.10 times as long [0.88, 1.32]."
    assert [(row.label, row.is_best) for row in found.rows] == [("fast", True), ("near", False)]
    rows = content["boards"]["tuned"]["calm"]
    rows += [{**rows[1], "label": f"a{i}"} for i in range(5)]
    group["rows"] += [f"a{i}" for i in range(5)]
    group["axes"]["seconds"]["best"] = [f"a{i}" for i in range(5)] + ["fast"]
    found = answer(read(content), "tuned", "slow", Question(**ASKED))
    assert (len(found.rows), found.more) == (6, 2)
    assert "and 2 more are the best, within the noise." in found.words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"schema": 2}, "expected schema: 1 as the first line"),
        ({"suite": "mad-up"}, "suite: unknown name 'mad-up'; did you mean 'made-up'"),
        ({"baseline": "fedavg"}, "baseline: unknown name 'fedavg'"),
        ({"questions": []}, "questions: Tuple should have at least 1 item"),
        ({"questions": ["x"]}, "questions.0"),
        ({"questions": [ASKED | {"point": "calmer"}]}, "question 1: point: unknown name 'calmer'; did you mean 'calm'"),
        ({"questions": [ASKED | {"system": "all"}]}, "question 1: system: unknown name 'all'"),
        ({"questions": [ASKED | {"axis": "steps"}]}, "questions.0.axis"),
        ({"questions": [ASKED | {"point": "rough", "system": ALL}]}, "question 1: expected a board with a set of the best, got none"),
        ({"questions": [ASKED | {"more": "x"}]}, "questions.0.more"),
        ({"citation": None}, "citation: expected the name of a file such as CITATION.cff, got None"),
        ({"citation": "none.cff"}, "none.cff: cannot be read"),
        ({"other": 1}, "other"),
    ],
)  # fmt: skip
def test_what_is_no_home_page_is_named(changes: dict[str, Any], words: str, documents: list[Document], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape(words)):
        home.read(folder(tmp_path, **changes), documents)


@pytest.mark.parametrize("key", ["title", "authors", "date-released", "license"])
def test_a_citation_is_whole(key: str, documents: list[Document], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=rf"citation .*CITATION.cff: {key}: expected a value, got none"):
        home.read(folder(tmp_path, {key: None}), documents)
    with pytest.raises(UsageError, match="expected a list of people or entities, got 'x'"):
        home.read(folder(tmp_path, {"authors": "x"}), documents)


def test_a_source_is_linked_and_installed_from(documents: list[Document], tmp_path: Path) -> None:
    found = home.read(folder(tmp_path, {"repository-code": "https://example.org/fedbench"}), documents)
    assert "url = {https://example.org/fedbench}" in found.bibtex
    write(documents, tmp_path / "site", beside=Beside(home=found))
    page = (tmp_path / "site" / "index.html").read_text()
    assert 'data-copy="pip install git+https://example.org/fedbench"' in page
    assert '<a href="https://example.org/fedbench">example.org/fedbench</a>' in page
    with pytest.raises(UsageError, match="source"):
        home.read(folder(tmp_path, {"repository-code": "javascript:alert(1)"}), documents)


def test_texts_are_no_markup(documents: list[Document], tmp_path: Path) -> None:
    given = home.read(folder(tmp_path, {"title": HOSTILE}, questions=[ASKED | {"question": HOSTILE}]), documents)
    write(documents, tmp_path / "site", beside=Beside(home=given))
    page = (tmp_path / "site" / "index.html").read_text()
    Page(page)
    assert HOSTILE not in page


def test_a_home_page_of_strangers_is_refused_by_the_check(documents: list[Document], tmp_path: Path) -> None:
    site = tmp_path / "site"
    write(documents, site, beside=Beside(home=home.read(folder(tmp_path), documents)))
    content = json.loads((site / "data/site.json").read_text())
    content["home"]["questions"][0]["point"] = "nowhere"
    (site / "data/site.json").write_text(json.dumps(content))
    (line,) = check(site)
    assert "not what a leaderboard is made from" in line
    content["home"] = {"suite": "made-up"}
    (site / "data/site.json").write_text(json.dumps(content))
    (line,) = check(site)
    assert "home.baseline: Field required" in line


def test_the_published_file_fits_the_commands_and_the_citation() -> None:
    """Its questions are checked where the site is made, since that reads all archives."""
    given = yaml.safe_load((ROOT / "results/home.yaml").read_text())
    assert (given["suite"], given["map"]) == ("axes", "map")
    assert 3 <= len(given["questions"]) <= 6
    found = home.cited(ROOT / "results" / given["citation"])
    assert found["bibtex"].startswith("@software{fedbench,\n  author = {{The fedbench developers}},")
    assert found["licence"] == "Apache-2.0"
    assert all(line.split()[1] in VERBS for _, line in COMMANDS)
