"""The table of all rows and the comparison in a real browser."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from playwright.sync_api import Page, expect

from tests.conftest import sixteen
from tests.leaderboard.browser.conftest import ALGORITHMS, SCENARIOS, Open
from tests.leaderboard.reading import HOSTILE, document


def names(page: Page) -> list[str]:
    """The code names of the rows."""
    found = "cells => cells.map((cell) => (cell.querySelector('code') ?? cell).textContent)"
    return [str(name) for name in page.locator(".browse tbody th").evaluate_all(found)]


def cells(page: Page, title: str) -> list[str]:
    return page.locator(f'.browse tbody td[data-label="{title}"]').all_inner_texts()


def test_it_begins_with_one_board_and_the_cheapest_row(visit: Open, site: Path) -> None:
    page = visit(site, "table.html")
    assert len(names(page)) == 8
    chosen = [page.locator(f"#filters [name={name}]").input_value() for name in ("point", "system")]
    assert chosen == ["calm", "10 clients at work"]
    assert cells(page, "Point") == [], "it is the same for all rows"
    assert page.locator("#count").inner_text() == "8 of 30 rows"
    assert cells(page, "Ratio to the best")[0].startswith("1.00 [")
    assert cells(page, "Best within noise")[0] == "● yes"
    assert "fednova" in names(page)[-3:], "those who hold no target are last"
    assert "no target" in cells(page, "Time to targets")[-1]
    assert page.url.endswith("table.html"), "the first view needs nothing in the address"
    page.locator("#filters [name=point]").select_option("")
    assert set(cells(page, "Point")) == set(SCENARIOS), "it is shown as soon as it differs"


def test_filters_order_and_columns_are_in_the_address(visit: Open, site: Path) -> None:
    page = visit(site, "table.html")
    for name, value in (("point", ""), ("system", ""), ("family", "synchronous"), ("memory", "yes")):
        page.locator(f"#filters [name={name}]").select_option(value)
    page.locator(".browse thead button", has_text="Test accuracy").click()
    page.locator("summary", has_text="Columns").click()
    page.get_by_role("checkbox", name="Updates").check()
    page.get_by_role("checkbox", name="Reached").uncheck()
    seen, heads = names(page), page.locator(".browse thead th").all_inner_texts()
    assert set(seen) == {"scaffold", "feddyn"}
    assert len(seen) == 6
    assert "Updates" in " ".join(heads)
    assert "Reached" not in " ".join(heads)
    accuracies = [float(text.split()[0]) for text in cells(page, "Test accuracy")]
    assert accuracies == sorted(accuracies, reverse=True)
    again = visit(site, page.url.rpartition("/")[2])
    assert names(again) == seen
    assert again.locator(".browse thead th").all_inner_texts() == heads
    assert again.locator("#filters [name=family]").input_value() == "synchronous"
    again.get_by_role("button", name="Reset").click()
    assert len(names(again)) == 8
    assert "#" not in again.url.rstrip("#")


@pytest.mark.parametrize(
    "address", ["sort=nonsense&order=up", "pins=%25E0%25A4%25A+nobody", "point=nowhere&kind=none&columns=", "q=%3Cscript%3E"]
)
def test_an_address_that_says_nonsense(visit: Open, site: Path, address: str) -> None:
    page = visit(site, f"table.html#{address}")
    assert page.locator("#count").is_visible()


def test_the_word_all_is_a_word(visit: Open, site: Path) -> None:
    page = visit(site, "table.html")
    page.get_by_label("Algorithm", exact=True).fill("all")
    expect(page).to_have_url(re.compile("#q=all$"))
    again = visit(site, page.url.rpartition("/")[2])
    assert again.get_by_label("Algorithm", exact=True).input_value() == "all"


def test_rows_of_several_boards_are_not_compared(visit: Open, site: Path) -> None:
    for address in ("table.html#point=*", "table.html#system=*"):
        page = visit(site, address)
        assert (
            page.locator("#count")
            .inner_text()
            .endswith("they are of several systems or points, between which nothing is compared")
        )


def test_the_focus_stays_when_a_pin_goes(visit: Open, site: Path) -> None:
    page = visit(site, "table.html")
    for name in ("fedavg", "scaffold"):
        page.get_by_role("checkbox", name=f"Pin {name} at calm, given").check()
    for expected in ("a-board/calm/scaffold/given", None):
        page.locator("#pinned button").first.focus()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.dataset.unpin ?? null") == expected
        assert page.evaluate("document.activeElement.tagName") != "BODY"


def test_words_find_names_and_options(visit: Open, site: Path) -> None:
    page = visit(site, "table.html#system=*")
    page.get_by_label("Algorithm", exact=True).fill("FEDBUFF lr=0.05")
    assert names(page) == ["fedbuff[buffer_size=5,concurrency=10]"]
    page.get_by_label("Algorithm", exact=True).fill("alert")
    assert names(page) == [HOSTILE], "a hostile name is a name"
    page.get_by_label("Algorithm", exact=True).fill("nobody")
    assert names(page) == []
    assert page.locator("#count").inner_text() == "0 of 30 rows"


def test_a_drawer_says_where_a_row_is_from(visit: Open, site: Path) -> None:
    page = visit(site, "table.html")
    button = page.get_by_role("button", name="Details of fedavg at calm, given")
    button.focus()
    page.keyboard.press("Enter")
    drawer = page.locator("dialog[open]")
    text = drawer.inner_text()
    for part in (
        "fedbench run calm -a 'fedavg' --seeds 5",
        sixteen("c0ffee0"),
        "abc",
        "native",
        "0, 1, 2, 3, 4",
        "checked",
        "local_lr=0.05",
    ):
        assert part in text
    assert "null" not in text
    page.keyboard.press("Escape")
    assert drawer.count() == 0
    assert page.evaluate("document.activeElement.dataset.row") == "a-board/calm/fedavg/given", "the focus is where it was"


def test_pins_lead_to_a_comparison(visit: Open, site: Path) -> None:
    page = visit(site, "table.html")
    for name in ("fedavg", "fadas[concurrency=10]", "fednova", "scaffold"):
        page.get_by_role("checkbox", name=f"Pin {name} at calm, given").check()
    fifth = page.get_by_role("checkbox", name="Pin feddyn at calm, given")
    fifth.click()
    assert not fifth.is_checked(), "four are enough"
    page.get_by_role("button", name="Unpin scaffold at calm, given").click()
    page.get_by_role("link", name="Compare 3").click()
    page.locator("#comparison path.line").first.wait_for()
    text = page.locator("#comparison").inner_text()
    assert re.search(
        r"FedAvg \(given\) [\d.]+ s, FADAS fadas\[concurrency=10\] \(given\) no target: FedAvg \(given\) costs less; .* "
        r"≤ 0\.\d\d \[0\.00, 0\.\d\d\]",
        text,
    )
    assert "FADAS fadas[concurrency=10] (given) and FedNova (given): neither reaches a target." in text
    assert page.locator("#comparison figure path.line").count() == 3
    page.get_by_role("button", name="Take a-board/calm/fednova/given away").click()
    expect(page.locator("#comparison figure path.line")).to_have_count(2)
    page.locator("#choose input").fill("a-board/rough/fedavg/given")
    page.get_by_role("button", name="Add").click()
    expect(page.locator("#comparison")).to_contain_text("of different scenarios. Seconds are never compared between them.")
    again = visit(site, page.url.rpartition("/")[2])
    expect(again.locator("#comparison thead th")).to_have_count(3)  # the address holds the rows


def test_the_ratio_of_a_comparison_is_that_of_the_board(visit: Open, site: Path) -> None:
    ratio = document(site).board("given", "calm")["fedavg"].against["scaffold"]
    assert ratio is not None
    page = visit(site, "compare.html#rows=a-board%2Fcalm%2Ffedavg%2Fgiven+a-board%2Fcalm%2Fscaffold%2Fgiven")
    expect(page.locator("#comparison")).to_contain_text(f"FedAvg (given) / SCAFFOLD (given) {ratio.equation}.")


def test_rows_of_different_systems_have_no_interval(visit: Open, site: Path) -> None:
    page = visit(site, "compare.html#rows=a-board%2Fcalm%2Ffedavg%2Fgiven+a-board%2Fcalm%2Ffedecho%2Fgiven")
    text = page.locator("#comparison .sentences").inner_text()
    assert re.search(r"FedAvg \(given\) [\d.]+ s, FedEcho \(given\) no target: they are not compared", text)
    assert "public data" in text
    assert "[" not in text


def test_what_is_seen_is_what_is_taken_away(visit: Open, site: Path, tmp_path: Path) -> None:
    page = visit(site, "table.html#point=rough&system=*&sort=algorithm&order=descending")
    seen = names(page)
    content = {}
    for kind in ("CSV", "JSON", "Parquet"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind).click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        content[kind] = file.read_bytes()
    from_csv = list(csv.DictReader(io.StringIO(content["CSV"].decode())))
    from_json = json.loads(content["JSON"])
    from_parquet = pq.read_table(io.BytesIO(content["Parquet"])).to_pylist()
    for rows in (from_csv, from_json, from_parquet):
        assert [row["algorithm"] for row in rows] == seen
        assert sorted(row["algorithm"] for row in rows) == sorted(ALGORITHMS)
    assert from_parquet == from_json
    assert [float(row["cost"]) for row in from_csv] == [row["cost"] for row in from_json]
    assert from_json[0]["command"].startswith("fedbench run rough -a ")


def test_a_view_without_rows_is_taken_away_too(visit: Open, site: Path, tmp_path: Path) -> None:
    page = visit(site, "table.html#q=nobody")
    for kind in ("CSV", "Parquet"):
        with page.expect_download() as download:
            page.get_by_role("button", name=kind).click()
        download.value.save_as(tmp_path / kind)
    assert pq.read_table(tmp_path / "Parquet").num_rows == 0
    assert (tmp_path / "CSV").read_text().startswith("id,suite,point,")


def test_thousands_of_rows_come_in_parts(visit: Open, site: Path, tmp_path: Path) -> None:
    """Five thousand rows: a hundred are drawn at a time."""
    import shutil

    folder = tmp_path / "site"
    shutil.copytree(site, folder)
    script = folder / "data" / "rows.js"
    given = json.loads(script.read_text().removeprefix("window.fedbench = ").removesuffix(";\n"))
    place = given["fields"].index("id")
    many = [[*row[:place], f"{row[place]}-{i}", *row[place + 1 :]] for i in range(500) for row in given["rows"][:10]]
    script.write_text(f"window.fedbench = {json.dumps({**given, 'rows': many})};\n")
    page = visit(folder, "table.html#system=*")
    assert page.locator("#count").inner_text().startswith("5,000 of 5,000 rows")
    assert len(names(page)) == 100
    page.get_by_role("button", name="Show 100 more rows").click()
    assert len(names(page)) == 200
