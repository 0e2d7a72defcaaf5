"""Reads the speed of fedbench itself, commit by commit, from the history that asv keeps, and makes
its page."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from markupsafe import Markup, escape
from pydantic import BaseModel, Field

from fedbench import plain_files, written
from fedbench.documents.site import Case, Machine, Speed
from fedbench.errors import UsageError
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pictures import image
from fedbench.refusals import refused_in

WIDTH, HEIGHT = 220, 72  # pixels of a picture
LARGEST = 16 << 20  # bytes of a file of asv


def read(folder: Path) -> Speed:
    """Returns the history in a folder of asv's results. Raises UsageError for a file that asv did
    not write, or if there is no history."""
    machines = [_machine(file.parent) for file in sorted(folder.glob("*/machine.json"))]
    known = tuple(one for one in machines if one.cases)
    if not known:
        raise UsageError(f"speed {folder}: expected results of asv, MACHINE/machine.json with timings beside it; there are none")
    return Speed(machines=known)


class _About(BaseModel):
    """What asv says of a machine."""

    machine: str
    cpu: str = ""


class _Results(BaseModel):
    """What asv measured at a commit. A row of `results` has the values of `result_columns`, as far
    as it goes."""

    commit_hash: str
    date: Annotated[float, Field(ge=0, le=1e14)]  # milliseconds
    result_columns: list[str]
    results: dict[str, list[object]]


class _Timed(BaseModel):
    """A benchmark, with the values of its parameters."""

    result: list[float | None] | None
    params: list[list[str]]


def _machine(folder: Path) -> Machine:
    files = [file for file in sorted(folder.glob("*.json")) if file.name != "machine.json"]
    with refused_in(f"speed {folder}: expected results of asv"):
        about = _About.model_validate(_load(folder / "machine.json"))
        found = sorted((_Results.model_validate(_load(file)) for file in files), key=lambda one: one.date)
        timed = [dict(_cases(one)) for one in found]
        return Machine(
            label=about.machine,
            cpu=about.cpu,
            commits=tuple(one.commit_hash for one in found),
            days=tuple(_day(one.date) for one in found),
            cases=tuple(
                Case(name=name, values=tuple(one.get(name) for one in timed))
                for name in dict.fromkeys(name for one in timed for name in one)
            ),
        )


def _load(file: Path) -> object:
    return plain_files.json_in(file, LARGEST, "speed", finite=False)


def _day(milliseconds: float) -> str:
    return (datetime.date(1970, 1, 1) + datetime.timedelta(milliseconds=milliseconds)).isoformat()


def _cases(found: _Results) -> Iterator[tuple[str, float]]:
    """Yields the seconds of every case that was timed. A case is a benchmark, or a benchmark with
    one value of its parameter."""
    for name, row in found.results.items():
        if name.rpartition(".")[2].startswith("time_"):
            one = _Timed.model_validate(dict(zip(found.result_columns, row, strict=False)))
            titles = [title.strip("'") for title in one.params[0]] if one.params else [name]
            for title, value in zip(titles, one.result or (), strict=False):
                if value is not None and math.isfinite(value):
                    yield title, float(f"{value:.4g}")


def render(site: Site, speed: Speed) -> str:
    """Returns the page. A case that was timed once has a number and no line."""
    machines = [
        (machine, [(case.name, _picture(case, machine.commits), _told(case)) for case in machine.cases])
        for machine in speed.machines
    ]
    return site.page("speed.html", "speed.html", machines=machines, rivals=speed.rivals)


def _told(case: Case) -> str:
    known = [value for value in case.values if value is not None]
    text = f"now {written.duration(known[-1])}"
    return text if len(known) < 2 else f"{text}, at first {written.duration(known[0])}"


def _picture(case: Case, commits: Sequence[str]) -> Markup:
    """Returns the line of a case over commits, from 0 upwards."""
    known = [(i, value) for i, value in enumerate(case.values) if value is not None]
    most, last = max(value for _, value in known), max(1, len(commits) - 1)
    places = [(6 + (WIDTH - 12) * i / last, 8 + (HEIGHT - 16) * (1 - value / most), i, value) for i, value in known]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in places)
    dots = "".join(
        f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"><title>{escape(commits[i][:10])}: {written.duration(value)}</title></circle>'
        for x, y, i, value in places
    )
    axis = f'<line class="rule" x1="6" x2="{WIDTH - 6}" y1="{HEIGHT - 8}" y2="{HEIGHT - 8}"/>'
    inside = f'{axis}<polyline class="own" points="{line}"/>{dots}'
    return image("profile", (WIDTH, HEIGHT), f"{case.name}: {_told(case)}", inside)
