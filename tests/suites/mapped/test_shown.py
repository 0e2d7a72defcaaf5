"""A map as a part of the document of its suite, and the site that is made of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from fedbench.cli import leaderboard as command
from fedbench.cli.main import app
from fedbench.documents.map import Map as Shown
from fedbench.documents.read import read
from fedbench.documents.suite import Document
from fedbench.leaderboard.site import check
from fedbench.suites.findings import map_document, reference
from fedbench.suites.findings import results as loading
from fedbench.suites.findings.results import Results
from fedbench.suites.mapped import statements
from fedbench.suites.mapped.statements import Map
from tests.leaderboard.reading import Page
from tests.leaderboard.test_home import folder as home
from tests.leaderboard.test_home import words
from tests.suites.findings.test_map_screens import failing
from tests.suites.mapped import made_up, small
from tests.suites.mapped.test_carried import elsewhere

AXES = ("seconds", "gradient_evaluations", "bytes")


@pytest.fixture(scope="module", name="other")
def _other(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """With another model, where FedBuff is last."""
    return made_up.results(small.some(tmp_path_factory.mktemp("some")), elsewhere({"fedbuff": 2.0}), noise=0.001)


@pytest.fixture(scope="module", name="shown")
def _shown(results: Results, said: Map, other: Results) -> Shown:
    return map_document.document(results, said, [other])


def test_the_decision_map_has_the_advice(shown: Shown, said: Map) -> None:
    assert shown.predicted == AXES
    assert [(one.axis, one.at_work) for one in shown.columns] == [
        ("seconds", "3 clients at work"),
        ("seconds", "all clients at work"),
        ("gradient_evaluations", "3 clients at work"),
        ("bytes", "3 clients at work"),
    ]
    assert [(one.name, one.words) for one in shown.kinds] == [
        ("the middle", "two classes each; the slowest takes eight times as long"),
        ("skew iid", ""),
        ("spread 1", ""),
        ("spread 4", ""),
    ]
    by_name = {(one.words, one.axis, one.at_work): one for one in said.advice}
    first = shown.kinds[1].choices[1]
    assert first is not None
    assert first.cost == by_name["skew iid", "seconds", 20.0].cost
    assert next(iter(first.tries)) == "asysg"
    assert shown.middle == "skew two_class (two classes each), spread 8 (the slowest takes eight times as long)"


def test_always_the_same_and_waiting_by_the_model(shown: Shown, said: Map) -> None:
    everywhere, crowd = shown.everywhere
    assert (everywhere.where, everywhere.points, everywhere.left_out) == ("", 12, ("asysg",))
    assert (crowd.where, crowd.points, crowd.rows[0].row) == ("all clients at work", 5, "asysg")
    first = everywhere.rows[0]
    assert (first.row, first.points, first.best, set(first.others)) == ("fedbuff", 12, 7, set(AXES[1:]))
    assert first.mean is not None
    assert first.mean.value == pytest.approx(said.always[0].mean[0])
    assert shown.waiting is not None
    assert (shown.waiting.unit, [one.level for one in shown.waiting.rows]) == ("fastest over slowest", ["1", "4", "8"])
    slowest = shown.waiting.rows[2].prices[2]
    assert slowest is not None
    assert (slowest.points, round(slowest.ratios[0].value, 1)) == (0, 2.6)


def test_elsewhere_and_how_sure(shown: Shown, results: Results) -> None:
    (one,) = shown.elsewhere
    seconds = one.axes[0]
    assert (one.suite, one.about, seconds.axis, seconds.points) == ("some", "With an MLP.", "seconds", 4)
    assert {(miss.first, math.isinf(miss.ratio.high)) for miss in seconds.missed} == {("fedbuff", False)}
    assert seconds.agreement[0] < 1 < seconds.regret.value
    assert (shown.sure.seeds, shown.sure.censored, shown.sure.luck) == ((3, 3), 0, None)
    assert [(judged.hits, judged.points, judged.predicts) for judged in shown.sure.judged] == [(4, 4, True)] * 3


def test_a_first_that_misses_its_targets_elsewhere_is_a_bound(results: Results, said: Map, other: Results) -> None:
    missing = made_up.results(other.suite, elsewhere({"fedbuff": 2.0}), noise=0.001, budget=16)
    (one,) = map_document.document(results, said, [missing]).elsewhere
    assert {math.isinf(miss.ratio.high) for miss in one.axes[0].missed} == {True}


def test_what_does_not_predict_is_as_measured(results: Results, said: Map) -> None:
    """Nothing of the model is in it, and a missed point is no hit."""
    shown = map_document.document(results, failing(said, *AXES, missed=("held-out-02",)), [])
    assert (shown.predicted, shown.columns, shown.kinds) == ((), (), ())
    (one,) = shown.everywhere
    rows = {row.row: row for row in one.rows}
    assert {row.mean for row in one.rows} == {None}
    assert [(row.points, row.best) for row in (rows["fedbuff"], rows["asysg"])] == [(12, 7), (5, 5)]
    assert rows["fedbuff"].worst.value == pytest.approx(1.38, abs=0.02)
    assert shown.waiting is not None
    assert shown.waiting.rows[0].prices[1] is None, "no point is there"
    several = shown.waiting.rows[2].prices[2]
    assert several is not None
    assert (several.points, len(several.ratios)) == (2, 2)
    assert several.ratios[0].value < several.ratios[1].value
    assert shown.sure.judged[0].missed.keys() == {"held-out-02"}
    assert (shown.sure.judged[0].hits, shown.sure.judged[0].predicts) == (3, False)


def test_one_axis_that_does_not_predict_has_no_column(results: Results, said: Map) -> None:
    shown = map_document.document(results, failing(said, "bytes"), [])
    assert shown.predicted == AXES[:2]
    assert "bytes" not in {one.axis for one in shown.columns}
    assert shown.is_predicted
    assert set(shown.everywhere[0].rows[0].others) == {"gradient_evaluations"}


@pytest.mark.parametrize("fails", [False, True])
def test_the_command_makes_a_site_that_begins_with_the_map(
    *, fails: bool, results: Results, other: Results, said: Map, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the check makes it again from its data alone."""
    both: dict[str, Results] = {"small": results, "some": other}
    told: Any = failing(said, *AXES) if fails else said
    monkeypatch.setattr(command.suites, "load", lambda name: both[name].suite)
    monkeypatch.setattr(loading, "load", lambda of, *_: both[of.name])
    monkeypatch.setattr(statements, "read", lambda *_: told)
    monkeypatch.setattr(reference, "reference_for", lambda *_: None)
    asked = {"question": "Who?", "point": "design-01", "system": "3 clients at work"}
    file = home(tmp_path, suite="some", map="small", baseline="fedavg", questions=[asked])
    done = CliRunner().invoke(app, ["leaderboard", "suites", "some", "small", "--home", str(file), "-o", str(tmp_path / "site")])
    assert done.exit_code == 0, done.output
    assert check(tmp_path / "site") == []
    front, page = ((tmp_path / "site" / name).read_text() for name in ("index.html", "small.html"))
    Page(front)
    Page(page)
    assert read(tmp_path / "site/data/small.json", Document).map is not None
    assert read(tmp_path / "site/data/some.json", Document).map is None
    front, page = words(front), words(page)
    for text in ("Before you choose", "What waiting costs", "What does not transfer", "How sure the map is"):
        assert text in front
        assert text in page or text == "Before you choose"
    assert "From the suite some , whose points change one thing at a time." in front
    assert ("nothing in between" in front) == ("nothing in between" in page) == fails
    assert ("What to take for your clients" in front) == ("What to take for your clients" in page) == (not fails)
    for row in ("design-01 FedBuff fedbuff 5.3", "design-02 AsySG asysg 2.0"):
        assert row in page, "the table of points, with the system of each"
