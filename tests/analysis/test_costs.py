"""What rows spend until they hold their targets."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fedbench.analysis.axes import AXES
from fedbench.analysis.costs import costs, reached, resolved
from fedbench.errors import RecordError
from tests.analysis.boards_made_up import costs_of
from tests.analysis.runs_made_up import arriving, row
from tests.conftest import BUDGET, record


def test_costs_on_three_axes() -> None:
    """The target is held at evaluation 2; a miss counts with what the run had spent at its end."""
    runs = {"a": [arriving("a", 0, 4.0), arriving("a", 1, 5.0)], "b": [arriving("b", 0, None), arriving("b", 1, 10.0)]}
    found = reached(runs)
    seconds = found.on(AXES["seconds"])
    assert seconds.spent[:, :, 0].tolist() == [[4, BUDGET], [5, 10]]
    assert seconds.missed[:, :, 0].tolist() == [[False, True], [False, False]]
    assert found.on(AXES["gradient_evaluations"]).spent[:, :, 0].tolist() == [[200, 300], [200, 200]]
    assert found.on(AXES["bytes"]).spent[:, :, 0].tolist() == [[2000, 3000], [2000, 2000]]
    assert seconds.step[0, 0, 0] == pytest.approx(math.log(4 / 3.9))
    assert seconds.step[0, 1, 0] == 0, "a miss lies on no step of the grid"
    assert seconds.score.tolist() == pytest.approx([math.log(math.sqrt(20)), math.log(math.sqrt(200))])


def test_a_censored_run_counts_with_where_it_was_censored() -> None:
    one = record("a", 0, (0.1, 0.5, 0.8, 0.9), seconds=(0, 10, 18, 20))
    found = costs({"a": [one]})
    assert (found.spent.item(), found.missed.item()) == (18, True)


def test_a_run_that_broke_off_counts_with_the_budget_in_seconds() -> None:
    one = record("a", 0, (0.1, 0.9), seconds=(0, 3), state="diverged")
    found = reached({"a": [one]})
    assert found.on(AXES["seconds"]).spent.item() == BUDGET
    assert found.on(AXES["bytes"]).spent.item() == 1000, "on other axes with what it had spent"
    assert found.on(AXES["bytes"]).missed.item()


def test_a_target_that_is_met_at_once_has_a_cost() -> None:
    found = reached({"a": [record("a", 0, (0.9, 0.9, 0.9), seconds=(0, 1, 2))]})
    assert found.on(AXES["seconds"]).spent.item() == 1e-9
    assert found.on(AXES["bytes"]).spent.item() == 1


def test_targets_that_measure_the_grid_get_no_verdict() -> None:
    """The earliest row needs 5 s and 12 s: with a step of 1 s the first is less than ten steps."""
    found = costs_of(np.array([[[5.0, 12.0], [40.0, 50.0]]] * 3))
    assert resolved(found, 1.0) == [0.7]
    assert resolved(found, 0.5) == [0.6, 0.7]
    assert resolved(found, 1.3) == []
    assert resolved(found, None) == [0.6, 0.7], "on a logarithmic grid there are no steps"


def test_a_target_that_an_untrained_model_holds_gets_no_verdict() -> None:
    """Also if it holds it with one seed only."""
    spent = np.full((3, 2, 2), 40.0)
    spent[1, 0, 0] = 1e-9
    assert resolved(costs_of(spent), None) == resolved(costs_of(spent), 0.001) == [0.7]


def test_a_target_that_no_run_reaches_is_no_matter_of_the_grid() -> None:
    """Runs that end within ten steps without it say nothing of the grid. One that reached it there,
    and did not hold it, does."""
    found = costs_of(np.full((3, 2, 2), 5.0))
    found = replace(found, missed=np.ones((3, 2, 2), np.bool_), step=np.zeros((3, 2, 2)))
    assert resolved(found, 1.0) == [0.6, 0.7]
    found.missed[2, 1, 0] = False
    found.step[1, 0, 1] = 0.1
    assert resolved(found, 1.0) == []
    untrained = replace(found, missed=np.ones_like(found.missed), step=np.zeros_like(found.step), spent=np.full((3, 2, 2), 1e-9))
    assert resolved(untrained, None) == [], "touched before any training, and not held"


def test_a_row_that_never_reaches_a_target_and_ends_early_takes_no_verdict_from_the_others() -> None:
    """Such as one whose updates are soon used up."""
    spent = np.full((3, 2, 2), 50.0)
    spent[:, 1] = 5.0
    found = replace(costs_of(spent), missed=np.zeros((3, 2, 2), np.bool_), step=np.ones((3, 2, 2)))
    assert resolved(found, 1.0) == []
    found.missed[:, 1], found.step[:, 1] = True, 0
    assert resolved(found, 1.0) == [0.6, 0.7]


def test_parts_of_costs() -> None:
    found = costs_of(np.arange(1.0, 13.0).reshape(2, 3, 2))
    part = found.at([0.7]).among(["c", "a"])
    assert (part.rows, part.seeds, part.targets, part.spent.tolist()) == (
        ("c", "a"),
        (0, 1),
        (0.7,),
        [[[6.0], [2.0]], [[12.0], [8.0]]],
    )


def test_rows_have_the_same_seeds() -> None:
    with pytest.raises(RecordError, match=r"row b has seeds \[0, 1\], expected \[0, 1, 2\], which a has"):
        costs({"a": row("a", 4, seeds=3), "b": row("b", 4, seeds=2)})
    with pytest.raises(RecordError, match="expected at least one row, got none"):
        costs({})
    with pytest.raises(RecordError, match=r"run [0-9a-f]{16} \(a, seed 0\) has no evaluation"):
        costs({"a": [record("a", 0, ())]})
