"""What figures and tables compare, of a suite and of records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fedbench import origins, registry
from fedbench.errors import RecordError, UsageError
from fedbench.results.record import Record
from fedbench.suites.compared import of_records, of_suite
from tests.analysis.runs_made_up import row
from tests.conftest import alter
from tests.suites.findings.made_up import results
from tests.suites.own_race.conftest import MINE

TUNED = {"calm": {"fedavg": 4, "fedbuff": 2, "fedasync": None, "centralised": 1}, "rough": {"fedavg": 6}}
FOUND = results(TUNED, {"calm": {"fedavg": 8}})


def test_a_suite_has_complete_rows_of_one_kind() -> None:
    tuned, default = of_suite(FOUND, tuned=True), of_suite(FOUND, tuned=False)
    assert {point: set(rows) for point, rows in tuned.rows.items()} == {point: set(rows) for point, rows in TUNED.items()}
    assert set(default.rows) == {"calm"}
    assert tuned.boards is FOUND.tuned
    assert tuned.title == f"suite made-up ({FOUND.suite.content_hash()}), tuned options"
    assert list(tuned.rows["calm"]["fedavg"]) == FOUND.seats["calm"]["fedavg (tuned)"] != list(default.rows["calm"]["fedavg"])


def test_an_incomplete_row_is_left_out() -> None:
    found = results(TUNED, {})
    found.seats["calm"]["fedbuff (tuned)"].pop()
    assert "fedbuff" not in of_suite(found, tuned=True).rows["calm"]


def test_no_row_of_the_kind() -> None:
    with pytest.raises(UsageError, match="suite made-up: it has no complete row with default options"):
        of_suite(results(TUNED, {}), tuned=False)


def test_records_have_a_point_for_each_scenario(record: Callable[..., Record]) -> None:
    plain = [record("fedavg", seed, scenario=name, scenario_hash=name) for seed in range(2) for name in ("a", "b")]
    for one in plain:
        if one.scenario == "b":
            alter(one, "spec.scenario.targets", [])
    found = of_records(plain, "records x")
    assert set(found.rows) == {"a", "b"}
    assert set(found.boards) == {"a"}  # b has no targets
    assert found.at(["b"]).boards == {}
    assert found.at([]).rows == found.rows
    with pytest.raises(RecordError, match="records x: expected records, got none"):
        of_records([], "records x")


def test_rows_of_records_that_lack_seeds_are_not_on_the_board() -> None:
    found = of_records([*row("a", 3), *row("b", 4), *row("c", 5, seeds=2)], "records x")
    assert set(found.rows["slow_tail"]) == {"a", "b", "c"}
    assert [one.row for one in found.boards["slow_tail"].standings] == ["a", "b"]
    assert found.at(["slow_tail"]).off_board == {"slow_tail": {"c": "it has seeds 0, 1, other rows have 0 to 9"}}


def test_names_that_there_are_not() -> None:
    found = of_suite(FOUND, tuned=True)
    assert found.point("rough") == "rough"
    assert found.at(["calm"]).point(None) == "calm"
    assert found.labels(["fedavg", "centralised"]) == ["fedavg", "centralised"]
    assert found.labels(["fedavg[server_lr=1]"]) == ["fedavg"]
    with pytest.raises(UsageError, match="it has 2 points, name one with --point: calm, rough"):
        found.point(None)
    with pytest.raises(UsageError, match="it has no point 'rouhg'; did you mean 'rough'"):
        found.at(["rouhg"])
    with pytest.raises(UsageError, match="it has no row 'fedbuf'; did you mean 'fedbuff'"):
        found.labels(["fedbuf"])


def test_rows_have_the_titles_of_their_records(record: Callable[..., Record]) -> None:
    runs = [record("own", 0), record("own[damping=0.5]", 0), record("fedavg", 0)]
    for one in runs[:2]:
        alter(one, "spec.algorithm.title", "Own & new")
    titles = of_records(runs, "records here").titles
    assert titles == {"own": "Own & new", "own[damping=0.5]": "Own & new [damping=0.5]"}


def test_a_file_stands_for_the_code_that_it_has(
    record: Callable[..., Record], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where only runs of another code are there, it has no row; a label of a code stands for
    itself."""
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(MINE)
    own = origins.origin(type(registry.algorithm("./mine.py:Mine")))

    def run(seed: int, **more: str) -> Record:
        one = record("mine", seed)
        alter(one, "spec.algorithm.origin", own | more)
        return one

    old, new = run(0, sha256="a" * 64), run(0)
    both = of_records([old, new], "mine")
    assert both.label("./mine.py:Mine") == f"mine (code {own['sha256'][:8]})"
    assert both.label("mine (code aaaaaaaa)") == "mine (code aaaaaaaa)"
    assert of_records([new], "mine").label("./mine.py:Mine") == "mine"
    with pytest.raises(UsageError, match=r"it has no row './mine.py:Mine'"):
        of_records([old], "mine").label("./mine.py:Mine")
