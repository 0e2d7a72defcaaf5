"""Makes the page of a row: its records seed by seed, with all that is needed to run and to check
them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from fedbench import written
from fedbench.analysis.axes import AXES, Axis
from fedbench.leaderboard import formats
from fedbench.leaderboard.document import TITLES, board_at
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pages.scenario import bands, cut, last_reached
from fedbench.leaderboard.pictures import chart
from fedbench.leaderboard.pictures.histogram import histogram
from fedbench.leaderboard.pictures.timeline import timeline
from fedbench.leaderboard.sections import axis_of, made_by

MEASURES = {
    "test_accuracy": ("Test accuracy at the end", formats.interval),
    "test_accuracy_last_10": ("Mean of the last ten evaluations", formats.interval),
    "client_accuracy_worst_decile": ("Worst tenth of the clients", formats.interval),
    "updates": ("Server updates", lambda value: written.number(value["mean"])),
    "gradient_evaluations": ("Mini-batch gradients", lambda value: written.number(value["mean"])),
    "server_forward_examples": ("Forward passes of examples at the server", lambda value: written.number(value["mean"])),
    "server_gradient_examples": ("Gradients of examples at the server", lambda value: written.number(value["mean"])),
    "public_logits_vectors": ("Public logits at the server, in models", lambda value: written.number(value["mean"])),
    "trained_steps": ("Local steps trained", lambda value: written.number(value["mean"])),
    "bytes_up": ("Sent by clients", lambda value: written.size(value["mean"])),
    "bytes_down": ("Sent to clients", lambda value: written.size(value["mean"])),
    "busy_fraction": ("Clients busy", lambda value: written.percent(value["mean"])),
    "staleness_mean": ("Mean staleness", lambda value: written.number(value["mean"])),
    "participation_gini": ("Gini index of participation", lambda value: written.number(value["mean"])),
    "lost_share": ("Jobs lost or late", lambda value: written.percent(value["mean"])),
    "wasted_share": ("Local steps in vain", lambda value: written.percent(value["mean"])),
}
"""The measures that the page shows, with their titles and how they are written."""
MADE: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "Outcome": lambda run: " ".join(
        filter(None, (run["state"], (cause := run.get("ended_by")) and f"({cause})", run.get("message")))
    ),
    "Commit": lambda run: (run.get("commit") or written.NONE)[:10] + (" with changes" if run.get("dirty") else ""),
    "Trainer": lambda run: (run.get("trainer") or written.NONE) + (f" on {run['gpu']}" if run.get("gpu") else ""),
    "Instructions": lambda run: run.get("instruction_set") or written.NONE,
    "CPU": lambda run: run.get("cpu") or written.NONE,
}
"""How a run ended and was made, as texts. What is the same for all runs of a row stands once."""


def render(site: Site, document: Mapping[str, Any], point: Mapping[str, Any], kind: str, row: Mapping[str, Any]) -> str:
    """Returns the page of a row of a document."""
    scenario, made = document["sections"][kind][point["name"]], made_by(row)
    ended = [{**one, **run["outcome"]} for one, run in zip(made, row["runs"], strict=True)]
    told = {title: [written(one) for one in ended] for title, written in MADE.items()}
    shared = {title: texts[0] for title, texts in told.items() if len(set(texts)) == 1}
    return site.page(
        "record.html",
        site.places.record(document["name"], point["name"], row["label"], kind),
        document=document,
        point=point,
        scenario=scenario,
        row=row,
        kind=TITLES[kind],
        papers=next(
            (one["facts"]["sources"] for one in document["algorithms"] if one["label"] == row["label"] and one["facts"]), []
        ),
        standing=(standing := board_at(document, kind, point["name"]).get(row["label"])),
        regret=formats.regret(standing) if standing and standing["against"] else None,
        options=[(name, formats.option(value)) for name, value in sorted(row["algorithm"]["options"].items())],
        measures=[
            (title, written(value))
            for name, (title, written) in MEASURES.items()
            if (value := row["measures"].get(name)) is not None and value["mean"] is not None
        ],
        figures=[one for axis in AXES.values() if (one := _figure(scenario, row, axis, document["axis"]["name"]))],
        timeline=timeline(found) if (found := _timeline(document, point["name"], row["label"], kind)) else "",
        staleness=histogram(row["staleness"], f"{row['label']}: share of the consumed jobs by staleness"),
        made=list(shared.items()),
        titles=(titles := [title for title in MADE if title not in shared]),
        runs=[
            {
                **run,
                "reached": [one["reached"][i] for one in row["to_target"]],
                "made": {title: told[title][i] for title in titles},
                "wall_seconds": made[i].get("wall_seconds"),
                "digest": run["digests"].get("result"),
            }
            for i, run in enumerate(row["runs"])
        ],
        built=_built(made),
    )


def _timeline(document: Mapping[str, Any], point: str, label: str, kind: str) -> Mapping[str, Any] | None:
    """Returns the timeline of a row with tuned options. Other rows have none."""
    found: Mapping[str, Any] | None = document["timelines"].get(point, {}).get(label)
    return found if kind == "tuned" else None


def _figure(scenario: Mapping[str, Any], row: Mapping[str, Any], on: Axis, compared_on: str) -> dict[str, Any] | None:
    curve = row["curves"].get(on.name)
    if not curve or not curve["at"]:
        return None
    axis, ident, is_compared = axis_of(on), f"chart-{on.name}", on.name == compared_on
    until = last_reached([row], scenario, curve["at"][-1]) if is_compared else None
    line = chart.series(row["label"], chart.look_of(0), curve)
    title = f"{row['label']}: test accuracy against {on.words}"
    svg = chart.draw([line], chart.framed(scenario, title, ident, axis, until=until))
    told = cut(until, curve["at"][-1], axis, scenario["horizon"]["at"])
    return {"axis": axis, "ident": ident, "svg": Markup(svg), "told": f"{bands([curve['band']])}. {told}".rstrip()}


def _built(made: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the versions of fedbench and of libraries that made the runs. Each combination is
    there once."""
    sets = []
    for given in made:
        named = {"fedbench": given.get("version"), **(given.get("libraries") or {})}
        sets.append(" · ".join(f"{name} {version}" for name, version in named.items() if version))
    return list(dict.fromkeys(sets))
