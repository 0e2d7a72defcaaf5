"""The document as one HTML page: a pure function, so that `check` can make it again and compare."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from fedbench.leaderboard import chart, words

BANDS = {
    "t": "bands: 95 % t-interval",
    "range": "bands: lowest to highest seed (fewer than five seeds)",
    "none": "one seed: no band",
}
PROVENANCE = ("commit", "dirty", "trainer", "gpu", "instruction_set", "cpu", "wall_seconds")
DIGESTS = ("inputs", "plan", "model")


@dataclass(frozen=True)
class Column:
    """A column of the table. first: the direction of the first click, the better end on top."""

    label: str
    note: str
    first: str = "descending"
    numeric: bool = True


@dataclass(frozen=True)
class Cell:
    """text; notes below it, a line each but for empty ones; mark: a standing in words; alarm: a seed went wrong; sort: key of the
    column, None is always last."""

    text: str
    notes: Sequence[str] = ()
    mark: str = ""
    alarm: bool = False
    sort: float | str | None = None


def render(data: Mapping[str, Any]) -> str:
    """The page. The same document gives the same bytes."""
    selectors = sorted({row["selector"] for scenario in data["scenarios"] for row in scenario["rows"]})
    looks = {selector: chart.look_of(index) for index, selector in enumerate(selectors)}
    scenarios = [_scenario(scenario, number, looks) for number, scenario in enumerate(data["scenarios"], start=1)]
    runs = sum(len(row["runs"]) for scenario in data["scenarios"] for row in scenario["rows"])
    return (
        environment()
        .get_template("page.html")
        .render(
            title=data["title"],
            scenarios=scenarios,
            algorithms=len(selectors),
            runs=runs,
            losses=any(_loses_jobs(row) for scenario in data["scenarios"] for row in scenario["rows"]),
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
    environment.filters |= {"seconds": words.seconds, "breakable": _breakable}
    return environment


def _breakable(selector: str) -> Markup:
    """A selector that may wrap after `[` and commas rather than inside a word."""
    return Markup("<wbr>").join(re.split(r"(?<=[\[,])", selector))


def _scenario(scenario: Mapping[str, Any], number: int, looks: Mapping[str, chart.Look]) -> dict[str, Any]:
    """What the template needs of one scenario."""
    rows = scenario["rows"]
    goals = [one["value"] for one in scenario["targets"] if one["metric"] == "test_accuracy"]
    lines = [chart.series(row["selector"], looks[row["selector"]], row["curve"]) for row in rows]
    lines.sort(key=lambda line: -line.mean[-1] if line.mean else 1.0)
    end = max((line.seconds[-1] for line in lines if line.seconds), default=0.0)
    title = f"{scenario['name']}: test accuracy against virtual time"
    bands = sorted({row["curve"]["band"] for row in rows if row["curve"]["seconds"]}, reverse=True)
    return {
        "id": f"{re.sub(r'[^a-z0-9]+', '-', scenario['name'].lower()).strip('-')}-{number}",
        "given": scenario,
        "facts": _facts(scenario),
        "columns": columns(scenario),
        "sorted_by": 2 if scenario["targets"] else 1,
        "rows": [
            {"given": row, "cells": cells(row), "runs": [_run(run) for run in row["runs"]], "built": _built(row["runs"])}
            for row in rows
        ],
        "svg": Markup(chart.draw(lines, goals, f"chart-{number}", title)),
        "lines": [(line, line.seconds[-1] < end) for line in lines if line.seconds],
        "undrawn": [line.name for line in lines if not line.seconds],
        "early": [note for row in rows for note in _early(row)],
        "bands": "; ".join(BANDS[band] for band in bands),
    }


def _facts(scenario: Mapping[str, Any]) -> list[tuple[str, str]]:
    counts = sorted({len(row["seeds"]) for row in scenario["rows"]})
    seeds = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    task = " · ".join(str(part) for part in (scenario["task"]["name"], scenario["task"].get("model")) if part)
    clients = words.NONE if scenario["clients"] is None else f"{scenario['clients']:,}"
    facts = [("Task", task), ("Clients", clients), ("Budget", words.budget(scenario))]
    return [*facts, ("Targets", words.targets(scenario)), ("Seeds per algorithm", seeds)]


def _early(row: Mapping[str, Any]) -> list[str]:
    """Why a mean curve may stop before the budget does."""
    broken = [run for run in row["runs"] if run["outcome"]["state"] != "finished"]
    return [f"{row['selector']}: seed {run['seed']} {run['outcome']['state']}" for run in broken]


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run whose optional fields are all there, None where the record has none."""
    return {
        **run,
        "outcome": {name: run["outcome"].get(name) for name in ("state", "ended_by", "message")},
        "provenance": {name: run["provenance"].get(name) for name in PROVENANCE},
        "digests": {name: run["digests"].get(name) for name in DIGESTS},
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


def columns(scenario: Mapping[str, Any]) -> list[Column]:
    """The columns in order; `cells` gives the same order."""
    return [
        Column("Algorithm", "selector", "ascending", numeric=False),
        Column("Test accuracy", "final, mean ± 95 %"),
        *(
            Column(f"Time to {words.goal(one['metric'], one['value'])}", "median (hits/seeds)", "ascending")
            for one in scenario["targets"]
        ),
        Column("Outcome", "seeds", "ascending", numeric=False),
        Column("Worst clients", "lowest decile"),
        Column("Updates", "server"),
        *([Column("Lost or late", "of all jobs", "ascending")] if any(map(_loses_jobs, scenario["rows"])) else []),
        Column("Traffic", "up + down", "ascending"),
        Column("Busy", "clients"),
        Column("Staleness", "mean", "ascending"),
        Column("Local steps", "trained", "ascending"),
    ]


def cells(row: Mapping[str, Any]) -> list[Cell]:
    """One row's cells."""
    means = {name: value["mean"] for name, value in row["measures"].items()}
    accuracy, worst = row["measures"]["test_accuracy"], row["measures"]["client_accuracy_worst_decile"]
    traffic = None if means["bytes_up"] is None or means["bytes_down"] is None else means["bytes_up"] + means["bytes_down"]
    return [
        Cell(row["selector"], sort=row["selector"]),
        Cell(
            words.interval(accuracy),
            [words.seed_note(accuracy)],
            words.STANDINGS.get(row["accuracy_standing"], ""),
            sort=means["test_accuracy"],
        ),
        *(
            Cell(words.time(one), [words.time_note(one)], words.STANDINGS.get(one["standing"], ""), sort=one["median"])
            for one in row["times"]
        ),
        Cell(words.outcomes(row["outcomes"]), alarm=set(row["outcomes"]) != {"finished"}, sort=words.outcomes(row["outcomes"])),
        Cell(words.interval(worst), sort=worst["mean"]),
        Cell(words.number(means["updates"]), sort=means["updates"]),
        *([_lost(means)] if _loses_jobs(row) else []),
        Cell(words.size(traffic), [_note(words.size, means["bytes_wasted"], "{} wasted")], sort=traffic),
        Cell(
            words.percent(means["busy_fraction"]),
            [_note(words.percent, means.get("wasted_share"), "{} in vain")],
            sort=means["busy_fraction"],
        ),
        Cell(
            words.number(means["staleness_mean"]),
            [_note(words.number, row["staleness_max"], "max {}")],
            sort=means["staleness_mean"],
        ),
        Cell(
            words.number(means["trained_steps"]),
            [_note(words.number, means["avoided_steps"], "{} avoided")],
            sort=means["trained_steps"],
        ),
    ]


def _loses_jobs(row: Mapping[str, Any]) -> bool:
    """All rows of a scenario alike."""
    return "lost_share" in row["measures"]


def _lost(means: Mapping[str, float | None]) -> Cell:
    """The share of the jobs that are lost or late, and how many by cause."""
    causes = (("jobs_left", "{} left"), ("jobs_dropped_out", "{} dropped out"), ("jobs_late", "{} late"))
    notes = [_note(words.number, means[name], text) for name, text in causes]
    return Cell(words.percent(means["lost_share"]), notes, sort=means["lost_share"])


def _note(shown: Any, value: float | None, text: str) -> str:
    return "" if not value else text.format(shown(value))
