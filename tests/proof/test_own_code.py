"""What `fedbench test` finds in metrics and local optimisers: every mistake by the check for it, in
one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.cli.test import checks_of
from fedbench.proof import metrics, optimizers
from fedbench.proof.findings import Broken, Finding, findings_in
from fedbench.proof.own_runs import same_records

METRIC = """
import random
import numpy as np
import fedbench as fb

class F(fb.Metric):
    name = "f"
    seen = []
    higher_is_better = {direction}

    def value(self, logits, labels, features):
        guess = logits.argmax(axis=1)
        right = float((guess == labels).mean())
        {body}
"""
OPTIMIZER = """
import numpy as np
import fedbench as fb

class O(fb.Optimizer):
    seen = []

    def init(self, parameters):
        {init}

    def update(self, parameters, gradient, state, step, lr):
        {body}
"""


def found(kind: str, check: str, file: Path, text: str) -> Finding:
    """Returns what one check of this code finds."""
    file.write_text(text)
    if kind == "metric":
        one = metrics.CHECKS[check]
        return next(findings_in({check: one}, lambda: metrics.World(f"{file}:F", "digits")))
    other = optimizers.CHECKS[check]
    return next(findings_in({check: other}, lambda: optimizers.World(f"{file}:O")))


def assert_fails(finding: Finding, message: str) -> None:
    assert finding.status == "fail"
    assert message in finding.detail
    assert "\n" not in finding.detail.partition("\n  ")[0]


@pytest.mark.parametrize(
    ("check", "body", "message"),
    [
        ("arguments", "logits -= 1; labels[0] = 1; return right", "value changes its logits and its labels; change a copy"),
        ("arguments", "features *= 2; return right", "value changes its features; change a copy"),
        ("number", "logits -= 1; return right", "in value: ValueError: output array is read-only"),
        ("number", "return float('nan')", "expected a finite value for drawn logits of 60 examples of all classes, got nan"),
        ("number", "return right / (len(set(labels.tolist())) - 1)", "ZeroDivisionError: float division by zero"),
        ("number", "return 'good'", "value must give a number, got 'good'"),
        ("number", "return right + random.random()", "for the same logits; it must depend on its arguments alone"),
        ("no state", "self.seen.append(right); return float(len(set(self.seen)))", "something is kept outside of the arguments"),
        ("direction", "return 1 - right", "higher_is_better is True, but right predictions have 0 and wrong ones 1"),
        ("another process", "return right + hash('a') % 1000", "another process has "),
    ],
)  # fmt: skip
def test_mistakes_of_a_metric(check: str, body: str, message: str, tmp_path: Path) -> None:
    assert_fails(found("metric", check, tmp_path / "m.py", METRIC.format(direction=True, body=body)), message)


def test_directions_of_a_metric(tmp_path: Path) -> None:
    """Less of an error rate is better; what is equal has none."""
    for i, (direction, body) in enumerate(((False, "1 - right"), (True, "right"), (True, "1.0"), (False, "1.0"))):
        text = METRIC.format(direction=direction, body=f"return {body}")
        assert found("metric", "direction", tmp_path / f"m{i}.py", text).status == "pass"


@pytest.mark.extra("torch")
@pytest.mark.parametrize(
    ("check", "init", "body", "message"),
    [
        ("declared", "raise ValueError('no memory')", "return parameters, state", "ValueError: no memory"),
        ("arguments", "parameters += 1", "return parameters - lr * gradient, state", "init changes its parameters; change a copy"),
        ("arguments", "pass", "parameters -= lr * gradient; return parameters, state", "update changes its parameters; return new"),
        ("arguments", "pass", "gradient /= 2; return parameters - lr * gradient, state", "update changes its gradient; return new"),
        ("shape", "pass", "return parameters - lr * gradient.astype(float), state", "got float64 (400,); a numpy float64 scalar"),
        ("shape", "pass", "return parameters - lr * gradient", "update must return parameters and state, got array("),
        ("shape", "pass", "return (parameters - lr * gradient)[:1], state", "must return parameters float32 (400,), got float32 (1,)"),
        ("shape", "pass", "return parameters - gradient / np.abs(gradient).max(), state", "400 of 400 parameters are not finite"),
        ("shape", "pass", "return parameters - gradient * np.random.rand(), state", "gives other parameters for the same arguments"),
        ("no state", "pass", "self.seen.append(1); return parameters - gradient * float(len(self.seen) > 30), state", "after another job"),
        ("no state", "self.seen.clear()", "self.seen.append(step); return parameters - gradient * len(self.seen), state", "beside another"),
        ("direction", "pass", "return parameters + lr * gradient, state", "parameters must go against the gradient"),
        ("direction", "pass", "return parameters, state", "50 steps of 0.01 from 194.2 down a bowl end at 194.2"),
        ("another process", "pass", "return parameters - lr * gradient * float(hash('a') % 1000), state", "another process gives other"),
    ],
)  # fmt: skip
def test_mistakes_of_an_optimizer(check: str, init: str, body: str, message: str, tmp_path: Path) -> None:
    assert_fails(found("optimizer", check, tmp_path / "o.py", OPTIMIZER.format(init=init, body=body)), message)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("metric", "import fedbench as fb\nclass F(fb.Metric): pass\n", "the body of class F must state `name`"),
        ("metric", "import fedbench as fb\nclass F(fb.Metric): name = 'f'\n", "value(logits, labels, features) is not written"),
        ("metric", "class F: name = 'f'\n", "expected a class that extends fedbench.Metric"),
        ("optimizer", "class O: pass\n", "expected a class that extends fedbench.Optimizer"),
        (
            "optimizer",
            "import fedbench as fb\nclass O(fb.Optimizer): pass\n",
            "update(parameters, gradient, state, step, lr) is not",
        ),
    ],
)
def test_what_is_none(kind: str, text: str, message: str, tmp_path: Path) -> None:
    assert_fails(found(kind, "arguments", tmp_path / "n.py", text), message)


def test_a_world_that_cannot_be_made_counts_once(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("import fedbench as fb\nclass F(fb.Metric): pass\n")
    statuses = [one.status for one in metrics.check(f"{tmp_path}/m.py:F", "digits")]
    assert statuses == ["fail", *["same"] * 6]
    other = next(metrics.check(f"{tmp_path}/m.py:F", "digit"))
    assert_fails(other, "must state `name`")


@pytest.mark.extra("torch")
def test_the_kind_is_that_of_the_class(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(METRIC.format(direction=True, body="return right"))
    (tmp_path / "o.py").write_text(OPTIMIZER.format(init="pass", body="return parameters - lr * gradient, state"))
    assert checks_of(f"{tmp_path}/m.py:F", "softmax", "digits")[0] == "metric"
    assert checks_of(f"{tmp_path}/o.py:O", "softmax", "digits")[0] == "optimizer"


def test_runs_that_differ_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what changes from run to run, by waves, and by what a checkpoint does not have."""
    from fedbench.engine.run import Run

    assert same_records([]) == "8 updates, again, with 4 workers and waves of 1, and restored"
    plain = Run.record
    for number, message in (
        (1, "a second run differs"),
        (2, "with 4 workers and waves of 1 job the run differs"),
        (4, "restored after update 4"),
    ):
        calls: list[Run] = []

        def record(run: Run, number: int = number, calls: list[Run] = calls) -> object:
            calls.append(run)
            found = plain(run)
            changed = found.digests.model_copy(update={"result": "0" * 32}) if len(calls) == number + 1 else found.digests
            return found.model_copy(update={"digests": changed})

        monkeypatch.setattr(Run, "record", record)
        with pytest.raises(Broken, match=message):
            same_records([])
