"""The document as one HTML page: a pure function, so that `check` can make it again and compare."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fedbench.leaderboard import chart, words
from fedbench.leaderboard.cells import cells, columns, loses_jobs

BANDS = {
    "t": "bands: 95 % t-interval",
    "range": "bands: lowest to highest seed (fewer than five seeds)",
    "none": "one seed: no band",
}
PROVENANCE = ("commit", "dirty", "trainer", "gpu", "instruction_set", "cpu", "wall_seconds")
DIGESTS = ("inputs", "plan", "model")


def render(data: Mapping[str, Any]) -> str:
    """The page. The same document gives the same bytes."""
    selectors = sorted({row["selector"] for scenario in data["scenarios"] for row in scenario["rows"]})
    looks = {selector: chart.look_of(index) for index, selector in enumerate(selectors)}
    axis = data["axis"]
    scenarios = [_scenario(scenario, number, looks, axis) for number, scenario in enumerate(data["scenarios"], start=1)]
    runs = sum(len(row["runs"]) for scenario in data["scenarios"] for row in scenario["rows"])
    return (
        environment()
        .get_template("page.html")
        .render(
            title=data["title"],
            note=data["note"],
            axis=axis,
            scenarios=scenarios,
            algorithms=len(selectors),
            runs=runs,
            flattered=any(row["flattered"] for scenario in data["scenarios"] for row in scenario["rows"]),
            losses=any(loses_jobs(row) for scenario in data["scenarios"] for row in scenario["rows"]),
        )
    )


@functools.cache
def environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("fedbench.leaderboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"seconds": words.seconds, "place": words.place, "breakable": _breakable}
    return environment


def _breakable(selector: str) -> Markup:
    """A selector that may wrap after `[` and commas rather than inside a word."""
    return Markup("<wbr>").join(re.split(r"(?<=[\[,])", selector))


def _scenario(
    scenario: Mapping[str, Any], number: int, looks: Mapping[str, chart.Look], axis: Mapping[str, str]
) -> dict[str, Any]:
    """What the template needs of one scenario."""
    rows = scenario["rows"]
    goals = [one["value"] for one in scenario["targets"] if one["metric"] == "test_accuracy"]
    rows_by_accuracy = sorted(rows, key=lambda row: -(_accuracy(row) or -1.0))
    lines = [chart.series(row["selector"], looks[row["selector"]], row["curve"]) for row in rows_by_accuracy]
    values = [_accuracy(row) for row in rows_by_accuracy]
    end = max((line.at[-1] for line in lines if line.at), default=0.0)
    title = f"{scenario['full_name']}: test accuracy against {axis['words']}"
    picture = chart.Picture(f"chart-{number}", title, goals, axis, scenario["horizon"]["at"])
    bands = sorted({row["curve"]["band"] for row in rows if row["curve"]["at"]}, reverse=True)
    return {
        "id": f"{re.sub(r'[^a-z0-9]+', '-', scenario['name'].lower()).strip('-')}-{number}",
        "given": scenario,
        "facts": _facts(scenario, axis),
        "columns": columns(scenario, axis),
        "sorted_by": 2 if scenario["targets"] else 1,
        "rows": [_row(row, axis) for row in rows],
        "flattered": [row["selector"] for row in rows if row["flattered"]],
        "svg": Markup(chart.draw(lines, picture)),
        "lines": [(line, line.at[-1] < end, value) for line, value in zip(lines, values, strict=True) if line.at],
        "compared_at": None if scenario["horizon"]["at"] is None else words.place(scenario["horizon"]["at"], axis),
        "undrawn": [line.name for line in lines if not line.at],
        "early": [note for row in rows for note in _early(row)],
        "bands": "; ".join(BANDS[band] for band in bands),
    }


def _accuracy(row: Mapping[str, Any]) -> float | None:
    """Where accuracies are compared."""
    value: float | None = row["measures"]["test_accuracy_at_horizon"]["mean"]
    return value


def _row(row: Mapping[str, Any], axis: Mapping[str, str]) -> dict[str, Any]:
    return {
        "given": row,
        "options": [(name, words.option(value)) for name, value in sorted(row["algorithm"]["options"].items())],
        "cells": cells(row, axis),
        "runs": [_run(run) for run in row["runs"]],
        "built": _built(row["runs"]),
    }


def _facts(scenario: Mapping[str, Any], axis: Mapping[str, str]) -> list[tuple[str, str]]:
    counts = sorted({len(row["seeds"]) for row in scenario["rows"]})
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    task = " · ".join(str(part) for part in (scenario["task"]["name"], scenario["task"].get("model")) if part)
    clients = words.NONE if scenario["clients"] is None else f"{scenario['clients']:,}"
    facts = [("Task", task), ("Clients", clients), ("Budget", words.budget(scenario))]
    facts += [("Targets", words.targets(scenario)), ("Seeds per algorithm", seeds)]
    return [*facts, ("Accuracy is compared at", words.horizon(scenario, axis))]


def _early(row: Mapping[str, Any]) -> list[str]:
    """Why a mean curve may stop before the budget does."""
    broken = [run for run in row["runs"] if run["outcome"]["state"] != "finished"]
    return [f"{row['selector']}: seed {run['seed']} {run['outcome']['state']}" for run in broken]


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run whose optional fields are all there, empty where the record has none."""
    return {
        **run,
        "outcome": {name: run["outcome"].get(name) for name in ("state", "ended_by", "message")},
        "provenance": {name: run["provenance"].get(name) for name in PROVENANCE},
        "digests": {name: run["digests"].get(name) for name in DIGESTS},
        "warnings": run.get("warnings", []),
    }


def _built(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Versions behind the runs, each distinct set once."""
    sets = []
    for run in runs:
        given = run["provenance"]
        libraries = given.get("libraries") or {}
        named = {"fedbench": given.get("version"), **libraries}
        sets.append(" · ".join(f"{name} {version}" for name, version in named.items() if version))
    return list(dict.fromkeys(sets))
