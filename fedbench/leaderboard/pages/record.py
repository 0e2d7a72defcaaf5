"""Makes the page of a row: its records seed by seed, with all that is needed to run and to check
them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from markupsafe import Markup

from fedbench import written
from fedbench.analysis.axes import AXES, Axis
from fedbench.analysis.statistics import Estimate
from fedbench.documents.parts import Kind
from fedbench.documents.pictures import Timeline
from fedbench.documents.section import Provenance, Row, Section
from fedbench.documents.suite import TITLES, Document, Point
from fedbench.leaderboard import formats
from fedbench.leaderboard.pages.frame import Site, View
from fedbench.leaderboard.pages.scenario import bands, cut, last_reached
from fedbench.leaderboard.pictures import chart
from fedbench.leaderboard.pictures.histogram import histogram
from fedbench.leaderboard.pictures.timeline import timeline
from fedbench.results.sections import Outcome


def _mean(write: Callable[[float | None], str]) -> Callable[[Estimate], str]:
    return lambda value: write(value.mean)


MEASURES: Mapping[str, tuple[str, Callable[[Estimate], str]]] = {
    "test_accuracy": ("Test accuracy at the end", formats.interval),
    "test_accuracy_last_10": ("Mean of the last ten evaluations", formats.interval),
    "client_accuracy_worst_decile": ("Worst tenth of the clients", formats.interval),
    "updates": ("Server updates", _mean(written.number)),
    "gradient_evaluations": ("Mini-batch gradients", _mean(written.number)),
    "server_forward_examples": ("Forward passes of examples at the server", _mean(written.number)),
    "server_gradient_examples": ("Gradients of examples at the server", _mean(written.number)),
    "public_logits_vectors": ("Public logits at the server, in models", _mean(written.number)),
    "trained_steps": ("Local steps trained", _mean(written.number)),
    "bytes_up": ("Sent by clients", _mean(written.size)),
    "bytes_down": ("Sent to clients", _mean(written.size)),
    "busy_fraction": ("Clients busy", _mean(written.percent)),
    "staleness_mean": ("Mean staleness", _mean(written.number)),
    "participation_gini": ("Gini index of participation", _mean(written.number)),
    "lost_share": ("Jobs lost or late", _mean(written.percent)),
    "wasted_share": ("Local steps in vain", _mean(written.percent)),
}
"""The measures that the page shows, with their titles and how they are written."""
MADE: Mapping[str, Callable[[Outcome, Provenance], str]] = {
    "Outcome": lambda end, _: " ".join(filter(None, (end.state, end.ended_by and f"({end.ended_by})", end.message))),
    "Commit": lambda _, made: (made.commit or written.NONE)[:10] + (" with changes" if made.dirty else ""),
    "Trainer": lambda _, made: (made.trainer or written.NONE) + (f" on {made.gpu}" if made.gpu else ""),
    "Instructions": lambda _, made: made.instruction_set or written.NONE,
    "CPU": lambda _, made: made.cpu or written.NONE,
}
"""How a run ended and was made, as texts. What is the same for all runs of a row stands once."""


def render(site: Site, document: Document, point: Point, kind: Kind, row: Row) -> str:
    """Returns the page of a row of a document."""
    scenario, made = document.sections[kind][point.name], row.made
    told = {
        title: [written(run.outcome, one) for run, one in zip(row.runs, made, strict=True)] for title, written in MADE.items()
    }
    shared = {title: texts[0] for title, texts in told.items() if len(set(texts)) == 1}
    return site.page(
        "record.html",
        site.places.record(document.name, point.name, row.label, kind),
        document=document,
        point=point,
        scenario=scenario,
        row=row,
        kind=TITLES[kind],
        papers=next((one.facts.sources for one in document.algorithms if one.label == row.label and one.facts), []),
        standing=(standing := document.board(kind, point.name).get(row.label)),
        regret=standing.ratio.parts if standing and standing.ratio else None,
        options=[(name, formats.option(value)) for name, value in sorted(row.algorithm.options.items())],
        measures=[
            (title, written(value))
            for name, (title, written) in MEASURES.items()
            if (value := row.measures.get(name)) is not None and value.mean is not None
        ],
        figures=[one for axis in AXES.values() if (one := _figure(scenario, row, axis, document.axis))],
        timeline=timeline(found) if (found := _timeline(document, point.name, row.label, kind)) else "",
        staleness=histogram(row.staleness, f"{row.label}: share of the consumed jobs by staleness"),
        made=list(shared.items()),
        titles=(titles := [title for title in MADE if title not in shared]),
        runs=[
            {
                "given": run,
                "reached": [one.reached[i] for one in row.to_target],
                "made": [told[title][i] for title in titles],
                "wall_seconds": made[i].wall_seconds,
            }
            for i, run in enumerate(row.runs)
        ],
        built=_built(made),
    )


def _timeline(document: Document, point: str, label: str, kind: Kind) -> Timeline | None:
    """Returns the timeline of a row with tuned options. Other rows have none."""
    return document.timelines.get(point, {}).get(label) if kind == "tuned" else None


def _figure(scenario: Section, row: Row, axis: Axis, compared_on: Axis) -> View | None:
    curve = row.curves.get(axis.name)
    if not curve or not curve.at:
        return None
    ident, is_compared = f"chart-{axis.name}", axis.name == compared_on.name
    until = last_reached([row], scenario, curve.at[-1]) if is_compared else None
    line = chart.series(row.label, chart.look_of(0), *curve.columns)
    title = f"{row.label}: test accuracy against {axis.words}"
    svg = chart.draw([line], chart.Picture(ident, title, scenario.goals, axis, until=until))
    told = cut(until, curve.at[-1], axis, scenario.horizon.at)
    return {"axis": axis, "ident": ident, "svg": Markup(svg), "told": f"{bands([curve.band])}. {told}".rstrip()}


def _built(made: Sequence[Provenance]) -> list[str]:
    """Returns the versions of fedbench and of libraries that made the runs. Each combination is
    there once."""
    sets = []
    for given in made:
        named = {"fedbench": given.version, **given.libraries}
        sets.append(" · ".join(f"{name} {version}" for name, version in named.items() if version))
    return list(dict.fromkeys(sets))
