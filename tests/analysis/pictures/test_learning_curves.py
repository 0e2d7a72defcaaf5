"""Curves as data: they are those of `fedbench.analysis.curves`, and count what is missed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

import pytest

from fedbench.analysis.axes import AXES
from fedbench.analysis.curves import mean_curve
from fedbench.analysis.pictures.learning_curves import learning_curves
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import Record

Make = Callable[..., Record]


@pytest.mark.parametrize("axis", AXES)
def test_lines_are_mean_curves_and_plain(record: Make, axis: str) -> None:
    rows = {"a": [record("a", seed, [0.1, 0.7 + 0.01 * seed, 0.9]) for seed in range(3)]}
    data = learning_curves(rows, axis)
    (line,), curve = data.lines, mean_curve(rows["a"], axis=AXES[axis])
    assert (line.at, line.middle, line.low, line.high) == tuple(
        tuple(part.tolist()) for part in (curve.at, curve.middle, curve.low, curve.high)
    )
    assert (line.band, line.seeds, line.hits, data.targets) == ("range", 3, (3,), (0.8,))
    assert (data.axis, data.axis_title) == (axis, AXES[axis].title)
    json.dumps(asdict(data), allow_nan=False)


def test_quartiles_stand_about_the_median(record: Make) -> None:
    """Of five seeds they are the second and the fourth, whatever the largest is."""
    rows = {"a": [record("a", seed, [0.1, value, 0.9]) for seed, value in enumerate((0.5, 0.2, 0.99, 0.3, 0.4))]}
    (line,) = learning_curves(rows, quartiles=True).lines
    assert line.band == "quartiles"
    assert (line.low[1], line.middle[1], line.high[1]) == pytest.approx((0.3, 0.4, 0.5))
    (line,) = learning_curves(rows).lines
    assert line.band == "t"
    assert line.middle[1] == pytest.approx(0.478)


def test_a_run_that_did_not_finish_hits_nothing(record: Make) -> None:
    runs = [record("a", 0), record("a", 1, [0.1, 0.9], state="diverged"), record("a", 2, [0.1, 0.2, 0.3])]
    (line,) = learning_curves({"a": runs}).lines
    assert (line.hits, line.unfinished) == ((1,), 1)
    assert line.at[-1] == 5.0  # where the first seed ends


def test_a_loss_has_no_target_of_accuracies(record: Make) -> None:
    data = learning_curves({"a": [record()]}, "steps", "test_loss")
    assert (data.targets, data.lines[0].hits, data.lines[0].band) == ((), (), "none")


def test_errors(record: Make) -> None:
    with pytest.raises(UsageError, match="unknown axis 'second'; did you mean 'seconds'"):
        learning_curves({"a": [record()]}, "second")
    with pytest.raises(UsageError, match="unknown metric 'accuracy'"):
        learning_curves({"a": [record()]}, metric="accuracy")
    for rows in ({}, {"a": []}):
        with pytest.raises(RecordError, match="learning curves: expected rows with at least one run each, got"):
            learning_curves(rows)
