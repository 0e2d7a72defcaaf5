"""`fedbench suite design`, from factors to a suite with points."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from fedbench.cli.main import app
from fedbench.errors import UsageError
from fedbench.suites.suite import LIBRARY

FACTORS = """\
schema: 1
name: mine
factors:
  speed: {levels: [{level: 1}, {level: 4, set: {compute.slowdown.high: 4}}]}
  work: {unit: jobs, levels: [{level: 5, words: 5 at work, set: {at_work: 5}}, {level: 20, set: {at_work: 20}}]}
interactions: [[speed, work]]
points: {design: 3, held_out: 1}
impossible: [{speed: [4], work: [20]}]
"""


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.output


def refused(*arguments: str) -> str:
    found = CliRunner().invoke(app, list(arguments)).exception
    assert isinstance(found, UsageError)
    return str(found)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mine-points.yaml").write_text(FACTORS.replace("held_out: 1", "held_out: 0"))
    smoke = yaml.safe_load((LIBRARY / "smoke.yaml").read_text())
    kept = {key: value for key, value in smoke.items() if key not in ("points", "options", "tuning")}
    Path("mine.yaml").write_text(
        yaml.safe_dump(
            {**kept, "name": "mine", "scenario": "digits-demo", "design": "mine-points.yaml", "algorithms": ["fedavg", "quafl"]}
        )
    )
    return tmp_path


def test_a_design_becomes_points_that_are_planned_like_any_others(folder: Path) -> None:
    assert "design mine: it has no points yet" in refused("suite", "plan", "mine.yaml")
    assert "design mine: it has no points yet; --seed draws them" in refused("suite", "design", "mine-points.yaml")
    output = said("suite", "design", "mine-points.yaml", "--seed", "4", "--starts", "3")
    assert "3 points for 3 effects, 0 held out, 0 with other numbers of clients" in output
    assert "D-efficiency at least 1.0" in output
    assert "speed x work: impossible points leave no room for 1 of its effects" in output
    assert "3 points -> mine-points.yaml" in output
    assert output.startswith(said("suite", "design", "mine-points.yaml"))
    plan = said("suite", "plan", "mine.yaml", "--untimed")
    assert all(f"design-0{number}" in plan for number in (1, 2, 3))
    assert "not applicable: quafl at design-01 and 1 other point: algorithm quafl is not applicable: it may have 20 jobs" in plan
    assert plan.count("not applicable: quafl") == 1
    assert "0 of 6" in said("suite", "status", "mine.yaml")


def test_the_file_of_a_design_is_written_where_one_says(folder: Path) -> None:
    before = Path("mine-points.yaml").read_bytes()
    for name in ("one.yaml", "other.yaml"):
        said("suite", "design", "mine-points.yaml", "--seed", "4", "--starts", "3", "-o", name)
    assert Path("mine-points.yaml").read_bytes() == before
    assert Path("one.yaml").read_bytes() == Path("other.yaml").read_bytes() != before
