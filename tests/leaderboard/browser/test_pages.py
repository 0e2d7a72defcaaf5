"""Every page in a real browser: no error, nothing from elsewhere, readable without scripts, and fit
for keyboards and screen readers."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.leaderboard.browser.conftest import Open

PAGES = (
    "index.html", "findings.html", "other.html", "table.html", "compare.html", "algorithms.html", "rules.html", "speed.html",
    "changes.html", "made-up/calm.html", "made-up/calm/fast-tuned.html", "algorithms/fast.html", "papers.html", "papers/wu2021.html",
)  # fmt: skip
COLOURED = (
    "index.html",
    "findings.html",
    "table.html",
    "made-up/calm.html",
    "made-up/calm/fast-tuned.html",
    "papers/wu2021.html",
)
"""Where all colours and all parts are; the other pages have some of them."""
COMPARED = "compare.html#rows=made-up%2Fcalm%2Ffast%2Ftuned+made-up%2Fcalm%2Fslow%2Ftuned"


@pytest.mark.parametrize(
    ("address", "scheme", "width"),
    [
        *((address, "light", 1280) for address in (*PAGES, COMPARED)),
        *((address, scheme, width) for address in (*COLOURED, COMPARED) for scheme, width in (("light", 390), ("dark", 1280))),
    ],
)
def test_axe_finds_nothing_serious(visit: Open, suites: Path, address: str, scheme: str, width: int) -> None:
    """Also in what is folded."""
    accessible(visit(suites, address, color_scheme=scheme, viewport={"width": width, "height": 844}))


@pytest.mark.parametrize("address", ["index.html", "made-up.html"])
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("light", 360), ("dark", 1280)])
def test_pages_with_a_map(visit: Open, mapped: Path, address: str, scheme: str, width: int) -> None:
    page = visit(mapped, address, color_scheme=scheme, viewport={"width": width, "height": 844})
    accessible(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def accessible(page: Page) -> None:
    """Asserts that axe finds nothing serious, also in what is folded."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for toggle in page.locator(".more-columns").all():
        toggle.check(force=True)
    found = Axe().run(page, options={"preload": False}).response["violations"]
    serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
    assert serious == []


@pytest.mark.parametrize("address", ["index.html", "a-board/calm.html", "table.html", "a-board/calm/fedavg-given.html"])
@pytest.mark.parametrize("width", [360, 1280])
def test_no_page_is_wider_than_the_screen(visit: Open, site: Path, address: str, width: int) -> None:
    page = visit(site, address, viewport={"width": width, "height": 800})
    for is_open in (False, True):
        page.evaluate("open => document.querySelectorAll('details').forEach((one) => { one.open = open; })", is_open)
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("address", ["index.html", "findings.html"])
@pytest.mark.parametrize("width", [360, 1280])
def test_home_and_findings_are_no_wider_than_the_screen(visit: Open, suites: Path, address: str, width: int) -> None:
    page = visit(suites, address, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    links = page.locator(".top a")
    boxes = [link.bounding_box() for link in links.all()]
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= width for box in boxes), "no link of the header is hidden"


def test_intervals_of_the_heat_map_are_shown_on_demand_without_scripts(visit: Open, suites: Path) -> None:
    page = visit(suites, "findings.html", java_script_enabled=False)
    interval = page.locator(".heat .interval").first
    assert interval.is_hidden()
    page.locator("label", has_text="Intervals").first.click()
    assert interval.is_visible()


def test_a_command_of_the_home_page_is_copied(visit: Open, suites: Path) -> None:
    page = visit(suites, "index.html")
    page.locator(".start .copy").first.click()
    page.locator("#said", has_text="Copied: pip install .").wait_for(state="attached")


@pytest.mark.parametrize("address", ["papers.html", "papers/wu2021.html", "papers/wang2025.html"])
@pytest.mark.parametrize("width", [360, 1280])
def test_tables_of_papers_move_inside_their_boxes(visit: Open, suites: Path, address: str, width: int) -> None:
    page = visit(suites, address, viewport={"width": width, "height": 800})
    for folded in page.locator("details").all():
        folded.locator("summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if address != "papers.html":
        box = page.locator("#T1 .scroll").first
        assert box.evaluate("box => box.scrollWidth > box.clientWidth") == (width == 360)
        box.evaluate("box => { box.scrollLeft = box.scrollWidth; }")
        first = page.locator("#T1-1 th")
        assert first.bounding_box()["x"] >= box.bounding_box()["x"], "which cell it is stays in sight"  # type: ignore[index]


def test_papers_are_read_without_scripts(visit: Open, suites: Path) -> None:
    page = visit(suites, "papers.html", java_script_enabled=False)
    page.get_by_role("link", name="T2").first.click()
    assert page.get_by_role("heading", name="T2").is_visible()
    assert page.locator("#T1 .copy").is_hidden()
    page.locator("#T2 summary").click()
    assert "agrees" in page.locator("#T2-40").inner_text()


def test_an_address_of_a_folded_number_opens_it(visit: Open, suites: Path) -> None:
    page = visit(suites, "papers/wu2021.html#T2-40")
    assert page.locator("#T2-40").is_visible()


@pytest.mark.parametrize("address", ["index.html", "table.html", "compare.html", "a-board/calm.html"])
def test_without_scripts(visit: Open, site: Path, address: str) -> None:
    """There is a way to the rows from everywhere."""
    page = visit(site, address, java_script_enabled=False)
    if address == "table.html":
        assert page.get_by_text("This page needs JavaScript").is_visible()
        page.get_by_role("link", name="calm").click()
    elif address != "a-board/calm.html":
        page.get_by_role("link", name="Findings").click()
        page.get_by_role("link", name="calm").first.click()
    assert page.get_by_role("heading", name="calm", level=1).is_visible()
    page.get_by_text("All measures").click()
    row = page.locator(".results").get_by_role("row").filter(has=page.get_by_role("rowheader", name="fedavg"))
    assert "5 finished" in row.inner_text()


def test_the_axis_of_the_curves_changes_without_scripts(visit: Open, site: Path) -> None:
    page = visit(site, "a-board/calm.html", java_script_enabled=False)
    figures = page.locator(".figures figure")
    assert [figures.nth(i).is_visible() for i in range(figures.count())] == [True, False, False, False]
    page.locator(".figures label", has_text="traffic").click()
    assert [figures.nth(i).is_visible() for i in range(figures.count())] == [False, False, False, True]


def test_at_most_eight_lines_stand_out(visit: Open, site: Path) -> None:
    page = visit(site, "a-board/calm.html")
    page.get_by_text("2 more, in grey").locator("visible=true").click()
    keys = page.locator("figure:visible .key")
    bold = [key for key in keys.all() if key.get_attribute("aria-pressed") == "true"]
    assert (keys.count(), len(bold)) == (10, 8)
    others = [key for key in keys.all() if key not in bold and key.get_attribute("aria-pressed") == "false"]
    others[0].click()
    assert others[0].get_attribute("aria-pressed") == "false", "an eighth stands out already"
    assert page.locator("#said").inner_text() == "At most 8 lines stand out; put one back first"
    bold[0].click()
    others[0].click()
    assert others[0].get_attribute("aria-pressed") == "true"
    shown = page.locator("figure:visible path.line:not(.context)")
    assert shown.count() == 8


def test_curves_are_read_with_the_keyboard(visit: Open, site: Path) -> None:
    page = visit(site, "a-board/calm.html")
    page.locator("figure:visible .chart").focus()
    page.keyboard.press("Home")
    values = page.locator("figure:visible .value").all_text_contents()
    assert set(values) == {"0.100"}, "all begin at 0.1"
    assert page.locator("figure:visible output").inner_text() == "at 2.5 s", "half of the first place that a logarithmic axis has"
    page.keyboard.press("End")
    assert page.locator("figure:visible output").inner_text() == "at 20 s"
    page.keyboard.press("Escape")
    assert page.locator("figure:visible output").inner_text() == "at the end of the runs"


@pytest.mark.parametrize("scripts", [True, False])
def test_five_columns_come_first_and_the_others_on_demand(visit: Open, site: Path, *, scripts: bool) -> None:
    page = visit(site, "a-board/calm.html", java_script_enabled=scripts)
    heads = page.locator(".board").first.locator("thead th")
    first = ["Algorithm", "Time to targets", "Ratio to the best", "Seeds reaching 80 %", "Accuracy"]
    assert [head.inner_text() for head in heads.all() if head.is_visible()] == first
    page.get_by_text("More columns", exact=True).click()
    assert "Bytes to targets" in [head.inner_text() for head in heads.all() if head.is_visible()]
    assert page.get_by_role("row").filter(has_text="FedBuff").first.is_visible()


@pytest.mark.parametrize("address", ["made-up/calm.html", "algorithms/fast.html"])
def test_the_five_columns_fit_a_phone(visit: Open, suites: Path, address: str) -> None:
    page = visit(suites, address, viewport={"width": 390, "height": 844})
    boxes = page.locator(".scroll:has(.board)")
    assert boxes.count()
    for box in boxes.all():
        assert box.evaluate("box => box.scrollWidth - box.clientWidth") <= 1


def test_a_point_is_short_on_a_phone(visit: Open, site: Path) -> None:
    """What is second is folded: ten algorithms in four tables with a chart."""
    page = visit(site, "a-board/calm.html", viewport={"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollHeight") < 4.5 * 844
    for title in ("All measures", "How to read it"):
        page.get_by_text(title).click()
    assert page.locator(".results").is_visible()
    assert page.get_by_text("Seconds on the simulated clock").is_visible()


def test_a_scenario_is_sorted_by_keyboard(visit: Open, site: Path) -> None:
    page = visit(site, "a-board/calm.html")
    page.get_by_text("All measures").click()
    names = page.locator(".results tbody th > a")
    before = names.all_inner_texts()
    page.locator(".results thead button", has_text="Algorithm").focus()
    page.keyboard.press("Enter")
    assert names.all_inner_texts() == sorted(before, key=str.lower)
    assert page.locator("#said").inner_text() == "Sorted by Algorithm, ascending"
    page.keyboard.press("Enter")
    assert names.all_inner_texts() == sorted(before, key=str.lower, reverse=True)


def test_the_first_stop_of_the_keyboard_leads_to_the_content(visit: Open, site: Path) -> None:
    page = visit(site)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    assert page.locator(".skip").is_visible()
