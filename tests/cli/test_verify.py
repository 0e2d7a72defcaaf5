"""`fedbench verify` over a store, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import fedbench as fb
from fedbench.cli.main import app
from fedbench.engine.run import RunOptions
from fedbench.errors import MissingDataError
from fedbench.results import archive
from fedbench.results.store import record_folders
from tests.conftest import altered, sealed
from tests.submissions.tampering import column

SMALL = ["clients=6", "budget.seconds=1", "local.steps=1", "task.model=softmax"]
LINKS = ["network={trace: {folder: links}}"]
TRACE = "duration_seconds,megabit_per_second,latency_seconds\n1,1,0.01\n"


def test_a_store_with_a_damaged_record(tmp_path: Path) -> None:
    """The others are verified all the same, and the exit code says that something is wrong."""
    fb.run("digits-demo", ["fedavg[cohort_size=2]", "fedbuff[buffer_size=2]"], overrides=SMALL, store=tmp_path)
    whole = CliRunner().invoke(app, ["verify", str(tmp_path)])
    assert (whole.exit_code, whole.output.splitlines()[-1]) == (0, "2 records: 2 identical")
    (record_folders(tmp_path)[0] / "curves.parquet").write_bytes(b"")
    damaged = CliRunner().invoke(app, ["verify", str(tmp_path)])
    lines = damaged.output.splitlines()
    assert damaged.exit_code == 1
    assert lines[0].startswith("1 of 2: ")
    assert "curves.parquet is damaged" in lines[0]
    assert lines[-1] == "2 records: 1 identical, 1 not verified"


def test_some_records_of_an_archive(tmp_path: Path) -> None:
    """Which they are depends on the draw; a record whose result was changed is found, wherever it
    is."""
    records = list(fb.run("digits-demo", "fedavg[cohort_size=2]", seeds=4, overrides=SMALL))
    archive.write(tmp_path / "calm", records)
    whole = CliRunner().invoke(app, ["verify", str(tmp_path / "calm")])
    assert (whole.exit_code, whole.output.splitlines()[-1]) == (0, "4 records: 4 identical")
    drawn = [
        CliRunner().invoke(app, ["verify", str(tmp_path / "calm"), "--sample", "2", "--draw", str(draw)]).output
        for draw in range(4)
    ]
    assert all(one.splitlines()[-1] == "2 records: 2 identical" for one in drawn)
    assert len(set(drawn)) > 1
    archive.write(tmp_path / "calm", [altered(record, {"digests.model": "0" * 32}) for record in records])
    changed = CliRunner().invoke(app, ["verify", str(tmp_path / "calm"), "--sample", "1"])
    assert changed.exit_code == 1
    assert "differs (first in digests" in changed.output


def test_one_run_of_an_archive_or_a_store(tmp_path: Path) -> None:
    records = list(fb.run("digits-demo", "fedavg[cohort_size=2]", seeds=3, overrides=SMALL, store=tmp_path / "runs"))
    archive.write(tmp_path / "calm", records)
    for place in ("calm", "runs"):
        one = CliRunner().invoke(app, ["verify", str(tmp_path / place), "--run", records[1].run_id])
        assert (one.exit_code, len(one.output.splitlines())) == (0, 1)
        assert records[1].run_id in one.output
        two = [word for record in records[:2] for word in ("--run", record.run_id)]
        assert CliRunner().invoke(app, ["verify", str(tmp_path / place), *two]).output.endswith("2 records: 2 identical\n")
    wrong = CliRunner().invoke(app, ["verify", str(tmp_path / "calm"), "--run", f"{records[0].run_id[:-1]}x"])
    assert "none of the 3 records has this id; did you mean" in str(wrong.exception)


def test_records_without_their_data_are_left_out_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are drawn for them, and without the flag, or if nothing else is there, it is an
    error."""
    (calm,) = fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=SMALL)
    data = tmp_path / "links"
    data.mkdir()
    (data / "one.csv").write_text(TRACE, encoding="utf-8")
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path))
    linked = list(fb.run("digits-demo", "fedavg[cohort_size=2]", seeds=3, overrides=[*SMALL, *LINKS]))
    archive.write(tmp_path / "linked", linked)
    archive.write(tmp_path / "both", [calm, *linked])
    monkeypatch.setenv("FEDBENCH_DATA", str(tmp_path / "nowhere"))
    refused = CliRunner().invoke(app, ["verify", str(tmp_path / "both")])
    assert refused.exit_code == 2
    assert refused.output.splitlines()[-1] == "4 records: 1 identical, 3 not verified"
    left_out = CliRunner().invoke(app, ["verify", str(tmp_path / "both"), "--sample", "1", "--skip-missing-data"])
    lines = left_out.output.splitlines()
    assert (left_out.exit_code, lines[-1]) == (0, "1 records: 1 identical")
    assert all(": left out: " in line and "links" in line for line in lines[:-2])
    none = CliRunner().invoke(app, ["verify", str(tmp_path / "linked"), "--skip-missing-data"])
    assert isinstance(none.exception, MissingDataError)
    assert "of 3 records there is none whose data are on this machine" in str(none.exception)


def test_an_archive_that_is_older_than_a_key(tmp_path: Path) -> None:
    """Its records are those of the key's default, and identical."""
    (record,) = fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=SMALL)
    archive.write(tmp_path, [record])
    runs = pq.read_table(tmp_path / archive.RUNS)
    older = json.loads(runs.column("specification")[0].as_py())
    for key in ("stop_at_target", "hold_points"):
        del older["scenario"]["budget"][key]
    pq.write_table(column(runs, "specification", lambda _: [json.dumps(older)]), tmp_path / archive.RUNS)
    result = CliRunner().invoke(app, ["verify", str(tmp_path)])
    assert (result.exit_code, result.output.endswith("identical\n")) == (0, True), result.output


def test_torch_alone_may_be_within_tolerance(tmp_path: Path) -> None:
    """A digest of a model that differs in its last bits: forgiven to torch, and never to the native
    trainer."""
    for trainer, code in (("native", 1), ("torch", 0)):
        place = tmp_path / trainer
        (record,) = fb.run("digits-demo", "fedavg[cohort_size=2]", overrides=SMALL, options=RunOptions(trainer=trainer))
        archive.write(place, [sealed(altered(record, {"digests.model": "0" * 32}))])
        result = CliRunner().invoke(app, ["verify", str(place), "--tolerant-torch"])
        assert (result.exit_code, "within tolerance" in result.output) == (code, True), result.output
