"""Numbers over several points, against truths that are made up."""

from __future__ import annotations

import pytest

from fedbench.analysis.profiles import Problem
from fedbench.errors import UsageError
from fedbench.suites.findings.results import check_reference, reference_of
from tests.conftest import TARGET
from tests.suites.findings.made_up import results, suite

TUNED = {
    "calm": {"fedavg": 8, "fedbuff": 4, "centralised": 1},
    "rough": {"fedavg": 12, "fedbuff": None},
}
PUBLISHED = {"calm": {"fedavg": 16}, "rough": {"fedavg": None}}


def test_a_row_is_tuned_or_published() -> None:
    found = results(TUNED, PUBLISHED)
    assert [one.row for one in found.tuned["calm"].standings] == ["centralised", "fedbuff", "fedavg"]
    assert [one.row for one in found.published["calm"].standings] == ["fedavg"]
    assert found.tuned["calm"].standings[0].place is None, "pooled SGD is no federated algorithm"
    assert len(found.runs) == 70
    assert found.spread("fedbuff") == [(4.0, 8.0), (4.0, 8.0)]


def test_a_row_that_lacks_a_seed_is_left_out_and_named() -> None:
    found = results(TUNED, PUBLISHED)
    found.seats["calm"]["fedbuff (tuned)"].pop()
    assert [one.row for one in found.tuned["calm"].standings] == ["centralised", "fedavg"]
    assert "fedbuff (tuned) at calm" in found.absent["9 of 10 seeds"]
    assert "fedprox at rough" in found.absent["no run"]
    assert "fedavg at calm" not in [row for rows in found.absent.values() for row in rows]


def test_selectors_that_share_a_name_keep_their_options() -> None:
    """Or one of them would be taken for the other."""
    several = suite(algorithms=("fedavg", "fedbuff[buffer_size=2]", "fedbuff[buffer_size=5]"))
    assert list(results({}, {}, several).labels.values()) == ["fedavg", "fedbuff[buffer_size=2]", "fedbuff[buffer_size=5]"]


def test_the_reference_is_of_tuned_rows_that_are_ranked() -> None:
    found = reference_of(results(TUNED, PUBLISHED))
    assert found.seconds == {Problem("calm", TARGET): 4.45, Problem("rough", TARGET): 12.45}
    assert set(found.made_of) == {"fedavg", "fedbuff"}
    assert set(found.resolution) == {"calm", "rough"}
    again = results(TUNED, {"calm": {"fedavg": 2}})
    assert reference_of(again) == found, "published rows change nothing"
    with pytest.raises(UsageError, match="made-up: it has no complete row with tuned options"):
        reference_of(results({}, PUBLISHED))


def test_an_entrant_does_not_move_the_reference() -> None:
    """It is first at both points."""
    before = reference_of(results(TUNED, PUBLISHED))
    entered = results({point: {**rows, "mifa": 0.5} for point, rows in TUNED.items()}, PUBLISHED)
    assert reference_of(entered).seconds != before.seconds
    assert reference_of(entered.among(before.made_of)) == before
    assert entered.tuned["calm"].standings[0].row == "mifa"


def test_a_reference_of_other_scenarios_is_refused() -> None:
    reference = reference_of(results(TUNED, PUBLISHED))
    check_reference(reference, results(TUNED, PUBLISHED))
    other = suite()
    other.points[0].set["clients"] = 30
    with pytest.raises(UsageError, match="reference made-up: point calm is of scenario"):
        check_reference(reference, results(TUNED, PUBLISHED, other))


def test_families() -> None:
    found = results({}, {}).families
    assert [found[name] for name in ("fedavg", "fedlin", "fedbuff", "favano", "centralised")] == [
        "synchronous", "synchronous", "asynchronous", "asynchronous", "reference",
    ]  # fmt: skip


def test_who_has_more_than_the_suite_gives() -> None:
    """By definition, whatever they happen to do: FedLin waits for the slowest of all, and so for
    most of the time few of them work."""
    found = results(
        {"calm": {"fedavg": 8, "asysg": 4, "fedlin": 12, "fedbuff": 4, "favano": 4, "fedecho": 3, "centralised": 1}}, {}
    )
    assert {one.row for one in found.like_for_like["calm"].standings} == {"fedavg", "fedbuff"}
    more, public = "more than 10 clients at work at a time", "unlabelled public data"
    assert found.advantaged == {more: ["asysg", "favano", "fedlin"], public: ["fedecho"]}
    assert found.advantages("calm", "centralised", tuned=True) == [more], "a reference is shown and not ranked"
