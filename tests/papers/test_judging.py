"""The rules of the verdicts, case by case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedbench.papers.rules import CLOSE, SAME, Reading, Word, judge, order

HIT = st.floats(1, 1000).map(Reading)
MISS = st.floats(1, 1000).map(lambda value: Reading(value, missed=True))


def readings(*values: float, missed: bool = False) -> list[Reading]:
    return [Reading(value, missed) for value in values]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([115], "reproduced"),
        ([85], "reproduced"),
        ([116], "close"),
        ([140], "close"),
        ([60], "close"),
        ([141], "contradicted"),
        ([59], "contradicted"),
        ([118, 120, 122], "close"),  # narrow, and does not contain 100
        ([105, 120, 135], "reproduced"),  # 120 +- 37 contains 100
        ([50, 150, 250], "close"),  # contains 100, but any number too
        ([150, 152, 154], "contradicted"),
    ],
)
def test_numbers(values: list[float], word: Word) -> None:
    assert judge(100, readings(*values)).word == word


def test_a_seed_without_the_target_is_never_reproduced() -> None:
    """It counts where it ended, and says only that the number is larger."""
    assert judge(100, [*readings(90, 100), *readings(110, missed=True)]).word == "close"
    assert judge(100, [*readings(90, 100), *readings(300, missed=True)]).word == "contradicted"
    assert judge(100, readings(100, missed=True)).word == "contradicted"


def test_a_seed_that_diverges_is_never_reproduced() -> None:
    """It counts as an accuracy of 0, and is below every run that ends with a model; two that
    diverge have no order."""
    diverged = Reading(0.0, diverged=True)
    found = judge(60, [diverged, Reading(70), Reading(80)])
    assert (found.word, found.mean.mean) == ("close", 50)
    assert found.why == "The mean is 0.83 times the printed number; 1 of 3 seeds diverge and count as 0."
    assert judge(60, [diverged, Reading(20), Reading(80)]).word == "contradicted"
    assert judge(60, [diverged]).word == "contradicted"
    assert order(-1, {0: diverged}, {0: Reading(10)}) == "kept"
    assert order(1, {0: diverged}, {0: Reading(10)}) == "broken"
    assert order(1, {0: diverged}, {0: diverged}) == "undecided"
    late = Reading(120, missed=True, diverged=True)
    found = judge(60, [late, Reading(50), Reading(40)])
    assert found.why.endswith("1 of 3 seeds end without the target (1 diverged).")
    assert judge(60, [late, late]).word == "contradicted"
    assert (diverged.text, Reading(3, missed=True).text, Reading(3).text) == ("diverged", ">3", "3")


@pytest.mark.parametrize(("misses", "word"), [(3, "reproduced"), (2, "close"), (1, "close"), (0, "contradicted")])
def test_bounds(misses: int, word: Word) -> None:
    found = judge(880, [*readings(*[880] * misses, missed=True), *readings(*[100] * (3 - misses))], censored=True)
    assert found.word == word
    assert found.why.startswith(f"{misses} of 3 seeds miss the target until 880")


def test_a_guess_is_at_best_close() -> None:
    assert judge(100, readings(100), guessed=True).word == "close"
    assert judge(100, readings(141), guessed=True).word == "contradicted"
    assert judge(100, readings(100, missed=True), censored=True, guessed=True).word == "close"


@given(st.floats(1, 1000), st.lists(HIT, min_size=1, max_size=5), st.lists(MISS, max_size=3))
def test_what_is_reproduced_is_near(printed: float, hits: list[Reading], misses: list[Reading]) -> None:
    found = judge(printed, hits + misses)
    mean = sum(one.value for one in hits + misses) / len(hits + misses)
    assert found.mean.mean == pytest.approx(mean)
    if found.word == "reproduced":
        assert not misses
        assert abs(mean - printed) <= CLOSE * printed * (1 + 1e-9)
    if not misses and abs(mean - printed) <= SAME * printed * (1 - 1e-9):
        assert found.word == "reproduced"


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ({0: Reading(1), 1: Reading(2)}, {0: Reading(3), 1: Reading(3)}, "kept"),
        ({0: Reading(4), 1: Reading(4)}, {0: Reading(3), 1: Reading(3)}, "broken"),
        ({0: Reading(1), 1: Reading(4)}, {0: Reading(3), 1: Reading(3)}, "undecided"),
        ({0: Reading(1), 1: Reading(2), 2: Reading(4)}, dict.fromkeys(range(3), Reading(3)), "undecided"),  # two of three
        ({0: Reading(3)}, {0: Reading(3)}, "undecided"),
        ({0: Reading(1)}, {1: Reading(3)}, "undecided"),  # no seed in common
        ({0: Reading(1)}, {0: Reading(3, missed=True)}, "kept"),
        ({0: Reading(5)}, {0: Reading(3, missed=True)}, "undecided"),  # watched for less long than the other needed
        ({0: Reading(5, missed=True)}, {0: Reading(3, missed=True)}, "undecided"),
        ({0: Reading(5, missed=True)}, {0: Reading(3)}, "broken"),
        ({0: Reading(1), 2: Reading(9)}, {0: Reading(3)}, "kept"),  # a seed that only one has says nothing
    ],
)
def test_orders(first: dict[int, Reading], second: dict[int, Reading], found: str) -> None:
    """The first is printed smaller; the other way round it is the other verdict."""
    opposite = {"kept": "broken", "broken": "kept", "undecided": "undecided"}
    assert order(-1, first, second) == order(1, second, first) == found
    assert order(1, first, second) == order(-1, second, first) == opposite[found]
