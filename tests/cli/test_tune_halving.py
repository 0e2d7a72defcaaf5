"""`fedbench tune` on a suite that halves: rungs one after another, draws, and kills."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml
from typer.testing import CliRunner

from fedbench.cli.main import app
from tests.cli.tune_kills import check_kills

TINY = {
    "schema": 1,
    "name": "tiny",
    "about": "A search that halves.",
    "scenario": "digits-demo",
    "points": [
        {
            "name": "calm",
            "set": {
                "clients": 8,
                "task.model": "softmax",
                "partition": {"kind": "iid"},
                "budget.seconds": 6,
                "evaluation": {"kind": "log", "first_seconds": 0.1, "ratio": 1.05},
                "targets": [{"value": 0.5}, {"value": 0.8}],
            },
        }
    ],
    "algorithms": ["fedavg", "fedbuff"],
    "options": {"concurrency": 4, "cohort_size": 4},
    "seeds": {"first": 0, "count": 3},
    "tuning": {
        "method": "halving",
        "space": "axes",
        "first_seed": 100,
        "rungs": [
            {"trials": 6, "seeds": 1, "budget_share": 0.4},
            {"trials": 3, "seeds": 2, "budget_share": 0.7},
            {"trials": 2, "seeds": 3, "budget_share": 1},
        ],
        "published": ["fedavg[local_lr=0.05,cohort_size=2]"],
    },
}


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.output


@pytest.fixture(name="tiny")
def _tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "tiny.yaml").write_text(json.dumps(TINY))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_the_price_to_two_draws(tiny: Path) -> None:
    plan = said("suite", "plan", "tiny.yaml", "--untimed")
    assert "12 runs to compare, at most 90 to find options" in plan
    assert (
        "12 x 40% of the time, 12 x 70% of the time, 21 x 100% of the time, and at most 45 x 100% of the time with larger" in plan
    )
    said("tune", "tiny.yaml", "-a", "fedbuff", "--quiet", "-o", "tuned")
    first = yaml.safe_load(Path("tuned/tiny.yaml").read_text())
    assert first["rule"] == 2
    assert list(first["points"]["calm"]) == ["fedbuff"]
    said("tune", "tiny.yaml", "-a", "fedbuff", "--quiet", "-o", "tuned", "--draw", "3")
    both = yaml.safe_load(Path("tuned/tiny.yaml").read_text())
    assert both["points"] == first["points"], "the first draw is what it was"
    assert both["draws"][3]["calm"]["fedbuff"]["digest"] != first["points"]["calm"]["fedbuff"]["digest"]
    rows = pq.read_table("tuned/tiny-trials.parquet").to_pylist()
    assert {(row["draw"], row["rung"]) for row in rows} >= {(draw, rung) for draw in (0, 3) for rung in (0, 1, 2)}
    stopped = [row for row in rows if row["reached"][-1] is not None]
    assert stopped, "else no run stops at its targets"
    Path("runs").rename("away")
    before = Path("tuned/tiny.yaml").read_text()
    said("tune", "tiny.yaml", "--collect", "-o", "tuned")
    assert "0 of them to be computed" in said("tune", "tiny.yaml", "-a", "fedbuff", "--quiet", "-o", "tuned", "--draw", "3")
    assert Path("tuned/tiny.yaml").read_text() == before, "the table stands for the records"
    assert "0 of 12" in said("suite", "status", "tiny.yaml"), "the first rung"


def test_seeds_of_a_draw_that_are_compared(tiny: Path) -> None:
    """Every draw takes six."""
    (tiny / "tiny.yaml").write_text(json.dumps({**TINY, "seeds": {"first": 110, "count": 3}}))
    refused = CliRunner().invoke(app, ["tune", "tiny.yaml", "--draw", "1"]).exception
    assert "tuning.first_seed: options may not be tuned on the seeds that are compared, got 110 in both in draw 1" in str(refused)


@pytest.mark.slow
def test_killed_anywhere_it_goes_on_to_the_same_choice(tiny: Path) -> None:
    """SIGKILL to the command: in every rung, and at its ends."""
    check_kills("tiny.yaml", (12, 24, 45, -1))
