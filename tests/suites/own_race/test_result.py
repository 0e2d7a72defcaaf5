"""The result of a race as values."""

from __future__ import annotations

from .test_words import RESULT


def test_values_of_a_result() -> None:
    content = RESULT.as_dict()
    assert content["store"] == "runs/race-mine"
    (one,) = content["systems"]  # type: ignore[misc]
    assert one["best"]["seconds"][1]["regret"] == {"value": 1.11, "low": 0.97, "high": 1.25}
    assert one["next"] == {"seeds": 20, "minutes": 3.0, "resolution": 1.2, "apart": ["fedavg"]}
