"""Numbers over several points, against truths that are made up."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau

from fedbench.suites.findings.numbers import (
    _tau,
    agreement,
    bound,
    family_bound,
    family_gap,
    first_at,
    gap,
    gap_bound,
    points_of,
    ratio,
    solved,
)
from tests.suites.findings.made_up import results, runs

TUNED = {
    "calm": {"fedavg": 8, "fedbuff": 4, "centralised": 1},
    "rough": {"fedavg": 12, "fedbuff": None},
}
PUBLISHED = {"calm": {"fedavg": 16}, "rough": {"fedavg": None}}


def test_ratios_are_geometric_means_over_the_points_of_both() -> None:
    found = results(TUNED, PUBLISHED)
    value, low, high = ratio(found.tuned, "fedbuff", found.tuned, "fedavg") or (0, 0, 0)
    assert value == pytest.approx((8.48 / 4.48 * 12.48 / 20) ** 0.5)
    assert low < value < high
    same = ratio(found.tuned, "fedavg", found.tuned, "fedavg")
    assert same == (1, 1, 1)
    both = ratio(found.tuned, "fedavg", found.published, "fedavg")
    assert both == pytest.approx(((16.48 / 8.48 * 20 / 12.48) ** 0.5, 1.74, 1.79), abs=0.03)
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
    assert 0 < low < share < high <= 1


def test_orders_that_agree_and_orders_that_do_not() -> None:
    one = {"fedavg": 4, "fedbuff": 8, "fedasync": 12, "centralised": 1}
    other = {"fedavg": 12, "fedbuff": 8, "fedasync": 4, "fedprox": 1}
    found = {name: results({"calm": seconds}, {}).tuned["calm"] for name, seconds in (("one", one), ("other", other))}
    assert agreement(found["one"], found["one"]) == (1, 1, 1)
    assert agreement(found["one"], found["other"]) == (-1, -1, -1)
    two = results({"calm": {"fedavg": 4, "fedbuff": 8}}, {}).tuned["calm"]
    assert agreement(found["one"], two) is None
    never = results({"calm": dict.fromkeys(one)}, {}).tuned["calm"]
    assert agreement(found["one"], never) == (0, 0, 0), "rows that never arrive have no order"


def test_tau_is_scipys() -> None:
    generator = np.random.default_rng(0)
    means = {"first": generator.integers(0, 5, (50, 8)).astype(float), "second": generator.normal(size=(50, 8))}
    expected = [kendalltau(one, other).statistic for one, other in zip(means["first"], means["second"], strict=True)]
    assert _tau(means) == pytest.approx(expected)


def test_the_gap_to_the_earliest_knows_that_it_was_chosen() -> None:
    """Two rows alike: whichever is earlier in a draw counts, so the gap of the baseline to itself
    and its twin is never below 1."""
    twins = results({"calm": {"fedavg": 4, "fedbuff": 4}}, {}).tuned["calm"]
    assert gap(twins) == (1, 1, 1)
    value, low, high = gap(results({"calm": {"fedavg": 8, "fedbuff": 4}}, {}).tuned["calm"]) or (0, 0, 0)
    assert value == pytest.approx(8.48 / 4.48)
    assert 1 < low < value < high
    assert gap(results({"calm": {"fedbuff": 4}}, {}).tuned["calm"]) is None
    assert gap(results({"calm": {"fedavg": None}}, {}).tuned["calm"]) is None


def test_the_gap_between_families() -> None:
    one = results({"calm": {"fedavg": 8, "fedprox": 12, "fedbuff": 4, "fedasync": 6}}, {}).tuned["calm"]
    value, low, high = family_gap(one, ["fedavg", "fedprox"]) or (0, 0, 0)
    assert value == pytest.approx(8.48 / 4.48)
    assert low < value < high
    assert family_gap(one, ["fedavg", "fedprox", "fedbuff", "fedasync"]) is None
    assert family_gap(results({"calm": {"fedavg": None, "fedbuff": 4}}, {}).tuned["calm"], ["fedavg"]) is None


def test_a_row_is_first_where_the_seeds_cannot_tell() -> None:
    found = results({"calm": {"fedavg": 8, "fedbuff": 4, "fedasync": 4}, "rough": {"fedavg": 2}}, {})
    assert [first_at(found.tuned, row) for row in ("fedavg", "fedbuff", "fedasync")] == [1, 1, 1]
    assert points_of(found.tuned, "fedavg") == ["calm", "rough"]


def test_bounds() -> None:
    """A missed target counts with the budget."""
    board = results({"calm": {"fedavg": None, "fedprox": 8, "fedbuff": 4}}, {}).tuned["calm"]
    assert gap_bound(board) == "≥"
    assert family_bound(board, ["fedavg", "fedprox"]) == ""
    assert family_bound(board, ["fedavg"]) == "≥"
    assert family_bound(board, ["fedbuff", "fedprox"]) == "≤"
    assert bound(board.of("fedavg"), board.of("fedavg")) == "?"
    assert bound(board.of("fedprox"), board.of("fedbuff")) == ""


def test_a_target_that_is_met_at_once_has_a_ratio() -> None:
    """As a target below the accuracy of the first model."""
    one = results({"calm": {"fedavg": 8, "fedbuff": 4}}, {})
    for run in one.seats["calm"]["fedbuff (tuned)"]:
        run.curves["test_accuracy"][:] = 0.9
    found = gap(one.tuned["calm"])
    assert found is not None
    assert np.isfinite(found).all()
