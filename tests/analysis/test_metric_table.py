"""The lines of a table of a metric: their order, and what cannot be shown."""

from __future__ import annotations

from typing import Any

import pytest

from fedbench.analysis.axes import SECONDS
from fedbench.analysis.metric_table import metric_lines
from fedbench.errors import UsageError
from tests.analysis.test_at_horizon import rows_of
from tests.conftest import alter


def test_rows_go_from_the_best_on_by_system(record: Any) -> None:
    rows = rows_of(record)
    rows["central"] = [record("central", seed, [0.1, 0.2, 0.99]) for seed in range(3)]
    for one in rows["central"]:
        alter(one, "spec.algorithm.reference", True)
    lines = metric_lines({"b": rows, "a": {"fedavg": rows["fedavg"]}}, "test_accuracy", SECONDS)
    assert (lines[-1].point, lines[-1].row) == ("a", "fedavg")
    assert [line.system for line in lines if line.row == "central"] == [""]
    assert [line.row for line in lines if line.point == "b"] == ["scaffold", "fedavg", "fednova", "central"]
    assert [line.is_ahead for line in lines if line.point == "b"] == [True, False, False, False]
    assert {line.at for line in lines if line.point == "b"} == {10.0}
    assert {line.at for line in lines if line.point == "a"} == {15.0}
    assert all(line.is_limit for line in lines)


def test_left_out_rows_are_behind_the_others_of_their_system(record: Any) -> None:
    rows = {"fedavg": rows_of(record)["fedavg"], "fednova": [record("fednova", 0, [0.1, 0.99], state="stalled")]}
    first, last = metric_lines({"a": rows}, "test_accuracy", SECONDS)
    assert (first.row, last.row, last.left_out) == ("fedavg", "fednova", "1 of 1 seeds stalled")
    assert not last.is_ahead


def test_nothing_to_show_is_said_with_its_point(record: Any) -> None:
    rows = {"fedavg": [record("fedavg", 0, [0.1, 0.2], state="diverged")]}
    with pytest.raises(UsageError, match="here: no row is compared by test_accuracy: fedavg: 1 of 1 seeds diverged"):
        metric_lines({"here": rows}, "test_accuracy", SECONDS)
    with pytest.raises(UsageError, match="here: virtual time: expected a place > 0 and at most"):
        metric_lines({"here": rows_of(record)}, "test_accuracy", SECONDS, 99.0)
