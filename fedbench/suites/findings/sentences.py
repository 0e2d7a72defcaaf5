"""Sentences that say what the runs of a suite show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from statistics import fmean, median

from fedbench.analysis.ranking import in_words
from fedbench.analysis.reaching import WORDS, Rule
from fedbench.suites.findings import numbers, servers
from fedbench.suites.findings.results import Results
from fedbench.written import AT_LEAST, digits, estimate, percent, ratio, sign

DEFINITIONS = (
    "**Holding a target**: a run holds a target accuracy from the first evaluation after which the test accuracy stays at or above it "
    "for 20 % of the time so far, and for at least three different models. The **cost** is what the run has spent by then: virtual "
    "seconds, unless another unit is named.",
    "The cost of an algorithm is the geometric mean over seeds and targets. A target that is missed counts with what the run had spent "
    f"at its end, so that the cost is only a lower bound, marked {AT_LEAST}.",
    "**Clients at work** is how many clients may train at the same time. Algorithms are compared if they have the same number at work, and "
    "the same right to use public data.",
    "**Regret** is a cost divided by that of the cheapest algorithm, seed by seed and target by target: 1.20 means 20 % more. A target "
    "that both miss is left out, and what is missed is at least as dear as what is held. The cheapest algorithm is the one with the "
    "smallest regret. Its 95 % interval contains 1 if and only if "
    "the algorithm may be the cheapest. These algorithms are **the set of the best**; it contains the best one with a probability of at "
    "least 95 %.",
    "Other brackets are 95 % intervals over seeds, each by itself, for these scenarios.",
)
"""What the words of findings mean, in Markdown."""
FEW = 3  # rows that a sentence names


def short_lines(results: Results) -> list[str]:
    """Returns what a visitor should know first, as sentences in Markdown; none without tuned
    rows."""
    if not results.tuned:
        return []
    lines = [*_always(results), *_side_by_side(results), *_waiting(results)]
    lines += [*_servers(results), *_sure(results), *_options(results)]
    return [*lines, *_broken(results)]


def in_short(results: Results) -> str:
    """Returns `short_lines` as a section of a page; nothing without tuned rows."""
    lines = short_lines(results)
    return "\n".join(["### In short", "", *(f"- {line}" for line in lines)]) if lines else ""


def _always(results: Results) -> Iterator[str]:
    """Yields for every kind of group what it costs to always use one algorithm."""
    for kind in results.systems:
        found = numbers.rankings(results, kind)
        rows = numbers.always(found)
        if len(rows) < 2:
            continue
        best, places = rows[0], f"{len(found)} points" if len(found) > 1 else "this point"
        others = ", ".join(f"`{one.row}` {ratio(one.ratio[0])}" for one in rows[1:FEW])
        if len(found) == 1:
            yield f"With {kind}, `{best.row}` costs least; then {others} times as much."
            continue
        yield (
            f"With {kind}, always using `{best.row}` costs {estimate(*best.ratio, sign(best.is_bound))} times as much as the "
            f"cheapest algorithm of each point, on average over {places}, and at worst {ratio(best.worst)} times ({best.worst_at}). "
            f"Next are {others}."
        )


def _side_by_side(results: Results) -> Iterator[str]:
    """Yields a sentence on what more clients at work save, and what they cost."""
    found = numbers.side_by_side(results)
    if found is not None:
        yield (
            "More clients at work are faster and compute more: at the hardest target that algorithms of both hold with every seed, the "
            f"cheapest of them with {found.more} takes {ratio(found.seconds)} times the seconds of the cheapest with {found.fewer}, and "
            f"{found.gradients:.1f} times the gradients, on average over {found.points} points."
        )


def _servers(results: Results) -> Iterator[str]:
    """Yields a sentence for every group with public data on what its server's work would cost, at
    the first point with an answer."""
    for kind, groups in results.systems.items():
        if not next(iter(groups.values())).public_data:
            continue
        for point in groups:
            found = servers.lead(results, kind, point)
            if found is not None and found.slowest is not None and found.fastest is not None:
                yield (
                    f"With public data `{found.row}` takes {digits(found.seconds)} s at {point} where `{found.rival}` takes "
                    f"{digits(found.rival_seconds)} s. Its server computes {digits(found.gradients)} gradients of an example until a "
                    f"target, for which no time is charged. It loses its lead if the server computes fewer than "
                    f"{digits(found.slowest)} to {digits(found.fastest)} a second."
                )
                break


def _waiting(results: Results) -> Iterator[str]:
    """Yields for every kind of group where waiting for rounds costs most, and where least."""
    for kind in results.systems:
        prices = {
            point: found
            for point, one in numbers.rankings(results, kind).items()
            if (found := numbers.waiting(one, results.synchronous)) is not None
        }
        if len(prices) < 2:
            continue
        least, *_, most = sorted(prices, key=lambda point: prices[point].ratio.value)
        yield (
            f"With {kind}, the cheapest algorithm in rounds costs between {prices[least]} ({least}) and {prices[most]} ({most}) times "
            f"as much as the cheapest one that does not wait."
        )


def _sure(results: Results) -> Iterator[str]:
    """Yields a sentence on how sure the boards are, if all have the same seeds."""
    every = [(kind, point, one) for kind in results.systems for point, one in numbers.rankings(results, kind).items()]
    several = [(kind, point, one) for kind, point, one in every if len(one.rows) > 1]
    if not several or not numbers.have_same_seeds(one for _, _, one in several):
        return
    shown = [one.resolution for _, _, one in several if one.resolution is not None]
    same = [one.stability for _, _, one in several if one.stability is not None]
    changes = sum(len(set(numbers.leaders(results, kind, point).values())) > 1 for kind, point, _ in several)
    if shown:
        halves = (
            f"Two halves of the seeds agree on the cheapest algorithm in {percent(fmean(same))} of all splits. " if same else ""
        )
        yield (
            f"How sure this is: with {results.suite.seeds.count} seeds, a board shows a ratio of {ratio(median(shown))} with a probability "
            f"of 80 % (the median of {len(shown)} boards). {halves}At {changes} of {len(several)} boards the cheapest one depends on the "
            f"rule of holding a target."
        )


def _options(results: Results) -> Iterator[str]:
    """Yields a sentence on how much tuning saves, and how much of it is luck."""
    found = {
        name: numbers.geometric_mean(list(of_row.values()))
        for name in results.names
        if (of_row := numbers.default_over_tuned(results, name))
    }
    if len(found) < 2:
        return
    order = sorted(found, key=lambda name: found[name])
    text = (
        f"Default options cost {ratio(median(found.values()))} times as much as tuned ones for the median algorithm, from "
        f"{ratio(found[order[0]])} (`{order[0]}`) to {ratio(found[order[-1]])} (`{order[-1]}`)."
    )
    half = {name: value for name in results.names if (value := numbers.at_half(results, name)) is not None}
    if half:
        most = sorted(half, key=lambda name: -half[name])[:FEW]
        told = ", ".join(f"`{name}` {ratio(half[name])}" for name in most)
        text += f" With half of the trials the expected cost would be larger, most for {told} times."
    yield text


def _broken(results: Results) -> Iterator[str]:
    """Yields sentences on the rows with runs that did not finish."""
    for kind, boards in results.boards.items():
        broken: dict[str, int] = {}
        for found in boards.values():
            for one in found.standings:
                broken[one.row] = broken.get(one.row, 0) + one.unfinished
        told = ", ".join(f"`{name}` {number}" for name, number in sorted(broken.items()) if number)
        if told:
            yield f"Runs with {kind} options that did not finish, over all points: {told}. They count as having reached nothing."


def of_point(results: Results, point: str) -> str:
    """Returns sentences in Markdown on which tuned rows cost least at a point, by group; nothing
    without rows."""
    board = results.tuned.get(point)
    if board is None:
        return ""
    return " ".join(in_words(board.ranking(group), "`{}`".format) for group in board.groups)


def sensitivity(found: Mapping[Rule, str | None]) -> str:
    """Returns the cheapest row under the rule of version 2, and under the others if they have
    another one."""
    leader = found["window"]
    others = {rule: row for rule, row in found.items() if row != leader}
    told = "; ".join(f"{WORDS[rule]}: {row or 'nobody'}" for rule, row in others.items())
    return f"**{told}**" if told else "the same"
