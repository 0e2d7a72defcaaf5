"""What more seeds would be worth, as the page on the map says it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.suites.mapped import seeds

PAGE = Path(__file__).parents[3] / "docs/learn/how-the-map-was-made.md"


def test_seeds_cannot_make_luck_smaller() -> None:
    """Without scatter they are worth nothing; of scatter alone, ten are worth 1 - sqrt(3 / 10) more
    than three."""
    assert seeds.gain(0.0) == 0
    assert seeds.gain(1e6) == pytest.approx(1 - 0.3**0.5)
    assert seeds.gain(0.14) == pytest.approx(0.09, abs=0.005)


@pytest.mark.slow
def test_the_page_has_what_the_committed_runs_say(capsys: pytest.CaptureFixture[str]) -> None:
    seeds.main()
    printed = capsys.readouterr().out
    said = " ".join(PAGE.read_text().split())
    scatter = dict(re.findall(r"^(\w+): a seed moves a log cost by ([\d.]+)", printed, re.MULTILINE))
    of = f"(bytes {scatter['bytes']}, seconds {scatter['seconds']}, gradients {scatter['gradient_evaluations']})"
    assert of in said
    less = sorted(int(one) for one in re.findall(r": (\d+)% less", printed))
    assert f"{less[0]} to {less[-1]} % smaller" in said
