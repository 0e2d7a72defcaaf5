"""`fedbench import`: what it writes is what a scenario takes as it stands."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.cli.main import app
from fedbench.errors import UsageError
from fedbench.scenarios.load import load
from fedbench.scenarios.schema import Scenario

LOG = "1289406399 549692 59.851754 10.781778 248069 1008\n"


def said(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["import", *arguments])
    if isinstance(result.exception, UsageError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def with_lines(output: str) -> Scenario:
    """digits-demo with the lines that the verb prints."""
    return load("digits-demo", [line.strip().replace(": ", "=", 1) for line in output.splitlines() if line.startswith("  ")])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def test_traces(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    for name in ("a.log", "b.txt", ".c.log"):
        (tmp_path / "logs" / name).write_text(LOG)
    (tmp_path / "logs" / "._a.log").write_bytes(b"\0\5\x16\7")
    output = said("traces", "logs", "-o", "out", "--latency-seconds", "0.1")
    scenario = with_lines(output)
    assert scenario.network.trace is not None
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["a.csv", "b.csv"]
    assert load("digits-demo", ["network={trace: {folder: out}}"]).network.trace == scenario.network.trace
    with pytest.raises(UsageError, match=r"import traces: out cannot be written \(File exists\)"):
        said("traces", "logs", "-o", "out")
    (tmp_path / "logs" / "a.txt").write_text(LOG)
    with pytest.raises(UsageError, match="two of its files differ in their suffix alone"):
        said("traces", "logs", "-o", "more")
    (tmp_path / "empty").mkdir()
    for name in ("empty", "nowhere"):
        with pytest.raises(
            UsageError, match=rf"import traces {name}: expected a folder with files .csv, .json, .log, .txt, got none"
        ):
            said("traces", name)


@pytest.mark.parametrize("folder", ["o, x", "a: b", "12", "null", "é"])
def test_names_that_yaml_reads_otherwise_are_quoted(folder: str, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text(LOG)
    scenario = with_lines(said("traces", "logs", "-o", folder))
    assert scenario.network.trace is not None
    assert (scenario.network.trace.folder, len(scenario.network.trace.sha256 or "")) == (folder, 64)


def test_devices_and_availability(tmp_path: Path) -> None:
    (tmp_path / "capacity").write_bytes(pickle.dumps({n: {"computation": 9.0 * n, "communication": 1000} for n in (1, 2, 3)}))
    (tmp_path / "behaviour").write_bytes(
        pickle.dumps({n: {"active": [n], "inactive": [50], "finish_time": 100, "model": "x", "duration": 9} for n in (1, 2, 3)})
    )
    scenario = with_lines(said("devices", "capacity", "--clients", "3"))
    assert scenario.compute.kind == "devices"
    assert scenario.network.links[""].given is not None
    scenario = with_lines(said("availability", "behaviour", "--clients", "3", "--seconds", "300"))
    assert scenario.availability.kind == "table"
    assert [len(row) for row in scenario.availability.rows] == [3, 3, 3]
    with pytest.raises(UsageError, match=r"import devices: nowhere/x cannot be written"):
        said("devices", "capacity", "--clients", "3", "-o", "nowhere/x")
