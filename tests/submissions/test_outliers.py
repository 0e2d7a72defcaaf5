"""What is implausible is asked about, by a rule that has numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fedbench.results import archive
from fedbench.results.record import Record
from fedbench.submissions.check import check
from fedbench.submissions.outliers import questions
from fedbench.submissions.rows import Row
from tests.conftest import altered
from tests.submissions.conftest import POINT, Made


def reference(folder: Path, made: Made, seconds: float) -> Path:
    problems = [{"scenario": POINT, "target": 0.8, "seconds": seconds}]
    hashes = {POINT: made.suite.scenario_at(made.suite.point(POINT)).content_hash()}
    content = {"name": "smoke", "made_of": {}, "resolution": {}, "hashes": hashes, "problems": problems}
    folder.mkdir(exist_ok=True)
    (folder / "smoke.json").write_text(json.dumps(content))
    return folder


def test_exactly_twice_as_fast_is_no_question(made: Made, tmp_path: Path, record: Callable[..., Record]) -> None:
    """The record reaches 0.8 after 10 s."""
    of_suite = made.suite.scenario_at(made.suite.point(POINT)).content_hash()
    row = Row(POINT, "x", (altered(record(), {"spec.scenario_hash": of_suite}),))
    for seconds, asks in ((20.0, 0), (20.5, 1)):
        assert len(list(questions([row], made.suite, reference(tmp_path, made, seconds), None))) == asks
    assert list(questions([Row(POINT, "x", (record(scenario_hash="0"),))], made.suite, tmp_path, None)) == []


@pytest.mark.parametrize(
    ("last", "asks"),
    [
        ((0.8, 0.81, 0.79, 0.8, 0.95), 1),
        ((0.8, 0.8, 0.8, 0.8, 0.815), 0),
        ((0.6, 0.7, 0.8, 0.9, 0.99), 0),
        ((0.8, 0.81, 0.79, 0.95), 0),
    ],
    ids=["one is far", "less than the least", "all are far from each other", "too few"],
)
def test_far_from_its_row(made: Made, tmp_path: Path, record: Callable[..., Record], last: tuple[float, ...], asks: int) -> None:
    runs = tuple(record(seed=seed, curve=(0.1, accuracy)) for seed, accuracy in enumerate(last))
    found = questions([Row(POINT, "x", runs)], made.suite, tmp_path, None)
    assert len([one for one in found if "is far from the median" in one.text]) == asks


def test_another_digest_than_the_committed_record(made: Made, tmp_path: Path) -> None:
    several = archive.read(made.folder)
    archive.write(tmp_path / "smoke", several)
    assert check(made.folder, archives=tmp_path, apart=False).questions == ()
    archive.write(tmp_path / "smoke", [altered(several[0], {"digests.result": "0" * 32}), *several[1:]])
    (question,) = check(made.folder, archives=tmp_path, apart=False).questions
    assert f"run {several[0].run_id}" in question.line
    assert "the committed record of this run has the result 00000000000000000000000000000000" in question.line
