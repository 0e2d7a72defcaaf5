"""A real browser, Debian's Chromium, and sites for it to open."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from fedbench.documents.paper import Paper
from fedbench.documents.site import Beside
from fedbench.leaderboard.home import read
from fedbench.leaderboard.site import build, write
from fedbench.results.record import Record
from tests.conftest import alter, record
from tests.leaderboard.papers import cell, made, table
from tests.leaderboard.reading import HOSTILE, named
from tests.leaderboard.suite import MAP, full
from tests.leaderboard.test_home import folder as home_file
from tests.leaderboard.test_standings import AVERAGES

CHROMIUM = shutil.which("chromium")
SCENARIOS = ("calm", "rough", "wild")
ALGORITHMS = (
    "fedavg",
    "fedbuff[buffer_size=5,concurrency=10]",
    "scaffold",
    "fedasync[concurrency=10]",
    "feddyn",
    "fedecho",
    "fedprox",
    "fednova",
    "fadas[concurrency=10]",
    HOSTILE,
)


def board() -> list[Record]:
    """Ten algorithms under three scenarios with five seeds: one that misses with some seeds, one
    with all, one that diverges. For eight of them ten clients may be at work; one has public data,
    and of one nothing is known."""
    draw = np.random.Generator(np.random.Philox(7))
    runs = []
    for place, scenario in enumerate(SCENARIOS):
        for number, selector in enumerate(ALGORITHMS):
            for seed in range(5):
                end = 0.99 - 0.02 * number + 0.01 * draw.standard_normal()
                curve = [0.1, *(min(0.99, end * (1 - np.exp(-t / (1 + number / 3 + place)))) for t in (1, 2, 4, 8))]
                if selector == "fadas[concurrency=10]":
                    curve = [0.1, 0.2, 0.3, 0.4, 0.8 if seed else 0.5]
                if selector == "fednova":
                    curve = [0.1, 0.2, 0.2, 0.2, 0.2]
                state = "diverged" if (selector, seed) == ("fedprox", 3) else "finished"
                name = "alone" if selector == HOSTILE else selector
                one = record(name, seed, curve, scenario=scenario, scenario_hash=f"c0ffee{place}", state=state)
                alter(one, "spec.scenario.evaluation.every_seconds", 0.1)
                if selector.partition("[")[0] in ("fedbuff", "fedasync", "fadas"):
                    alter(one, "spec.algorithm.options.concurrency", 10)
                runs.append(named(one, HOSTILE) if selector == HOSTILE else one)
    return runs


def papers() -> list[Paper]:
    """One with everything, and one with a table of a hundred numbers."""
    long = [
        cell(number, "not run", why="It needs data that are not here.", setting=["FedAvg", "0.1"]) for number in range(1, 101)
    ]
    return [made(), made("wang2025", tables=[table("T1", "runs", long)], figures=[])]


@pytest.fixture(scope="session", name="site")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of records: three scenarios, ten algorithms."""
    folder = tmp_path_factory.mktemp("site")
    build(board(), folder, title="A board", note="made up for tests")
    return folder


@pytest.fixture(scope="session", name="suites")
def _suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of two suites, with a home page, documentation, and the pages of papers, speed and
    changes."""
    folder = tmp_path_factory.mktemp("suites")
    cases = [{"name": "sum", "values": [2e-3, 1e-3]}]
    machine = {"label": "m", "cpu": "c", "commits": ["ab", "cd"], "days": ["2026-01-01", "2026-01-02"], "cases": cases}
    documents = [full(record, averages=AVERAGES), full(record, "other")]
    write(
        documents,
        folder,
        papers(),
        Beside.model_validate(
            {
                "speed": {"machines": [machine]},
                "changes": [{"date": "2026-01-01", "text": "It began."}],
                "home": read(home_file(tmp_path_factory.mktemp("home")), documents),
            }
        ),
        docs={"learn/index.html": b"<title>Learn</title>", "reference/index.html": b"<title>Reference</title>"},
    )
    return folder


@pytest.fixture(scope="session", name="mapped")
def _mapped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whose home page begins with a map."""
    folder, documents = tmp_path_factory.mktemp("mapped"), [full(record, "other"), full(record, map=MAP)]
    home = read(home_file(tmp_path_factory.mktemp("home"), map="made-up"), documents)
    write(documents, folder, beside=Beside(home=home))
    return folder


@pytest.fixture(scope="session", name="browser")
def _browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium; Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


Open = Callable[..., Page]


@pytest.fixture(name="visit")
def _visit(browser: Browser) -> Iterator[Open]:
    """Opens a page of a site from its file. Whatever the console says, every error of a script and
    every request beyond the folder makes the test fail."""
    contexts, wrong = [], []

    def visit(folder: Path, address: str = "index.html", **more: object) -> Page:
        context = browser.new_context(accept_downloads=True, **{"viewport": {"width": 1280, "height": 900}, **more})  # type: ignore[arg-type]
        contexts.append(context)
        page = context.new_page()

        def ask(request: Request) -> None:
            if not request.url.startswith((folder.as_uri(), "blob:", "data:")):
                wrong.append(f"request for {request.url}")

        def hear(message: ConsoleMessage) -> None:
            wrong.append(f"console: {message.text}")

        page.on("request", ask)
        page.on("console", hear)
        page.on("pageerror", lambda error: wrong.append(f"script: {error}"))
        page.goto(f"{folder.as_uri()}/{address}")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert wrong == []
