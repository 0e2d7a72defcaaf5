"""Nobody can give himself a verdict: plug-ins and forgeries whose digests and ids are right, each
of which is named and reaches no rung that it did not earn."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import fedbench as fb
from fedbench.documents.validity import Validity
from fedbench.engine.verify import verify
from fedbench.errors import RecordError
from fedbench.results import archive
from fedbench.results.consistent import check_consistent
from fedbench.results.record import CURVES, Curves, Record, hits
from fedbench.results.sections import METRICS, SERVER_LEDGER
from fedbench.results.store import Store
from fedbench.submissions.check import Report, check
from fedbench.submissions.faults import Finding
from fedbench.submissions.folder import TRIALS, TUNED
from fedbench.submissions.make import make
from fedbench.submissions.rerun import rerun
from fedbench.suites import campaign, tuned
from tests.conftest import altered, sealed, storable
from tests.engine.isolation.plugins import ATTACKS, confined
from tests.submissions.conftest import POINT, WORDS, Made
from tests.submissions.tampering import changed, parquet, records, repacked, reseal, said, written

SMALL = ["clients=6", "budget.seconds=2", "local.steps=2", "task.model=softmax"]


def measuring(one: Record, columns: Curves) -> Record:
    """The record with other columns, and all that follows from them."""
    curves = {**one.curves, **columns}
    final = one.final.model_copy(update={name: float(curves[name][-1]) for name in columns})
    times = hits(one.spec.scenario, curves, one.ledger.end_seconds)
    return sealed(one.model_copy(update={"curves": curves, "final": final, "time_to_target": times}))


def raised(one: Record, by: float) -> Record:
    """The record with all accuracies higher by so much."""
    return measuring(one, {"test_accuracy": (one.curves["test_accuracy"] + np.float32(by)).astype(np.float32)})


def planned(one: Record) -> Record:
    """The record with another digest of its plan."""
    return sealed(altered(one, {"digests.plan": "0" * 32}))


def judged(folder: Path, sample: int = 9, **more: Any) -> Report:
    return rerun(check(folder, apart=False, **more), folder, sample, 0, run_plugins=True)


@pytest.fixture(name="alone")
def _alone(copy: Path) -> Path:
    """A submission that has the plug-in and nothing else."""
    for name in (TRIALS, TUNED):
        (copy / name).unlink()
    changed(copy, lambda manifest: manifest["algorithms"].pop(0))
    repacked(copy, [one for one in records(copy) if one.spec.algorithm.name == "traced"])
    return copy


def traced(change: Callable[[Record], Record], folder: Path) -> None:
    """Changes the records of the plug-in."""
    repacked(folder, [change(one) if one.spec.algorithm.name == "traced" else one for one in records(folder)])


# ---- plug-ins ----


def with_plugin(folder: Path, code: str) -> None:
    """The plug-in has this code before its own, and the records say that they are of it."""
    content = code.encode() + (folder / "traced.py").read_bytes()
    found = hashlib.sha256(content).hexdigest()
    written(folder, "traced.py", content)
    changed(folder, lambda manifest: manifest["algorithms"][-1].update(sha256=found))
    traced(lambda one: sealed(altered(one, {"spec.algorithm.origin.sha256": found})), folder)


@confined
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_plugin_does_not_judge_itself(alone: Path, attack: str) -> None:
    """It attacks, and its accuracies were raised by 0.06: a fault, as without the attack."""
    with_plugin(alone, ATTACKS[attack])
    honest = judged(alone)
    assert (honest.validity, honest.faults) == (Validity.RE_RUN, ())
    traced(lambda one: raised(one, 0.06), alone)
    report = judged(alone)
    assert report.validity is Validity.SELF_REPORTED
    assert len(report.faults) == 3
    assert all("traced seed" in one.line and "it is differs, first in final.test_accuracy" in one.line for one in report.faults)


STREAM = """\
from dataclasses import dataclass

from fedbench import registry
from fedbench.types import Stream


@dataclass(frozen=True, kw_only=True)
class Busy(registry.find("algorithm", "fedbuff")):
    name = "busy"

    def dispatch(self, info):
        return Stream(concurrency=info.clients, buffer_size=self.buffer_size)
"""


@confined
def test_a_plugin_that_keeps_more_clients_at_work_than_it_says(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its class has the default concurrency=5, and its policy does not use it."""
    monkeypatch.setattr("fedbench.results.provenance.commit", lambda: ("0123456789" * 4, False))
    file = tmp_path / "busy.py"
    file.write_text(STREAM.replace("    name =", "    concurrency: int = 5\n    name ="))
    plugin, store = f"{file}:Busy", Store(tmp_path / "runs")
    campaign.compute(
        [spec for _, _, some in tuned.rows(made.suite, None, [made.suite.point(POINT)], [plugin]) for spec in some], store
    )
    make(tmp_path / "made", WORDS, made.suite, [plugin], store, None, None)
    report = judged(tmp_path / "made" / WORDS.name)
    assert report.validity is Validity.SELF_REPORTED
    clients = made.suite.scenario_at(made.suite.point(POINT)).clients
    assert all(f"option concurrency: 5 clients work at a time, the plan has up to {clients}" in one.line for one in report.faults)
    assert len(report.faults) == 3


@confined
def test_a_plugin_that_does_not_declare_what_it_computes(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedbench.engine.isolation.measured.Measured.undeclared", lambda *_: iter(["gradient_work: too little"]))
    report = judged(alone)
    assert report.validity is Validity.SELF_REPORTED
    assert all("traced seed" in one.line and "gradient_work: too little" in one.line for one in report.faults)


def test_where_a_plugin_cannot_be_confined_it_is_not_run(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    confined = property(lambda _: False, lambda *_: None)
    monkeypatch.setattr("fedbench.engine.isolation.process.Process.confined", confined, raising=False)
    report = judged(alone)
    assert {one.verdict for one in report.again} == {"not run"}
    assert report.validity is Validity.CHECKED
    assert len(report.open) == 3
    assert all("this system cannot confine a plugin" in one.line for one in report.open)


def test_methods_that_talk_behind_the_engine_depend_on_its_waves(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a plugin's records are run again with one job at a time."""
    waves = []
    monkeypatch.setattr(
        "fedbench.submissions.rerun.verify", lambda record, options, **_: waves.append(options.wave_size) or 1 / 0
    )
    judged(alone)
    assert waves == [1, 1, 1]


# ---- forgeries that no digest shows ----


def test_a_little_more_by_torch_is_refused(copy: Path) -> None:
    """Within the tolerance of a trainer whose bits depend on the machine."""
    repacked(copy, [altered(raised(one, 0.009), {"provenance.trainer": "torch"}) for one in records(copy)])
    report = judged(copy)
    assert report.validity is Validity.SELF_REPORTED
    assert len(report.faults) == len(records(copy))
    assert all("provenance.trainer: expected native" in one.line and "got 'torch'" in one.line for one in report.faults)


def test_records_that_disagree_with_the_archive_are_run_first(copy: Path, tmp_path: Path) -> None:
    """Whatever is drawn, and a question that was not answered holds the rung."""
    several = records(copy)
    archive.write(tmp_path / "smoke", several)
    which = next(i for i, one in enumerate(several) if one.selector == "fedavg")
    several[which] = raised(several[which], 0.005)
    repacked(copy, several)
    found = check(copy, apart=False, archives=tmp_path)
    assert [one.runs for one in found.questions] == [(several[which].run_id,)]
    for draw in range(3):
        report = rerun(found, copy, 1, draw)
        assert (report.again[0].run_id, report.again[0].why, report.again[0].verdict) == (
            several[which].run_id,
            "asked",
            "within tolerance",
        )
        assert report.validity is Validity.SELF_REPORTED


@pytest.mark.parametrize("what", ["inputs", "plan", "curves"])
def test_two_seeds_with_the_same_draws_are_a_question(copy: Path, what: str) -> None:
    """It is answered if the runs that it names give the same again."""
    several = records(copy)
    first, second = (i for i, one in enumerate(several) if one.selector == "fedavg" and one.seed < 2)
    if what == "curves":
        several[second] = measuring(several[second], {name: several[first].curves[name] for name in METRICS})
    else:
        digests = several[first].digests.as_dict()
        several[second] = sealed(altered(several[second], {f"digests.{what}": digests[what]}))
    repacked(copy, several)
    found = check(copy, apart=False)
    assert found.faults == ()
    (question,) = found.questions
    assert f"seeds 0, 1 have the same {what}" in question.line
    assert set(question.runs) == {several[first].run_id, several[second].run_id}
    report = rerun(found, copy, 1, 0)
    assert report.again[0].run_id in question.runs
    assert report.validity is not Validity.RE_RUN
    assert judged(copy).validity is Validity.SELF_REPORTED


@confined
def test_an_accuracy_that_nobody_reached_is_a_question(copy: Path, tmp_path: Path) -> None:
    """Above 0.99, or above every committed run at the point; an honest one answers it."""
    several = records(copy)
    assert all(one.final.test_accuracy is not None and one.final.test_accuracy < 0.99 for one in several)
    archive.write(tmp_path / "smoke", [planned(raised(one, -0.2)) for one in several if one.selector == "fedavg"])
    found = check(copy, apart=False, archives=tmp_path)
    assert any("is higher than every committed run at calm" in one.line for one in found.questions)
    assert found.open == found.questions
    report = rerun(found, copy, 9, 0, run_plugins=True)
    assert (report.open, report.faults, report.validity) == ((), (), Validity.RE_RUN)
    repacked(copy, [raised(one, 0.995 - (one.final.test_accuracy or 0)) for one in several])
    assert any("is higher than 0.99" in one.line for one in check(copy, apart=False).questions)


@confined
def test_questions_do_not_steer_the_draw_away(copy: Path, tmp_path: Path) -> None:
    """Records that answer questions are run beside those that are drawn, not in their place."""
    archive.write(tmp_path / "smoke", [planned(one) if one.selector == "fedavg" else one for one in records(copy)])
    found = check(copy, apart=False, archives=tmp_path)
    assert len({run for one in found.questions for run in one.runs}) == 3
    report = rerun(found, copy, 3, 0, run_plugins=True)
    assert [one.why for one in report.again] == ["asked"] * 3 + ["drawn"] * 3 + ["trial"] * 3
    assert report.validity is Validity.RE_RUN
    assert replace(report, again=tuple(one for one in report.again if one.why != "drawn")).validity is Validity.CHECKED
    assert replace(report, questions=(*report.questions, Finding("runs.parquet", "odd"))).validity is Validity.CHECKED, (
        "still open"
    )


# ---- trials ----


def invented(folder: Path, which: Callable[[dict[str, Any]], bool]) -> None:
    """Rows of the table of trials get better outcomes, and all that depends on them is made
    anew."""
    table = pq.read_table(folder / TRIALS)
    rows = table.to_pylist()
    for row in rows:
        if which(row):
            row["reached"] = [None if one is None else one + 0.25 for one in row["reached"]]
            row["result"] = hashlib.sha256(row["run_id"].encode()).hexdigest()[:32]
    written(folder, TRIALS, parquet(table.from_pylist(rows, table.schema)))


def rechosen(folder: Path, made: Made) -> None:
    """The options that the rule chooses from the trials as they are now."""
    from fedbench.results.store import write_atomically
    from fedbench.suites import space as spaces
    from fedbench.suites import trials, tuning

    suite = made.suite
    space = spaces.load(tuning.tuning_of(suite).space)
    known = trials.read(folder / TRIALS, suite.design_hash())
    several = list(tuning.trials(suite, space, [suite.point(POINT)], ["fedavg"]))
    choice = tuning.choose(
        {one.number: one.options for one in several}, {one.number: [known[spec.run_id] for spec in one.specs] for one in several}
    )
    write_atomically(folder / "tuned.yaml", tuned.as_yaml(tuned.content(suite, space, {(POINT, "fedavg"): choice})).encode())
    reseal(folder)


def test_invented_outcomes_of_trials_are_found_by_a_run(made: Made, copy: Path) -> None:
    before = check(copy, apart=False)
    assert len(before.trials) > 3
    assert sum(one.chosen for one in before.trials) >= 1
    invented(copy, lambda row: True)
    rechosen(copy, made)
    found = check(copy, apart=False)
    assert found.faults == ()
    for draw in range(3):
        report = rerun(found, copy, 1, draw)
        assert report.validity is Validity.SELF_REPORTED
        assert any("trials.parquet: trial" in one.line and ": run again, it is" in one.line for one in report.faults)


def test_a_run_of_the_chosen_trial_is_always_among_them(made: Made, copy: Path) -> None:
    found = check(copy, apart=False)
    chosen = {one.spec.run_id for one in found.trials if one.chosen}
    for draw in range(4):
        first = next(one for one in rerun(found, copy, 1, draw).again if one.why == "trial")
        assert first.run_id in chosen


@confined
def test_too_few_trials_keep_it_from_the_last_rung(made: Made, copy: Path) -> None:
    report = judged(copy)
    assert report.validity is Validity.RE_RUN
    fewer = [one for one in report.again if one.why != "trial"]
    assert replace(report, again=tuple(fewer)).validity is Validity.CHECKED


def test_a_record_without_its_servers_work_is_a_fault() -> None:
    """It is not in the digest of the result, which older records have without it."""
    (record,) = fb.run("digits-demo", "fedecho[buffer_size=2]", overrides=[*SMALL, "public.size=50"])
    assert verify(record).not_compared == ()
    older = {
        "digests": record.digests.model_copy(update={"server": None}),
        "ledger": record.ledger.model_copy(update=dict.fromkeys(SERVER_LEDGER)),
        "curves": {name: record.curves[name] for name in CURVES},
    }
    result = verify(record.model_copy(update=older))
    assert (result.verdict, result.not_compared) == ("identical", ("the server's work",))


# ---- entry points ----


def test_another_code_of_an_entry_point_is_another_run() -> None:
    origin = {"kind": "entry point", "class": "Mine", "sha256": "a" * 64}
    one = sealed(altered(storable("mine"), {"spec.algorithm.origin": origin}))
    check_consistent(one, "made up")
    with pytest.raises(RecordError, match="run_id: the rest of the record gives"):
        check_consistent(altered(one, {"spec.algorithm.origin.sha256": "b" * 64}), "made up")


@confined
def test_a_plugin_does_not_write_beside_its_records(alone: Path) -> None:
    before = {one.name: one.read_bytes() for one in alone.iterdir()}
    with_plugin(alone, f"open({str(alone / 'submission.yaml')!r}, 'w').write('')\n")
    report = judged(alone)
    assert any("PermissionError" in one.line for one in report.open)
    assert report.validity is Validity.CHECKED
    assert {one.name for one in alone.iterdir()} == set(before)
    said(alone, "title", "still a submission")
