"""Has what pages say of a map: its cells, and in Markdown what to take if one knows nothing, what
waiting costs, what holds elsewhere and how sure it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fedbench import written
from fedbench.analysis.map.answers import SURE
from fedbench.analysis.map.prediction import LEAST_HITS, MOST_ERROR, MOST_ROWS
from fedbench.documents.map import Always, Choice, Column, Elsewhere, Everywhere, Judged, Level, Map, Waiting
from fedbench.documents.parts import Spent
from fedbench.documents.suite import Document
from fedbench.leaderboard.decisions import AXES as FEWEST
from fedbench.leaderboard.standings import listed
from fedbench.written import Ratio

MOST = 4  # algorithms that a cell names
FEW = 3  # those that a cell of the home page names
AT_LEVEL, AT_BRIEF_LEVEL = 4, 2  # algorithms that are named at a level of a factor, and on the home page
BRIEFLY = ("skew", "spread", "at_work")  # the factors that the home page has, by the names of `suites.mapped.factors`
LONGEST, SHORT = 10, 8  # lines of a table of always the same algorithm, and of that on the home page
SURELY = written.percent(SURE)
WORDS: dict[Spent, str] = {"seconds": "time", "gradient_evaluations": "gradients", "bytes": "bytes"}


@dataclass(frozen=True)
class Cell:
    """What to take: the first with its cost, the next ones with their ratios, and how many more
    there are."""

    first: str
    cost: str
    others: tuple[tuple[str, str], ...]
    more: int


@dataclass(frozen=True)
class Line:
    """A kind of heterogeneity with its cells, None where there is none: what it is, and its name
    below that. The middle is called so, with what it is below."""

    title: str
    note: str
    cells: tuple[Cell | None, ...]


@dataclass(frozen=True)
class View:
    """What templates show of a map, with its sentences in Markdown."""

    map: Map
    brief_heads: Sequence[str]
    brief: Sequence[Line]
    heads: Sequence[str]
    lines: Sequence[Line]
    headline: str
    verdict: str
    waiting: str
    elsewhere: Sequence[str]
    sure: Sequence[str]
    rule: str
    seeds: str
    most: int = LONGEST
    brief_levels: Sequence[Level] = ()
    at_level: int = AT_LEVEL
    at_brief_level: int = AT_BRIEF_LEVEL
    few: int = SHORT
    surely: str = SURELY
    words: Mapping[Spent, str] = field(default_factory=lambda: WORDS)


def view(document: Document) -> View:
    """Returns what pages show of the map of a document. Raises AttributeError without one."""
    shown = document.map
    if shown is None:
        raise AttributeError(f"document {document.name}: it has no map")
    return View(
        map=shown,
        brief_heads=heads(timed(shown)),
        brief=lines(shown, is_brief=True),
        brief_levels=[one for one in shown.levels if one.name.split(" ")[0] in BRIEFLY],
        heads=heads(shown.columns),
        lines=lines(shown),
        headline=headline(shown),
        verdict=verdict(shown),
        waiting=waiting(shown.waiting, is_predicted=shown.is_predicted) if shown.waiting else "",
        elsewhere=[line for one in shown.elsewhere for line in elsewhere(one)],
        sure=list(sure(shown)),
        rule=rule(),
        seeds=seeds(shown),
    )


def known(one: View) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yields what to know before one chooses: a title, the id of its section without `-title`, and
    sentences in Markdown."""
    always = [f"{said}." for said in map(knowing_nothing, one.map.everywhere) if said]
    yield "If you know nothing", "always", always
    if one.waiting:
        yield "What waiting costs", "waiting", [one.waiting]
    if one.elsewhere:
        yield "What does not transfer", "elsewhere", one.elsewhere
    yield "How sure the map is", "sure", [" ".join(one.sure)]


def in_short(shown: Map) -> str:
    """Returns in Markdown what to take if nothing is known, and how often the map is right."""
    always = knowing_nothing(shown.everywhere[0])
    hits = [predicted(one) for one in shown.sure.judged if one.axis == "seconds"]
    return " ".join([*([f"If you know nothing: {always[0].lower()}{always[1:]}."] if always else []), *hits])


def heads(columns: Sequence[Column]) -> list[str]:
    """Returns the headings of columns."""
    return [", ".join(filter(None, (FEWEST.get(one.axis, "" if one.at_work else "seconds"), one.at_work))) for one in columns]


def lines(shown: Map, *, is_brief: bool = False) -> list[Line]:
    """Returns the decision map. A brief one has seconds alone, fewer algorithms and no
    intervals."""
    kept = [k for k, column in enumerate(shown.columns) if column.axis == "seconds" or not is_brief]
    return [
        Line(
            *((one.name, one.words) if place == 0 or not one.words else (one.words, one.name)),
            tuple(_cell(one.choices[k], shown.columns[k].axis, is_brief=is_brief) for k in kept),
        )
        for place, one in enumerate(shown.kinds)
    ]


def timed(shown: Map) -> list[Column]:
    """Returns the columns of a brief decision map."""
    return [column for column in shown.columns if column.axis == "seconds"]


def _cell(one: Choice | None, axis: Spent, *, is_brief: bool) -> Cell | None:
    if one is None:
        return None
    first, *others = one.tries
    named = others[: (FEW if is_brief else MOST) - 1]
    cost = written.cost(one.cost[0], False, axis) if is_brief else written.cost_between(one.cost, axis, written.FULL)
    ratios = [one.tries[name].text if is_brief else f"{one.tries[name]}" for name in named]
    return Cell(first, cost, tuple(zip(named, ratios, strict=True)), len(others) - len(named))


def headline(shown: Map) -> str:
    """Returns in a few words whether one algorithm may be the best everywhere in seconds."""
    if not shown.is_predicted:
        return "What was best at the points that were measured"
    choices = [one.choices[k] for one in shown.kinds for k, column in enumerate(shown.columns) if column.axis == "seconds"]
    sets = [set(one.tries) for one in choices if one is not None]
    return "No algorithm is the best everywhere" if sets and not set.intersection(*sets) else "What to take for your clients"


def verdict(shown: Map) -> str:
    """Returns what the map does not predict; empty if it predicts every axis."""
    left = [words for axis, words in WORDS.items() if axis not in shown.predicted]
    if not left:
        return ""
    if not shown.sure.judged:
        return "No point held out can be judged, so nobody knows whether the map predicts. It is a table of points."
    if not shown.predicted:
        return "The map does not predict points that it has not seen. It is a table of points, with nothing in between."
    return f"The map does not predict {listed(left)} at points that it has not seen. There it is a table of points."


# ---- what to take if one knows nothing ----


def first_of(one: Everywhere) -> Always | None:
    """Returns the row to take if nothing is known; None without one."""
    return one.rows[0] if one.rows else None


def knowing_nothing(one: Everywhere) -> str:
    """Returns what it costs to always use the first row, without the point at which it is worst."""
    row = first_of(one)
    if row is None:
        return ""
    where = f"With {one.where}, always" if one.where else "Always"
    if row.mean is None:
        return (
            f"Nothing is said of other clients than those measured. There `{row.row}` holds a target at {row.points} of {one.points} "
            f"points. Where it does worst it takes {row.worst} times as long as the best"
        )
    return (
        f"{where} using `{row.row}` costs {_estimate(row.mean)} times as much as the best on average, and {_estimate(row.worst)} "
        f"times at worst"
    )


def _estimate(found: Ratio) -> str:
    return written.estimate(found.value, found.low, found.high)


# ---- what waiting costs ----


def waiting(one: Waiting, *, is_predicted: bool) -> str:
    """Returns between which ratios the price of waiting lies, and where it is largest."""
    found = [
        (ratio, spread.level, at_work)
        for spread in one.rows
        for price, at_work in zip(spread.prices, one.at_work, strict=True)
        if price is not None
        for ratio in price.ratios
    ]
    found.sort(key=lambda item: item[0].value)
    least, most = found[0], found[-1]
    how = "" if is_predicted else ", as measured"
    return (
        f"The best algorithm that waits for a round costs {least[0].text} to {most[0].text} times as much as the best one that does not "
        f"wait{how}. It is dearest with spread {most[1]} and {most[2]}."
    )


# ---- what holds elsewhere ----


def elsewhere(one: Elsewhere) -> Iterator[str]:
    """Yields what holds in another suite, in seconds."""
    for found in (found for found in one.axes if found.axis == "seconds"):
        yield (
            f"{one.about} At {found.points} common points, what costs least on the map costs there "
            f"{_estimate(found.regret)} times as much as the best. At {len(found.missed)} it is more than 10 % too dear, or misses a "
            f"target that the best holds. Kendall's tau of the two orders is {written.estimate(*found.agreement)}, where 1 is the same "
            f"order and 0 no relation; with the same costs in both, the noise of seeds alone would leave {found.alike:.2f}."
        )


# ---- how sure ----


def sure(shown: Map) -> Iterator[str]:
    """Yields how sure the map is: prediction, seeds, resolution, luck and the rule of reaching."""
    for one in (one for one in shown.sure.judged if one.axis == "seconds"):
        yield predicted(one)
    missed = written.percent(shown.sure.censored)
    yield f"At a point of the design an algorithm has {seeds(shown)} seeds. {missed} of the runs miss a target."
    if shown.sure.resolution is not None:
        yield (
            f"Two algorithms are told apart at a point of the design with a probability of 80 % if one costs "
            f"{written.ratio(shown.sure.resolution)} times as much as the other (the median of {shown.sure.boards} points)."
        )
    if shown.sure.luck is not None:
        yield f"The winners of independent tunings at the same point differ by {shown.sure.luck:.2f} (standard deviation of log time)."
    if shown.sure.boards:
        yield (
            f"At {shown.sure.changed} of {shown.sure.boards} points of the design the cheapest algorithm depends on the rule of holding a "
            "target."
        )


def seeds(shown: Map) -> str:
    """Returns how many seeds a row has: `3`, `3 to 10`."""
    return " to ".join(dict.fromkeys(map(str, shown.sure.seeds)))


def predicted(one: Judged) -> str:
    return (
        f"At {one.hits} of {one.points} points that the map had not seen, one of the algorithms that it names (the median is "
        f"{one.named:g}) is within 10 % of the best."
    )


def rule() -> str:
    """Returns what an axis has to do to be shown by the model."""
    return (
        "The error is the root mean square of that of log(cost / best) over all algorithms in a set of the best. An axis predicts if it is "
        f"at most {MOST_ERROR:.2f}, and below those of the nearest point and of main effects alone; if at most {MOST_ROWS} algorithms are "
        f"named (the median); and if at {written.percent(LEAST_HITS)} of the points one of them is within 10 % of the best, which is a hit."
    )
