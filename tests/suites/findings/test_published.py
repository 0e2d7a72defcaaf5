"""The published pages are what the published records say."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from fedbench.documents.site import Beside
from fedbench.leaderboard.document import of_suite
from fedbench.leaderboard.pages import changes, speed
from fedbench.leaderboard.site import check, write
from fedbench.suites import suite as suites
from fedbench.suites.findings import map_document
from fedbench.suites.findings.document import document
from fedbench.suites.findings.page import page
from fedbench.suites.findings.reference import reference_for, reference_of
from fedbench.suites.findings.results import Results, load
from fedbench.suites.mapped import statements
from fedbench.suites.mapped.statements import Map

RESULTS = Path(__file__).resolve().parents[3] / "results"


PUBLISHED = (RESULTS / "findings.md").read_text()
AT_FIRST = {  # runs of the suites when their reference times were frozen, and the digest of their ids and results
    "axes": (8060, "6e697303386d93b475f55efa9684281f"),
    "map-cnn": (195, "efede1ebcc115f231b739a3a8b91b122"),
    "beyond": (295, "769374ced1ed2cff3da4ba92ab269fb6"),
    "ringleader": (120, "95868b174e034e1b80400a9303aa7a40"),
}


@pytest.fixture(scope="module", name="found")
def _found() -> list[Results]:
    """The suites that the page names, from thousands of records."""
    names = re.search(r"Made by `fedbench suite report ([a-z -]+)`", PUBLISHED)
    assert names is not None
    return [load(suites.load(name), RESULTS / "tuned", RESULTS / "suites") for name in names[1].split()]


@pytest.fixture(scope="module", name="maps")
def _maps(found: list[Results]) -> dict[str, Map]:
    return {one.suite.name: statements.read(RESULTS / "suites" / one.suite.name, one) for one in found if one.suite.has_map}


@pytest.mark.slow
def test_the_page_is_of_the_records(found: list[Results], maps: dict[str, Map]) -> None:
    """To the last digit."""
    assert list(maps) == ["map"]
    command = f"fedbench suite report {' '.join(one.suite.name for one in found)}"
    assert page(found, command, maps) == PUBLISHED


@pytest.mark.slow
def test_later_entrants_touched_no_row(found: list[Results]) -> None:
    """The frozen reference says who was there at first: its times, and all runs of these
    algorithms, are what they were."""
    first = {}
    for one in found:
        reference = reference_for(one)
        if reference is None:  # a suite that looks for no options has none
            continue
        there = one.among(reference.made_of)
        assert reference_of(there) == reference, one.suite.name
        lines = sorted(f"{run.run_id} {run.digests.result}\n" for run in there.runs.values())
        first[one.suite.name] = (len(lines), hashlib.sha256("".join(lines).encode()).hexdigest()[:32])
    assert first == AT_FIRST


@pytest.mark.slow
def test_a_site_is_made_of_the_records(found: list[Results], maps: dict[str, Map], tmp_path: Path) -> None:
    """Every page of it, and nothing is on it that its data do not say."""
    shown = {one.suite.name: map_document.document(one, maps[one.suite.name], []) for one in found if one.suite.name in maps}
    documents = [
        of_suite(
            document(one, reference_for(one), shown.get(one.suite.name)),
            {"tuned": one.complete(tuned=True), "default": one.complete(tuned=False)},
        )
        for one in found
    ]
    beside = Beside(speed=speed.read(RESULTS / "asv"), changes=changes.read(RESULTS / "changes.yaml"))
    index = write(documents, tmp_path, beside=beside)
    assert check(tmp_path) == []
    there = [rows for one in found[:1] for kind in (True, False) for rows in one.complete(tuned=kind).values()]
    assert f" runs, {sum(len(runs) for rows in there for runs in rows.values()):,} on boards" in index.read_text()
    rows = sum(len(of_point) for one in found for kind in (True, False) for of_point in one.complete(tuned=kind).values())
    pages = sum(1 for one in found for _ in (tmp_path / one.suite.name).glob("*/*.html"))
    assert pages == rows, "a page a row"
