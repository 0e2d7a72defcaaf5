"""The document of a suite: what the boards hold, as JSON."""

from __future__ import annotations

import pytest

from fedbench.documents.read import as_json, parsed
from fedbench.documents.suite import Document, Profiles
from fedbench.suites.findings.document import document
from fedbench.suites.findings.reference import reference_of
from tests.suites.findings.made_up import results, suite

TUNED = {
    "calm": {"fedavg": 8, "fedbuff": 4, "asysg": 2, "centralised": 1},
    "rough": {"fedavg": 12, "fedbuff": None},
}


def test_it_is_json_and_has_what_the_boards_have() -> None:
    one = results(TUNED, {"calm": {"fedavg": 16}}, suite(algorithms=("fedavg", "fedbuff", "asysg", "centralised")))
    found = document(one, reference_of(one))
    assert parsed(as_json(found), Document, "document", "expected a document") == found
    assert [one.name for one in found.points] == ["calm", "rough"]
    assert "`fedbuff` costs least, 4.47 s. All others cost more." in found.points[0].sentence
    assert "`asysg` costs least, 1.46 s" not in found.points[0].sentence
    rows = {row.label: row for row in found.boards["tuned"]["calm"]}
    assert list(rows) == ["centralised", "fedbuff", "fedavg", "asysg"]
    assert [rows[name].is_best for name in rows] == [False, True, False, True]
    assert [rows[name].group for name in rows] == [None, "10 clients at work", "10 clients at work", "all clients at work"]
    fedbuff, fedavg = rows["fedbuff"], rows["fedavg"]
    assert fedbuff.costs["1"] == pytest.approx(4.5)
    (reach,) = fedbuff.targets
    assert (reach.target, reach.has_verdict, reach.hits, reach.median) == (0.8, True, 10, 4.4)
    ratio = fedavg.against["fedbuff"]
    assert ratio.low < ratio.value < ratio.high
    assert ratio.value == pytest.approx(fedavg.regret.value)
    assert fedavg.axes["bytes"].regret.value == 1
    missed = found.boards["tuned"]["rough"][1]
    assert (missed.label, missed.solved, missed.regret, missed.is_bound) == ("fedbuff", 0.0, None, True)
    assert [row.label for row in found.boards["default"]["calm"]] == ["fedavg"]


def test_groups_have_what_belongs_to_a_board() -> None:
    one = results(TUNED, {})
    ten, everybody = document(one, None).groups["tuned"]["calm"]
    assert (ten.kind, ten.rows, ten.targets) == ("10 clients at work", ("fedbuff", "fedavg"), (0.8,))
    seconds = ten.axes["seconds"]
    assert (seconds.leader, seconds.best, seconds.stability) == ("fedbuff", ("fedbuff",), 1.0)
    assert seconds.resolution > 1
    assert set(ten.leaders) == {"window", "touch", "evaluations", "models"}
    assert everybody.words.startswith("all ")
    assert everybody.axes["seconds"].resolution is None


def test_what_algorithms_are() -> None:
    found = {one.label: one for one in document(results(TUNED, {}), None).algorithms}
    assert [found[name].family for name in ("fedavg", "fedbuff", "centralised")] == [
        "synchronous",
        "asynchronous",
        "reference",
    ]
    assert [found[name].group for name in ("asysg", "fedecho", "centralised")] == [
        "all clients at work", "10 clients at work, public data", None,
    ]  # fmt: skip


def test_what_it_costs_to_always_use_one_row() -> None:
    rows = {"calm": {"fedavg": 8, "fedbuff": 4}, "rough": {"fedavg": 8, "fedbuff": 4}}
    (ten,) = document(results(rows, {}), None).averages.values()
    first, second = ten["10 clients at work"]
    assert (first.row, first.ratio[0], first.worst, first.points, first.is_bound) == ("fedbuff", 1, 1, 2, False)
    value, low, high = second.ratio
    assert low < value < high
    assert second.worst == pytest.approx(value, rel=0.01), "both points are alike"
    missed = document(results(TUNED, {}), None).averages["tuned"]["10 clients at work"]
    assert {row.row: row.is_bound for row in missed} == {"fedbuff": True, "fedavg": False}


def test_profiles_are_against_the_frozen_reference() -> None:
    one = results(TUNED, {"calm": {"fedavg": 16}})
    found = document(one, reference_of(one)).profiles
    at = found.factors.index(4)
    assert found.shares["tuned"]["fedbuff"][at] == 0.5, "it arrives at one of two points"
    assert found.shares["tuned"]["fedavg"][at] >= 0.5
    assert list(found.shares["default"]) == ["fedavg"]
    assert document(one, None).profiles == Profiles(factors=(), shares={"tuned": {}, "default": {}})
