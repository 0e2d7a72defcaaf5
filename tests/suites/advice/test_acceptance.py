"""The forty scenarios by which advice is judged, and how they judge it."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import pytest

from fedbench.analysis.map.saved import write
from fedbench.engine.heterogeneity import Heterogeneity
from fedbench.suites.design import schema as designs
from tests.analysis.map.made_up_map import made_up
from tests.suites.advice import acceptance
from tests.suites.advice.acceptance import Asked, Outcome, central, drawn, holds, judged, summary

ACCURACY = dict.fromkeys(central(drawn()), 0.9)


def test_they_were_drawn_before_any_map() -> None:
    """Another list would be another test. Budgets are those of the suite's design, and may change
    with it."""
    content = json.dumps([[one.other, [key for key in one.keys if not key.startswith("budget")]] for one in drawn()])
    assert hashlib.sha256(content.encode()).hexdigest()[:16] == "b36272ad2bdf27e2"


@pytest.mark.fashion
def test_25_lie_on_the_map_and_15_off_it() -> None:
    """Every fourth is measured: it lies between the levels, up to what a hundred clients
    scatter."""
    asked, factors = drawn(), designs.load("map").factors
    assert [not one.other for one in asked] == [True] * 25 + [False] * 15
    for one in asked[:25:4]:
        here = Heterogeneity(one.scenario(ACCURACY))
        assert 0 < here.skew < 0.81
        for name in ("spread", "available", "upload", "steps", "at_work", "tied_to_size", "tied_to_label"):
            low, *_, high = factors[name].numbers or ()
            assert low * 0.99 <= getattr(here, name) <= high * 1.25, (one, name)


def test_targets_of_other_tasks_are_shares_of_central_training() -> None:
    for one in drawn()[25:]:
        values = [target.value for target in one.scenario(ACCURACY).targets]
        assert values == ([0.72, 0.81, 0.855] if any(key.startswith("task") for key in one.other) else [0.694, 0.781, 0.825])


@pytest.mark.parametrize(
    ("named", "missing", "wanted"),
    [
        (["a"], "", Outcome(True, 1.0)),
        (["b", "a"], "", Outcome(True, 1.05)),
        (["c", "b"], "", Outcome(True, 2.0)),
        (["c"], "", Outcome(False, 2.0)),
        (["b"], "b", Outcome(False, 1.05)),
        (["c"], "ab", Outcome(True, 1.0)),
        ([], "", Outcome(False, float("inf"))),
    ],
)
def test_an_advice_is_judged_by_the_best_that_misses_nothing(named: list[str], missing: str, wanted: Outcome) -> None:
    cost = {"a": math.log(1), "b": math.log(1.05), "c": math.log(2)}
    found = judged(named, cost, {name: name not in missing for name in cost})
    assert found.hit == wanted.hit
    assert found.regret == pytest.approx(wanted.regret)


def test_advice_holds_with_36_hits_and_a_small_regret() -> None:
    def several(hits: int, regret: float) -> list[Outcome]:
        return [Outcome(number < hits, regret) for number in range(40)]

    assert holds(several(36, 1.1))
    assert not holds(several(35, 1.1))
    assert not holds(several(40, 1.11))
    assert summary(several(36, 1.07)) == (
        "36 of 40 named sets have a row within 10 % of the best (76 to 97 %); median cost of the first over the best 1.070"
    )


def test_it_runs_prices_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Two small scenarios, one of them with another model."""
    write(tmp_path / "map.npz", made_up())
    small = ("clients=8", "at_work=4", "budget.seconds=6", "partition.kind=iid")
    monkeypatch.setattr(acceptance, "BASE", "digits-demo")
    monkeypatch.setattr(acceptance, "SEEDS", 2)
    monkeypatch.setattr(acceptance, "CENTRAL", ("budget.seconds=2", "targets=[]"))
    monkeypatch.setattr(acceptance, "drawn", lambda: [Asked((), small), Asked(("task.model=softmax",), small)])
    words = [str(tmp_path / "runs"), "--map", str(tmp_path / "map.npz")]
    acceptance.main([*words, "--price"])
    assert " runs, " in capsys.readouterr().out
    acceptance.main(words)
    first = capsys.readouterr().out
    assert "of 2 named sets" in first.splitlines()[-2]
    acceptance.main([*words, "--price"])
    assert capsys.readouterr().out.startswith("0 runs, ")
    acceptance.main(words)
    assert capsys.readouterr().out == first
