"""Makes the page of a row: its records seed by seed, with all that is needed to run and to check
them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from fedbench.analysis.axes import AXES
from fedbench.leaderboard import formats
from fedbench.leaderboard.document import TITLES, board_at
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pictures import chart
from fedbench.leaderboard.pictures.histogram import histogram
from fedbench.leaderboard.pictures.timeline import timeline
from fedbench.leaderboard.sections import axis_of, made_by

MEASURES = {
    "test_accuracy": ("Test accuracy at the end", formats.interval),
    "test_accuracy_last_10": ("Mean of the last ten evaluations", formats.interval),
    "client_accuracy_worst_decile": ("Worst tenth of the clients", formats.interval),
    "updates": ("Server updates", lambda value: formats.number(value["mean"])),
    "gradient_evaluations": ("Mini-batch gradients", lambda value: formats.number(value["mean"])),
    "server_forward_examples": ("Forward passes of examples at the server", lambda value: formats.number(value["mean"])),
    "server_gradient_examples": ("Gradients of examples at the server", lambda value: formats.number(value["mean"])),
    "public_logits_vectors": ("Public logits at the server, in models", lambda value: formats.number(value["mean"])),
    "trained_steps": ("Local steps trained", lambda value: formats.number(value["mean"])),
    "bytes_up": ("Sent by clients", lambda value: formats.size(value["mean"])),
    "bytes_down": ("Sent to clients", lambda value: formats.size(value["mean"])),
    "busy_fraction": ("Clients busy", lambda value: formats.percent(value["mean"])),
    "staleness_mean": ("Mean staleness", lambda value: formats.number(value["mean"])),
    "participation_gini": ("Gini index of participation", lambda value: formats.number(value["mean"])),
    "lost_share": ("Jobs lost or late", lambda value: formats.percent(value["mean"])),
    "wasted_share": ("Local steps in vain", lambda value: formats.percent(value["mean"])),
}
"""The measures that the page shows, with their titles and how they are written."""
PROVENANCE = ("commit", "dirty", "trainer", "gpu", "instruction_set", "cpu", "wall_seconds")
DIGESTS = ("result", "inputs", "plan", "model")


def render(site: Site, document: Mapping[str, Any], point: Mapping[str, Any], kind: str, row: Mapping[str, Any]) -> str:
    """Returns the page of a row of a document."""
    scenario = document["sections"][kind][point["name"]]
    return site.page(
        "record.html",
        site.places.record(document["name"], point["name"], row["label"], kind),
        document=document,
        point=point,
        scenario=scenario,
        row=row,
        kind=TITLES[kind],
        standing=(standing := board_at(document, kind, point["name"]).get(row["label"])),
        regret=formats.regret(standing) if standing and standing["against"] else None,
        options=[(name, formats.option(value)) for name, value in sorted(row["algorithm"]["options"].items())],
        measures=[
            (title, written(value))
            for name, (title, written) in MEASURES.items()
            if (value := row["measures"].get(name)) is not None and value["mean"] is not None
        ],
        figures=[one for axis in AXES.values() if (one := _figure(scenario, row, axis))],
        timeline=timeline(found) if (found := _timeline(document, point["name"], row["label"], kind)) else "",
        staleness=histogram(row["staleness"], f"{row['label']}: share of the consumed jobs by staleness"),
        runs=[
            _run(run, made, [one["reached"][i] for one in row["to_target"]])
            for i, (run, made) in enumerate(zip(row["runs"], made_by(row), strict=True))
        ],
        built=_built(made_by(row)),
    )


def _timeline(document: Mapping[str, Any], point: str, label: str, kind: str) -> Mapping[str, Any] | None:
    """Returns the timeline of a row with tuned options. Other rows have none."""
    found: Mapping[str, Any] | None = document["timelines"].get(point, {}).get(label)
    return found if kind == "tuned" else None


def _figure(scenario: Mapping[str, Any], row: Mapping[str, Any], on: Any) -> dict[str, Any] | None:
    curve = row["curves"].get(on.name)
    if not curve or not curve["at"]:
        return None
    axis, ident = axis_of(on), f"chart-{on.name}"
    line = chart.series(row["label"], chart.look_of(0), curve)
    title = f"{row['label']}: test accuracy against {on.words}"
    svg = chart.draw([line], chart.framed(scenario, title, ident, axis))
    return {"axis": axis, "ident": ident, "svg": Markup(svg), "band": curve["band"]}


def _run(run: Mapping[str, Any], made: Mapping[str, Any], reached: Sequence[float | None]) -> dict[str, Any]:
    """Returns a run with all fields that the template shows. A field is None if the record lacks
    it."""
    return {
        **run,
        "reached": reached,
        "outcome": {name: run["outcome"].get(name) for name in ("state", "ended_by", "message")},
        "provenance": {name: made.get(name) for name in PROVENANCE},
        "digests": {name: run["digests"].get(name) for name in DIGESTS},
    }


def _built(made: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the versions of fedbench and of libraries that made the runs. Each combination is
    there once."""
    sets = []
    for given in made:
        named = {"fedbench": given.get("version"), **(given.get("libraries") or {})}
        sets.append(" · ".join(f"{name} {version}" for name, version in named.items() if version))
    return list(dict.fromkeys(sets))
