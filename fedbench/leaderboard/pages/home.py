"""Makes the home page: what fedbench is, what the published runs show at a glance, three answers,
and how to start and to cite."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from markupsafe import Markup

from fedbench import written
from fedbench.documents.board import Standing
from fedbench.documents.home import Home, Question
from fedbench.documents.parts import Kind, Spent
from fedbench.documents.suite import Document, Point
from fedbench.leaderboard import formats, mapped, standings
from fedbench.leaderboard.decisions import regret_on
from fedbench.leaderboard.pages.frame import Site
from fedbench.leaderboard.pictures.bars import bar
from fedbench.leaderboard.pictures.standings import pictures
from fedbench.leaderboard.ways import HOME, LEARN
from fedbench.written import Ratio

COMMANDS = (
    ("Run", "fedbench run digits-demo -a fedavg -a 'fedbuff[concurrency=10]' --seeds 5 --set budget.seconds=200"),
    ("Compare", "fedbench compare 'fedbuff[concurrency=10]' fedavg"),
)
"""What a visitor may paste after the installation."""
MOST = 4  # algorithms of a set that an answer names
TIMES = {"seconds": "as long", "gradient_evaluations": "as many gradients", "bytes": "as many bytes"}
VERBS = {"seconds": "takes", "gradient_evaluations": "computes", "bytes": "sends"}
COSTS = {"seconds": "time", "gradient_evaluations": "gradients", "bytes": "bytes"}


@dataclass(frozen=True)
class Row:
    """An algorithm of an answer. `cost` is that of the first one, and of every other one its ratio
    to the first, with its interval. `bar` is the picture of the ratio."""

    label: str
    is_best: bool
    cost: str
    interval: str
    bar: Markup


@dataclass(frozen=True)
class Answer:
    """The answer to a question at its point. `words` is Markdown; `more` is the number of
    algorithms of the set of the best that are not among the rows."""

    asked: Question
    point: Point
    cost: str
    words: str
    rows: tuple[Row, ...]
    more: int


def render(site: Site, home: Home) -> str:
    """Returns the home page."""
    documents = {one.name: one for one in site.documents}
    document, map_of = documents[home.suite], documents[home.map] if home.map else None
    kind = document.kinds[0]
    panels = standings.panels(document, kind, home.baseline)
    answers = [answer(document, kind, home.baseline, one) for one in home.questions]

    def in_full(words: str) -> str:
        """Has the titles of rows in the place of those in backticks."""
        return re.sub(
            "`([^`]+)`", lambda found: site.places.title(found[1]) if site.places.full_name(found[1]) else found[0], words
        )

    def titled(one: standings.Panel) -> standings.Panel:
        return replace(one, rows=tuple(replace(row, label=site.places.title(row.label)) for row in one.rows))

    view = mapped.view(map_of) if map_of else None
    return site.page(
        "home.html",
        HOME,
        mapped=map_of,
        map=view,
        in_short=in_full(mapped.in_short(view.map)) if view else "",
        known=[(title, at, list(map(in_full, said))) for title, at, said in mapped.known(view)] if view else [],
        home=home,
        document=document,
        commands=[("Install", f"pip install git+{home.source}" if home.source else "pip install ."), *COMMANDS],
        runs=sum(one.suite.runs for one in site.documents if one.suite),
        papers=len(site.papers),
        learn=LEARN if site.has_docs else "",
        headline=standings.headline(panels),
        sentence=in_full(standings.sentence(panels, "under", "kinds of heterogeneity")),
        always=in_full(always(document, kind, panels)),
        panels=pictures([titled(one) for one in panels]),
        answers=[replace(one, words=in_full(one.words)) for one in answers],
    )


def always(document: Document, kind: Kind, panels: Sequence[standings.Panel]) -> str:
    """Returns in Markdown what it costs to always use the algorithm with the smallest average of
    the first panel; empty without one."""
    rows = document.averages_of(kind, panels[0].system) if panels else ()
    if not rows:
        return ""
    best = min(rows, key=lambda row: row.ratio[0])
    ratio, interval = Ratio.of(best.ratio).parts
    return (
        f"With {panels[0].system}, always using `{best.row}` costs {written.at_least(ratio, best.is_bound)} times {interval} as "
        f"much as the best of each point on average, and {written.ratio(best.worst)} times at worst."
    )


def answer(document: Document, kind: Kind, baseline: str, asked: Question) -> Answer:
    """Returns the answer to a question: the set of the best, the next algorithm, and the
    baseline."""
    axis = asked.axis
    point = {one.name: one for one in document.points}[asked.point]
    board = document.board(kind, point.name)
    group = document.systems_at(kind, point.name)[asked.system]
    regrets = {label: regret for label in group.rows if (regret := regret_on(board[label], axis))}
    order = sorted(regrets, key=lambda label: (regrets[label].value, label))
    best = [label for label in order if label in group.axes[axis].best]
    others = [label for label in order if label not in best]
    shown = [*best[:MOST], *(label for label in others if label in (others[0], baseline))]
    return Answer(
        asked,
        point,
        COSTS[axis],
        _words(best, baseline if baseline in others else (others or [""])[0], regrets, axis),
        tuple(_row(board[label], regrets[label], axis, is_first=label == best[0], is_best=label in best) for label in shown),
        max(0, len(best) - MOST),
    )


def _row(row: Standing, regret: Ratio, axis: Spent, *, is_first: bool, is_best: bool) -> Row:
    ratio, interval = (formats.cost(row, axis), "") if is_first else regret.parts
    return Row(row.label, is_best, ratio, interval, bar(regret))


def _words(best: Sequence[str], other: str, regrets: Mapping[str, Ratio], axis: Spent) -> str:
    """Returns in Markdown which algorithms are the best, and the ratio of another one."""
    names = standings.listed([f"`{label}`" for label in best[:MOST]])
    more = f" and {len(best) - MOST} more" if len(best) > MOST else ""
    words = f"{names}{more} {'is the best' if len(best) == 1 else 'are the best, within the noise'}."
    if not other:
        return words
    ratio, interval = regrets[other].parts
    return f"{words} `{other}` {VERBS[axis]} {written.spoken(ratio)} times {TIMES[axis]} {interval}."
