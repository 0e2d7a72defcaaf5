"""What is committed of the papers follows from the committed records, by the rules, to the last
character."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedbench.papers import experiment, orders_of_convergence, published
from fedbench.papers.cells import PAPERS, Cell, cells
from fedbench.papers.rules import CLOSE, SAME, WIDEST, WORDS, Reading, judge
from fedbench.papers.runs import ARCHIVES, in_archives, used
from fedbench.results import archive
from fedbench.scenarios.load import overrides_of

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ARCHIVES
AGAIN = "; `fedbench reproduce --write` makes it again"


@pytest.fixture(name="committed", scope="module")
def _committed() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / published.VERDICTS).read_text())
    return found


def by_name() -> dict[str, Cell]:
    return {cell.name: cell for cell in cells()}


def test_every_verdict_is_derived_again(committed: dict[str, Any]) -> None:
    """All 499, with their numbers, reasons and prices, and all orders."""
    again = published.Committed.read(FOLDER).verdicts()
    for mine, theirs in zip(again["cells"], committed["cells"], strict=True):
        assert mine == theirs, mine["cell"] + AGAIN
    assert again == committed, published.VERDICTS + AGAIN
    assert [one["cell"] for one in committed["cells"]] == [cell.name for cell in cells()]
    assert {one["verdict"] for one in committed["cells"]} <= set(WORDS)


def test_the_pages_are_those_of_the_records() -> None:
    pages = dict(published.Committed.read(FOLDER).texts(ROOT, FOLDER))
    for key in PAPERS.values():
        file = ROOT / published.PAGES / f"{key}.md"
        assert file.read_text() == pages[file], file.name + AGAIN
    for one in (ROOT / published.PAGES).glob("*.md"):
        assert f"]({one.name})" in (ROOT / published.PAGES / "README.md").read_text() or one.name == "README.md"


def test_nothing_is_reproduced_by_a_guess_a_choice_of_seeds_or_another_scenario(committed: dict[str, Any]) -> None:
    """All seeds from 0 on; the scenario of the library but for how long it is run; the options that
    the paper prints."""
    find, known = in_archives(FOLDER, cells()), by_name()
    for one in committed["cells"]:
        if one["verdict"] != "reproduced":
            continue
        cell = known[one["cell"]]
        assert not one["guesses"], one["cell"]
        assert not one["substitute"], one["cell"]
        assert sorted(map(int, one["readings"])) == list(range(experiment.seeds(cell).seeds)), one["cell"]
        for record in used([cell], find):
            spec = experiment.spec(cell, record.seed)
            assert record.run_id == spec.run_id, one["cell"]
            changed = {text.partition("=")[0] for text in overrides_of(spec.scenario) or ["no library"]}
            declared = set(experiment.how(cell).set) | {"budget.seconds"}  # type: ignore[union-attr]
            assert changed <= declared, one["cell"]


def test_words_follow_from_the_readings_alone(committed: dict[str, Any]) -> None:
    """By arithmetic of its own, not by the code that made them."""
    known = by_name()
    for one in committed["cells"]:
        if one["verdict"] not in ("reproduced", "close", "contradicted"):
            continue
        cell, readings = known[one["cell"]], list(one["readings"].values())
        values = [reading["value"] for reading in readings]
        missed = sum(reading["missed"] or reading["diverged"] for reading in readings)
        mean = sum(values) / len(values)
        if cell.censored:
            misses = sum(reading["missed"] or reading["value"] > cell.amount for reading in readings)
            word = "reproduced" if misses == len(readings) else "close" if misses else "contradicted"
        else:
            half = one["half_width"]
            contains = half is not None and abs(mean - cell.amount) <= half
            near = abs(mean - cell.amount) / cell.amount
            good = not missed and (near <= SAME or (contains and half <= WIDEST * cell.amount))
            some = missed < len(readings) and (near <= CLOSE or (contains and not missed))
            word = "reproduced" if good else "close" if some else "contradicted"
        if one["guesses"] and word == "reproduced":
            word = "close"
        assert one["verdict"] == word, one["cell"]
        assert one["mean"] == pytest.approx(mean)
        again = judge(
            cell.amount, [Reading(**reading) for reading in readings], censored=cell.censored, guessed=bool(one["guesses"])
        )
        assert again.word == word, one["cell"]


def test_the_archives_hold_what_is_used_and_nothing_else() -> None:
    """Made without local changes, after the rules; every record is behind a cell, an order or a
    variation."""
    find = in_archives(FOLDER, cells())
    wanted = {record.run_id for record in used(cells(), find, varied=True)}
    for place in sorted(FOLDER.iterdir()):
        if not archive.is_archive(place):
            continue
        for record in archive.read(place):
            assert record.run_id in wanted, f"{place.name}: {record.selector} seed {record.seed}"
            assert record.meta["provenance"]["dirty"] is False
            assert record.meta["provenance"]["trainer"] == "native"


def test_all_claims_that_stand_beside_the_tables_are_committed_and_hold() -> None:
    claims = orders_of_convergence.load(FOLDER)
    assert set(claims) == {name for names in orders_of_convergence.BESIDE.values() for name in names}
    assert all(line["holds"] for lines in claims.values() for line in lines)


def test_pictures_stand_beside_the_pages() -> None:
    for document in published.Committed.read(FOLDER).documents():
        for one in document["curves"]:
            file = ROOT / published.PAGES / one["file"]
            assert file.read_text().lstrip().startswith("<?xml"), one["file"] + AGAIN
            assert all(line["row"] in file.read_text() for line in one["data"]["lines"])
