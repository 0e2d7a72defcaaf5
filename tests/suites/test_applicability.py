"""The table of what runs where is what the plan says today, and reasons are those that a user
meets."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fedbench import registry
from fedbench.cli.applicability import _write
from fedbench.cli.main import app
from fedbench.errors import UsageError
from fedbench.scenarios.load import load
from fedbench.scenarios.load import names as scenario_names
from fedbench.suites.applicability import Pair, page, paged, pairs
from fedbench.tasks.available import missing

PAGE = Path(__file__).resolve().parents[2] / "docs" / "applicability.md"
AGAIN = "write it anew: fedbench applicability -o docs/applicability.md"


def cells(text: str) -> dict[tuple[str, str], str]:
    """(algorithm, scenario) to `runs` or the reason."""
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    reasons = dict(line.split(". ", 1) for line in text.splitlines() if line.partition(". ")[0].isdigit())
    (_, *scenarios), _, *rows = table
    return {(row[0], name): reasons.get(cell, cell) for row in rows for name, cell in zip(scenarios, row[1:], strict=True)}


def test_the_page_has_everybody_everywhere() -> None:
    assert set(cells(PAGE.read_text())) == {(a, s) for a in registry.ALGORITHMS for s in paged()}, AGAIN


@pytest.mark.parametrize(
    ("given", "title"),
    [
        (["digits-demo", "digits-flaky", "-a", "fedlin"], "digits-demo and digits-flaky"),
        (["digits-demo", "-a", "fedlin", "--set", "dropout=0.1"], "digits-demo"),
    ],
)
def test_a_page_of_some_scenarios_says_which(given: list[str], title: str, tmp_path: Path) -> None:
    file = tmp_path / "some.md"
    result = CliRunner().invoke(app, ["applicability", *given, "-o", str(file)])
    assert result.exit_code == 0, result.output
    assert file.read_text().startswith(f"# What runs where: {title}\n")
    assert f"Made by `fedbench applicability {' '.join(given)} -o {file}`." in file.read_text()
    assert "Every built-in algorithm" not in file.read_text()


def test_scenarios_whose_data_one_must_bring_are_not_on_the_page() -> None:
    left_out = set(scenario_names()) - set(paged())
    brought = ("cifar", "a9a", "shakespeare", "cellular", "mrpc")
    assert left_out == {name for name in scenario_names() if any(part in name for part in brought)}
    assert "for a scenario whose data you bring,\n`fedbench applicability SCENARIO`" in PAGE.read_text()


def test_the_page_says_what_the_plan_says() -> None:
    """For the scenarios whose data every machine has."""
    embedded = [name for name in scenario_names() if load(name).task.name == "digits"]
    shown = cells(PAGE.read_text())
    for pair in pairs(embedded):
        assert shown[pair.algorithm, pair.scenario] == (pair.reason or "runs"), AGAIN


@pytest.mark.slow
@pytest.mark.fashion
def test_the_whole_page() -> None:
    if missing("fashion_mnist"):
        pytest.skip("no Fashion-MNIST here")
    assert page(pairs(paged())) == PAGE.read_text(), AGAIN


def test_one_pair_of_ones_own() -> None:
    (refused,) = pairs(["digits-demo"], ["fedecho"], ["public=null"])
    assert (refused.status, "it needs public_data" in refused.reason) == ("refused", True)
    (runs,) = pairs(["digits-demo"], ["fedavg[cohort_size=3]"])
    assert runs == Pair("digits-demo", "fedavg[cohort_size=3]", "runs", "")
    with pytest.raises(UsageError, match="did you mean 'fedavg'"):
        list(pairs(["digits-demo"], ["fedav"]))


def test_a_page_without_the_data_is_refused(tmp_path: Path) -> None:
    """It would say of a scenario only that this machine cannot tell."""
    with pytest.raises(UsageError, match="the data of far are not on this machine"):
        _write(tmp_path / "page.md", [Pair("near", "fedavg", "runs", ""), Pair("far", "fedavg", "no data", "looked")])
    assert not list(tmp_path.iterdir())
