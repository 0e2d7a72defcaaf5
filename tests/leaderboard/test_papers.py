"""The pages of the papers."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedbench import registry
from fedbench.cli.leaderboard import app
from fedbench.documents.paper import KINDS, ORDERS, VERDICTS, Cell, Paper, each_seed
from fedbench.documents.read import as_json
from fedbench.documents.suite import Entrant, Facts
from fedbench.errors import UsageError
from fedbench.leaderboard.pages import algorithm, paper, papers
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pages.reasons import reasons
from fedbench.leaderboard.site import check, write
from fedbench.leaderboard.verdicts import MEASURED, OF_KIND, SIGNS, TONES
from fedbench.papers import rules
from fedbench.papers.cells import PAPERS
from fedbench.papers.document import document
from fedbench.papers.experiment import experiments
from fedbench.results.record import Record
from tests.leaderboard.papers import cell, content, first_table, made, read, table
from tests.leaderboard.reading import HOSTILE, Page
from tests.leaderboard.suite import full

Make = Callable[..., Record]
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(name="site")
def _site(record: Make) -> Site:
    return Site([full(record)], papers=[made()])


@pytest.fixture(scope="module", name="real")
def _real() -> Paper:
    """A real document without records, as it is after JSON."""
    found = document("001", lambda spec: None, {}, ROOT)
    again = Paper.model_validate_json(as_json(found))
    assert again == found
    return again


def shown(number: int, **more: Any) -> Cell:
    return Cell.model_validate(cell(number, **more))


def words(page: str) -> str:
    """The text of a page, with single spaces."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())


def row(page: str, ident: str) -> str:
    """The words of the row with an id."""
    found = re.search(rf'<tr id="{ident}">.*?</tr>', page, re.DOTALL)
    assert found is not None, ident
    return words(found[0])


def test_every_number_of_a_real_paper_is_there_with_its_verdict(record: Make, real: Paper) -> None:
    page = paper.render(Site([full(record)], papers=[real]), real)
    Page(page)
    assert sum(len(one.cells) for one in real.tables) == 127
    for one in real.tables:
        for each in one.cells:
            said = row(page, f"{one.name}-{each.number}")
            for text in (each.printed, each.verdict, each.why, *each.setting):
                assert " ".join(text.split()) in said
    assert len(real.alignment) > 60
    for place in real.alignment:
        assert " ".join(place.says.split()) in words(page)


def test_a_page_says_it_in_words_and_signs(site: Site) -> None:
    page = paper.render(site, site.papers[0])
    assert '<p class="about">Little comes out.</p>' in page
    Page(page)
    assert row(page, "T1-1") == "1 FedAvg 0.1 51.9 52.1 ± 3.0 51, 52, 53 ✓ reproduced Why 1. 30 min"
    assert "✗ contradicted" in row(page, "T1-3")
    assert "1 seed" in row(page, "T1-3")
    assert "– – not run" in row(page, "T1-4"), "no number of ours, and the sign of the verdict"
    assert "3 days" in row(page, "T1-4")
    assert 'href="https://arxiv.org/abs/2112.09355"' in page
    assert 'data-copy="fedbench reproduce 001:T1"' in page
    assert 'href="../data/papers/wu2021.json"' in page
    said = words(page)
    for text in (
        "The committed runs (3, variations included) cost about 1.5 h of two cores of the reference machine.",
        "With a fast client it is nearer.",
        "local.steps = 7",
        "Of 5 orders 1 is kept, 1 is broken, 1 is undecided, 1 is kept once, 1 is broken once.",
        "Measured results 4 of 6 printed results were measured again 1 ✓ reproduced 1 ≈ close 1 ○ not decided",
        "fedbench/x.py, lines 3 to 4",
        "a = 1 b = a < 2",
        "No code. It opens a loop.",
        "Printed: K_i Meant: K_i - 1 Why: It ends there. Followed in fedbench/x.py",
        "Taken: 0.1 Why: The grid has it.",
        "-0.53 to -0.43 -0.5 ± 0.1 ✓ holds",
        "at most -0.5 ✗ fails",
        "No curve: FedBuff.",
    ):
        assert text in said, text


def test_a_remark_is_said_once_and_marked_where_it_holds(site: Site) -> None:
    page = paper.render(site, site.papers[0])
    assert page.count("The steps are guessed.") == page.count("The rates are guessed.") == page.count("A gap is before it.") == 1
    assert "<strong>Guessed, for all of them:</strong> The rates are guessed." in page
    assert '<li id="T1-note-a"><sup>a</sup> <strong>Guessed:</strong> The steps are guessed.' in page
    assert '<a href="#T1-note-a">a</a>' in re.search(r'<tr id="T1-2">.*?</tr>', page, re.DOTALL)[0]  # type: ignore[index]
    assert "<sup>" not in re.search(r'<tr id="T1-1">.*?</tr>', page, re.DOTALL)[0]  # type: ignore[index]
    assert "<strong>Stands in:</strong> Digits stand in." in page
    assert "<strong>In print:</strong> A gap is before it." in page


def test_what_is_varied_stands_beside_printed_and_ours(site: Site) -> None:
    page = paper.render(site, site.papers[0])
    varied = page.partition('aria-label="What was varied of T1"')[2].partition("</table>")[0]
    rows = [words(one) for one in varied.split("<tr>")[2:]]
    assert rows == [
        "fast 3 FedBuff, 0.1 51.9 >90 60, 61",
        "fast 2 FedAvg, 0.1 51.9 52.1 ± 3.0 not run",
        "slow 3 FedBuff, 0.1 51.9 8 ± 2 60, 61",
    ]


def test_orders_of_one_place_stand_together_and_say_what_stands_in(site: Site) -> None:
    page = paper.render(site, site.papers[0])
    before, _, orders = page.partition('aria-label="Orders of T1"')
    orders = orders.partition("</table>")[0]
    assert " The last column says what they are read off. A what the paper used B Digits stand in " in words(before)
    assert [words(one) for one in orders.split("<tr>")[2:]] == [
        "0.1 FedAvg < FedBuff ✓ kept 3 A",
        "0.1 c < d substitute: order ✗ broken 3 B",
        "b > c ~ undecided 3 A",
        "b > d (✓) kept once 3 A",
        "c > d (✗) broken once 3 A",
    ]


def test_a_caption_says_what_stands_in_and_not_what_the_paper_used(site: Site) -> None:
    (whole, *others) = site.papers[0].tables
    for stands_in, told in ((True, "the paper’s own: Digits stand in."), (False, "kept once, 1 is broken once.")):
        orders = tuple(one for one in whole.orders if bool(one.substitute) == stands_in)
        table = whole.model_copy(update={"orders": orders})
        page = words(paper.render(site, site.papers[0].model_copy(update={"tables": (table, *others)})))
        assert told in page
        assert "the paper’s own: what the paper used" not in page


def test_many_facts_are_folded_and_those_unlike_the_others_are_not(site: Site) -> None:
    page = paper.render(site, site.papers[0])
    facts = page.partition('<section id="T2"')[2].partition("</section>")[0]
    before, _, folded = facts.partition("<details><summary>All 40 cells</summary>")
    assert "≠" in before
    assert "Why 7." in before
    assert "Why 8." not in before
    assert all(f'id="T2-{number}"' in folded for number in range(1, 41))
    assert "<details" not in page.partition('<section id="T1"')[2].partition("</section>")[0]


def test_cells_that_are_not_run_are_folded_where_they_are_many(record: Make) -> None:
    """With their reasons. One that has a number of ours, of what stands in, is shown."""
    bare = [cell(number, "not run", ours="", seeds=[], why="It needs <b>.") for number in range(2, 11)]
    cells = [
        cell(1),
        *bare,
        cell(11, "not run", ours="3", seeds=["3"], why="It needs <b>."),
        cell(12, "not run", ours="", why="By price."),
    ]
    site = Site([full(record)], papers=[read(content(tables=[table("T1", "runs", cells)]))])
    text = paper.render(site, site.papers[0]).partition('<section id="T1"')[2].partition("</section>")[0]
    before, _, folded = text.partition(
        "<details><summary>10 cells that are not run. It needs &lt;b&gt; (9). By price (1).</summary>"
    )
    assert [number for number in range(1, 13) if f'id="T1-{number}"' in before] == [1, 11]
    assert [number for number in range(1, 13) if f'id="T1-{number}"' in folded] == [*range(2, 11), 12]
    few = Site([full(record)], papers=[read(content(tables=[table("T1", "runs", [cell(1), *bare[:8]])]))])
    assert "cells that are not run." not in paper.render(few, few.papers[0])


def test_texts_are_no_markup(record: Make) -> None:
    """A hostile text in every place that takes one, and so in every one that is shown."""

    def spoilt(value: Any, key: str = "") -> Any:
        kept = {"verdict", "order", "kind", "key", "link", "name", "band", "metric", "axis"}
        if isinstance(value, dict):
            return {
                name: spoilt(one, name) if name not in kept or (name == "name" and "about" in value and "file" in value) else one
                for name, one in value.items()
            }
        if isinstance(value, list):
            return [spoilt(one, key) for one in value]
        return f"{value}{HOSTILE}" if isinstance(value, str) and not (key == "not_code" and not value) else value

    one = read(spoilt(content()))
    site = Site([full(record)], papers=[one])
    for page in (paper.render(site, one), papers.index(site)):
        Page(page)
        assert "<script>alert" not in page
    assert paper.render(site, one).count("&lt;script&gt;alert") > 200


def test_the_index_counts_and_gives_the_rules(site: Site) -> None:
    page = papers.index(Site(site.documents, papers=[made(), made("wang2025")]))
    Page(page)
    said = words(page)
    assert "6 tables of 2 papers" in said
    assert 'href="papers/wu2021.html#T1"' in page
    assert 'href="papers/wang2025.html"' in page
    assert papers.RULES == {
        "version": rules.VERSION,
        "low": rules.LOW,
        "high": rules.HIGH,
        "points": rules.POINTS,
        "fewest": rules.FEWEST,
        "factor": rules.FACTOR,
        "limit": rules.LIMIT,
    }
    for text in (
        "version 2",
        "0.85 to 1.18",
        "1.5 points away",
        "at least 3 seeds",
        "a factor of 1.2",
        "at the latest at 2 times the",
    ):
        assert text in said, text
    assert all(f"{SIGNS[word]} {word}" in said for word in (*VERDICTS, *ORDERS))


def test_kinds_of_numbers_are_never_added_up(site: Site) -> None:
    """A bar of measured results, one of constants, and a sentence on rates; no count is over
    two."""
    two = Site(site.documents, papers=[made(), made("wang2025")])
    for page, times in ((papers.index(two), 2), (paper.render(two, two.papers[0]), 1)):
        head = page.partition("<header>")[2].partition("</header>")[0]
        said = words(head)
        assert head.count('class="shares"') == 2
        assert f"Measured results {4 * times} of {6 * times} printed results were measured again" in said
        differ, rates = (
            ("differs", "Of 1 printed rate of convergence, 1 is")
            if times == 1
            else ("differ", "All 2 printed rates of convergence are")
        )
        assert f"Of {40 * times} printed constants of configuration, {39 * times} agree and {times} {differ}." in said
        assert f"{rates} consistent with the bound." in said
        assert f"{47 * times}" not in said
    assert "2 of those not run are run on a data set that stands in for the paper's; only orders are read off them." in words(
        papers.index(two)
    )


def test_a_page_opens_with_the_claim_and_what_comes_out(site: Site) -> None:
    said = words(paper.render(site, site.papers[0]).partition("</h1>")[2].partition("Measured results")[0])
    assert said.endswith("A calibration removes a bias. Little comes out.")


def test_what_came_out_in_sentences(site: Site) -> None:
    assert " ".join(papers.sentences(site.papers[0])) == (
        "4 of 6 printed results were measured again: 1 is reproduced, 1 is close, 1 is not decided and "
        "1 is contradicted. Of 40 printed constants of configuration, 39 agree and 1 differs. Of 1 printed rate of convergence, 1 is "
        "consistent with the bound. Of 4 orders of two measured results, 1 is kept, 1 is undecided, 1 is kept once and 1 is broken "
        "once. Of 1 order of results on data that stand in for the paper’s, 1 is broken."
    )
    nothing = made(counts={"runs": {"not run": 78}, "configuration": {"agrees": 112}}, orders={}, stand_in_orders={})
    assert list(papers.sentences(nothing)) == [
        "None of 78 printed results were measured again.", "All 112 printed constants of configuration agree.",
    ]  # fmt: skip


def test_a_page_says_why_in_short(site: Site) -> None:
    """Equal reasons are counted; which numbers they are of is in the tables."""
    more = [
        shown(7, verdict="not run", why="It needs CIFAR-10. Orders are read off a substitute."),
        shown(8, verdict="not run", why="It needs CIFAR-10."),
        shown(9, verdict="close"),
        shown(10, verdict="contradicted"),
        shown(11, verdict="not decided"),
    ]
    first, *others = site.papers[0].tables
    one = site.papers[0].model_copy(update={"tables": (first.model_copy(update={"cells": (*first.cells, *more)}), *others)})
    assert reasons(one) == [
        ("close", 1, "The mean lies in the band, but something that is not printed had to be guessed."),
        ("close", 1, "The mean lies in the band, but the interval reaches beyond it, or there are too few seeds."),
        ("not decided", 1, "One seed lies outside of the band, and has no interval."),
        ("not decided", 1, "The interval reaches into the band."),
        ("contradicted", 1, "No seed reaches the target. Contradicted together with our guess of what is not printed."),
        ("contradicted", 1, "The whole interval lies outside of the band."),
        ("not run", 2, "It needs CIFAR-10."),
        ("not run", 1, "Why 4."),
        ("not comparable", 1, "Why 5."),
    ]
    page = paper.render(site, one)
    assert "– not run 2 It needs CIFAR-10." in words(page.partition('aria-label="Why, in short"')[2].partition("</table>")[0])


def test_printed_numbers_stand_against_ours(site: Site) -> None:
    page = paper.render(site, site.papers[0])
    assert page.count('<svg class="agreement"') == 2
    said = words(page)
    assert (
        "FedAvg FedBuff 0.85 to 1.18 times the printed number in the band outside of it 95 % interval over seeds larger: a seed"
        in said
    )
    assert "Printed against ours, in words." in said
    without = site.papers[0].tables[0].model_copy(update={"picture": None})
    assert "agreement" not in paper.render(site, site.papers[0].model_copy(update={"tables": (without,)}))


def test_every_paper_has_a_claim() -> None:
    for number in PAPERS:
        claim = experiments(number).claim
        assert claim.endswith(".")
        assert 50 < len(claim) < 400, number


def test_counts_of_one_kind() -> None:
    (one,) = papers.kinds({"runs": {"not run": 3, "close": 2}, "theory": {}})
    assert (one.name, list(one.counts), one.printed, one.measured) == ("Measured results", [*MEASURED, "not run"], 5, 2)
    assert (one.counts["reproduced"], one.counts["close"]) == (0, 2)
    (one,) = papers.kinds({"runs": {"not run": 3}})
    assert (list(one.counts), one.measured) == (["not run"], 0)
    assert papers.stand_in(0) == ""
    assert papers.stand_in(1).startswith("1 of those not run is run on a data set")


def test_the_words_are_those_of_the_rules() -> None:
    assert set(OF_KIND) == set(KINDS)
    assert {word for several in OF_KIND.values() for word in several} == set(VERDICTS)
    assert set(SIGNS) == set(TONES)
    assert len({SIGNS[word] for word in VERDICTS}) == len(VERDICTS), "a sign tells verdicts apart without colour"


def test_an_algorithm_leads_to_the_tables_that_have_it(record: Make) -> None:
    one = made(tables=[table("T1", "runs", [cell(1, setting=["Fast", "0.1"])]), first_table() | {"name": "T9"}])
    site = Site([full(record)], papers=[one])
    page = algorithm.render(site, "fast")
    assert "../papers/wu2021.html#T1" in page
    assert "#T9" not in page
    assert "papers/" not in algorithm.render(site, "slow")
    known = Facts.of_class(registry.find("algorithm", "fedagrac"))
    given = Entrant(label="slow[a=1]", selector="slow[a=1]", family="", group=None, facts=known)
    assert papers.using(site, "slow[a=1]", given) == [{"paper": one, "tables": []}]


def test_what_each_seed_gave() -> None:
    """A word that all seeds give is said once, a number for each of them."""
    assert each_seed("diverged", ["diverged", "diverged"]) == "all 2 seeds"
    assert each_seed("6 ± 0", ["6", "6", "6"]) == "6, 6, 6"
    assert each_seed(">50 ± 9", ["41", "diverged"]) == "41, diverged"
    assert each_seed("6", ["6"]) == ""


def test_more_remarks_than_letters(record: Make) -> None:
    cells = [cell(number, note=f"Note {number}.") for number in range(1, 30)]
    one = made(tables=[table("T1", "runs", cells)])
    page = paper.render(Site([full(record)], papers=[one]), one)
    assert '<li id="T1-note-z"><sup>z</sup>' in page
    assert '<li id="T1-note-ac"><sup>ac</sup> <strong>In print:</strong> Note 29.' in page


def test_what_a_package_without_its_code_lacks_may_be_left_out(record: Make) -> None:
    left = ("figures", "alignment", "errata", "unprinted")
    one = read({name: value for name, value in content().items() if name not in left})
    page = paper.render(Site([full(record)], papers=[one]), one)
    assert not any(f'id="{name}"' in page for name in left)


def test_a_site_with_papers_is_checked(record: Make, tmp_path: Path) -> None:
    write([full(record)], tmp_path, papers=[made(), made("wang2025")])
    assert check(tmp_path) == []
    assert '<a href="papers.html">Papers</a>' in (tmp_path / "index.html").read_text()
    assert '<a href="../papers.html">Papers</a>' in (tmp_path / "papers" / "wu2021.html").read_text()
    page = tmp_path / "papers" / "wu2021.html"
    page.write_text(page.read_text().replace("contradicted", "reproduced", 1))
    (wrong,) = check(tmp_path)
    assert "wu2021.html: line" in wrong
    data = tmp_path / "data" / "papers" / "wang2025.json"
    data.write_text(json.dumps(json.loads(data.read_text()) | {"tables": []}))
    (wrong,) = check(tmp_path)
    assert "wang2025.json: not what a leaderboard is made from: tables" in wrong
    data.unlink()
    assert "wang2025.json" in check(tmp_path)[0]


def test_papers_that_are_no_more_leave_nothing(record: Make, tmp_path: Path) -> None:
    write([full(record)], tmp_path, papers=[made()])
    write([full(record)], tmp_path)
    assert check(tmp_path) == []
    assert not list(tmp_path.rglob("*wu2021*"))
    assert "papers.html" not in (tmp_path / "index.html").read_text()


def test_a_folder_of_papers_that_is_not_there(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["suites", "smoke", "--papers", str(tmp_path / "none")])
    assert isinstance(done.exception, UsageError)
    assert "there is no such folder; `fedbench reproduce --pack` makes it" in str(done.exception)


def test_what_check_would_refuse_is_not_written(record: Make, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected names of lower case letters"):
        write([full(record, "papers")], tmp_path)
    assert not list(tmp_path.rglob("*.html"))
