"""What a paper's document has beside its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.papers import published
from fedbench.papers.cells import cells
from fedbench.papers.document import document, ours
from fedbench.papers.judging import Reading
from fedbench.papers.verdicts import Verdict

ROOT = Path(__file__).resolve().parents[2]


def test_code_stands_beside_a_paper_where_the_repository_is() -> None:
    with_code, without = (document("002", lambda spec: None, {}, root) for root in (ROOT, None))
    assert with_code.model_copy(update={"alignment": (), "errata": (), "unprinted": ()}) == without
    quoted = [one for one in with_code.alignment if one.file]
    assert len(quoted) > 10
    for one in quoted:
        lines = (ROOT / one.file).read_text().splitlines()[one.first - 1 : one.last]
        assert [line.strip() for line in lines] == [line.strip() for line in one.holds.splitlines()]
    assert all(one.not_code for one in with_code.alignment if not one.file)


def test_all_papers_are_published(tmp_path: Path) -> None:
    found = published.Committed.read(tmp_path).documents(ROOT)
    assert sum(len(table.cells) for one in found for table in one.tables) == 499
    assert all(one.alignment for one in found)


def test_yes_and_no_are_words() -> None:
    table = document("002", lambda spec: None, {}).tables[0]
    assert {text for cell in table.cells for text in cell.setting[1:3]} == {"yes", "no"}


@pytest.mark.parametrize(
    ("mean", "half", "text"),
    [
        (26.333, 6.32, "26.3 ± 6.3"),
        (61.67, 14.3, "62 ± 14"),
        (6.0, 0.0, "6 ± 0"),
        (0.8712, 0.0123, "0.871 ± 0.012"),
        (40.0, None, "40"),
    ],
)
def test_a_mean_has_the_digits_of_its_interval(mean: float, half: float | None, text: str) -> None:
    cell = cells()[0]
    assert ours(Verdict(cell, "close", "", {0: Reading(1.0)}, mean=mean, half_width=half)) == text
    assert ours(Verdict(cell, "close", "", {0: Reading(1.0, missed=True)}, mean=mean, half_width=half)) == f">{text}"
    assert ours(Verdict(cell, "agrees", "", {}, mean=884992.0)) == "884992"


def test_a_number_whose_seeds_all_diverge_is_written_as_that() -> None:
    cell, lost = cells()[0], Reading(0.0, diverged=True)
    assert ours(Verdict(cell, "contradicted", "", {0: lost, 1: lost}, mean=0.0, half_width=0.0)) == "diverged"
    assert ours(Verdict(cell, "contradicted", "", {0: lost, 1: Reading(10.0)}, mean=5.0, half_width=1.0)) == "5.0 ± 1.0"
