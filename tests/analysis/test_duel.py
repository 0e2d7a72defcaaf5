"""Two algorithms, in true words."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import pytest

from fedbench.analysis.duel import duel, sentence
from fedbench.errors import UsageError
from fedbench.launch.runner import run
from fedbench.results.record import Record

SEEDS = 10


@pytest.fixture(scope="module")
def model() -> Record:
    return run("digits-demo", "fedavg", overrides=["budget.seconds=20", "targets=[{value: 0.5}]"])[0]


def runs(model: Record, arrivals: Sequence[float | None], state: str = "finished") -> list[Record]:
    """One run a seed that reaches 50 % at a second, or never."""
    found = []
    for seed, arrival in enumerate(arrivals):
        meta = copy.deepcopy(model.meta)
        meta["spec"]["seed"] = seed
        meta["outcome"]["state"] = state
        accuracy = np.zeros(21, np.float32)
        if arrival is not None:
            accuracy[int(arrival) :] = 0.6
        found.append(Record(meta, {**model.curves, "test_accuracy": accuracy}))
    return found


def said(model: Record, first: Sequence[float | None], second: Sequence[float | None]) -> str:
    (one,) = duel({"demo": (runs(model, first), runs(model, second))})
    return sentence(one, "A", "B")


def test_a_clear_difference(model: Record) -> None:
    early, late = [5 + seed % 3 for seed in range(SEEDS)], [14 + seed % 2 for seed in range(SEEDS)]
    text = said(model, early, late)
    assert text.startswith("demo, 50 %: A 5.9 s, B 14.5 s: A is earlier by 8.6 s, interval 7.6 to 9.6, p = ")
    assert "B is earlier" in said(model, late, early).replace("A is earlier", "")


def test_a_tie_is_never_no_difference(model: Record) -> None:
    text = said(model, [4, 9, 12, 7, 15, 6, 11, 5, 8, 13], [9, 5, 10, 12, 7, 14, 4, 11, 15, 6])
    assert "cannot be told apart; these seeds would show" in text
    assert "no difference" not in text
    assert "p =" not in text


def test_misses_are_told_and_count_with_the_budget(model: Record) -> None:
    text = said(model, [5] * SEEDS, [*[8] * 8, None, None])
    assert "B 10.4 s with 2 of 10 missing" in text
    assert said(model, [None] * SEEDS, [None] * SEEDS) == "demo, 50 %: neither arrives (10 and 10 seeds)"


def test_who_does_not_finish_does_not_arrive(model: Record) -> None:
    (one,) = duel({"demo": (runs(model, [3] * SEEDS, "diverged"), runs(model, [9] * SEEDS))})
    assert (one.first.hits, one.first.restricted_mean, one.verdict) == (0, 20, "second")


def test_no_p_value_below_ten_seeds(model: Record) -> None:
    text = said(model, [5, 6, 7], [14, 15, 15])
    assert "A is earlier" in text
    assert "p =" not in text
    assert "common seeds say nothing" in said(model, [5], [14])


def test_more_scenarios_make_wider_intervals(model: Record) -> None:
    generator = np.random.default_rng(1)
    first, second = generator.integers(4, 10, SEEDS).tolist(), generator.integers(8, 18, SEEDS).tolist()
    both = (runs(model, first), runs(model, second))
    (alone,) = duel({"a": both})
    together = duel({"a": both, "b": both, "c": both})[0]
    assert (together.pair.half_width or 0) > (alone.pair.half_width or 0)
    with pytest.raises(UsageError, match="no scenario that both"):
        duel({})


def test_p_values_are_of_all_rounds_together(model: Record) -> None:
    both = (runs(model, [5 + seed % 3 for seed in range(SEEDS)]), runs(model, [7 + seed % 2 for seed in range(SEEDS)]))
    (alone,) = duel({"a": both})
    three = duel({"a": both, "b": both, "c": both})
    assert alone.pair.p_adjusted is not None
    assert [one.pair.p_adjusted for one in three] == pytest.approx([3 * alone.pair.p_adjusted] * 3)
