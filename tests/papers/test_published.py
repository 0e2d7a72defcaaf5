"""What is committed of the papers follows from the committed records, by the rules, to the last
character."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from fedbench.documents.paper import VERDICTS
from fedbench.leaderboard.verdicts import MEASURED
from fedbench.papers import ceilings, experiment, orders_of_convergence, published
from fedbench.papers.cells import PAPERS, Cell, cells, chosen
from fedbench.papers.rules import VERSION
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
    assert {one["verdict"] for one in committed["cells"]} <= set(VERDICTS)
    assert committed["rules"] == VERSION


def test_the_pages_are_those_of_the_records() -> None:
    pages = dict(published.Committed.read(FOLDER).texts(ROOT, FOLDER))
    for key in PAPERS.values():
        file = ROOT / published.PAGES / f"{key}.md"
        assert file.read_text() == pages[file], file.name + AGAIN
    for one in (ROOT / published.PAGES).glob("*.md"):
        assert f"]({one.name})" in (ROOT / published.PAGES / "README.md").read_text() or one.name == "README.md"


def test_the_front_page_counts_what_stands_in(committed: dict[str, Any]) -> None:
    page = " ".join((ROOT / published.PAGES / "README.md").read_text().split())
    others = [one for one in committed["cells"] if one["verdict"] == "not run" and one["stand_ins"]]
    assert f"Of the results that are not run, {len(others)} were run on another data set" in page


def test_the_front_page_counts_what_agrees_with_each_paper(committed: dict[str, Any]) -> None:
    page = (ROOT / published.PAGES / "README.md").read_text()
    known = by_name()
    for paper, key in PAPERS.items():
        mine = [one for one in committed["cells"] if known[one["cell"]].paper == paper]
        mine = [one for one in mine if experiment.table(known[one["cell"]]).kind != "configuration"]
        counts = {
            word: sum(one["verdict"] == word for one in mine) for word in VERDICTS if word not in ("not run", "not comparable")
        }
        words = [f"{n} {'agree' if word == 'agrees' and n > 1 else word}" for word, n in counts.items() if n]
        (row,) = (line for line in page.splitlines() if f"]({key}.md)" in line)
        _, _, _, measured, told, _, _ = row.split("|")
        assert measured.split()[:3] == [f"{sum(counts.values())}", "of", f"{len(mine)}"], row
        assert told.strip() == (", ".join(words) or "none"), row


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
        seeds = experiment.seeds(cell)
        assert sorted(map(int, one["readings"])) in (list(range(seeds.seeds)), list(range(seeds.last))), one["cell"]
        for record in used([cell], find):
            spec = experiment.spec(cell, record.seed)
            assert record.run_id == spec.run_id, one["cell"]
            changed = {text.partition("=")[0] for text in overrides_of(spec.scenario) or ["no library"]}
            declared = set(experiment.how(cell).set) | {"budget.seconds"}  # type: ignore[union-attr]
            assert changed <= declared, one["cell"]


def again(cell: Cell, values: list[float], missed: list[bool], diverged: list[bool], step: float) -> str:
    """The verdict by arithmetic of its own, not by the code that made it. For the readings that are
    committed, none of which is an accuracy."""
    n, printed = len(values), cell.amount
    low, high = 0.85, math.inf if cell.censored else 1.18
    mean = sum(values) / n
    if any(missed):
        known = mean / printed >= low and cell.censored
        if not (all(missed) and n >= 3):
            return "close" if known else "not decided"
        ends = min(values) / printed, math.inf
    elif n == 1:
        return "close" if low <= mean / printed <= high else "not decided"
    else:
        spread = max(float(np.std(values, ddof=1)), step / 12**0.5)
        half = float(scipy.stats.t.ppf(0.975, n - 1)) * spread / n**0.5
        ends = (mean - half) / printed, (mean + half) / printed
    if low <= ends[0] and ends[1] <= high and n >= 3:
        return "reproduced"
    if ends[1] < low or ends[0] > high:
        return "contradicted"
    return "close" if low <= mean / printed <= high else "not decided"


def test_words_follow_from_the_readings_alone(committed: dict[str, Any]) -> None:
    known, seen = by_name(), 0
    for one in committed["cells"]:
        if one["verdict"] not in MEASURED:
            continue
        cell, readings = known[one["cell"]], list(one["readings"].values())
        assert not cell.is_accuracy, one["cell"]
        columns = [[reading[name] for reading in readings] for name in ("value", "missed", "diverged")]
        word = again(cell, *columns, step=1.0)  # rounds, and seconds that are evaluated every second
        if one["guesses"] and word == "reproduced":
            word = "close"
        assert one["verdict"] == word, one["cell"]
        assert one["mean"] == pytest.approx(np.mean(columns[0]))
        seen += 1
    assert seen == 31


def test_one_seed_decides_nothing(committed: dict[str, Any]) -> None:
    words = {one["verdict"] for one in committed["cells"] if len(one["readings"]) == 1}
    assert words <= {"close", "not decided", "not run", "not comparable"}
    assert {one["order"] for one in committed["orders"] if one["seeds"] == 1} <= {"kept once", "broken once", "undecided"}
    assert not {"kept once", "broken once"} & {one["order"] for one in committed["orders"] if one["seeds"] > 1}


def test_orders_follow_from_the_readings_alone(committed: dict[str, Any]) -> None:
    """By arithmetic of its own, those of three seeds that all end with a number."""
    known, cells_of, seen = by_name(), {one["cell"]: one for one in committed["cells"]}, 0
    for one in committed["orders"]:
        cells = [cells_of[one[name]] for name in ("first", "second")]
        pair = [cell["stand_ins"][one["stand_in"]]["readings"] if one["stand_in"] else cell["readings"] for cell in cells]
        seeds = sorted(pair[0].keys() & pair[1].keys())
        used = [readings[seed] for readings in pair for seed in seeds]
        if len(seeds) < 3 or any(reading["missed"] or reading["diverged"] for reading in used):
            continue
        first, second = known[one["first"]], known[one["second"]]
        x, y = (np.array([readings[seed]["value"] for seed in seeds]) for readings in pair)
        differences = (x - y if first.is_accuracy else np.log(x / y)) * (1 if first.amount > second.amount else -1)
        low, high = scipy.stats.t.interval(0.95, len(seeds) - 1, differences.mean(), scipy.stats.sem(differences))
        all_agree = len(set(np.sign(differences))) == 1 and max(x.mean(), y.mean()) > 1.2 * min(x.mean(), y.mean())
        decided = low > 0 or high < 0 or all_agree
        assert one["order"] == ("undecided" if not decided else "kept" if differences.mean() > 0 else "broken"), one
        seen += 1
    assert seen > 20


def test_delay_helps_fedbuff_on_its_test_bed() -> None:
    """The sign of what delay changes, and the ratio that is measured beside it, say the same."""
    lines = {line.check: line for line in orders_of_convergence.load(FOLDER)["fedbuff-delay"]}
    assert lines["change against tau, exponent"].sign == lines["change by tau = 8 against T, exponent"].sign == -1
    assert lines["tau = 16: |grad F|^2 over that without delay"].measured < 0.9
    asynchronous = orders_of_convergence.load(FOLDER)["fedasync-delay"]
    assert {line.sign for line in asynchronous} == {1}


def test_delay_costs_fedbuff_where_noise_moves_the_model() -> None:
    """By tau / T, of which the verdict says that the bound allows more; the order of arrivals makes
    a tau^2 that is no cost of delay."""
    lines = {line.check: line for line in orders_of_convergence.load(FOLDER)["fedbuff-delay-noise"]}
    over_T, over_tau = (lines[f"with noise, change {by}, exponent"] for by in ("by tau = 8 against T", "against tau"))
    assert over_T.sign == over_tau.sign == 1
    assert (over_T.measured, over_tau.measured) == (pytest.approx(-1, abs=0.1), pytest.approx(1, abs=0.1))
    assert lines["sorted arrivals: |grad F|^2 against tau + 1, exponent"].measured > 1.8
    assert lines["sorted arrivals, tau = 7: |grad F|^2 over that of the same arrivals without delay"].measured > 0.95
    for cell in chosen("002:TI", "5-6"):
        word, why, _ = orders_of_convergence.judged(cell, orders_of_convergence.load(FOLDER))
        assert (cell.algorithm, word) == ("FedBuff", "consistent with the bound")
        assert "with noise, change against tau 1.03 and not 2" in why


def test_unequal_steps_of_fedagrac_keep_the_orders_but_one() -> None:
    lines = {line.check: line.measured for line in orders_of_convergence.load(FOLDER)["fedagrac-unequal-orders"]}
    for variant in ("default", "avg"):
        assert lines[f"{variant}: against M, exponent"] == pytest.approx(-0.5, abs=0.1)
        assert lines[f"{variant}: against T, exponent"] == pytest.approx(-0.5, abs=0.1)
    assert lines["avg: against Kbar, exponent"] == pytest.approx(-0.5, abs=0.1)
    assert lines["default: against Kbar, exponent"] > -0.2


def test_the_archives_hold_what_is_used_and_nothing_else() -> None:
    """Made without local changes, after the rules; every record is behind a cell, an order or a
    variation."""
    find = in_archives(FOLDER, cells())
    wanted = {record.run_id for record in used(experiment.ways(cells()), find, varied=True)}
    for place in sorted(FOLDER.iterdir()):
        if not archive.is_archive(place):
            continue
        for record in archive.read(place):
            assert record.provenance.dirty is False
            if place.name == ceilings.FOLDER:
                continue
            assert record.run_id in wanted, f"{place.name}: {record.selector} seed {record.seed}"
            assert record.provenance.trainer == "native"


def test_all_claims_that_stand_beside_the_tables_are_committed_and_hold() -> None:
    claims = orders_of_convergence.load(FOLDER)
    assert set(claims) == {name for names in orders_of_convergence.BESIDE.values() for name in names}
    assert all(line.holds for lines in claims.values() for line in lines)


def test_pictures_stand_beside_the_pages() -> None:
    for document in published.Committed.read(FOLDER).documents():
        for one in document.figures:
            file = ROOT / published.PAGES / one.file
            assert file.read_text().lstrip().startswith("<?xml"), one.file + AGAIN
            assert all(line.row in file.read_text() for line in one.data.lines)
