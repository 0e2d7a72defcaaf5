"""The part `race` of a suite: what it takes, and that it changes no other suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedbench.errors import UsageError
from fedbench.suites.suite import LIBRARY, load

SMOKE: dict[str, Any] = yaml.safe_load((LIBRARY / "smoke.yaml").read_text())


def race(*looks: tuple[float, float]) -> dict[str, Any]:
    return {"looks": [{"seeds": seeds, "level": level} for seeds, level in looks]}


def written(tmp_path: Path, seeds: int, given: object) -> Path:
    file = tmp_path / "mine.yaml"
    file.write_text(json.dumps({**SMOKE, "seeds": {"count": seeds}, "race": given}))
    return file


def test_the_looks_of_the_experiment() -> None:
    """The levels add up to 0.05, which floating point must not refuse."""
    known = race((3, 0.002), (10, 0.008), (20, 0.015), (40, 0.025))
    assert [look["seeds"] for look in known["looks"]] == [3, 10, 20, 40]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (race((2, 0.01), (5, 0.01)), "race.looks.0.seeds must be >= 3, got 2"),
        (race((3, 0.0), (5, 0.01)), "race.looks.0.level must be > 0, got 0"),
        (race((3, 0.03), (5, 0.03)), "looks: the levels add up to at most 0.05, got 0.06"),
        (race((5, 0.01), (5, 0.01)), "looks: every look has more seeds than the one before, got 5, 5"),
        (race((3, 0.01), (4, 0.01)), "race.looks: the last look has all 5 seeds of the suite, got 4"),
        ({**race((3, 0.01), (5, 0.01)), "points": ["nope"]}, "race.points: nope is no point of the suite"),
        (race(), "race.looks must be a list of at least 1, got []"),
        ({"look": []}, "did you mean"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, given: object, says: str) -> None:
    with pytest.raises(UsageError, match=r".*") as error:
        load(written(tmp_path, 5, given))
    assert says in str(error.value)


def test_a_race_changes_the_hash_of_its_suite_and_of_no_other(tmp_path: Path) -> None:
    none = load(written(tmp_path, 40, None))
    one = load(written(tmp_path, 40, race((3, 0.002), (10, 0.008), (20, 0.015), (40, 0.025))))
    other = load(written(tmp_path, 40, race((3, 0.002), (10, 0.008), (20, 0.015), (40, 0.02))))
    assert len({suite.content_hash() for suite in (none, one, other)}) == 3
    assert len({suite.design_hash() for suite in (none, one, other)}) == 1, "tuned options hold"
    assert "race" not in none.resolved()
    assert load("smoke").content_hash() == "f4ead12540fe8c62"
