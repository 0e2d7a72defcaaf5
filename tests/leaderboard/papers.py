"""What is said of a paper, made up: every verdict, every kind of remark, orders, variations,
theorems, a figure, and code beside it."""

from __future__ import annotations

import copy
import json
from collections import Counter
from typing import Any

from fedbench.documents.paper import Paper

CODE = {
    "place": "(1)",
    "says": "F is minimised.",
    "file": "fedbench/x.py",
    "first": 3,
    "last": 4,
    "holds": "a = 1\n    b = a < 2",
}
NO_CODE = {"place": "Alg. 1 line 1", "says": "For each client:", "not_code": "It opens a loop."}


def cell(number: int, verdict: str = "reproduced", **more: Any) -> dict[str, Any]:
    """A printed number in a column of algorithms and one of shares."""
    known = {
        "number": number, "setting": ["FedAvg", "0.1"], "printed": "51.9", "ours": "52.1 ± 3.0", "seeds": ["51", "52", "53"],
        "verdict": verdict, "why": f"Why {number}.", "guesses": [], "substitute": "", "note": "",
        "command": f"fedbench reproduce 001:T1 --cells {number}", "hours": 0.5, "steps": 1000,
    }  # fmt: skip
    return known | more


def table(name: str, kind: str, cells: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """A table with these cells."""
    known = {
        "name": name, "address": f"001:{name}", "about": f"Rounds of {name}.", "kind": kind, "command": f"fedbench reproduce 001:{name}",
        "counts": dict(Counter(one["verdict"] for one in cells)), "columns": ["algorithm", "share_of_data"], "cells": cells,
        "runs": 3 if kind == "runs" else 0, "spent": 1.5 if kind == "runs" else 0.0,
        "orders": [], "variations": [], "explained": [],
    }  # fmt: skip
    return known | more


def order(where: str, printed: str, kept: str, substitute: str = "") -> dict[str, Any]:
    return {"where": where, "printed": printed, "order": kept, "seeds": 3, "substitute": substitute}


def line(row: str) -> dict[str, Any]:
    at, mean = [0.0, 5.0, 10.0], [0.1, 0.5, 0.8]
    return {
        "row": row,
        "at": at,
        "middle": mean,
        "low": mean,
        "high": mean,
        "band": "t",
        "seeds": 3,
        "unfinished": 0,
        "hits": [3],
    }


def claim(check: str, kind: str, **more: Any) -> dict[str, Any]:
    known = {
        "claim": "fedavg-orders", "source": "A et al., Theorem 1", "check": check, "kind": kind, "measured": -0.48, "expected": -0.5,
        "allowed": 0.1, "low": None, "high": None, "sign": 1, "shares": {"noise": 0.5}, "holds": True,
    }  # fmt: skip
    return known | more


def point(row: str, label: str, ours: float, **more: Any) -> dict[str, Any]:
    known = {"row": row, "label": label, "printed": 51.9, "ours": ours, "low": None, "high": None, "is_bound": False}
    return known | {"inside": 0.85 <= ours / 51.9 <= 1.18} | more


def picture() -> dict[str, Any]:
    """Two panels: a number with an interval, one that agrees with one seed, and one that is
    larger."""
    panels = [
        {"title": "equal data", "points": [point("FedAvg", "1", 52.1, low=49.1, high=55.1), point("FedBuff", "2", 60.0)]},
        {"title": "unequal data", "points": [point("FedBuff", "3", 90.0, is_bound=True)]},
    ]
    data = {"unit": "rounds", "least": 0.85, "most": 1.18, "panels": panels}
    return {"about": "Printed against ours, in words.", "file": "001-t1-printed-and-ours.svg", "data": data}


def first_table() -> dict[str, Any]:
    """Runs: a guess of one cell, another of all, a substitute, a note; two variations."""
    everybody = "The rates are guessed."
    cells = [
        cell(1, guesses=[everybody]),
        cell(2, "close", guesses=[everybody, "The steps are guessed."]),
        cell(
            3,
            "contradicted",
            guesses=[everybody, "The steps are guessed."],
            setting=["FedBuff", "0.1"],
            seeds=[">90"],
            ours=">90",
        ),
        cell(
            4,
            "not run",
            guesses=[everybody],
            seeds=[],
            ours="",
            hours=72.0,
            substitute="Digits stand in.",
            setting=["FedBuff", ""],
        ),
        cell(5, "not comparable", guesses=[everybody], note="A gap is before it.", printed="2"),
        cell(6, "not decided", guesses=[everybody], seeds=["80"], ours="80"),
    ]
    varied = [{"number": 3, "printed": "51.9", "seeds": ["60", "61"]}, {"number": 2, "printed": "51.9", "seeds": []}]
    return table(
        "T1", "runs", cells,
        orders=[
            order("0.1", "FedAvg < FedBuff", "kept"), order("", "b > c", "undecided"),
            order("0.1", "c < d", "broken", "Digits stand in."),
            order("", "b > d", "kept once"), order("", "c > d", "broken once"),
        ],
        variations=[
            {"name": "fast", "about": "One client is fast.", "set": ["local.steps = 7"], "cells": varied},
            {"name": "slow", "about": "One client is slow.", "set": [], "cells": [{**varied[0], "ours": "8 ± 2"}]},
        ],
        explained=["With a fast client it is nearer."], picture=picture(),
    )  # fmt: skip


def facts(count: int) -> list[dict[str, Any]]:
    """So many cells of configuration, of which the seventh differs."""
    given = {"seeds": [], "hours": None, "steps": None, "ours": "0.1"}
    return [cell(number, "differs" if number == 7 else "agrees", **given) for number in range(1, count + 1)]


def made(key: str = "wu2021", **more: Any) -> Paper:
    """The document."""
    return read(content(key, **more))


def read(content: dict[str, Any]) -> Paper:
    return Paper.model_validate_json(json.dumps(content))


def content(key: str = "wu2021", **more: Any) -> dict[str, Any]:
    """What its file has."""
    tables = [
        first_table(),
        table("T2", "configuration", facts(40)),
        table(
            "TI",
            "theory",
            [cell(1, "consistent with the bound", printed="O(1/T)", ours="against T -0.50", seeds=[], hours=None, steps=None)],
        ),
    ]
    counts = {each["kind"]: dict(Counter(one["verdict"] for one in each["cells"])) for each in tables}
    known = {
        "number": "001", "key": key, "cited": "Wu et al. 2021", "title": "A calibration", "venue": "Journal",
        "link": "https://arxiv.org/abs/2112.09355",
        "claim": "A calibration removes a bias.", "said": "Little comes out.", "rules": 2, "counts": counts, "stand_ins": 1,
        "orders": {"kept": 1, "undecided": 1, "kept once": 1, "broken once": 1}, "stand_in_orders": {"broken": 1},
        "tables": tables,
        "theory": [claim("against T, exponent", "slope", low=-0.53, high=-0.43), claim("below the bound", "bound", holds=False)],
        "figures": [
            {
                "name": "Figure 2", "about": "Ours for figure 2.", "file": "001-figure-2.svg",
                "data": {
                    "axis": "seconds", "axis_title": "virtual time, s", "unit": "s", "metric": "test_accuracy", "targets": [0.8],
                    "lines": [line("FedAvg"), {**line("FedBuff"), "at": [], "middle": [], "low": [], "high": []}],
                },
            }
        ],
        "alignment": [CODE, NO_CODE],
        "errata": [{"place": "(2)", "printed": "K_i", "meant": "K_i - 1", "why": "It ends there.", "where_we_follow": "fedbench/x.py"}],
        "unprinted": [{"what": "The rate", "taken": "0.1", "why": "The grid has it."}],
    }  # fmt: skip
    return copy.deepcopy(known | more)
