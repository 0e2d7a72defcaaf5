"""All pairs at once: intervals hold together over simulated boards, noise breaks no ties, and few
seeds get no p-value."""

from __future__ import annotations

import numpy as np
import pytest

from fedbench.analysis.paired import Pair, pairs, resolution, tie_classes

Board = dict[str, dict[int, float]]
BOARDS = 2000


def board(values: np.ndarray) -> Board:
    """From (names, seeds)."""
    return {f"a{i}": dict(enumerate(row.tolist())) for i, row in enumerate(values)}


def test_by_hand() -> None:
    """Differences 1, 2, 3: mean 2, std 1; three pairs, so 98.33 % each: t(2) = 7.649, half-width
    4.416."""
    found = pairs({"a": {0: 1.0, 1: 2.0, 2: 3.0}, "b": {0: 0.0, 1: 0.0, 2: 0.0}, "c": {0: 0.0, 1: 0.0, 2: 0.1}})
    assert [(one.a, one.b) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found[0].difference == 2
    assert found[0].half_width == pytest.approx(4.416, abs=0.002)
    assert found[0].level == pytest.approx(1 - 0.05 / 3)
    assert not found[0].differs


def test_no_p_value_below_ten_seeds() -> None:
    generator = np.random.default_rng(0)
    assert all(one.p_adjusted is None for one in pairs(board(generator.normal(size=(3, 9)))))
    assert all(one.p_adjusted is not None for one in pairs(board(generator.normal(size=(3, 10)))))
    assert pairs({"a": {0: 1.0}, "b": {0: 2.0}}) == [Pair("a", "b", 1, None, None, 0.95, None)]


def test_a_difference_within_a_step_of_the_grid_is_none() -> None:
    """Times on a grid of 1 s that differ by exactly one step at every seed: no scatter, and yet
    nothing is shown."""
    found = {"a": dict.fromkeys(range(10), 4.0), "b": dict.fromkeys(range(10), 5.0)}
    (with_grid,) = pairs(found, least=1.0)
    (without,) = pairs(found)
    assert (with_grid.half_width, with_grid.differs) == (1.0, False)
    assert without.differs


@pytest.mark.parametrize("kind", ["normal", "times"])
def test_intervals_hold_together(kind: str) -> None:
    """Over 2,000 boards of six algorithms and ten paired seeds: in at least 95 %, less three
    standard errors, every one of the 15 intervals holds its truth. times: log-normal, censored at
    the budget, read on a grid of 1 s."""
    generator = np.random.default_rng(11)
    centres = np.array([0.0, 0.0, 0.1, 0.3, 0.8, 2.0])

    def drawn(seeds: int) -> np.ndarray:
        noise = 0.7 * generator.normal(size=(1, seeds)) + 0.5 * generator.normal(size=(6, seeds))
        if kind == "normal":
            return centres[:, None] + noise
        return np.minimum(np.ceil(20 * np.exp(centres[:, None] / 2 + 0.4 * noise)), 60.0)

    truth = dict(zip((f"a{i}" for i in range(6)), drawn(400_000).mean(axis=1), strict=True))
    missed, separated = 0, 0
    for _ in range(BOARDS):
        found = pairs(board(drawn(10)), least=0.0)
        missed += any(abs((one.difference or 0) - (truth[one.a] - truth[one.b])) > (one.half_width or 0) for one in found)
        separated += next(one for one in found if (one.a, one.b) == ("a0", "a1")).differs
    assert missed / BOARDS <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / BOARDS)
    assert separated / BOARDS <= 0.01, "equal algorithms are told apart by noise"


def test_classes_begin_with_the_best() -> None:
    generator = np.random.default_rng(5)
    values = board(np.array([[10.0], [10.2], [14.0], [14.1], [30.0]]) + generator.normal(0, 0.3, (5, 10)))
    found = pairs(values)
    assert [sorted(one) for one in tie_classes(values, found, higher_is_better=False)] == [["a0", "a1"], ["a2", "a3"], ["a4"]]
    assert [sorted(one) for one in tie_classes(values, found, higher_is_better=True)] == [["a4"], ["a2", "a3"], ["a0", "a1"]]
    noise = board(generator.normal(size=(8, 10)))
    assert len(tie_classes(noise, pairs(noise), higher_is_better=True)) == 1


def test_who_never_arrives_is_last_and_two_of_them_are_tied() -> None:
    values = board(np.array([[12.0] * 10, [60.0] * 10, [60.0] * 10, [20.0] * 10]) + np.array([[0.0], [0.0], [0.0], [0.0]]))
    values["a3"] = {seed: 20.0 + seed % 3 for seed in range(10)}
    classes = tie_classes(values, pairs(values, least=1.0), higher_is_better=False)
    assert [sorted(one) for one in classes] == [["a0"], ["a3"], ["a1", "a2"]]


def test_the_resolution_is_what_is_shown_with_probability_080() -> None:
    generator = np.random.default_rng(2)
    pilot = board(generator.normal(0, 1, (6, 10)))
    least = resolution(pilot, entrants=6)
    assert least is not None
    sigma = np.sqrt(2)
    exact = (
        least
        / np.median([np.std([pilot[a][s] - pilot[b][s] for s in range(10)], ddof=1) for a in pilot for b in pilot if a < b])
        * sigma
    )
    shown = 0
    for _ in range(BOARDS):
        values = generator.normal(0, 1, (6, 10))
        values[0] += exact
        shown += pairs(board(values))[0].differs
    assert shown / BOARDS == pytest.approx(0.8, abs=0.05)
    assert resolution(pilot, entrants=30) > least  # type: ignore[operator]
    assert 100 < (resolution(pilot, entrants=6, least=100.0) or 0) < 101, "a step of the grid, and the scatter of what is seen"
    assert resolution({"a": {0: 1.0}}, entrants=5) is None


def test_rows_that_never_arrive_do_not_sharpen_a_board() -> None:
    """All of them are at the end of the budget with every seed, which says nothing about how others
    scatter."""
    moving = board(np.random.default_rng(3).normal(50, 10, (2, 10)))
    never = {f"never{i}": dict.fromkeys(range(10), 100.0) for i in range(12)}
    still = resolution({**moving, **never}, entrants=14, least=1.0, still=set(never))
    assert still is not None
    assert still > 10
    assert resolution({**moving, **never}, entrants=14, least=1.0) == 1.0
