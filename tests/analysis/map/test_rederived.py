"""What a map says, derived a second time by another method that knows nothing of the package."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fedbench.analysis.map.answers import always, close_to_best, predicted_set, waiting
from fedbench.analysis.map.draws import drawn
from fedbench.analysis.map.factors import Design
from fedbench.analysis.map.fit import fit
from fedbench.analysis.map.prediction import judged
from tests.analysis.map import rederive
from tests.analysis.map.made_up import FACTORS, PAIRS, World, levels, points

KINDS = {"skew": ("iid", "dirichlet", "two_class"), "spread": "linear", "at_work": "log", "steps": "log"}
SQUARES = ("spread", "at_work")


def test_the_second_way_imports_numpy_and_scipy_only() -> None:
    tree = ast.parse(Path(rederive.__file__).read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.split(".")[0] for name in names} == {"numpy", "scipy"}


@pytest.fixture(scope="module", name="both")
def _both() -> SimpleNamespace:
    """The same columns with censored runs, both ways."""
    generator = np.random.Generator(np.random.Philox(33))
    at = points(generator, 30)
    truth = World(algorithms=4, departure=(0.2, 0.15, 0.08, 0.1)).truth(generator, Design.over(FACTORS, PAIRS, at))
    columns = truth.runs(generator, at["point"], truth.expected(generator, at), seeds=(2, 4), censored=0.25)
    new: dict[str, Any] = {"point": [f"new{n}" for n in range(12)], **levels(generator, 12)}
    held_out = truth.runs(generator, new["point"], truth.expected(generator, new), seeds=(2, 6))
    ours, ours_main = (drawn(fit(columns, at, FACTORS, pairs)) for pairs in (PAIRS, ()))
    model, main = (rederive.Columns(KINDS, SQUARES, pairs, at) for pairs in (PAIRS, ()))
    theirs, theirs_main = (rederive.sampled(one, at, columns) for one in (model, main))
    return SimpleNamespace(**locals())


@pytest.mark.slow
def test_log_costs_and_their_intervals(both: SimpleNamespace) -> None:
    found, again = both.ours.costs(both.new), rederive.costs_at(both.model, both.theirs, both.new)
    low, high = np.quantile(again, (0.025, 0.975), axis=0)
    print(
        "largest difference of means",
        np.abs(found.value - again.mean(axis=0)).max(),
        "width",
        ((found.high - found.low) / (high - low)).mean(),
    )
    assert (np.abs(found.value - again.mean(axis=0)) < 0.03 + 0.35 * (high - low) / 2).all()
    assert np.mean((found.high - found.low) / (high - low)) == pytest.approx(1, abs=0.15)


@pytest.mark.slow
def test_answers(both: SimpleNamespace) -> None:
    costs, again = both.ours.at(both.new), rederive.costs_at(both.model, both.theirs, both.new)
    regret = rederive.regret(again)
    close = (regret <= np.log(1.1)).mean(axis=0)
    assert np.abs(close_to_best(costs) - close).mean() < 0.05
    assert np.log(always(both.ours, both.new).value) == pytest.approx(regret.mean(axis=(0, 1)), abs=0.04)
    assert np.abs(predicted_set(costs).sum(axis=1) - rederive.in_set(again)).max() <= 1
    here = {"skew": ["iid"] * 4, "steps": [10] * 4, "spread": [0, 0, 1.2, 1.2], "at_work": [5, 100, 5, 100]}
    found = waiting(both.ours, np.array([False, True, True, False]), here, np.ones((4, 4), bool))
    again = rederive.costs_at(both.model, both.theirs, here)
    price = (again[:, :, 1:3].min(axis=2) - again[:, :, [0, 3]].min(axis=2)).mean(axis=0)
    assert np.log(found.value) == pytest.approx(price, abs=0.12)


@pytest.mark.slow
def test_the_verdict_on_prediction(both: SimpleNamespace) -> None:
    names = ["a0", "a1", "a2", "a3"]
    found = judged(both.ours, both.ours_main, both.held_out, both.at, both.new, dict.fromkeys(both.new["point"], names))
    true = rederive.regret(rederive.measured(both.new["point"], both.held_out, names))
    model, main = (
        rederive.regret(rederive.costs_at(one, draws, both.new)).mean(axis=0)
        for one, draws in ((both.model, both.theirs), (both.main, both.theirs_main))
    )
    near = rederive.regret(rederive.measured(both.at["point"], both.columns, names))[
        rederive.nearest(both.model, both.at, both.new)
    ]
    again = [float(np.sqrt(np.mean((one - true) ** 2))) for one in (model, near, main)]
    print("errors", (found.error, found.nearest, found.main), "derived again", again)
    assert found.nearest == pytest.approx(again[1], abs=1e-9), "no model is in it"
    assert (found.error, found.main) == pytest.approx((again[0], again[2]), abs=0.03)
