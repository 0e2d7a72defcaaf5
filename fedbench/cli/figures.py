"""The kinds of figures that `plot` knows. Each is a function that returns the data of a figure and
the function that draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fedbench import origins
from fedbench.analysis import profiles
from fedbench.analysis.pictures import Rows, is_reference
from fedbench.analysis.pictures.boards import heat, solved_profiles
from fedbench.analysis.pictures.learning_curves import learning_curves
from fedbench.analysis.pictures.ledgers import participation, staleness
from fedbench.cli.rows import Source
from fedbench.cli.suite import chosen
from fedbench.engine.label_map import label_map
from fedbench.engine.spec import RunSpec
from fedbench.engine.timeline import client_timeline
from fedbench.errors import UsageError
from fedbench.figures.curves import draw_curves, draw_profiles
from fedbench.figures.design import draw_design
from fedbench.figures.heat import draw_heat
from fedbench.figures.labels import draw_labels
from fedbench.figures.ledgers import draw_participation, draw_staleness
from fedbench.figures.sensitivity import draw_sensitivity
from fedbench.figures.style import MOST_BOLD, Drawn, looks
from fedbench.figures.timeline import draw_timelines
from fedbench.suites import trials
from fedbench.suites.compared import Compared
from fedbench.suites.design.picture import picture
from fedbench.suites.sensitivity import option_sensitivity
from fedbench.suites.suite import Point, Suite

WINDOW = 0.25  # the share of the time budget that a timeline shows by default


@dataclass(frozen=True)
class Asked:
    """The options of the command line.

    `rows`: names of algorithms. `width`: in millimetres. `seed`: None stands for the first one.
    `until`: the last second of a timeline; None stands for the share WINDOW of the budget.
    `references`: the folder of the files of reference times.
    """

    source: Source
    rows: Sequence[str]
    width: float
    axis: str
    metric: str
    quartiles: bool
    seed: int | None
    clients: int
    until: float | None
    references: Path


Made = tuple[object, Callable[[], Drawn]]
"""The data of a figure, and the function that draws them."""


def _curves(asked: Asked) -> Made:
    found = asked.source.compared()
    rows = _at_one_point(found, asked.source.points)
    bold = _bold(found, asked, [row for row, runs in rows.items() if not is_reference(runs)])
    data = learning_curves(rows, asked.axis, asked.metric, quartiles=asked.quartiles)
    return data, lambda: draw_curves(data, bold, asked.width)


def _profiles(asked: Asked) -> Made:
    found = asked.source.compared()
    file = None if asked.source.suite is None else asked.references / f"{asked.source.given_suite().name}.json"
    reference = None if file is None or not file.exists() else profiles.read(file).at(found.boards)
    data = solved_profiles(found.boards, reference)
    ranked = {one.row for board in found.boards.values() for one in board.ranked}
    bold = _bold(found, asked, [line.row for line in data.lines if line.row in ranked])
    return data, lambda: draw_profiles(data, bold, asked.width)


def _heat(asked: Asked) -> Made:
    found = asked.source.compared()
    data = heat(found.boards, only=found.labels(asked.rows))
    return data, lambda: draw_heat(data, asked.width)


def _staleness(asked: Asked) -> Made:
    found = asked.source.compared()
    rows = _at_one_point(found, asked.source.points)
    if asked.rows:
        data = staleness(_only(rows, _bold(found, asked, [])))
    else:
        data = tuple(one for one in staleness(rows) if one.largest > 0)[:MOST_BOLD]
    return data, lambda: draw_staleness(data, asked.width)


def _participation(asked: Asked) -> Made:
    found = asked.source.compared()
    rows = _at_one_point(found, asked.source.points)
    data = participation(_only(rows, found.labels(asked.rows)) if asked.rows else rows)
    return data, lambda: draw_participation(data, asked.width)


def _timeline(asked: Asked) -> Made:
    specs = _specs(asked)
    until = asked.until or WINDOW * float(specs[0].scenario.budget.seconds)
    data = [client_timeline(spec, end_seconds=until, clients=asked.clients) for spec in specs]
    return data, lambda: draw_timelines(data, asked.width)


def _labels(asked: Asked) -> Made:
    if asked.source.suite is not None:
        suite = asked.source.given_suite()
        scenario, first = suite.scenario_at(_one_point(suite, asked.source.points)), suite.seeds.first
    else:
        found = asked.source.compared()
        run = next(iter(_at_one_point(found, asked.source.points).values()))[0]
        scenario, first = run.spec.scenario, run.seed
    data = label_map(scenario, first if asked.seed is None else asked.seed)
    return data, lambda: draw_labels(data, asked.width)


def _sensitivity(asked: Asked) -> Made:
    suite = asked.source.given_suite()
    point = _one_point(suite, asked.source.points)
    known = trials.read(asked.source.tuned_in / f"{suite.name}-trials.parquet", suite.design_hash())
    _, selectors = chosen(suite, (), _named(asked))
    data = [option_sensitivity(suite, point, selector, known) for selector in selectors]
    return data, lambda: draw_sensitivity(data, asked.width)


def _design(asked: Asked) -> Made:
    data = picture(asked.source.given_suite())
    return data, lambda: draw_design(data, asked.width)


MAKERS: dict[str, Callable[[Asked], Made]] = {
    "curves": _curves,
    "profiles": _profiles,
    "heat": _heat,
    "staleness": _staleness,
    "participation": _participation,
    "timeline": _timeline,
    "labels": _labels,
    "sensitivity": _sensitivity,
    "design": _design,
}


def _at_one_point(found: Compared, points: Sequence[str]) -> Rows:
    """Returns the rows of the only point, in the order of its board if it has one. UsageError if
    there are several points."""
    point = found.point(points[0] if len(points) == 1 else None)
    rows, board = found.rows[point], found.boards.get(point)
    return rows if board is None else {one.row: rows[one.row] for one in board.standings}


def _one_point(suite: Suite, points: Sequence[str]) -> Point:
    """Returns the point that is asked for, or the suite's only one. UsageError if there are
    several."""
    if len(points) == 1:
        return suite.point(points[0])
    if len(suite.points) > 1:
        names = ", ".join(points or [point.name for point in suite.points])
        raise UsageError(f"suite {suite.name}: expected one --point, got {len(points)}; choose of {names}")
    return suite.points[0]


def _bold(found: Compared, asked: Asked, ordered: Sequence[str]) -> list[str]:
    """Returns the rows to draw in bold: those that are asked for, or else the first ones of
    `ordered`. UsageError if there are more than a reader can tell apart."""
    bold = found.labels(asked.rows) if asked.rows else list(ordered[:MOST_BOLD])
    looks(bold)
    return bold


def _only(rows: Rows, wanted: Sequence[str]) -> Rows:
    """Returns the wanted rows, in the order of `wanted`. UsageError if this point does not have one
    of them."""
    absent = [row for row in wanted if row not in rows]
    if absent:
        raise UsageError(f"plot: there is no row {absent[0]!r} at this point; known: {', '.join(rows)}")
    return {row: rows[row] for row in wanted}


def _named(asked: Asked) -> Sequence[str]:
    """Returns the algorithms that are asked for. UsageError if there are none."""
    if not asked.rows:
        raise UsageError("plot: expected one to four algorithms, name them with -a")
    return asked.rows


def _specs(asked: Asked) -> list[RunSpec]:
    """Returns the specification of one run of every named algorithm: of a run in the records, or
    of one that the suite has planned."""
    named = _named(asked)
    if asked.source.suite is None:
        found = asked.source.compared()
        rows = _only(_at_one_point(found, asked.source.points), found.labels(named))
        runs = [[run for run in several if asked.seed in (None, run.seed)] for several in rows.values()]
        if not all(runs):
            raise UsageError(f"{found.title}: no run with seed {asked.seed}")
        files = {found.label(one): file for one in named if origins.is_in_file(file := one.partition("[")[0])}
        return [RunSpec.of(several[0].spec, files.get(row)) for row, several in zip(rows, runs, strict=True)]
    suite = asked.source.given_suite()
    point, (_, selectors) = _one_point(suite, asked.source.points), chosen(suite, (), named)
    frozen = asked.source.frozen(suite)
    choices = {} if frozen is None else frozen.points.get(point.name, {})
    seed = suite.seeds.first if asked.seed is None else asked.seed
    several = [suite.algorithm(one, choices[one].options if one in choices else None, point) for one in selectors]
    return [RunSpec(suite.scenario_at(point), algorithm, seed) for algorithm in several]
