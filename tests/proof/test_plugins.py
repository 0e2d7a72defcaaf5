"""`fedbench test` of tasks and scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedbench.proof import plugins
from fedbench.proof.findings import Finding
from fedbench.scenarios.load import LIBRARY, names
from fedbench.scenarios.load import load as load_scenario
from fedbench.tasks import digits
from fedbench.tasks.task import Task


def failed(findings: object) -> list[str]:
    return [f"{f.check}: {f.detail}" for f in findings if f.status == "fail"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [n for n in names() if n.startswith("digits")])
def test_scenarios_of_the_embedded_data_keep_it(name: str) -> None:
    assert failed(plugins.check_scenario(name)) == []


@pytest.mark.parametrize("model", ["softmax", "mlp"])
def test_the_digits_keep_it(model: str) -> None:
    found = list(plugins.check_task("digits", model))
    assert failed(found) == []
    assert Finding("data", "pass", "1442 train, 355 test examples") in found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "budget: {updates: 1000000, seconds: 40}",
            "budget: {updates: 1000000, seconds: 0.05}",
            "the budget ends before the first update",
        ),
        ("about: Handwritten", "about: ''\n# Handwritten", "about: expected a sentence"),
        ("clients: 20", "clients: 2000", "two_class"),
    ],
)
def test_what_is_wrong_with_a_scenario_is_said(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = (LIBRARY / "digits-demo.yaml").read_text()
    assert old in text
    file = tmp_path / "mine.yaml"
    file.write_text(text.replace(old, new))
    assert any(expected in line for line in failed(plugins.check_scenario(str(file))))


def test_a_scenario_may_have_few_clients(tmp_path: Path) -> None:
    file = tmp_path / "few.yaml"
    file.write_text((LIBRARY / "digits-demo.yaml").read_text().replace("clients: 20", "clients: 7"))
    assert load_scenario(file).clients == 7
    assert failed(plugins.check_scenario(str(file))) == []


def test_a_task_that_is_never_the_same_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its split depends on how often it was loaded."""
    loads: list[int] = []

    def load(model: str = "softmax") -> Task:
        loads.append(1)
        task = digits.load(model)
        part = task.dataset.train.subset(slice(len(loads), None))
        return Task(task.name, task.model, type(task.dataset)(task.dataset.name, part, task.dataset.test, task.dataset.classes))

    monkeypatch.setattr("fedbench.registry.find", lambda kind, name: load if kind == "task" else None)
    found = {f.check: f for f in plugins.check_task("digits", "softmax")}
    assert found["data"].detail == "loading again gives other data; splits may not depend on chance"
    plugins.load_task.cache_clear()
