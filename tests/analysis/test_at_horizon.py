"""A metric of several rows where all compared runs still are."""

from __future__ import annotations

from typing import Any

import pytest

from fedbench.analysis.at_horizon import at_horizon
from fedbench.analysis.axes import AXES, SECONDS
from fedbench.errors import UsageError
from tests.conftest import alter


def rows_of(record: Any) -> dict[str, list[Any]]:
    """Rows of which one ends at 10 s, and one has a seed that diverged early."""
    return {
        "fedavg": [record("fedavg", seed, [0.1, 0.2, 0.3 + 0.01 * seed, 0.9]) for seed in range(3)],
        "scaffold": [record("scaffold", seed, [0.1, 0.3, 0.5 + 0.02 * seed]) for seed in range(3)],
        "fednova": [record("fednova", 0, [0.1], state="diverged"), record("fednova", 1, [0.1, 0.9, 0.9, 0.9])],
    }


def test_seeds_count_at_the_horizon_and_not_at_their_end(record: Any) -> None:
    found = at_horizon(rows_of(record), "test_accuracy", SECONDS)
    assert found.where.at == 10.0
    assert found.estimates["fedavg"].mean == pytest.approx(0.31)
    assert found.estimates["scaffold"].mean == pytest.approx(0.52)
    assert found.left_out == {"fednova": "1 of 2 seeds diverged"}
    assert [found.comparisons[row].standing for row in ("fedavg", "scaffold", "fednova")] == ["behind", "best", "unknown"]


def test_an_earlier_place_may_be_asked_for(record: Any) -> None:
    found = at_horizon(rows_of(record), "test_accuracy", SECONDS, 7.0)
    assert (found.where.at, found.estimates["fedavg"].mean) == (7.0, pytest.approx(0.2))
    updates = at_horizon(rows_of(record), "test_accuracy", AXES["updates"])
    assert updates.where.at is not None
    for wrong in (0.0, -1.0, 10.5, float("nan"), float("inf")):
        with pytest.raises(
            UsageError, match=r"virtual time: expected a place > 0 and at most 10, where scaffold, seed 0 ends, got"
        ):
            at_horizon(rows_of(record), "test_accuracy", SECONDS, wrong)


def test_of_a_loss_the_smaller_one_is_better_and_must_be_known(record: Any) -> None:
    rows = {
        "fedavg": [record("fedavg", seed, [0.1] * 3, columns={"test_loss": [3, 2, 1 + 0.1 * seed]}) for seed in range(3)],
        "scaffold": [record("scaffold", seed, [0.1] * 3, columns={"test_loss": [3, 3, 2.5 + 0.3 * seed]}) for seed in range(3)],
        "fednova": [record("fednova", seed, [0.1] * 3, columns={"test_loss": [3, float("nan"), 0]}) for seed in range(3)],
    }
    found = at_horizon(rows, "test_loss", SECONDS)
    assert (found.comparisons["fedavg"].standing, found.comparisons["scaffold"].standing) == ("best", "behind")
    assert found.left_out == {"fednova": "3 of 3 seeds without test_loss"}
    with pytest.raises(UsageError, match="unknown metric 'test_los'; did you mean 'test_loss'"):
        at_horizon(rows, "test_los", SECONDS)


def test_references_are_shown_and_move_nothing(record: Any) -> None:
    short = [record("central", seed, [0.1, 0.9]) for seed in range(3)]
    for one in short:
        alter(one, "spec.algorithm.reference", True)
    found = at_horizon({**rows_of(record), "central": short}, "test_accuracy", SECONDS)
    assert found.where.at == 10.0
    assert found.comparisons["central"].standing == "reference"
    assert "central" not in found.systems
    assert found.estimates["central"].mean is None, "it ended before the horizon"
