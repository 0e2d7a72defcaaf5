"""A suite with a race, from the price to the findings, as a user would go."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.cli.main import app
from fedbench.results.store import Store
from tests.suites.race.test_looks import DEAR, SUITE


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.output


def refused(*arguments: str) -> str:
    return str(CliRunner().invoke(app, list(arguments)).exception)


def test_a_race_from_price_to_findings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one = {**SUITE, "points": SUITE["points"][:1]}
    Path("little.yaml").write_text(json.dumps(one))
    assert "25 runs are what the race needs at most, if no row is dropped; 20 if every look drops half of the rows" in said(
        "suite", "plan", "little.yaml", "--untimed"
    )
    assert "0 of 15" in said("suite", "status", "little.yaml")
    output = said("suite", "run", "little.yaml", "--quiet")
    assert "calm, 10 of 20 clients at work, 3 seeds: 2 of 3 rows are left" in output
    assert f"dropped: {DEAR}: " in output
    status = said("suite", "status", "little.yaml")
    assert re.search(r"calm +21 of 21 +2 of 3 rows left, over; 1 of 1 rows left, over", status), status
    assert "21 of 21 runs -> results/suites/little" in said("suite", "pack", "little.yaml")
    assert Path("results/suites/little/race.json").read_text() == Path("runs/little/race.json").read_text()

    said("suite", "unpack", "little.yaml", "--store", "elsewhere")
    assert "0 of them to be computed" in said("suite", "run", "little.yaml", "--quiet", "--store", "elsewhere")
    assert Path("elsewhere/race.json").read_text() == Path("runs/little/race.json").read_text()
    said("suite", "report", "little.yaml", "-o", "findings.md")
    page = Path("findings.md").read_text()
    assert f"left out, dropped from the race after 3 seeds: {DEAR} at calm" in page
    assert "3 to 5 seeds a row" in page
    for records in ("results/suites/little", "runs/little"):
        line = said("compare", "fedasync", "fedbuff", "-r", records, "--suite", "little.yaml", "--json").splitlines()[-1]
        assert json.loads(line)["seeds"] == 5
        assert "no row" in refused("compare", "fedasync", DEAR, "-r", records, "--suite", "little.yaml")

    assert "leave out --algorithm fedbuff" in refused("suite", "run", "little.yaml", "-a", "fedbuff")
    written = json.loads(Path("runs/little/race.json").read_text())
    first = next(one for one in written["points"]["calm"] if one["dropped"])
    first["digest"] = "0" * 32
    Path("runs/little/race.json").write_text(json.dumps(written))
    assert "expected the decision that is written" in refused("suite", "pack", "little.yaml")
    Path("little.yaml").write_text(json.dumps({**one, "algorithms": ["fedasync", "fedbuff"]}))
    assert "a race whose suite or tuned options change begins anew" in refused("suite", "run", "little.yaml", "--quiet")
    assert "a race whose suite or tuned options change begins anew" in refused("suite", "report", "little.yaml")
    assert len(list(Store(Path("runs/little")))) == 21, "records stay"
