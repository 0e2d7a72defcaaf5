"""A planted slowdown is found, noise is not. Rows by hand; the last test measures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fedbench.bench import CASES
from fedbench.bench.case import AnyCase, Ready
from fedbench.bench.compare import compare
from fedbench.bench.measure import measure
from fedbench.bench.report import Row, rows


def row(ratio: float | None, versus: str = "rival", case: str = "c", spread: float = 0.05, library: str = "") -> Row:
    low, high = (None, None) if ratio is None else (ratio * (1 - spread), ratio * (1 + spread))
    return Row(case, versus, ratio, low, high, 1.0, ratio, 1, library, "")


def verdicts(before: list[Row], after: list[Row], **more: Any) -> dict[str, str]:
    return {change.case: change.verdict for change in compare(before, after, **more)}


def test_the_ratio_decides() -> None:
    """Half as far ahead of the same rival: twice as slow, whatever the clock said."""
    (change,) = compare([row(10.0)], [row(5.0)])
    assert (change.verdict, change.slowdown) == ("slower", 2.0)
    assert verdicts([row(10.0)], [row(8.0)]) == {"c": "same"}
    assert verdicts([row(10.0)], [row(20.0)]) == {"c": "faster"}
    assert verdicts([row(10.0)], [row(8.0)], threshold=1.2) == {"c": "slower"}


def test_wide_quartiles_are_noise() -> None:
    assert verdicts([row(10.0, spread=0.5)], [row(6.0, spread=0.5)]) == {"c": "same"}


def test_one_disturbed_rival_of_three_does_not_decide() -> None:
    before = [row(10.0, name) for name in "abc"]
    assert verdicts(before, [row(2.0, "a"), row(9.5, "b"), row(10.5, "c")]) == {"c": "same"}
    assert verdicts(before, [row(30.0, "a"), row(5.0, "b"), row(5.0, "c")]) == {"c": "slower"}


def test_what_cannot_be_compared_is_said() -> None:
    before = [
        row(1.0, case="gone"),
        row(None, case="skipped"),
        row(4.0, library="torch", case="moved"),
        row(4.0, "a", case="other"),
    ]
    after = [row(1.0, case="skipped"), row(1.0, library="torch", case="moved"), row(1.0, "b", case="other")]
    found = {c.case: (c.verdict, c.note) for c in compare(before, after, ({"torch": "1"}, {"torch": "2"}))}
    assert found == {
        "gone": ("not comparable", "not measured in the second file"),
        "skipped": ("not comparable", "not measured in the first file"),
        "moved": ("not comparable", "its rivals' libraries changed"),
        "other": ("not comparable", "no rival is in both files"),
    }


def test_a_rival_with_a_new_version_is_left_out() -> None:
    before, after = ([row(4.0, "t", library="torch"), row(4.0, "plain")], [row(1.0, "t", library="torch"), row(4.0, "plain")])
    assert verdicts(before, after, libraries=({"torch": "1"}, {"torch": "2"})) == {"c": "same"}


def twice(case: AnyCase) -> AnyCase:
    """The same case with ours doing all its work twice. The check calls it once: the hold model has
    a state."""

    def start(given: Any) -> Ready:
        ready = case.ours.start(given)
        slow = Ready(lambda: (ready.act(), ready.act()), lambda _: {})
        slow.outcome = ready.outcome
        return slow

    return replace(case, ours=replace(case.ours, start=start))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["queue-hold-1000", "plan-stream-1m"])
def test_a_planted_slowdown_is_found_and_its_absence_too(name: str) -> None:
    """Measured; beside two rivals, and beside the calibration alone."""
    case = CASES[name]

    def measured(changed: AnyCase) -> list[Row]:
        return list(rows(changed, measure(changed, case.small, rounds=15), threads=1))

    before, again, slow = measured(case), measured(case), measured(twice(case))
    assert verdicts(before, again)[name] == "same"
    assert verdicts(before, slow)[name] == "slower"
