"""Reads the speed of fedbench itself, commit by commit, from the history that asv keeps, and makes
its page."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from fedbench import plain_files, written
from fedbench.errors import UsageError
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pictures import image

WIDTH, HEIGHT = 220, 72  # pixels of a picture
LARGEST = 16 << 20  # bytes of a file of asv


def read(folder: Path) -> dict[str, Any]:
    """Returns the history in a folder of asv's results.

    It is {machines: [{label, cpu, commits, days, cases: [{name, values}]}]}. Commits are in the
    order of time. The values of a case are its seconds at every commit, None where it was not
    timed. Raises UsageError for a file that asv did not write, or if there is no history.
    """
    machines = [_machine(file.parent) for file in sorted(folder.glob("*/machine.json"))]
    known = [one for one in machines if one["cases"]]
    if not known:
        raise UsageError(f"speed {folder}: expected results of asv, MACHINE/machine.json with timings beside it; there are none")
    return {"machines": known}


def _machine(folder: Path) -> dict[str, Any]:
    files = [file for file in sorted(folder.glob("*.json")) if file.name != "machine.json"]
    try:
        about = _load(folder / "machine.json")
        found = sorted((_load(file) for file in files), key=lambda one: one["date"])
        timed = [_cases(one) for one in found]
        days = [datetime.datetime.fromtimestamp(one["date"] / 1000, datetime.UTC).date().isoformat() for one in found]
        names = list(dict.fromkeys(name for one in timed for name in one))
        return {
            "label": str(about["machine"]),
            "cpu": str(about.get("cpu", "")),
            "commits": [str(one["commit_hash"]) for one in found],
            "days": days,
            "cases": [{"name": name, "values": [one.get(name) for one in timed]} for name in names],
        }
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError) as error:
        raise UsageError(f"speed {folder}: expected results of asv ({type(error).__name__}: {error})") from None


def _load(file: Path) -> Any:
    return plain_files.json_in(file, LARGEST, "speed", finite=False)


def _cases(result: Mapping[str, Any]) -> dict[str, float]:
    """Returns the seconds of every case that was timed. A case is a benchmark, or a benchmark with
    one value of its parameter."""
    found = {}
    columns = result["result_columns"]
    for name, row in result["results"].items():
        given = dict(zip(columns, row, strict=False))
        values, params = given["result"] or [], given["params"]
        titles = [one.strip("'") for one in params[0]] if params else [name]
        if not name.rpartition(".")[2].startswith("time_"):
            continue
        for title, value in zip(titles, values, strict=False):
            if value is not None and math.isfinite(value):
                found[title] = float(f"{value:.4g}")
    return found


def render(site: Site) -> str:
    """Returns the page. A case that was timed once has a number and no line."""
    machines = [
        {**machine, "pictures": [(case, _picture(case, machine["commits"]), _told(case)) for case in machine["cases"]]}
        for machine in (site.speed or {})["machines"]
    ]
    return site.page("speed.html", "speed.html", machines=machines, rivals=(site.speed or {}).get("rivals"))


def _told(case: Mapping[str, Any]) -> str:
    known = [value for value in case["values"] if value is not None]
    text = f"now {written.duration(known[-1])}"
    return text if len(known) < 2 else f"{text}, at first {written.duration(known[0])}"


def _picture(case: Mapping[str, Any], commits: Sequence[str]) -> Markup:
    """Returns the line of a case over commits, from 0 upwards."""
    known = [(i, value) for i, value in enumerate(case["values"]) if value is not None]
    most, last = max(value for _, value in known), max(1, len(commits) - 1)
    places = [(6 + (WIDTH - 12) * i / last, 8 + (HEIGHT - 16) * (1 - value / most), i, value) for i, value in known]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places)
    dots = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(commits[i][:10])}: {written.duration(value)}</title></circle>'
        for x, y, i, value in places
    )
    axis = f'<line class="rule" x1="6" x2="{WIDTH - 6}" y1="{HEIGHT - 8}" y2="{HEIGHT - 8}"/>'
    inside = f'{axis}<polyline class="own" points="{line}"/>{dots}'
    return image("profile", (WIDTH, HEIGHT), f"{case['name']}: {_told(case)}", inside)
