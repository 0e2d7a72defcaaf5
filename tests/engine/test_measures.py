"""Metrics over clients and classes: by hand, on the grid, with targets, and for clients that are
alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fedbench as fb
from fedbench.engine.measures import OF_CLIENTS, OF_UNSEEN, Parts, measure_of
from fedbench.engine.run import Run, RunOptions
from fedbench.errors import UsageError
from fedbench.launch.runner import specs
from fedbench.own_metrics import BUILT_IN
from fedbench.results.record import Record
from fedbench.scenarios.evaluation_parts import MetricPart
from fedbench.scenarios.load import load, validate

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("clients=6", "budget.seconds=6", "local.steps=10", "task.model=softmax")
ALL = f"evaluation.metrics=[{', '.join(OF_CLIENTS)}, class_accuracy_3]"


def record(algorithm: str = "fedbuff[buffer_size=3]", *more: str, **options: Any) -> Record:
    (found,) = fb.run("digits-demo", algorithm, overrides=[*SMALL, ALL, *more], options=RunOptions(**options))
    return found


def test_values_by_hand() -> None:
    """Of 20 clients the worst decile are two; of four there is one."""
    accuracy, loss = np.linspace(0.05, 1, 20), np.linspace(2, 0.1, 20)
    parts = Parts(accuracy, loss, np.array([0.5, 0.25]), np.array([1.0, 2.0]))
    found = {name: value(parts) for name, value in OF_CLIENTS.items()}
    assert found == pytest.approx({
        "client_accuracy_mean": 0.525, "client_accuracy_worst_decile": 0.075,
        "client_accuracy_spread": np.sqrt(((accuracy - 0.525) ** 2).mean()),
        "client_loss_mean": 1.05, "client_loss_worst_decile": 1.95, "client_loss_spread": np.sqrt(((loss - 1.05) ** 2).mean()),
        "class_accuracy_worst": 0.25,
    })  # fmt: skip
    few = parts._replace(client_accuracy=accuracy[:4])
    assert OF_CLIENTS["client_accuracy_worst_decile"](few) == pytest.approx(0.05)
    assert OF_CLIENTS.keys() | OF_UNSEEN.keys() == BUILT_IN.keys()


def test_the_curves_end_with_what_the_record_has_anyway() -> None:
    found = record()
    for name in ("client_accuracy_mean", "client_accuracy_worst_decile"):
        assert found.final.own[name] == pytest.approx(getattr(found.final, name), rel=1e-12)
        assert found.curves[name][-1] == np.float32(found.final.own[name])
    plain = fb.run("digits-demo", "fedbuff[buffer_size=3]", overrides=SMALL)[0]
    assert (plain.digests.model, plain.final.test_accuracy) == (found.digests.model, found.final.test_accuracy)
    assert plain.final.own == {}


def test_a_client_has_the_classes_of_its_examples() -> None:
    """Computed again from the shards, and from the predictions of the last model."""
    spec = specs("digits-demo", "fedbuff[buffer_size=3]", 1, [*SMALL, ALL])[0]
    run = Run(spec)
    parts = []
    made = run.evaluator.parts
    run.evaluator.parts = lambda *model: parts.append(made(*model)) or parts[-1]  # type: ignore[method-assign,func-returns-value]
    found = run.record()
    train, shares = run.setup.task.dataset.train, []
    for rows in run.setup.shards:
        shares.append(np.bincount(train.y[rows], minlength=10) / len(rows))
    (last,) = parts
    assert last.client_accuracy == pytest.approx(np.array(shares) @ last.class_accuracy)
    assert last.client_loss == pytest.approx(np.array(shares) @ last.class_loss)
    counts = np.bincount(run.setup.task.dataset.test.y, minlength=10)
    assert counts @ last.class_accuracy / counts.sum() == pytest.approx(found.final.test_accuracy)
    assert counts @ last.class_loss / counts.sum() == pytest.approx(found.final.test_loss)
    assert found.final.own["class_accuracy_3"] == last.class_accuracy[3]


def test_targets_and_their_directions() -> None:
    targets = "targets=[{metric: client_accuracy_worst_decile, value: 0}, {metric: client_loss_mean, value: 2.25}]"
    first, second = record("fedbuff[buffer_size=3]", targets).time_to_target
    assert first.seconds == 0
    assert second.seconds is None or second.seconds > 0


def test_the_same_bits_for_workers_and_waves() -> None:
    assert record(workers=4, wave_size=1).digests.result == record().digests.result


def test_the_same_bits_on_an_older_processor() -> None:
    """numpy and its BLAS compute as on one without AVX."""
    all_classes = ("fedavg[cohort_size=3]", "clients=20", "partition={kind: dirichlet, alpha: 1}")
    code = f"from tests.engine.test_measures import record; print(record(*{all_classes}).digests.result)"
    older = {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3 AVX512_SKX AVX512F AVX2 FMA3"}
    command, environment = [sys.executable, "-W", "ignore", "-c", code], {**os.environ, **older}
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert result.stdout.split() == [record(*all_classes).digests.result], result.stderr


def test_clients_that_are_alone() -> None:
    """Each is judged by its own model, which is good on its own classes."""
    found = record("local_only")
    assert found.final.client_accuracy_mean is not None
    assert found.final.own["client_accuracy_mean"] == pytest.approx(found.final.client_accuracy_mean, rel=1e-12)
    assert found.final.own["client_accuracy_mean"] > 2 * found.final.test_accuracy  # type: ignore[operator]


def test_a_class_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"^evaluation.metrics: class_accuracy_10: expected a class of the 10, 0 to 9, got 10$"):
        fb.run("digits-demo", "fedavg[cohort_size=3]", overrides=[*SMALL, "evaluation.metrics=[class_accuracy_10]"])
    assert measure_of(MetricPart(name="class_accuracy_9"), 10)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("client_acuracy_mean", r"expected path/to/file.py:Class or a metric of the library, got 'client_acuracy_mean'; did you mean"),
        ("test_accuracy", r"expected path/to/file.py:Class or a metric of the library, got 'test_accuracy'"),
        ("class_accuracy_03", r"expected path/to/file.py:Class or a metric of the library, got 'class_accuracy_03'"),
        ("{name: client_loss_mean, higher_is_better: true}", r"expected a metric of the library, .*, got 'client_loss_mean'"),
        ("{name: mine}", r"expected a metric of the library, or the code of one's own, got 'mine'"),
        (f"{{name: client_loss_mean, higher_is_better: false, sha256: {'a' * 64}}}", r"code and sha256 belong together, got one of them"),
    ],
)  # fmt: skip
def test_names_that_are_none(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        load("digits-demo", [f"evaluation.metrics=[{name}]"])
    assert "\n" not in str(error.value)


def test_a_scenario_of_a_record_is_the_same_one() -> None:
    scenario = load("digits-demo", [ALL])
    again = validate(scenario.resolved(), "record")
    assert again.content_hash() == scenario.content_hash()
    assert load(again) == scenario
    assert scenario.resolved()["evaluation"]["metrics"][0] == {"name": "client_accuracy_mean", "higher_is_better": True}  # type: ignore[index,call-overload]
