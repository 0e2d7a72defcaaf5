"""Numbers over several points, against truths that are made up."""

from __future__ import annotations

import pytest

from fedbench.analysis.profiles import Problem
from fedbench.suites.findings.results import agreement, ratio, reference_of, solved
from tests.conftest import TARGET
from tests.suites.findings.made_up import results, runs, suite

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
    assert found.incomplete == ["fedbuff (tuned) at calm"]


def test_selectors_that_share_a_name_keep_their_options() -> None:
    """Or one of them would be taken for the other."""
    several = suite(algorithms=("fedavg", "fedbuff[buffer_size=2]", "fedbuff[buffer_size=5]"))
    assert list(results({}, {}, several).labels.values()) == ["fedavg", "fedbuff[buffer_size=2]", "fedbuff[buffer_size=5]"]


def test_ratios_are_geometric_means_over_the_points_of_both() -> None:
    found = results(TUNED, PUBLISHED)
    value, low, high = ratio(found.tuned, "fedbuff", found.tuned, "fedavg") or (0, 0, 0)
    assert value == pytest.approx((8.48 / 4.48 * 12.48 / 20) ** 0.5)
    assert low < value < high
    same = ratio(found.tuned, "fedavg", found.tuned, "fedavg")
    assert same == (1, 1, 1)
    assert ratio(found.tuned, "fedavg", found.published, "fedavg") == pytest.approx(
        ((16.48 / 8.48 * 20 / 12.48) ** 0.5, 1.74, 1.76), abs=0.03
    )
    assert ratio(found.tuned, "fedavg", found.published, "fedbuff") is None


def test_shares_of_targets_reached() -> None:
    found = results(TUNED, PUBLISHED)
    assert solved(found.tuned, "fedavg") == (1, 1, 1)
    assert solved(found.tuned, "fedbuff") == (0.5, 0.5, 0.5)
    some = results({"calm": {"fedavg": 4}}, {})
    never = runs("fedavg", "calm", None, tuned=True)
    some.seats["calm"]["fedavg (tuned)"][:4] = never[:4]
    share, low, high = solved(some.tuned, "fedavg")
    assert share == 0.6
    assert 0.2 < low < share < high < 1


def test_the_reference_is_of_tuned_rows_that_are_ranked() -> None:
    found = reference_of(results(TUNED, PUBLISHED))
    assert found.seconds == {Problem("calm", TARGET): 4.45, Problem("rough", TARGET): 12.45}
    assert set(found.made_of) == {"fedavg", "fedbuff"}
    assert set(found.resolution) == {"calm", "rough"}
    again = results(TUNED, {"calm": {"fedavg": 2}})
    assert reference_of(again) == found, "published rows change nothing"


def test_orders_that_agree_and_orders_that_do_not() -> None:
    one = {"fedavg": 4, "fedbuff": 8, "fedasync": 12, "centralised": 1}
    other = {"fedavg": 12, "fedbuff": 8, "fedasync": 4, "fedprox": 1}
    found = {name: results({"calm": seconds}, {}).tuned["calm"] for name, seconds in (("one", one), ("other", other))}
    assert agreement(found["one"], found["one"]) == ((1, 1, 1), 3)
    assert agreement(found["one"], found["other"]) == ((-1, -1, -1), 3)
    two = results({"calm": {"fedavg": 4, "fedbuff": 8}}, {}).tuned["calm"]
    assert agreement(found["one"], two) is None
    never = results({"calm": dict.fromkeys(one)}, {}).tuned["calm"]
    assert agreement(found["one"], never) is None, "rows that never arrive have no order"
