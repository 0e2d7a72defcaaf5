"""No hostile submission executes anything or crashes the check, and each is named with its
fault."""

from __future__ import annotations

import re
import resource
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench.cli.main import app
from fedbench.documents.validity import Validity
from fedbench.submissions.accepted import accepted
from fedbench.submissions.check import check
from fedbench.submissions.faults import LONGEST
from fedbench.submissions.rerun import rerun
from tests.submissions.hostile import KINDS
from tests.submissions.tampering import forged, records, repacked


def test_there_are_many_kinds() -> None:
    assert len(KINDS) >= 45


@pytest.mark.parametrize("name", [name for name, one in KINDS.items() if not one.apart])
def test_a_hostile_submission_is_named_with_its_fault(copy: Path, name: str) -> None:
    KINDS[name].make(copy)
    _assert_named(copy, name, apart=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_the_same_where_its_tables_are_read_apart(copy: Path, name: str) -> None:
    """In bounded memory: the process that reads them may have a part of what they unpack to."""
    KINDS[name].make(copy)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    _assert_named(copy, name, apart=True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10, "KiB"


def _assert_named(folder: Path, name: str, *, apart: bool) -> None:
    report = check(folder, apart=apart)
    lines = [one.line for one in report.faults]
    assert any(re.search(KINDS[name].words, line) for line in lines), lines
    assert all("\n" not in line and len(line) <= LONGEST for line in lines)
    assert report.validity in (None, Validity.SELF_REPORTED)
    assert not (folder / "trace").exists(), "the plugin was run"
    assert rerun(report, folder, 3, 0, run_plugins=True) is report, "what has faults is not run"


@pytest.mark.parametrize("name", ["writing direction turned", "a name that is no text", "another scenario for readers"])
def test_the_command_shows_no_control_characters(copy: Path, name: str) -> None:
    KINDS[name].make(copy)
    result = CliRunner().invoke(app, ["leaderboard", "check", str(copy)])
    assert result.exit_code == 1
    assert result.output.replace("\n", "").isprintable()
    assert "fault: " in result.output


def test_an_edited_accuracy_with_all_checksums_is_found_by_a_run(copy: Path) -> None:
    """At the last point of the curves, in the section of the end, and in every digest: only a run
    sees it."""
    several = records(copy)
    which = next(i for i, one in enumerate(several) if one.selector == "fedavg")
    accuracies = several[which].curves["test_accuracy"].copy()
    accuracies[-1] += 0.001
    several[which] = several[which].model_copy(update={"curves": {**several[which].curves, "test_accuracy": accuracies}})
    repacked(copy, several)
    forged(copy, {"final.test_accuracy": float(accuracies[-1])}, which)
    report = check(copy, apart=False)
    assert report.faults == ()
    again = rerun(report, copy, 9, 0)
    assert again.validity is Validity.SELF_REPORTED
    assert [one.verdict for one in again.again].count("identical") == len(again.again) - 1
    (fault,) = again.faults
    assert f"run {several[which].run_id} (fedavg seed {several[which].seed}" in fault.line
    assert "run again, it is within tolerance, first in final.test_accuracy" in fault.line


def test_hostile_submissions_do_not_stop_the_others(copy: Path) -> None:
    shutil.copytree(copy, copy.with_name("other"))
    told: list[str] = []
    (only,) = accepted(copy.parent, told.append)
    assert (only.name, only.validity, len(only.rows)) == ("good", Validity.SELF_REPORTED, 3)
    (line,) = told
    assert line.startswith("other: left out: submission.yaml: name: expected that of the folder")
