"""A suite's overview, made up, and the runs behind its rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fedbench.documents.suite import Document
from fedbench.leaderboard.document import Runs, of_suite
from fedbench.results.record import Record

TEN, ALL = "10 clients at work", "all clients at work"
POINTS = [
    {
        "name": name,
        "axis": "delay",
        "about": f"It is {name}.",
        "sentence": "With 10 of 100 clients at work: `fast` costs least.",
        "clients": 100,
        "budget_seconds": 100.0,
        "every_seconds": 1.0,
        "targets": [0.8],
        "scenario": "made-up-base",
        "scenario_hash": "c0ffee",
        "settings": ["network: {'latency_seconds': 1.0}"] if name == "rough" else [],
    }
    for name in ("calm", "rough")
]


def row(
    label: str, cost: float, group: str | None = TEN, *, solved: float = 1.0, least: float | None = None, is_open: bool = False
) -> dict[str, Any]:
    """A row of a board. `least` is the cost of the cheapest row of its system, by default its own;
    its regret has an interval of 20 % either way. With `is_open` no target gets a verdict."""
    ratio = None if solved == 0 or is_open or group is None else over(cost, least or cost, is_bound=solved < 1)
    is_best = ratio is not None and ratio[1] is not None and ratio[1] <= 1
    axis = {"cost": None if is_open else 100 * cost, "is_bound": solved < 1, "regret": ratio, "is_best": is_best}
    return {
        "label": label, "group": group, "under_way": 9.5, "cost": cost, "is_bound": solved < 1, "costs": {}, "regret": ratio,
        "is_best": is_best, "solved": solved, "unfinished": 0,
        "targets": [{
            "target": 0.8, "has_verdict": not is_open, "hits": round(10 * solved), "cost": cost, "median": cost, "bytes": 1.0,
        }],
        "axes": {} if group is None else {"gradient_evaluations": axis, "bytes": axis}, "against": {}, "marks": [],
    }  # fmt: skip


def over(cost: float, other: float, *, is_bound: bool = False) -> list[float | None]:
    ratio = cost / other
    return [ratio, 0.8 * ratio, None if is_bound else 1.2 * ratio]


def board(*rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows that know each other."""
    for one in rows:
        several = [other for other in rows if other["group"] == one["group"] is not None and other is not one]
        if any(target["has_verdict"] for target in one["targets"]):
            one["against"] = {other["label"]: over(one["cost"], other["cost"], is_bound=one["is_bound"]) for other in several}
    return list(rows)


def groups(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The systems of a board."""
    found = []
    for kind in dict.fromkeys(one["group"] for one in rows if one["group"]):
        own = sorted((one for one in rows if one["group"] == kind), key=lambda one: float(one["cost"]))
        is_open = not any(target["has_verdict"] for one in own for target in one["targets"])
        leader = None if is_open or not own[0]["solved"] else own[0]["label"]
        axis = {
            "leader": leader, "best": [one["label"] for one in own if one["is_best"]], "resolution": 1.3, "stability": 0.9,
        }  # fmt: skip
        found.append({
            "kind": kind, "words": kind.replace("10", "10 of 100"), "at_work": 10 if kind.startswith("10") else 100,
            "public_data": "public" in kind, "rows": [one["label"] for one in own], "targets": [] if is_open else [0.8],
            "axes": dict.fromkeys(("seconds", "gradient_evaluations", "bytes"), axis), "leaders": {"window": leader, "touch": leader},
        })  # fmt: skip
    return found


def algorithm(label: str, group: str | None = TEN, family: str = "asynchronous") -> dict[str, Any]:
    return {"label": label, "selector": label, "family": family, "group": group}


BOARDS = {
    "calm": board(
        row("pooled", 1, None), row("fast", 10), row("near", 11, least=10), row("slow", 41, solved=0.5, least=10),
        row("crowd", 5, ALL), row("mob", 6, ALL, least=5),
    ),
    "rough": board(row("fast", 20), row("slow", 100, solved=0.0, least=20), row("crowd", 3, ALL, is_open=True)),
}  # fmt: skip
CONTENT: dict[str, Any] = {
    "schema": 6, "name": "made-up", "title": "Suite made-up", "note": "", "kinds": ["tuned"], "labels": {}, "timelines": {}, "sections": {},
    "axis": {"name": "seconds", "column": "seconds", "words": "virtual time", "unit": "s"},
    "suite": {
        "name": "made-up", "hash": "ab", "about": "It is made up.", "runs": 40, "seeds": 10, "trials": 5, "rules": 1,
        "commits": ["0123456789abcdef"],
    },
    "definitions": ["**Regret** is a ratio."],
    "sentences": ["`a` costs least; <b>never</b> run."],
    "points": POINTS,
    "algorithms": [
        algorithm("slow"), algorithm("near"), algorithm("fast"), algorithm("crowd", ALL), algorithm("mob", ALL),
        algorithm("pooled", None, family="reference"), algorithm("untried"),
    ],
    "boards": {"tuned": BOARDS, "default": {}},
    "groups": {"tuned": {point: groups(rows) for point, rows in BOARDS.items()}, "default": {}},
    "profiles": {"factors": [0.5, 1.0, 2.0, 4.0], "shares": {"tuned": {"fast": [0, 0.5, 1, 1], "slow": [0, 0, 0, 0.25]}, "default": {}}},
    "absent": {"no run": ["untried at calm"]},
}  # fmt: skip


def read(content: Mapping[str, Any]) -> Document:
    return Document.model_validate_json(json.dumps(content))


DOCUMENT = read(CONTENT)


def runs(record: Callable[..., Record]) -> Runs:
    """Three runs behind every row of the boards."""
    return {
        kind: {
            point: {one.label: [record(one.label, seed, scenario_hash=f"c0ffee{point}") for seed in range(3)] for one in rows}
            for point, rows in boards.items()
        }
        for kind, boards in DOCUMENT.boards.items()
    }


def full(record: Callable[..., Record], name: str = "made-up", **changes: Any) -> Document:
    """The document of the suite."""
    suite = {**CONTENT["suite"], "name": name}
    return of_suite(read({**CONTENT, "name": name, "title": f"Suite {name}", "suite": suite, **changes}), runs(record))


def _ratio(value: float) -> list[float]:
    return [value, value - 0.1, value + 0.1]


def _always(row: str, value: float) -> dict[str, Any]:
    more = {"points": 2, "best": 1, "worst_at": "rough", "others": {"bytes": _ratio(3.0)}}
    return {"row": row, "mean": _ratio(value), "worst": _ratio(2 * value), **more}


MAP: dict[str, Any] = {
    "predicted": ["seconds", "bytes"], "points": 2, "algorithms": ["fast", "near", "slow"], "public_data": [], "left_out": {},
    "middle": "speed 1 (all are as fast)",
    "columns": [{"axis": "seconds", "at_work": TEN}, {"axis": "bytes", "at_work": TEN}],
    "kinds": [
        {
            "name": "the middle", "words": "all are as fast",
            "choices": [
                {"cost": [10.0, 9.0, 11.0], "tries": {"fast": _ratio(1.0), "near": _ratio(1.2), "slow": _ratio(1.5), "a": _ratio(1.6)}},
                {"cost": [2e6, 1e6, 3e6], "tries": {"near": _ratio(1.0)}},
            ],
        },
        {"name": "speed 4", "words": "some are slow", "choices": [{"cost": [20.0, 9.0, 31.0], "tries": {"mob": _ratio(1.0)}}, None]},
    ],
    "notes": [],
    "everywhere": [{"where": "", "points": 2, "rows": [_always("near", 1.1), _always("slow", 2.0)], "left_out": ["crowd"]}],
    "waiting": {
        "unit": "fastest over slowest", "at_work": [TEN, ALL],
        "rows": [
            {"level": "1", "prices": [{"ratios": [_ratio(0.9)]}, None]},
            {"level": "4", "prices": [{"ratios": [_ratio(2.5)]}, {"ratios": [_ratio(1.2), _ratio(1.4)], "points": 2}]},
        ],
    },
    "elsewhere": [
        {
            "suite": "other", "about": "With another model.",
            "axes": [
                {
                    "axis": "seconds", "points": 2, "agreement": [0.5, -0.1, 0.9], "alike": 0.81, "regret": _ratio(1.3),
                    "missed": [{"point": "rough", "first": "near", "best": "fast", "ratio": [1.7, 1.7, None]}],
                }
            ],
        }
    ],
    "sure": {
        "seeds": [3, 10], "censored": 0.04, "seed": 0.06, "noise": 0.09, "fit": _ratio(0.2), "luck": 0.21,
        "resolution": 1.3, "boards": 9, "changed": 4,
        "judged": [
            {
                "axis": "seconds", "predicts": True, "error": 0.12, "nearest": 0.2, "main": 0.16, "named": 3.0, "hits": 11, "points": 12,
                "missed": {"rough": "speed 4"}, "undecided": {},
            }
        ],
    },
}  # fmt: skip
"""What the suite says over a factor, if its points were those of a design."""
