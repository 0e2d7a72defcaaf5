"""The built documentation in a real browser: `make html` makes it, and `make docs` runs these
tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("axe_playwright_python")

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "build/docs"
CHROMIUM = shutil.which("chromium")
KINDS = (
    "index.html", "learn/index.html", "learn/get-started.html", "learn/first-run.html", "learn/errors.html", "learn/speed.html",
    "reference/index.html", "reference/command-line-run.html", "reference/scenario.html", "reference/python-run.html",
    "reference/cxx-headers.html", "figures/index.html", "figures/plot_curves.html", "applicability.html", "search.html",
)  # fmt: skip
"""A page of every kind."""
Visit = Callable[..., Page]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BUILT.exists(), reason="needs build/docs, which `make html` makes"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium"),
]


class _Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        self.names |= {value for name, value in attrs if name == "id" and value}


@pytest.fixture(scope="module", name="visit")
def _visit() -> Iterator[Visit]:
    """Opens pages; what the console says and what is asked of the network is in `page.said`."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])

        def open_page(address: str, said: list[str], scheme: str = "light", width: int = 1280) -> Page:
            page = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 844})  # type: ignore[arg-type]
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("request", lambda one: None if one.url.startswith(("file:", "data:")) else said.append(one.url))
            page.goto(f"{BUILT.as_uri()}/{address}")
            page.wait_for_load_state("networkidle")
            return page

        yield open_page
        browser.close()


@pytest.mark.parametrize("address", KINDS)
@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_axe_finds_nothing_serious_and_the_console_stays_empty(visit: Visit, address: str, scheme: str, width: int) -> None:
    said: list[str] = []
    page = visit(address, said, scheme, width)
    found = Axe().run(page, options={"preload": False}).response["violations"]
    serious = [(one["id"], one["nodes"][0]["html"]) for one in found if one["impact"] in ("serious", "critical")]
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert serious == []
    assert said == []
    assert wide <= width


def test_search_works_from_a_folder(visit: Visit) -> None:
    said: list[str] = []
    page = visit("search.html?q=staleness", said)
    page.locator("#search-results li").first.wait_for()
    assert page.locator("#search-results li").count() >= 3
    assert said == []
    page.close()


def test_links_within_the_documentation_lead_somewhere() -> None:
    """Those that leave it lead to the other pages of the site, whose tests look at them."""
    pages = {file: _Links(file.read_text(encoding="utf-8")) for file in BUILT.rglob("*.html") if "_static" not in file.parts}
    broken = []
    for file, found in pages.items():
        for link in found.links:
            path, _, name = link.partition("#")
            if link.startswith(("http", "data:", "mailto:", "javascript:")):
                continue
            target = (file.parent / path.partition("?")[0]).resolve() if path else file
            if not target.is_relative_to(BUILT):
                assert target.parent == BUILT.parent, f"{file.name}: {link}"
            elif not target.exists() or (name and target in pages and name not in pages[target].names):
                broken.append((file.relative_to(BUILT).as_posix(), link))
    assert broken == []
