"""Every line that a paper prints has its place in our code, and the code is still what was
quoted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from fedbench.documents.paper import Paper
from fedbench.errors import UsageError
from fedbench.papers import alignment
from fedbench.papers.alignment import MisalignedError, Row, load
from fedbench.papers.alignment_page import markdown
from fedbench.papers.cells import PAPERS as NUMBERS
from fedbench.papers.document import document

ROOT = Path(__file__).resolve().parents[2]
PAPERS = sorted(NUMBERS.values())
LINES = re.compile(r"(?P<algorithm>Alg\. \d.*?) lines? (?P<first>\d+)(?:-(?P<last>\d+))?\Z")


def paper_of(key: str) -> Paper:
    (number,) = (number for number, one in NUMBERS.items() if one == key)
    return document(number, lambda spec: None, {}, ROOT)


def gaps(rows: list[Row], algorithm: str, last: int) -> list[str]:
    """What is wrong with the lines of an algorithm: 1 .. last must come in order, each once or
    several times in a row."""
    found, wrong, before, reached = [LINES.match(row.place) for row in rows], [], (0, 0), 0
    for match in found:
        if match is None or match["algorithm"] != algorithm:
            continue
        lines = int(match["first"]), int(match["last"] or match["first"])
        if lines != before and lines[0] != reached + 1:
            wrong.append(f"{match.string} follows line {reached}")
        before, reached = lines, lines[1]
    return wrong if reached == last else [*wrong, f"{algorithm} ends at line {reached}, its last is {last}"]


@pytest.mark.parametrize("key", PAPERS)
def test_every_quoted_line_is_in_its_file_exactly_once(key: str) -> None:
    found = load(key).located(ROOT)
    assert all(one.not_code or 1 <= one.first <= one.last for one in found)
    assert all(not one.not_code or one.first == one.last == 0 for one in found)


@pytest.mark.parametrize("key", PAPERS)
def test_the_lines_of_every_algorithm_are_covered_in_order(key: str) -> None:
    paper = load(key)
    wrong = [gap for name, last in paper.algorithms.items() for gap in gaps(list(paper.alignment), name, last)]
    assert not wrong
    named = {match["algorithm"] for row in paper.alignment if (match := LINES.match(row.place))}
    assert named == set(paper.algorithms)


@pytest.mark.parametrize("key", PAPERS)
def test_errata_and_open_questions_are_whole(key: str) -> None:
    paper = load(key)
    assert paper.errata
    assert paper.unprinted
    follow = [erratum.where_we_follow for erratum in paper.errata if erratum.where_we_follow]
    assert all((ROOT / path).is_file() for path in follow)
    texts = [text for one in (*paper.errata, *paper.unprinted) for text in vars(one).values()]
    assert all("  " not in text and "\n" not in text for text in texts)
    assert all(text for one in paper.unprinted for text in vars(one).values())
    assert all(one.why.endswith(".") for one in (*paper.errata, *paper.unprinted))


@pytest.mark.parametrize("key", PAPERS)
def test_the_files_are_ascii_and_no_place_is_told_twice_alike(key: str) -> None:
    paper = load(key)
    assert (alignment.FOLDER / f"{key}.yaml").read_text(encoding="utf-8").isascii()
    told = [(row.place, row.file, row.within, row.holds) for row in paper.alignment]
    assert len(told) == len(set(told))
    assert all(row.says.endswith((".", ":")) for row in paper.alignment)


def test_every_paper_is_aligned() -> None:
    assert sorted(file.stem for file in alignment.FOLDER.glob("*.yaml")) == PAPERS
    assert [load(key).paper for key in PAPERS] == PAPERS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of the package's, and of the repository."""
    monkeypatch.setattr(alignment, "FOLDER", tmp_path)
    return tmp_path


HEAD = "schema: 1\npaper: wu2021\nalgorithms: {}\nalignment:\n"
TAIL = "errata: []\nunprinted: []\n"
CODE = """class A:
    def step(
        self,
    ) -> None:
        x = x + 1

        y = 2
    def other(self):
        x = x + 1
"""


def written(folder: Path, row: str, code: str = CODE) -> alignment.Alignment:
    (folder / "wu2021.yaml").write_text(HEAD + f"  - {{place: (5), says: x moves, {row}}}\n" + TAIL)
    (folder / "code.py").write_text(code)
    return load("wu2021")


def test_a_line_is_found_within_its_definition(folder: Path) -> None:
    found = written(folder, "file: code.py, within: def step, holds: x = x + 1").located(folder)
    assert [(one.first, one.last) for one in found] == [(5, 5)]


def test_several_lines_are_found_whatever_their_indentation(folder: Path) -> None:
    found = written(folder, r'file: code.py, holds: "def other(self):\n    x = x + 1"').located(folder)
    assert [(one.first, one.last) for one in found] == [(8, 9)]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("holds: x = x + 2", "does not hold the code that does it"),
        ("holds: x = x", "does not hold the code that does it"),  # a whole line is meant
        ("holds: x = x + 1", "holds 2 times, in lines 5, 9, the code"),
        (r'holds: "x = x + 1\ny = 2"', "does not hold"),  # a line between them
        (r'holds: "def other(self):\nx = x + 1"', "does not hold"),  # indented otherwise
        ("holds: y = 2, within: def other", "does not hold within 'def other' the code"),
        ("holds: y = 2, within: def none", "has 0 lines that begin with 'def none'"),
        ("holds: y = 2, within: def", "has 2 lines that begin with 'def'"),
    ],
)
def test_changed_code_says_which_place_of_which_paper_to_look_at(folder: Path, row: str, says: str) -> None:
    paper = written(folder, f"file: code.py, {row}")
    with pytest.raises(MisalignedError, match=re.escape(says)) as error:
        paper.located(folder)
    assert str(error.value).startswith("Wu et al. 2021, (5): code.py ")
    assert "look at this place" in str(error.value)


def test_a_file_that_is_gone_is_named(folder: Path) -> None:
    with pytest.raises(MisalignedError, match=r"Wu et al\. 2021, \(5\): gone\.py is no file"):
        written(folder, "file: gone.py, holds: x = x + 1").located(folder)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("file: code.py", "expected file and holds, or not_code alone"),
        ("holds: x = 1", "expected file and holds, or not_code alone"),
        ("file: code.py, holds: x = 1, not_code: why", "expected file and holds, or not_code alone"),
        ("within: def step, not_code: why", "expected file and holds, or not_code alone"),
        ("not_code: ''", "expected file and holds, or not_code alone"),
        ("not_code: 3", "alignment.0.not_code"),
        ("not_code: why, notcode: why", "alignment.0.notcode"),
    ],
)
def test_a_row_with_odd_fields_is_refused(folder: Path, row: str, says: str) -> None:
    with pytest.raises(UsageError, match=re.escape(says)):
        written(folder, row)


def test_a_row_without_a_place_is_refused(folder: Path) -> None:
    (folder / "wu2021.yaml").write_text(HEAD + "  - {says: x moves, not_code: why}\n" + TAIL)
    with pytest.raises(UsageError, match=r"alignment\.0\.place must be text, but is missing \(wu2021\.yaml\)"):
        load("wu2021")


def test_gaps_are_seen() -> None:
    rows = [
        Row(place=f"Alg. 1 client {lines}", says="x", not_code="why") for lines in ("line 1", "lines 2-3", "lines 2-3", "line 4")
    ]
    assert gaps(rows, "Alg. 1 client", 4) == []
    assert gaps(rows, "Alg. 1 client", 5) == ["Alg. 1 client ends at line 4, its last is 5"]
    assert gaps(rows[:1] + rows[3:], "Alg. 1 client", 4) == ["Alg. 1 client line 4 follows line 1"]
    assert gaps([rows[1], rows[0]], "Alg. 1 client", 1) == [
        "Alg. 1 client lines 2-3 follows line 0",
        "Alg. 1 client line 1 follows line 3",
    ]


@pytest.mark.parametrize("key", PAPERS)
def test_the_page_has_every_row_and_quotes_its_lines_without_their_numbers(key: str) -> None:
    paper, text = load(key), markdown(paper_of(key))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    rows = sum(token.type == "tr_open" for token in tokens)
    assert rows == 3 + len(paper.alignment) + len(paper.errata) + len(paper.unprinted)
    cells = sum(token.type in ("td_open", "th_open") for token in tokens)
    assert cells == 3 * (1 + len(paper.alignment)) + 5 * (1 + len(paper.errata)) + 3 * (1 + len(paper.unprinted))
    for one in paper.located(ROOT):
        if not one.not_code:
            first = " ".join(one.holds.splitlines()[0].split()).replace("|", "\\|")
            assert f"(../../{one.file})<br>`" in text
            assert first in text
    assert "#L" not in text


def test_the_page_shows_texts_as_they_stand() -> None:
    html = MarkdownIt("commonmark").enable("table").render(markdown(paper_of("wang2024defedavg")))
    assert "<td>w^(t+1) = w^t + (eta/n) sum over I_t of (w_i^(t,K) - w^t)</td>" in html
    assert "<td>|I_t| &lt;= n</td>" in html
    assert "<em>" not in html
