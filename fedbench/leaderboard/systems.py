"""Makes the boards of a scenario, one for each system: what their rows spend until they reach the
targets, and which rows may be the best.

Five columns come first, since they answer what a reader asks in turn: who, how fast, how much worse
than the best and is that certain, did all seeds get there, and how good is the model in the end.
The others say at what cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fedbench import written
from fedbench.analysis.reaching import RULES, WORDS
from fedbench.documents.board import AXES, Group, Standing
from fedbench.documents.parts import Kind
from fedbench.documents.section import Row as Given
from fedbench.documents.suite import Document
from fedbench.leaderboard import formats


@dataclass(frozen=True)
class Row:
    """A row of a board.

    Attributes:
        standing: what the board says of it.
        regret: its regret and the interval of that, or the reason why it has none.
        reached: how many seeds reach the highest target.
        accuracy: its mean test accuracy where accuracies are compared, and the interval of that.
        others: its costs on the other axes, each with whether it is in the set of the best there.
    """

    standing: Standing
    regret: tuple[str, str]
    reached: str
    accuracy: tuple[str, str]
    others: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class System:
    """A board. `title` is the system in words, `about` says what is compared, and `notes` say how
    sure that is. `highest` is the highest target of its rows in words."""

    title: str
    about: str
    highest: str
    notes: tuple[str, ...]
    rows: tuple[Row, ...]


def boards(document: Document, kind: Kind, point: str) -> list[System]:
    """Returns the boards of a kind of options at a point; none if it has no board. References are
    not on them. Boards with one row come last."""
    board, order = document.board(kind, point), document.systems(kind)
    rows = {row.label: row for row in document.rows(kind, point)}
    found = sorted(document.systems_at(kind, point).values(), key=lambda one: (len(one.rows) == 1, order.index(one.kind)))
    return [
        System(
            one.words[0].upper() + one.words[1:],
            _about(one),
            _highest(board[one.rows[0]]),
            tuple(_notes(one)),
            tuple(_row(board[label], rows[label]) for label in one.rows),
        )
        for one in found
    ]


def _highest(row: Standing) -> str:
    return written.targets([row.targets[-1].target]) if row.targets else "targets"


def _about(group: Group) -> str:
    if not group.targets:
        return "No verdict: every target is reached within ten steps of the evaluation grid. Times are over all targets."
    alone = " Only one algorithm has this system, so it is compared with no other." if len(group.rows) == 1 else ""
    return f"Target{'s' if len(group.targets) > 1 else ''}: {written.targets(group.targets)}.{alone}"


def _notes(group: Group) -> Iterator[str]:
    if not group.targets or len(group.rows) == 1:
        return
    seconds, leader = group.axes["seconds"], group.leaders.get(RULES[0])
    if seconds.resolution is not None:
        yield f"A ratio of {written.ratio(seconds.resolution)} is found with a probability of 80 %."
    if seconds.stability is not None:
        yield f"Two halves of the seeds agree on the best row in {written.percent(seconds.stability)} of all splits."
    others = {rule: row for rule, row in group.leaders.items() if rule in WORDS and row != leader}
    if others:
        told = "; ".join(f"{WORDS[rule]}: {row or 'no row'}" for rule, row in others.items())
        yield f"Another rule of reaching a target has another best row: {told}."


def _row(row: Standing, given: Given) -> Row:
    others = [(formats.cost(row, axis), row.axes[axis].is_best and bool(row.against)) for axis in AXES[1:]]
    accuracy, *half_width = formats.interval(given.measures["test_accuracy_at_horizon"]).partition(written.PLUS_MINUS)
    return Row(
        standing=row,
        regret=formats.regret(row) if row.solved else (written.NONE, ""),
        reached=f"{row.targets[-1].hits}/{len(given.seeds)}" if row.targets else written.NONE,
        accuracy=(accuracy.rstrip(), "".join(half_width)),
        others=tuple(others) if row.solved else ((written.NONE, False),) * len(others),
    )
