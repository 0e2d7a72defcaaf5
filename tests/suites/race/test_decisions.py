"""The file of decisions: what it has, and whose it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fedbench.errors import UsageError
from fedbench.suites.race import decisions
from fedbench.suites.race.decisions import Decisions, Judged
from fedbench.suites.race.schema import Look
from fedbench.suites.suite import LIBRARY, Suite, load

RACE = {"looks": [{"seeds": 3, "level": 0.02}, {"seeds": 5, "level": 0.03}]}
REASON = {"axis": "bytes", "rule": "touch", "rival": "fedavg", "at_least": 1.25}


@pytest.fixture(name="suite")
def _suite() -> Suite:
    content = load(LIBRARY / "smoke.yaml").model_dump(by_alias=True)
    return Suite.model_validate({**content, "seeds": {"count": 5}, "race": RACE})


def judged(look: int = 0, compared: tuple[str, ...] = ("fedavg", "fedbuff", "scaffold"), **dropped: Any) -> Judged:
    content = {"group": "5 clients", "look": RACE["looks"][look], "compared": compared, "dropped": dropped, "digest": "0" * 32}
    return Judged.model_validate(content)


@pytest.fixture(name="found")
def _found(suite: Suite) -> Decisions:
    both = (judged(scaffold=REASON), judged(1, ("fedavg", "fedbuff")))
    return decisions.nothing(suite, None).with_more({"calm": both, "flaky": both[:1]})


def test_what_is_written_is_read(suite: Suite, found: Decisions, tmp_path: Path) -> None:
    assert decisions.read(tmp_path, suite, None) == decisions.nothing(suite, None)
    decisions.write(tmp_path, found)
    assert decisions.read(tmp_path, suite, None) == found
    lines = (tmp_path / "race.json").read_text().splitlines()
    assert sum('"digest"' in line for line in lines) == 3, "a line for each look"
    decisions.copy(tmp_path, tmp_path / "store")
    assert decisions.read(tmp_path / "store", suite, None) == found
    decisions.write(tmp_path / "store", decisions.nothing(suite, None))
    decisions.copy(tmp_path, tmp_path / "store")
    assert decisions.read(tmp_path / "store", suite, None) == decisions.nothing(suite, None), "what a store has stays"


def test_how_many_seeds_a_row_is_compared_with(found: Decisions) -> None:
    assert [found.seeds("calm", row) for row in ("fedavg", "fedbuff", "scaffold", "centralised")] == [5, 5, 0, 5]
    assert [found.seeds("flaky", row) for row in ("fedavg", "scaffold")] == [3, 3]
    assert found.seeds("elsewhere", "fedavg") == 0
    assert [found.dropped_after("calm", row) for row in ("fedavg", "scaffold")] == [None, 3]
    assert [(point, row, reason.rival) for point, _, row, reason in found.dropped()] == [
        ("calm", "scaffold", "fedavg"),
        ("flaky", "scaffold", "fedavg"),
    ]


def test_a_decision_is_made_once(found: Decisions) -> None:
    assert found.with_more({"calm": found.points["calm"][::-1]}) == found
    with pytest.raises(UsageError, match=r"calm, 5 clients, after 3 seeds: expected .* drop scaffold .*, got drop nobody"):
        found.with_more({"calm": [judged()]})


def test_a_race_of_another_design_is_refused(suite: Suite, found: Decisions, tmp_path: Path) -> None:
    decisions.write(tmp_path, found)
    other = suite.model_copy(update={"algorithms": ("fedavg", "fedbuff")})
    with pytest.raises(
        UsageError, match=r"race .*race.json: it is of suite smoke \([0-9a-f]{16}\), expected smoke .* begins anew"
    ):
        decisions.read(tmp_path, other, None)


@pytest.mark.parametrize(
    ("point", "looks", "says"),
    [
        ("calm", [judged(1)], "look 1 is after 5 seeds; expected the looks of the suite, after 3, 5"),
        ("calm", [judged(), judged(1), judged(1)], "look 3 is after 5 seeds; expected the looks of the suite, after 3, 5"),
        ("calm", [judged(scaffold=REASON), judged(1)], "after 5 seeds other rows were compared than were left before"),
        ("clam", [judged()], "unknown point 'clam'; did you mean 'calm'"),
    ],
)
def test_looks_that_are_not_those_of_the_suite(suite: Suite, tmp_path: Path, point: str, looks: list[Judged], says: str) -> None:
    decisions.write(tmp_path, decisions.nothing(suite, None).model_copy(update={"points": {point: tuple(looks)}}))
    with pytest.raises(UsageError, match=says):
        decisions.read(tmp_path, suite, None)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "expected a mapping of keys, got list"),
        ('{"schema": 2}', "schema must be 1, got 2"),
        ("{", "race .*race.json"),
    ],
)
def test_what_is_no_such_file(suite: Suite, tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "race.json").write_text(text)
    with pytest.raises(UsageError, match=says):
        decisions.read(tmp_path, suite, None)


def test_who_was_not_compared_cannot_be_dropped() -> None:
    with pytest.raises(ValueError, match="dropped: fedecho was not compared"):
        judged(fedecho=REASON)


def test_the_hash_is_of_suite_and_tuned_options(suite: Suite) -> None:
    other = suite.model_copy(
        update={"race": suite.race and suite.race.model_copy(update={"looks": (Look(seeds=5, level=0.01),)})}
    )
    assert decisions.race_hash(suite, None) != decisions.race_hash(other, None)
    assert json.loads(decisions.as_json(decisions.nothing(suite, None)))["race_hash"] == decisions.race_hash(suite, None)
