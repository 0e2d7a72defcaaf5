"""Makes the boards of a scenario, one for each system: what their rows spend until they hold the
targets, and which rows may be the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from fedbench.analysis.axes import SECONDS
from fedbench.analysis.reaching import RULES, WORDS
from fedbench.leaderboard import formats
from fedbench.leaderboard.document import board_at, groups_at, systems
from fedbench.leaderboard.pictures.bars import bar

OTHER_AXES = ("gradient_evaluations", "bytes")


@dataclass(frozen=True)
class Row:
    """A row of a board, as texts. `others` are its costs on the other axes, each with a sign if it
    is in the set of the best there. `held` is the share of targets and seeds that it holds."""

    label: str
    is_best: bool
    cost: str
    regret: str
    interval: str
    bar: Markup
    at_work: str
    others: tuple[tuple[str, bool], ...]
    held: str
    marks: tuple[str, ...]


@dataclass(frozen=True)
class System:
    """A board. `title` is the system in words, and `notes` say what is compared, and how sure that
    is."""

    title: str
    notes: tuple[str, ...]
    rows: tuple[Row, ...]


def boards(document: Mapping[str, Any], kind: str, point: str) -> list[System]:
    """Returns the boards of a kind of options at a point; none if it has no board. References are
    not on them. Boards with one row come last."""
    rows, order = board_at(document, kind, point), systems(document, kind)
    found = sorted(groups_at(document, kind, point), key=lambda one: (len(one["rows"]) == 1, order.index(one["kind"])))
    return [
        System(one["words"][0].upper() + one["words"][1:], tuple(_notes(one)), tuple(_row(rows[label]) for label in one["rows"]))
        for one in found
    ]


def _notes(group: Mapping[str, Any]) -> Iterator[str]:
    if not group["targets"]:
        yield "No verdict: every target is held within ten steps of the evaluation grid. Costs are over all targets."
        return
    targets = ", ".join(f"{100 * target:g}" for target in group["targets"])
    yield f"Cost over target{'s' if len(group['targets']) > 1 else ''} {targets} %."
    seconds, leader = group["axes"][SECONDS.name], group["leaders"].get(RULES[0])
    if len(group["rows"]) == 1:
        yield "One row has this system, so that it is compared with no other."
        return
    if seconds["resolution"] is not None:
        yield f"A ratio of {seconds['resolution']:.2f} shows with a probability of 80 %."
    if seconds["stability"] is not None:
        yield f"Two halves of the seeds agree on the cheapest row in {formats.percent(seconds['stability'])} of all splits."
    others = {rule: row for rule, row in group["leaders"].items() if rule in WORDS and row != leader}
    if others:
        told = "; ".join(f"{WORDS[rule]}: {row or 'no row'}" for rule, row in others.items())
        yield f"Another rule of holding a target has another cheapest row: {told}."


def _row(row: Mapping[str, Any]) -> Row:
    regret, interval = formats.regret(row) if row["solved"] else (formats.NONE, "")
    others = [(formats.cost(row, axis), row["axes"][axis]["is_best"] and bool(row["against"])) for axis in OTHER_AXES]
    return Row(
        label=row["label"],
        is_best=row["is_best"] and bool(row["against"]),
        cost=formats.cost(row),
        regret=regret,
        interval=interval,
        bar=bar(row),
        at_work=formats.NONE if row["under_way"] is None else formats.number(row["under_way"]),
        others=tuple(others) if row["solved"] else ((formats.NONE, False),) * len(OTHER_AXES),
        held=formats.percent(row["solved"]),
        marks=tuple(row["marks"]),
    )
