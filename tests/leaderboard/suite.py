"""A suite's overview, made up, and the runs behind its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fedbench.leaderboard.document import of_suite
from fedbench.results.record import Record

POINTS = [
    {
        "name": name,
        "axis": "delay",
        "about": f"It is {name}.",
        "sentence": "First: `fast`.",
        "budget_seconds": 100.0,
        "every_seconds": 1.0,
        "scenario": "made-up-base",
        "scenario_hash": "c0ffee",
        "settings": {"network": {"latency_seconds": 1.0}} if name == "rough" else {},
        "resolution": {"tuned": 2.0},
    }
    for name in ("calm", "rough")
]


def row(
    label: str, mean: float, *, solved: float = 1.0, first: bool = False, alike: bool = False, place: int | None = 0
) -> dict[str, Any]:
    targets = [{"target": 0.8, "hits": round(10 * solved), "median": mean, "bytes": 1.0}]
    return {
        "label": label, "mean": mean, "half_width": 0.5, "solved": solved, "first": first, "first_alike": alike, "place": place,
        "seconds": {str(seed): mean for seed in range(10)}, "targets": targets, "unfinished": 0,
    }  # fmt: skip


def algorithm(label: str, *advantages: str, family: str = "asynchronous") -> dict[str, Any]:
    return {"label": label, "selector": label, "family": family, "advantages": list(advantages)}


DOCUMENT: dict[str, Any] = {
    "suite": {
        "name": "made-up", "hash": "ab", "about": "It is made up.", "runs": 40, "seeds": 10, "trials": 5, "rules": 1,
        "commits": ["0123456789abcdef"],
    },
    "definitions": ["**First** is the earliest."],
    "sentences": ["`a` is first; <b>never</b> run."],
    "points": POINTS,
    "algorithms": [
        algorithm("slow"), algorithm("fast"), algorithm("crowd", "more than 10 clients at work at a time"),
        algorithm("pooled", family="reference"), algorithm("untried"),
    ],
    "boards": {
        "tuned": {
            "calm": [
                row("pooled", 1, place=None), row("crowd", 5, first=True), row("fast", 10, alike=True),
                row("slow", 41, solved=0.5, place=2),
            ],
            "rough": [row("fast", 20, first=True), row("slow", 100, solved=0.0, place=1)],
        },
        "published": {},
    },
    "profiles": {"factors": [0.5, 1.0, 2.0, 4.0], "shares": {"tuned": {"fast": [0, 0.5, 1, 1], "slow": [0, 0, 0, 0.25]}, "published": {}}},
    "absent": {"no run": ["untried at calm"]},
}  # fmt: skip


def runs(record: Callable[..., Record]) -> dict[str, dict[str, dict[str, Sequence[Record]]]]:
    """Three runs behind every row of the boards."""
    return {
        kind: {
            point: {
                one["label"]: [record(one["label"], seed, scenario_hash=f"c0ffee{point}") for seed in range(3)] for one in rows
            }
            for point, rows in boards.items()
        }
        for kind, boards in DOCUMENT["boards"].items()
    }


def full(record: Callable[..., Record], name: str = "made-up", **changes: Any) -> Mapping[str, Any]:
    """The document of the suite."""
    return of_suite({**DOCUMENT, "suite": {**DOCUMENT["suite"], "name": name}, **changes}, runs(record))
