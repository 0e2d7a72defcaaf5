"""Hostile rows: records that are each in order, and together are not what the suite asks for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from fedbench.results.record import Record
from fedbench.scenarios.load import validate
from fedbench.submissions.folder import TRIALS, TUNED
from tests.changes import GONE
from tests.submissions.kinds import kind
from tests.submissions.tampering import changed, column, forged, parquet, records, repacked, reseal, said, written


def _algorithm(record: Record) -> str:
    return record.spec.algorithm.name


@kind("a record twice", r"runs.parquet: run [0-9a-f]{16} .*: it is there twice")
def _twice(folder: Path) -> None:
    several = records(folder)
    repacked(folder, [*several, several[0]])


@kind("missing seeds", "runs.parquet: traced at calm: expected all 3 seeds of the suite, missing 1, 2")
def _missing(folder: Path) -> None:
    repacked(folder, [one for one in records(folder) if _algorithm(one) != "traced" or one.seed == 0])


@kind("an algorithm that the manifest does not name", "algorithm fedavg is not among the algorithms of submission.yaml")
def _undeclared(folder: Path) -> None:
    said(folder, "algorithms.0", GONE)


@kind("an algorithm without records", "submission.yaml: algorithm scaffold: runs.parquet has no record of it")
def _without_records(folder: Path) -> None:
    changed(folder, lambda found: found["algorithms"].append({"origin": "built in", "name": "scaffold"}))


@kind("options that nobody published", "its options are neither the default ones of suite smoke nor tuned ones")
def _options(folder: Path) -> None:
    which = next(i for i, one in enumerate(records(folder)) if one.selector == "fedavg")
    forged(folder, {"spec.algorithm.options.local_lr": 0.123, "spec.selector": "fedavg[local_lr=0.123]"}, which, identity=True)


@kind("a point outside the suite", "scenario [0-9a-f]{16} is no point of suite smoke")
def _point(folder: Path) -> None:
    content: Any = records(folder)[0].spec.scenario.resolved()
    content["budget"]["seconds"] = 11.0
    scenario = validate(content, "test")
    forged(folder, {"spec.scenario": scenario.resolved(), "spec.scenario_hash": scenario.content_hash()}, identity=True)


@kind("options that differ from seed to seed", "traced at calm: expected one set of options for all seeds, got 2")
def _options_of_plugin(folder: Path) -> None:
    which = next(i for i, one in enumerate(records(folder)) if _algorithm(one) == "traced")
    forged(folder, {"spec.algorithm.options.local_lr": 0.5}, which, identity=True)


@kind("a selector that turns the writing direction", r"traced.*: expected printable texts, got 'traced\[\\u202e\]'")
def _selector(folder: Path) -> None:
    """That of an algorithm which is not built in is only for readers."""
    which = next(i for i, one in enumerate(records(folder)) if _algorithm(one) == "traced")
    forged(folder, {"spec.selector": "traced[\u202e]"}, which)


@kind("tuned options without trials", "trials.parquet: the file is missing: tuned.yaml says that options were tuned")
def _no_trials(folder: Path) -> None:
    (folder / TRIALS).unlink()
    reseal(folder)


@kind("trials without tuned options", "tuned.yaml: the file is missing")
def _no_tuned(folder: Path) -> None:
    (folder / TUNED).unlink()
    reseal(folder)


@kind("trials that are left out", r"trials.parquet: fedavg \(tuned\) at calm: 1 of 10 runs of its trials are missing")
def _fewer_trials(folder: Path) -> None:
    table = pq.read_table(folder / TRIALS)
    written(folder, TRIALS, parquet(table.slice(1)))


@kind("trials of another design", "trials.parquet: they are of design 0{16}")
def _other_trials(folder: Path) -> None:
    table = pq.read_table(folder / TRIALS).replace_schema_metadata({b"design_hash": b"0" * 16})
    written(folder, TRIALS, parquet(table))


@kind("trials that say another choice", r"tuned.yaml: fedavg \(tuned\) at calm: ")
def _forged_trials(folder: Path) -> None:
    table = pq.read_table(folder / TRIALS)
    written(folder, TRIALS, parquet(column(table, "result", lambda values: ["0" * 32, *values[1:]])))


@kind("tuned options that are none", "tuned.yaml: anchors and aliases are not read")
def _tuned_text(folder: Path) -> None:
    written(folder, TUNED, b"points: &a [*a]\n")


@kind("tuned options of a point that is none", "tuned.yaml: .*unknown point")
def _tuned_point(folder: Path) -> None:
    written(folder, TUNED, (folder / TUNED).read_bytes().replace(b'"calm":', b'"calmest":'))


@kind("tuned options that the algorithm does not take", "tuned.yaml: .*magic")
def _tuned_option(folder: Path) -> None:
    written(folder, TUNED, (folder / TUNED).read_bytes().replace(b'"options": {', b'"options": {"magic": 1, ', 1))
