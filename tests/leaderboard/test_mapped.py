"""What pages say of a map."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fedbench.documents.read import as_json
from fedbench.documents.site import Beside
from fedbench.documents.suite import Document
from fedbench.errors import UsageError
from fedbench.leaderboard import home, mapped
from fedbench.leaderboard.decisions import decisions
from fedbench.leaderboard.site import check, write
from fedbench.results.record import Record
from tests.leaderboard.reading import Page
from tests.leaderboard.suite import MAP, TEN, full
from tests.leaderboard.test_home import folder, words

Make = Callable[..., Record]


def changed(**changes: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(MAP)), **changes}


def site(at: Path, record: Make, given: dict[str, Any], **more: Any) -> tuple[str, str]:
    """The home page and the page of the map of a site, after its check."""
    documents = [full(record, "other"), full(record, map=given, **more)]
    write(documents, at / "site", beside=Beside(home=home.read(folder(at, map="made-up"), documents)))
    assert check(at / "site") == []
    pages = [(at / "site" / name).read_text() for name in ("index.html", "made-up.html")]
    for page in pages:
        Page(page)
    return words(pages[0]), words(pages[1])


def test_the_home_page_begins_with_the_map(record: Make, tmp_path: Path) -> None:
    front, _ = site(tmp_path, record, MAP)
    for text in (
        "No algorithm is the best everywhere The map does not predict gradients at points that it has not seen.",
        "If you know nothing: always using near costs 1.10 [1.00, 1.20] times as much as the best on",
        "average, and 2.20 [2.10, 2.30] times at worst. At 11 of 12 points that the map had not seen, one of the algorithms that it names",
        "Your clients 10 clients at work The middle all are as fast fast 10.0 s or near 1.20, slow 1.50, 1 more",
        "Some are slow speed 4 mob 20.0 s",
        "waits for a round costs 0.90 to 2.50 times as much as the best one that does not wait. It is dearest with spread 4 and 10 clients",
        "With another model. At 2 common points, what costs least on the map costs there 1.30 [1.20, 1.40] times as much as the best. At",
        "Kendall's tau of the two orders is 0.50 [-0.10, 0.90]",
        "At a point of the design an algorithm has 3 to 10 seeds. 4 % of the runs miss a target.",
        "independent tunings at the same point differ by 0.21",
        "with a probability of 80 % if one costs 1.30 times as much as the other (the median of 9 points). The winners",
        "At 4 of 9 points of the design the cheapest algorithm depends on the rule of holding a target.",
    ):
        assert text in front, text
    assert "2 MB" not in front, "bytes are on the page of the map"
    assert front.index("Your clients") < front.index("Before you choose") < front.index("Answers to common questions")


def test_the_page_of_the_suite_has_all_of_it(record: Make, tmp_path: Path) -> None:
    _, page = site(tmp_path, record, MAP)
    for text in (
        "Each line changes one thing of the middle, which is speed 1 (all are as fast).",
        "fast 10.0 s [9.00 s, 11.0 s] or near 1.20 [1.10, 1.30], slow 1.50 [1.40, 1.60], a 1.60 [1.50, 1.70]",
        "near 2 MB [1 MB, 3 MB]",
        "not possible",
        "Not at all of these points: crowd.",
        "1.20 to 1.40 2 points",
        "rough : near costs ≥ 1.70 times as much as fast.",
        "time predicts 11 of 12 3 0.12 0.20 0.16",
        "rough (speed 4): none of those named is within 10 % of the best.",
        "3 to 10 seeds a row",
        "does not predict gradients at points that it has not seen",
    ):
        assert text in page, text
    order = ["What to take", "If you know nothing", "What waiting costs", "What does not transfer", "How sure the map is"]
    assert sorted(order, key=page.index) == order


def test_without_prediction_nothing_of_the_model_is_shown(record: Make, tmp_path: Path) -> None:
    rows = [{**one, "mean": None, "others": {}} for one in MAP["everywhere"][0]["rows"]]
    measured = [{"where": "", "points": 2, "rows": rows}]
    ratios = {"median": [1.1, 1.0, 1.2], "largest": [1.7, 1.5, None]}
    levels = [{"name": "speed 4", "words": "some are slow", "points": 3, "rows": [{"row": "near", **ratios}]}]
    front, page = site(tmp_path, record, changed(predicted=[], columns=[], kinds=[], everywhere=measured, levels=levels))
    for text in (front, page):
        assert "The map does not predict points that it has not seen. It is a table of points, with nothing in between." in text
        assert "Your clients" not in text
        assert "on average" not in text
    assert "near 2 of 2 1 of 2 2.20 [2.10, 2.30] rough" in front
    assert "The best at each point" in page
    assert "some are slow speed 4 3 near 1.10 at worst ≥ 1.70" in page
    assert "some are slow" not in front, "it is of none of the factors of the home page"
    front, _ = site(tmp_path, record, changed(predicted=[], columns=[], kinds=[], levels=[{**levels[0], "name": "skew 4"}]))
    assert "some are slow skew 4 3 near 1.10 at worst ≥ 1.70" in front
    sure = {**MAP["sure"], "judged": []}
    assert "nobody knows whether" in mapped.verdict(full(record, map=changed(predicted=[], sure=sure)).map)  # type: ignore[arg-type]


def test_one_that_may_be_best_everywhere_is_no_contradiction(record: Make) -> None:
    kinds = [{**one, "choices": [{"cost": [1.0, 1.0, 1.0], "tries": {"near": [1.0, 1.0, 1.0]}}, None]} for one in MAP["kinds"]]
    shown = full(record, map=changed(kinds=kinds)).map
    assert shown is not None
    assert mapped.headline(shown) == "What to take for your clients"


def test_points_of_a_design_are_compared_in_the_system_that_each_has(record: Make) -> None:
    found = decisions(full(record, map=MAP), "tuned")
    assert found is not None
    assert found.columns == ("seconds", "fewest gradients", "fewest bytes")
    assert {point.name: cells[0].leader for point, cells in found.rows}["calm"] == "fast"


def test_without_the_suite_the_page_is_that_of_today(record: Make, tmp_path: Path) -> None:
    """The key says nothing then, and whoever makes the page hears so."""
    documents, heard = [full(record), full(record, "other")], list[str]()
    plain = home.read(folder(tmp_path), documents)
    assert home.read(folder(tmp_path, map="map"), documents, heard.append) == plain
    assert re.fullmatch(r"home .*home.yaml: suite map is not given, so the page begins with made-up and no map", heard[0])
    assert '"map"' not in as_json(documents[0])
    assert '"map"' not in as_json(plain)
    with pytest.raises(UsageError, match=r"map: expected a suite over the points of a design, got other, which has no map"):
        home.read(folder(tmp_path, map="other"), documents)


def test_a_home_page_whose_map_is_gone_is_refused_by_the_check(record: Make, tmp_path: Path) -> None:
    site(tmp_path, record, MAP)
    file = tmp_path / "site/data/made-up.json"
    content = json.loads(file.read_text())
    assert content.pop("map")["columns"][0]["at_work"] == TEN
    file.write_text(json.dumps(content))
    (line,) = check(tmp_path / "site")
    assert "not what a leaderboard is made from (AttributeError: document made-up: it has no map)" in line


def test_the_document_is_read_as_it_was_written(record: Make) -> None:
    one = full(record, map=MAP)
    assert Document.model_validate_json(as_json(one)) == one
