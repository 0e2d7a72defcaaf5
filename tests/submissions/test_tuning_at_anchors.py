"""Rows that were tuned at anchors: the trials at the anchor belong to a submission, too."""

from __future__ import annotations

from dataclasses import asdict, replace

from fedbench.submissions import tuning
from fedbench.submissions.rows import Row
from fedbench.suites import tuned
from fedbench.suites.search import collect
from tests.suites.landscapes import SPACE
from tests.suites.test_anchors import HILLS, finding, three


def test_the_search_is_repeated_from_the_anchors() -> None:
    own = three()
    ended, choices = collect(own, SPACE, finding(replace(HILLS[15], best=(0.4, 0.3), own=0.02)), {0})
    frozen, row = tuned.content(own, SPACE, choices[0]), Row("between", "fedavg (tuned)", ())
    known = {run.run_id: run for _, runs in ended for run in runs}
    assert list(tuning.faults([row], own, frozen, known)) == []
    elsewhere = {run.run_id: run for trial, runs in ended if trial.point == "between" for run in runs}
    (fault,) = tuning.faults([row], own, frozen, elsewhere)
    assert fault.text == "fedavg (tuned) at between: the trials at its anchor are not all there, from whose options it begins"
    choice = frozen.points["between"]["fedavg"]
    assert choice.anchor is not None
    wrong = replace(choice, anchor=replace(choice.anchor, point="fast"))
    changed = frozen.model_copy(update={"points": {**frozen.points, "between": {"fedavg": wrong}}})
    (fault,) = tuning.faults([row], own, changed, known)
    assert fault.text.startswith(f"fedavg (tuned) at between: anchor: its trials give {asdict(choice.anchor)!r}, the file says")
