"""What a good submission is told, and that nothing of it is executed without being asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fedbench.documents.validity import Validity
from fedbench.submissions.check import check
from fedbench.submissions.rerun import rerun
from tests.engine.isolation.plugins import confined
from tests.submissions.conftest import NAME, Made


def test_a_good_one_has_no_faults(made: Made) -> None:
    report = check(made.folder)
    assert report.faults == ()
    assert report.validity is Validity.CHECKED
    assert sorted((row.point, row.name, len(row.runs)) for row in report.rows) == [
        ("calm", "fedavg", 3),
        ("calm", "fedavg (tuned)", 3),
        ("calm", "traced", 3),
    ]
    assert json.loads(json.dumps(report.as_dict()))["submission"] == NAME
    assert check(made.folder, apart=False).report_digest == report.report_digest


def test_nothing_is_executed_without_being_asked_for(made: Made, copy: Path) -> None:
    report = rerun(check(copy), copy, 9, 0)
    assert len([one for one in report.again if one.why == "drawn"]) == len(report.records) - 3
    assert {one.verdict for one in report.again} == {"identical"}
    assert not (copy / "trace").exists()
    assert report.validity is Validity.CHECKED, "records that could not be drawn keep it from the last rung"


@confined
def test_all_of_a_good_one_is_run_again(made: Made, copy: Path) -> None:
    report = rerun(check(copy), copy, 9, 0, run_plugins=True)
    assert {one.verdict for one in report.again} == {"identical"}
    assert {one.named.partition(" (")[2].partition(" ")[0] for one in report.again if one.why == "drawn"} >= {"traced", "fedavg"}
    assert not (copy / "trace").exists(), "its code ran in a folder of its own"
    assert report.validity is Validity.RE_RUN


@confined
@pytest.mark.parametrize(("sample", "validity"), [(2, Validity.CHECKED), (3, Validity.RE_RUN)])
def test_three_records_are_enough(made: Made, copy: Path, sample: int, validity: Validity) -> None:
    assert rerun(check(copy, apart=False), copy, sample, 1, run_plugins=True).validity is validity
