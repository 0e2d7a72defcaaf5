"""A record whose digests are right and whose numbers are not is found out, field by field."""

from __future__ import annotations

import functools
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
from fedbench.results.record import Record, with_results
from fedbench.scenarios.load import load
from tests.conftest import GONE, altered

ARCHIVES = Path(__file__).parents[2] / "results" / "suites"
SMALL = ["clients=6", "budget.seconds=6", "local.steps=3", "task.model=softmax"]


@functools.cache
def honest() -> Record:
    return Run(RunSpec(load("digits-demo", SMALL), registry.algorithm("fedbuff[buffer_size=2]"), 0)).record()


def forged(*changes: tuple[str, Any]) -> Record:
    """Changed, with a digest over everything that fits again. A path such as curves.bytes.6 names a
    point of a column, and curves.steps a column."""
    record, curves = honest(), {name: column.copy() for name, column in honest().curves.items()}
    for path, value in changes:
        if not path.startswith("curves."):
            continue
        _, name, *points = path.split(".")
        for point in points:
            curves[name][int(point)] = value
        if not points:
            curves = {one: value[: len(column)] if one == name else column for one, column in curves.items()}
    changed = altered(record, {path: value for path, value in changes if not path.startswith("curves.")})
    return with_results(changed.model_copy(update={"curves": curves}))


LIES: dict[str, tuple[str, Any]] = {
    "final.test_accuracy": ("final.test_accuracy", 0.999),
    "final.client_accuracy_worst_decile": ("final.client_accuracy_worst_decile", 0.9),
    "final.version": ("final.version", 1),
    "outcome.ended_by": ("outcome.ended_by", "updates"),
    "ledger.bytes_up": ("ledger.bytes_up", 1),
    "ledger.staleness_histogram[0]": ("ledger.staleness_histogram.0", 7),
    "ledger.messages_peak": ("ledger.messages_peak", 999),
    "time_to_target[0].seconds": ("time_to_target.0.seconds", 0.0),
    "time_to_target[0].censored_at": ("time_to_target.0.censored_at", 60.0),
    "curves.test_accuracy[3]": ("curves.test_accuracy.3", 0.99),
    "curves.bytes[6]": ("curves.bytes.6", 1),
    "curves.steps": ("curves.steps", np.zeros(2)),
    "spec.selector": ("spec.selector", "fedavg"),
    "spec.algorithm.reference": ("spec.algorithm.reference", True),
    "warnings": ("warnings", ["It is the best."]),
    "digests.inputs": ("digests.inputs", "0" * 32),
    "digests.selections": ("digests.selections", "0" * 32),
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
    record = forged(("spec.selector", selector))
    assert differences(record, honest()) == found


@pytest.mark.parametrize("place", sorted(ARCHIVES.iterdir()), ids=lambda place: place.name)
def test_rows_of_the_archives_have_the_specification_that_they_had(place: Path) -> None:
    """No default and no schema that changed since makes a published row differ."""
    of_rows = {(record.scenario, record.selector): record for record in archive.read(place, check=False)}
    assert of_rows
    for record in of_rows.values():
        again = record.model_copy(update={"spec": RunSpec.of(record.spec).recorded})
        assert differences(record, again) == []


def test_verify_says_so() -> None:
    assert verify(honest()).verdict == "identical"
    result = verify(forged(LIES["final.test_accuracy"]))
    assert (result.verdict, result.first_difference) == ("differs", "final.test_accuracy")
    assert list(result.differences) == ["final.test_accuracy", "digests.result"]


def rounded(by: float, **more: Any) -> Record:
    """As another machine may give it: other bits of the model, and metrics that are this far
    away."""

    final, point = honest().final, honest().curves["test_accuracy"][2] + np.float32(by)
    moved = [(f"final.{name}", getattr(final, name) + by) for name in ("test_accuracy", "client_accuracy_mean", "test_loss")]
    others = [(path.replace("__", "."), value) for path, value in more.items()]
    return forged(("digests.model", "0" * 32), *moved, ("curves.test_accuracy.2", point), *others)


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
    record = altered(rounded(0.001), {"digests.result": "0" * 32})
    assert not within_tolerance(record, honest(), differences(record, honest()))


def test_an_older_record_has_fewer_digests_and_nan_is_itself() -> None:
    again = honest()
    lost = again.curves["train_loss"].copy()
    lost[1] = np.nan
    again = again.model_copy(update={"curves": {**again.curves, "train_loss": lost}})
    record = altered(again, {"digests.result": GONE, "digests.selections": GONE})
    assert differences(record, again) == []
    assert differences(altered(record, {"digests.plan": "0" * 32}), again) == ["digests.plan"]
