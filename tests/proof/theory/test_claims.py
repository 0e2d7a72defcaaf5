"""The claims hold, and those that are quick enough are seen to fail."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from fedbench.algorithms.fedbuff import FedBuff
from fedbench.errors import UsageError
from fedbench.proof.theory import distilled, limits, moments, table
from fedbench.proof.theory.bed import problem, with_public_data

SECONDS = (
    "mean-staleness",
    "uniform-selection",
    "fedecho-step",
    "fedecho-teacher",
    "ca2fl-unbiased",
    "closed-network",
    "objective-inconsistency",
    "everybody-remembered",
)


def failing(name: str) -> list[str]:
    return [row.check for row in table.CLAIMS[name].measure() if not row.holds]


@pytest.mark.parametrize("name", SECONDS)
def test_quick_claims_hold(name: str) -> None:
    assert failing(name) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in table.CLAIMS if name not in SECONDS])
def test_slow_claims_hold(name: str) -> None:
    assert failing(name) == []


@pytest.mark.parametrize("wrong", [{"local_lr": 0.2}, {"scaling": "sqrt"}, {"server_lr": 0.4}])
def test_a_few_seeds_notice_a_wrong_algorithm(monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]) -> None:
    """The whole interval of the level lies outside of what is allowed."""
    monkeypatch.setattr(moments, "SEEDS", 6)
    monkeypatch.setattr(moments, "FedBuff", lambda **options: FedBuff(**(options | wrong)))
    _, late = moments.fedbuff.measure()
    assert late.low is not None
    assert late.high is not None
    assert late.low > 1.05 or late.high < 0.95


def test_a_wrong_limit_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """FedAvg whose clients do one step more than the closed form says."""
    monkeypatch.setattr(limits, "STEPS", [2, 3, 4, 7])
    B = limits.reach(limits.four_clients(), limits.RATE)
    monkeypatch.undo()
    on = limits.four_clients()
    x = limits.end(f"fedavg[sampling=all,weights=p,local_lr={limits.RATE}]", on)
    assert float(np.linalg.norm(x - limits.weighted_mean(B, on.c))) > 1e-3


def test_the_loss_of_distillation_by_hand() -> None:
    """Two classes: P = (3/4, 1/4), softmax(y) = (1/2, 1/2), so KL = log 2 - H(P), CE = log 2 and H is relative to log 2."""
    on = with_public_data(problem(dim=2), rows=1, classes=2)
    teacher = np.log([[3.0, 1.0]])
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    alpha = 0.8 * entropy / np.log(2) + 0.2 * (1 - entropy / np.log(2))
    found = distilled.loss(on, np.zeros(2), teacher)
    assert found == pytest.approx(alpha * (np.log(2) - entropy) + (1 - alpha) * np.log(2))


def test_claims_are_chosen_by_name() -> None:
    assert [claim.name for claim in table.chosen(["fedecho-step"])] == ["fedecho-step"]
    assert {claim.name for claim in table.chosen(quick=True)} < set(table.CLAIMS)
    with pytest.raises(UsageError, match=r"unknown claim 'fedecho-stop'.*fedecho-step"):
        table.chosen(["fedecho-stop"])


def test_every_claim_names_author_and_year_or_a_law() -> None:
    for claim in table.CLAIMS.values():
        assert claim.says.endswith("."), claim.name
        assert "20" in claim.source or claim.source == "Conservation of arrivals", claim.name
        assert "[0" not in claim.source, claim.name


def test_rows_are_written_as_json() -> None:
    for claim, row in table.rows(table.chosen(["mean-staleness"])):
        assert json.loads(json.dumps({"claim": claim.name, **row.as_dict()}))["holds"] is True
