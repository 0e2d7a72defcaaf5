"""A record whose digests are right and whose numbers are not is found out, field by field."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedbench import registry
from fedbench.engine.compare import differences, within_tolerance
from fedbench.engine.run import Run
from fedbench.engine.spec import RunSpec
from fedbench.engine.verify import verify
from fedbench.results import archive
from fedbench.results.consistent import resolve
from fedbench.results.record import Record, result_digest
from fedbench.scenarios.load import load

ARCHIVES = Path(__file__).parents[2] / "results" / "suites"
SMALL = ["clients=6", "budget.seconds=6", "local.steps=3", "task.model=softmax"]


@functools.cache
def honest() -> Record:
    return Run(RunSpec(load("digits-demo", SMALL), registry.algorithm("fedbuff[buffer_size=2]"), 0)).record()


def forged(change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> Record:
    """Changed, with a digest over everything that fits again."""
    record = copy.deepcopy(honest())
    change(record.meta, record.curves)
    record.meta["digests"]["result"] = result_digest(record.meta, record.curves)
    return record


def put(*path: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    *groups, key, value = path

    def change(meta: dict[str, Any], curves: dict[str, Any]) -> None:
        place: Any = curves if groups[:1] == ["curves"] else meta
        for group in groups[1:] if place is curves else groups:
            place = place[group]
        place[key] = value

    return change


LIES = {
    "final.test_accuracy": put("final", "test_accuracy", 0.999),
    "final.client_accuracy_worst_decile": put("final", "client_accuracy_worst_decile", 0.9),
    "final.version": put("final", "version", 1),
    "outcome.ended_by": put("outcome", "ended_by", "updates"),
    "ledger.bytes_up": put("ledger", "bytes_up", 1),
    "ledger.staleness_histogram[0]": put("ledger", "staleness_histogram", 0, 7),
    "ledger.invented": put("ledger", "invented", 1),
    "time_to_target[0].seconds": put("time_to_target", 0, "seconds", 0.0),
    "time_to_target[0].censored_at": put("time_to_target", 0, "censored_at", 60.0),
    "curves.test_accuracy[3]": put("curves", "test_accuracy", 3, np.float32(0.99)),
    "curves.bytes[6]": put("curves", "bytes", 6, 1),
    "curves.steps": put("curves", "steps", np.zeros(2)),
    "spec.selector": put("spec", "selector", "fedavg"),
    "spec.algorithm.reference": put("spec", "algorithm", "reference", True),
    "warnings": put("warnings", ["It is the best."]),
    "digests.inputs": put("digests", "inputs", "0" * 32),
    "digests.selections": put("digests", "selections", "0" * 32),
}


@pytest.mark.parametrize("field", LIES)
def test_a_lie_is_named(field: str) -> None:
    found = differences(forged(LIES[field]), honest())
    assert found == [field] + ["digests.result"] * (not field.startswith("spec"))


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("fedbuff", []),  # as if buffer_size=2 had been the default on that day
        ("fedbuff[buffer_size=2,server_lr=1.0]", []),  # as if server_lr=1.0 had been none
        ("fedbuff[buffer_size=3]", ["spec.selector"]),
        ("fedbuff[buffer_size=2,invented=1]", ["spec.selector"]),
        ("fedbuff[buffer_size=2", ["spec.selector"]),
    ],
)
def test_a_selector_may_be_of_another_day_but_names_only_options_of_the_run(selector: str, found: list[str]) -> None:
    record = forged(put("spec", "selector", selector))
    assert differences(record, honest()) == found


@pytest.mark.parametrize("place", sorted(ARCHIVES.iterdir()), ids=lambda place: place.name)
def test_rows_of_the_archives_have_the_specification_that_they_had(place: Path) -> None:
    """No default and no schema that changed since makes a published row differ."""
    of_rows = {(record.scenario, record.selector): record for record in archive.read(place, check=False)}
    assert of_rows
    for record in of_rows.values():
        resolve(record.meta, place.name)
        again = copy.deepcopy(record)
        again.meta["spec"] = RunSpec.from_dict(record.meta["spec"]).as_dict()
        assert differences(record, again) == []


def test_verify_says_so() -> None:
    assert verify(honest())["verdict"] == "identical"
    result = verify(forged(LIES["final.test_accuracy"]))
    assert (result["verdict"], result["first_difference"]) == ("differs", "final.test_accuracy")
    assert result["differences"] == ["final.test_accuracy", "digests.result"]


def rounded(by: float, **more: Any) -> Record:
    """As another machine may give it: other bits of the model, and metrics that are this far
    away."""

    def change(meta: dict[str, Any], curves: dict[str, Any]) -> None:
        meta["digests"]["model"] = "0" * 32
        for name in ("test_accuracy", "client_accuracy_mean", "test_loss"):
            meta["final"][name] += by
        curves["test_accuracy"][2] += by
        for path, value in more.items():
            put(*path.split("__"), value)(meta, curves)

    return forged(change)


@pytest.mark.parametrize(
    ("record", "tolerated"),
    [
        (rounded(0.0099), True),
        (rounded(-0.0099), True),
        (rounded(0.0101), False),
        (rounded(-0.0101), False),
        (rounded(0.001, ledger__bytes_up=1), False),
        (rounded(0.001, final__version=1), False),
        (rounded(0.001, final__client_accuracy_worst_decile=0.99), False),
        (rounded(0.001, final__test_accuracy=None), False),
        (rounded(0.001, digests__plan="0" * 32), False),
        (rounded(0.001, outcome__message="else"), False),
        (forged(LIES["curves.test_accuracy[3]"]), False),
    ],
)
def test_tolerance_is_for_accuracies_and_losses_alone(record: Record, tolerated: bool) -> None:
    assert within_tolerance(record, honest(), differences(record, honest())) is tolerated


def test_a_digest_that_does_not_fit_is_not_rounding() -> None:
    record = rounded(0.001)
    record.meta["digests"]["result"] = "0" * 32
    assert not within_tolerance(record, honest(), differences(record, honest()))


def test_an_older_record_has_fewer_digests_and_nan_is_itself() -> None:
    record = copy.deepcopy(honest())
    del record.meta["digests"]["result"], record.meta["digests"]["selections"]
    again = copy.deepcopy(honest())
    for one in (record, again):
        one.curves["train_loss"][1] = np.nan
    assert differences(record, again) == []
    del record.meta["digests"]["plan"]
    assert differences(record, again) == ["digests.plan"]
