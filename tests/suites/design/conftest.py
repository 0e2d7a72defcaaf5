"""Small designs."""

from __future__ import annotations

from typing import Any

from fedbench.scenarios.problems import validated
from fedbench.suites.design.schema import Design


def levels(*values: Any) -> dict[str, Any]:
    return {"levels": [{"level": value} for value in values]}


def made(factors: dict[str, Any], size: int, **more: Any) -> Design:
    """A design of so many points over these factors."""
    points = {"design": size, **more.pop("points", {})}
    return validated(Design, {"schema": 1, "name": "mine", "factors": factors, "points": points, **more}, "here")
