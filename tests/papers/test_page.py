"""The document of a paper, and its page."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.documents.paper import Paper, Theory
from fedbench.documents.read import as_json, parsed
from fedbench.engine.spec import RunSpec
from fedbench.papers import ceilings, experiment
from fedbench.papers.cells import PAPERS, chosen
from fedbench.papers.curves import curves
from fedbench.papers.document import differing, document
from fedbench.papers.page import page
from fedbench.papers.runs import ARCHIVES, in_archives
from fedbench.results.record import Record
from tests.leaderboard.papers import claim
from tests.papers.test_verdicts import gives, nothing, reaching

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("paper", PAPERS)
def test_a_document_is_json_and_has_every_cell(paper: str) -> None:
    found = document(paper, nothing, {})
    assert parsed(as_json(found), Paper, "paper", "expected a paper") == found
    assert sum(len(table.cells) for table in found.tables) == len(chosen(paper))
    assert sum(sum(counts.values()) for counts in found.counts.values()) == len(chosen(paper))
    for table in found.tables:
        assert all(len(cell.setting) == len(table.columns) for cell in table.cells)


def test_what_differs_names_a_cell() -> None:
    assert differing(chosen("000:T1")) == ["partition", "dataset", "target_acc", "n", "algorithm"]
    assert differing(chosen("001:T3")) == ["block"]


def test_a_page_shows_cells_orders_and_notes() -> None:
    find = gives({("001:T1", 3): (8, 8, 9), ("001:T1", 5): (55, 65, 65)})
    text = page(document("001", find, {}, ROOT))
    assert "| 3 | step\\_async | LR | 0.001 | 1 | 8.3 ± 1.4 (8, 8, 9) | ✗ contradicted |" in text
    assert "| LR, 0.001 | step\\_async \\< non\\_iid | ✓ kept | 3 |" in text
    assert "* Cells 5-8: The shares of the classes are Dirichlet(0.3)" in text
    assert "one-fast-40: One client does 4,000 steps" in text
    assert "<details><summary>75 cells that are not run. It needs CIFAR-10.</summary>" in text
    assert "It needs CIFAR-10. About 1.1e+06 steps a seed" in text
    assert "`fedbench reproduce 001:T1`\n\nThe committed runs (6, variations included) cost about <1 s of two cores" in text


def test_cells_that_are_not_run_are_folded_with_their_reasons() -> None:
    """Those with a number are not, and facts of configuration are where they are many."""
    text = page(document("000", gives({("000:T1", 1): (48, 51, 58)}), {}, ROOT))
    runs, facts = text.partition("## Table 1")[2].split("## Table 2")
    shown, _, folded = runs.partition("<details><summary>")
    assert "| 1 | iid | FashionMNIST | 90 | 10 | FedAvg | 51.89 |" in shown
    assert "| 2 | iid |" not in shown
    assert folded.startswith("63 cells that are not run. ")
    assert "Its runs have not been made yet (23)." in folded.splitlines()[0]
    assert "It needs CIFAR-10 (32)." in folded.splitlines()[0]
    assert folded.partition("</details>")[0].count("| – not run |") == 63
    assert "<details><summary>112 cells: 105 agrees, 7 not comparable</summary>" in facts


def test_what_orders_are_read_off_has_a_letter_where_there_is_more() -> None:
    found = document("001", gives({("001:T1", 3): (8, 8, 9), ("001:T1", 5): (55, 65, 65)}), {}, ROOT)
    table = next(one for one in found.tables if one.orders)
    assert "* On A" not in page(found)
    other = table.orders[0].model_copy(update={"where": "elsewhere", "substitute": "Digits stand in"})
    several = table.model_copy(update={"orders": (*table.orders, other)})
    text = page(found.model_copy(update={"tables": (several,)}))
    assert f"* On A: {table.orders[0].on}\n* On B: Digits stand in\n\n| Where | Printed | Ours | Seeds | On |" in text
    assert "| LR, 0.001 | step\\_async \\< non\\_iid | ✓ kept | 3 | A |" in text
    assert "| elsewhere | step\\_async \\< non\\_iid | ✓ substitute: order kept | 3 | B |" in text


def test_a_variation_stands_beside_the_number_of_its_own_data_set() -> None:
    """That of cell 9 on Fashion-MNIST is of three seeds."""
    (t2,) = (one for one in document("004", in_archives(ROOT / ARCHIVES, chosen("004")), {}).tables if one.name == "T2")
    given = {(varied.name, cell.number): cell.ours for varied in t2.variations for cell in varied.cells}
    assert given["rate-of-fedbuff", 9] is None
    for name, number in (("rate-without-normalisation", 9), ("rate-of-fedecho", 1)):
        (why,) = (cell.why for cell in t2.cells if cell.number == number)
        assert f"On cifar10-jpeg: {given[name, number]}." in why


def test_what_became_of_a_variation() -> None:
    """One reading that lies elsewhere decides; without it, all have to be there."""
    varied = {
        one: next(each for each in experiment.variations(one) if each.name == "at-work-30") for one in chosen("000:T1", "41-44")
    }

    def became(*ratios: float) -> str | None:
        specs = {
            experiment.spec(one, 0, how).run_id: (ratio * one.amount, experiment.spec(one, 0, how))
            for (one, how), ratio in zip(varied.items(), ratios, strict=False)
        }
        found = document("000", lambda spec: reaching(*specs[spec.run_id]) if spec.run_id in specs else None, {})
        outcomes = {one.name: one.outcome for one in found.tables[0].variations}
        assert outcomes["speed"] is None
        return outcomes["at-work-30"]

    assert [became(), became(1, 1), became(1, 1, 0.8, 0.7)] == ["not known yet", "not known yet", "as declared"]
    assert [became(1, 1, 0.8, 1), became(0.3)] == ["not as declared", "not as declared"]
    assert "in 0.68 to 0.94. Outcome: not known yet." in page(document("000", nothing, {}))


def test_all_that_a_variation_expects_is_somewhere() -> None:
    """Every cell that it is about has its ratios."""
    for cell in chosen("000"):
        for one in experiment.variations(cell):
            bands = [band for band in one.expects if cell.matches(band.where)]
            assert bool(bands) is bool(one.expects), (one.name, cell.name)
            assert all(band.low < band.high for band in bands)


def test_theory_stands_on_the_page() -> None:
    line = claim("M = 2", "bound", claim="fedbuff-bound", measured=0.045, expected=0.52, allowed=0.0)
    slope = claim("against T", "slope", claim="fedbuff-orders", measured=-0.5, low=-0.52, high=-0.48, sign=-1, holds=False)
    claims = {one["claim"]: [Theory.model_validate(one)] for one in (line, slope)}
    text = page(document("002", nothing, claims, ROOT))
    assert "| fedbuff-bound | M = 2 | 0.045 | \\<= 0.52 | holds |" in text
    assert "| fedbuff-orders | against T | -0.5 of a decrease \\[-0.52, -0.48\\] | -0.5 ± 0.1 | FAILS |" in text


def test_curves_are_of_whole_cells() -> None:
    """A line an algorithm; what is not all there is named."""
    assert list(curves("000", nothing)) == []
    find = gives({("000:T1", 1): (48, 51, 58), ("000:T1", 13): (26, 27)})
    (found,) = curves("000", find)
    assert (found.name, found.file) == ("Figure 2, IID", "000-figure-2-iid.svg")
    assert [line.row for line in found.data.lines] == ["FedAvg"]
    assert found.about.endswith("Left out, since not all of its runs are there: FAVANO, AsySG, DeFedAvg-IID.")


def test_curves_of_a_stand_in_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """And have none of the runs on the paper's own data."""
    known = ceilings.Measured(stand_in="cifar10-jpeg", augmentation="crop_flip", accuracy=0.8, half_width=0.01, seeds=3)
    monkeypatch.setattr(ceilings, "reached", lambda name: known)
    experiment._scenario.cache_clear()
    (way,) = experiment.stand_ins(*chosen("000:T1", "17"))
    spec = experiment.spec(way, 0)

    def find(wanted: RunSpec) -> Record | None:
        return reaching(40, spec) if wanted.run_id == spec.run_id else None

    (found,) = curves("000", find)
    assert (found.name, found.file) == ("Figure 2, CIFAR-10, IID", "000-figure-2-cifar-10-iid.svg")
    assert found.about.startswith("Ours for Figure 2, CIFAR-10, IID on cifar10-jpeg: test accuracy")
    assert [line.row for line in found.data.lines] == [way.algorithm]
    cells = {one.number: one for one in document("000", find, {}).tables[0].cells}
    assert f"The target on cifar10-jpeg is {100 * spec.scenario.targets[0].value:.4g} %." in cells[17].why
    assert (cells[17].on, cells[1].on) == ("cifar10-jpeg", "")
    assert list(curves("000", gives({("000:T1", 17): (40, 41, 42)}))) == []
    experiment._scenario.cache_clear()
