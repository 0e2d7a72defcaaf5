"""A run that stops where a target is held stops as soon as that is certain, and not before."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fedbench.analysis.reaching import first_held
from fedbench.results import holding

SECOND = 10**9


def stop(seconds: list[float], above: str, version: list[int] | None = None) -> int | None:
    at_ns = np.rint(np.array(seconds) * SECOND).astype(np.int64)
    return holding.stop(np.array([one == "+" for one in above]), at_ns, np.array(version or range(len(seconds)), np.int64))


def test_it_waits_for_the_window_and_for_the_third_model() -> None:
    seconds = [0, 10, 11, 11.5, 12, 13, 14]
    assert stop(seconds, "-++++++") == 4, "10 s are held at 12 s"
    assert stop([0, 10, 11, 11.9, 12.1], "-++++") == 4, "the first evaluation that is not before 12 s"
    assert stop(seconds, "-++++++", [0, 1, 1, 1, 1, 2, 3]) == 6, "the third model"
    assert stop(seconds, "-++-+++") is None, "12 s begins anew, until 14.4 s"
    assert stop([0, 10, 10.5, 11, 12.1], "-+++-") == 4, "what comes after 12 s does not matter"
    assert stop([0, 10, 10.5, 11, 12], "-+++-") is None
    assert stop([0, 10, 12.1], "-+-") is None, "one model"
    assert stop([0, 1, 2], "+++") == 2, "met at once: three models"
    assert stop([], "") is None


@given(
    above=st.text("+-", min_size=1, max_size=40),
    gaps=st.lists(st.integers(1, 5), min_size=40, max_size=40),
    changes=st.lists(st.booleans(), min_size=40, max_size=40),
)
def test_the_curve_until_there_holds_the_target_and_no_shorter_one_does(above: str, gaps: list[int], changes: list[bool]) -> None:
    flags = np.array([one == "+" for one in above])
    n = len(flags)
    at_ns, version = np.cumsum([0, *gaps])[:n] * SECOND, np.cumsum([0, *changes])[:n]

    def is_held(points: int) -> bool:
        found = first_held(flags[:points], holding.ends(at_ns[:points], version[:points]))
        return found is not None and found.is_held

    place = holding.stop(flags, at_ns, version)
    held = [points - 1 for points in range(1, n + 1) if is_held(points)]
    assert place == (held[0] if held else None)
