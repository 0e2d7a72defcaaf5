"""The end of a record that stopped at its target is the one that the rule of its scenario gives on
its curves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from fedbench.errors import RecordError
from fedbench.results.consistent import check_consistent
from fedbench.results.record import Record, first_held
from tests.conftest import alter, altered, sealed

Make = Callable[..., Record]
HELD = (0.1, 0.8, 0.7, 0.8, 0.9, 0.85)
"""The target of 0.8 is met at once, missed, and then met at three points in a row."""


def check(storable: Make, curve: tuple[float, ...], ended_by: str, **budget: Any) -> None:
    checked(storable(curve=curve, ended_by=ended_by), **budget)


def checked(record: Record, **budget: Any) -> None:
    """The check of a record whose scenario gets these keys of `budget`, and which fits itself but
    for them."""
    changed = altered(record, {"spec.scenario.budget": budget})
    alter(changed, "spec.scenario_hash", changed.spec.scenario.content_hash())
    check_consistent(sealed(changed), "here")


@pytest.mark.parametrize(
    ("points", "curve", "ended_by"),
    [
        (1, HELD[:2], "target"),
        (2, HELD[:5], "target"),
        (3, HELD, "target"),
        (4, HELD, "time"),
        (2, HELD[:4], "time"),
        (1, (0.1, 0.2), "updates"),
        (2, (0.1, np.nan, 0.8), "time"),
    ],
)
def test_ends_that_fit(storable: Make, points: int, curve: tuple[float, ...], ended_by: str) -> None:
    check(storable, curve, ended_by, stop_at_target=True, hold_points=points)


@pytest.mark.parametrize(
    ("points", "curve", "ended_by", "field"),
    [
        (1, HELD, "target", "curves.seconds"),
        (2, HELD, "target", "curves.seconds"),
        (2, HELD, "time", "curves.seconds"),
        (3, HELD, "time", "outcome.ended_by"),
        (1, HELD[:2], "time", "outcome.ended_by"),
        (3, HELD[:5], "target", "outcome.ended_by"),
        (4, HELD, "target", "outcome.ended_by"),
        (2, (0.1, 0.2), "target", "outcome.ended_by"),
    ],
)
def test_ends_that_do_not_fit(storable: Make, points: int, curve: tuple[float, ...], ended_by: str, field: str) -> None:
    with pytest.raises(RecordError, match=rf"here: {field}: the rest of the record gives"):
        check(storable, curve, ended_by, stop_at_target=True, hold_points=points)


@pytest.mark.parametrize(
    ("curve", "ended_by"),
    [((0.1, 0.1, 0.1, 0.1, 0.1, 0.8, 0.8, 0.8), "target"), ((0.1, 0.8, 0.8), "time"), ((*[0.1] * 5, 0.8, 0.8, 0.8, 0.8), None)],
)
def test_ends_where_a_target_is_held(storable: Make, curve: tuple[float, ...], ended_by: str | None) -> None:
    """Three models, and 6 of 5 points at the least: the last curve goes on behind its end."""
    if ended_by is not None:
        check(storable, curve, ended_by, stop_at_target=True, hold="window")
        return
    for one in ("time", "target"):
        with pytest.raises(RecordError, match=r"here: curves\.seconds: the rest of the record gives 7, it says 8"):
            check(storable, curve, one, stop_at_target=True, hold="window")


def test_time_ends_where_the_target_was_held(storable: Make) -> None:
    """Not five seconds later, with a version that no point shows."""
    one = storable(curve=HELD, ended_by="target")
    alter(one, "final", {"seconds": 30.0, "version": 60, "test_accuracy": 0.99})
    alter(one, "ledger", {"end_seconds": 30.0, "updates": 60})
    alter(one, "time_to_target.0.censored_at", 30.0)
    with pytest.raises(RecordError, match=r"here: final\.seconds: the rest of the record gives True"):
        checked(one, stop_at_target=True, hold_points=3)


def test_who_was_not_told_to_stop_did_not_stop_at_a_target(storable: Make) -> None:
    check(storable, HELD, "time")
    with pytest.raises(RecordError, match=r"here: outcome\.ended_by: the rest of the record gives False, it says True"):
        check(storable, HELD, "target")


def test_the_first_place_that_was_held() -> None:
    curve = np.array(HELD, np.float32)
    assert [first_held(curve, 0.8, points) for points in (1, 2, 3, 4)] == [1, 4, 5, None]
    assert first_held(curve[:0], 0.8, 1) is None
    assert first_held(np.array([0.7], np.float32), 0.7, 1) == 0
