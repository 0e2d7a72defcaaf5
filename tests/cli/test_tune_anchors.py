"""`fedbench tune` on a suite with anchors: these first, elsewhere from their options; prices,
draws, messages, and kills."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from fedbench.cli.main import app
from tests.cli.tune_kills import check_kills

SET = {
    "task.model": "softmax",
    "partition": {"kind": "iid"},
    "budget.seconds": 6,
    "evaluation": {"kind": "log", "first_seconds": 0.1, "ratio": 1.05},
    "targets": [{"value": 0.5}, {"value": 0.8}],
}
SUITE: dict[str, Any] = {
    "schema": 1,
    "name": "three",
    "about": "Two anchors, and a point that begins from the options of one of them.",
    "scenario": "digits-demo",
    "points": [
        {"name": "few", "set": {**SET, "clients": 8}, "places": {"clients": 0}},
        {"name": "between", "set": {**SET, "clients": 10}, "places": {"clients": 0.2}},
        {"name": "many", "set": {**SET, "clients": 20}, "places": {"clients": 1}},
    ],
    "algorithms": ["fedavg", "fedbuff"],
    "options": {"concurrency": 4, "cohort_size": 4},
    "seeds": {"first": 0, "count": 3},
    "tuning": {
        "method": "halving",
        "space": "axes",
        "first_seed": 100,
        "rungs": [{"trials": 4, "seeds": 1, "budget_share": 0.4}, {"trials": 2, "seeds": 3, "budget_share": 1}],
        "anchors": {
            "points": ["few", "many"],
            "elsewhere": {"options": ["local_lr"], "rungs": [{"trials": 3, "seeds": 3, "budget_share": 1}]},
            "draws": {"points": ["few"], "count": 2, "leaders": 1},
        },
    },
}


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.output


def refused(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code != 0
    return str(result.exception)


@pytest.fixture(name="three")
def _three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "three.yaml").write_text(json.dumps(SUITE))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("three")
def test_from_the_price_to_the_choices() -> None:
    plan = said("suite", "plan", "three.yaml", "--untimed")
    assert (
        "to find options at anchors: 16 x 40% of the time, 36 x 100% of the time, and at most 72 x 100% of the time with" in plan
    )
    assert (
        "elsewhere, from those of the nearest anchor: 24 x 100% of the time, and at most 54 x 100% of the time with larger"
        in plan
    )
    assert "at most 31 in draws after the first, for the best 1 at each point" in plan
    tune = ("tune", "three.yaml", "--quiet", "-o", "tuned")
    message = (
        "suite three: between begins from the options of fedavg at its nearest anchor few, and there are none yet; "
        "`fedbench tune three.yaml -p few -a fedavg` makes them"
    )
    assert refused(*tune, "-p", "between") == message
    assert not Path("runs").exists(), "nothing was computed before it was refused"
    assert "0 choices" in said(*tune, "--collect")
    message = "there is no choice of fedavg at anchor few yet (and 3 more), from which other points begin"
    assert message in said(*tune, "--collect")
    said(*tune, "-a", "fedbuff", "-p", "few")
    said(*tune, "-a", "fedbuff", "-p", "between")
    frozen = yaml.safe_load(Path("tuned/three.yaml").read_text())["points"]
    assert {point: list(one) for point, one in frozen.items()} == {"few": ["fedbuff"], "between": ["fedbuff"]}
    assert frozen["between"]["fedbuff"]["anchor"] == {"point": "few", "distance": 0.2}
    assert "anchor" not in frozen["few"]["fedbuff"]
    status = said("suite", "status", "three.yaml", "-a", "fedbuff")
    assert [line.split()[0] for line in status.splitlines() if line.split()[-3:] == ["0", "of", "4"]] == ["many"]
    assert refused(*tune, "--draw", "1").startswith(
        "suite three: the leaders at few are not known, since fedavg has no choice there"
    )
    said(*tune, "--draw", "1", "-a", "fedbuff")
    drawn = yaml.safe_load(Path("tuned/three.yaml").read_text())
    assert drawn["points"] == frozen
    assert {point: list(one) for point, one in drawn["draws"][1].items()} == {"few": ["fedbuff"]}
    before, _ = Path("tuned/three.yaml").read_text(), Path("runs").rename("away")
    said(*tune, "--collect")
    assert Path("tuned/three.yaml").read_text() == before, "the table stands for the records"


@pytest.mark.usefixtures("three")
def test_draws_that_the_suite_does_not_make() -> None:
    assert refused("tune", "three.yaml", "--draw", "2") == (
        "suite three: --draw: expected at most 1 by tuning.anchors.draws, got 2"
    )
    assert refused("tune", "three.yaml", "--draw", "1", "-p", "many") == (
        "suite three: options are drawn again at few only (tuning.anchors.draws), got many"
    )


@pytest.mark.slow
@pytest.mark.usefixtures("three")
def test_killed_anywhere_it_goes_on_to_the_same_choice() -> None:
    """SIGKILL to the command: while anchors are tuned, between, and elsewhere."""
    check_kills("three.yaml", (16, 52, -2))
    assert b'"anchor": {"point": "few", "distance": 0.2}' in Path("tuned/three.yaml").read_bytes()
