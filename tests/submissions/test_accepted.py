"""What is shown of a folder of submissions."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fedbench.documents.validity import Validity
from fedbench.errors import RecordError
from fedbench.submissions import history
from fedbench.submissions.accepted import accepted
from fedbench.submissions.check import check
from fedbench.submissions.history import HISTORY
from tests.submissions.conftest import NAME, WORDS
from tests.submissions.tampering import said

DAY = "2031-05-18"


@pytest.mark.slow
def test_validity_is_that_of_the_history(copy: Path) -> None:
    folder, digest = copy.parent, check(copy).digest or ""
    for event, validity in (("received", "self-reported"), ("checked", "checked"), ("re-run", "re-run-identical")):
        history.append(folder / HISTORY, NAME, event, digest, date=DAY)  # type: ignore[arg-type]
        (one,) = accepted(folder)
        assert one.validity == Validity(validity)
        assert (one.title, one.suite, len(one.records), one.reason) == (WORDS.title, "smoke", 9, "")
    said(copy, "about", "Changed since.")
    assert accepted(folder)[0].validity is Validity.SELF_REPORTED


@pytest.mark.parametrize("what", ["whole", "gone", "damaged"])
def test_retractions_stay_visible(copy: Path, what: str) -> None:
    folder = copy.parent
    history.append(folder / HISTORY, NAME, "received", "a" * 64, date=DAY)
    history.append(folder / HISTORY, NAME, "retracted", "a" * 64, date=DAY, reason="a mistake")
    if what == "gone":
        shutil.rmtree(copy)
    if what == "damaged":
        (copy / "submission.yaml").write_text("[")
    (one,) = accepted(folder)
    assert (one.name, one.validity, one.reason, one.records) == (NAME, Validity.RETRACTED, "a mistake", ())
    assert one.title == (WORDS.title if what == "whole" else NAME)


def test_a_folder_that_is_a_link_is_no_submission(copy: Path) -> None:
    copy.with_name("link").symlink_to(copy, target_is_directory=True)
    assert [one.name for one in accepted(copy.parent)] == [NAME]


def test_a_history_that_was_changed(copy: Path) -> None:
    (copy.parent / HISTORY).write_text("{}\n")
    with pytest.raises(RecordError, match="line 1"):
        accepted(copy.parent)
