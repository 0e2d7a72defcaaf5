"""The page of findings in Markdown: what the runs of suites say, with intervals, and what they do
not say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from fedbench.analysis.board import Board, times
from fedbench.analysis.profiles import Reference, ecdf, profile
from fedbench.errors import UsageError
from fedbench.suites.findings import numbers
from fedbench.suites.findings.markdown import interval, seconds, table
from fedbench.suites.findings.numbers import BASELINE
from fedbench.suites.findings.results import Results
from fedbench.suites.findings.sentences import DEFINITIONS, hardest, in_short

EARLY = 0.3  # the share of the budget for which the share of reached targets is shown too
FACTOR = 2.0  # the factor of the reference time for which the share of reached targets is shown

LIMITS = """\
- Options are the best of a few trials, chosen on tuning seeds and held-out training data. More trials, or other ranges, can change who is
  first. The search spaces are `fedbench/suites/spaces`.
- Seeds draw shards, speeds, absences and orders of examples anew. Intervals over seeds say nothing about other data, other models, or
  other strengths of the same factor.
- The earliest row of a point, and the largest and smallest of several numbers, are found in the runs that measure them. So a lead is
  overstated.
- Time is virtual: of the stated speeds and links. Who computes or sends more in the same time is not charged for it. Every client has a
  link of its own, and what the server computes, a distillation too, takes no time.
- The times depend on which targets and budgets the suite sets."""


def page(suites: Sequence[tuple[Results, Reference | None]], command: str, rules_version: int) -> str:
    """Returns the whole page.

    Args:
        suites: results with their reference times, which are None for a suite without tuned rows.
        command: the command that makes the page again from the committed records.
        rules_version: the version of the rules.

    Raises:
        UsageError: for a suite with one seed.
    """
    made = f"Made by `{command}` from committed records; version {rules_version} of the rules, `docs/rules.md`."
    sections = ["# Findings", made, "\n".join(f"- {line}" for line in DEFINITIONS)]
    for results, reference in suites:
        if results.suite.seeds.count < 2:
            raise UsageError(f"findings of suite {results.suite.name}: intervals need at least 2 seeds, it has 1")
        by_point = _by_point(results) if results.suite.tuning is not None else _as_they_are(results)
        sections += [_head(results), in_short(results), by_point, hardest(results), _by_algorithm(results, reference)]
    sections += [_agreements(one, other) for (one, _), (other, _) in itertools.pairwise(suites)]
    own = [line for results, _ in suites for line in _limits(results)]
    sections.append("\n\n".join(["## What this does not say", "\n".join([LIMITS, *own])]))
    return "\n\n".join(section for section in sections if section) + "\n"


def _limits(results: Results) -> Iterator[str]:
    name = results.suite.name
    for words, labels in results.advantaged.items():
        yield f"- {name}: with {words}, by definition: {', '.join(labels)}. These are not like for like."
    if any((run.meta["spec"]["scenario"].get("public") or {}).get("source") == "held_out" for run in results.runs.values()):
        yield f"- {name}: public data are held out of the training data, which flatters who uses them."
    dirty = sum(bool(run.meta["provenance"].get("dirty")) for run in results.runs.values())
    if dirty:
        yield f"- {name}: {dirty:,} runs were made with local changes, and are not valid by the rules."
    for reason, rows in results.absent.items():
        yield f"- {name}: left out, {reason}: {', '.join(rows)}."


def _head(results: Results) -> str:
    suite, runs = results.suite, results.runs.values()
    states = {state: sum(run.state == state for run in runs) for state in sorted({run.state for run in runs})}
    tried = (
        f" Tuned rows have the best of {suite.tuning.trials + 1} trials each."
        if suite.tuning is not None and results.tuned
        else ""
    )
    boards = [*results.tuned.values(), *results.published.values()]
    rows = {one.row for found in boards for one in found.standings}
    targets = sorted({arrival.target for found in boards for one in found.standings for arrival in one.arrivals})
    return "\n\n".join(
        [
            f"## {suite.name} (`{suite.content_hash()}`)",
            f"{suite.about} {len(runs):,} runs ({', '.join(f'{number:,} {state}' for state, number in states.items())}) of {len(rows)} "
            f"algorithms, {suite.seeds.count} seeds a row, at commit {', '.join(one[:12] for one in results.commits)}.{tried} Targets: "
            f"{', '.join(f'{100 * value:g} %' for value in targets)} test accuracy.",
        ]
    )


# ---- by point ----


def _by_point(results: Results) -> str:
    """Returns the table of points. The columns "like for like" are left out if no row has an
    advantage."""
    has_groups = bool(results.advantaged)
    head = ["point", "first", "seconds"]
    head += ["first, like for like", "seconds"] if has_groups else []
    head += [f"`{BASELINE}`", f"`{BASELINE}` / earliest{' of these' if has_groups else ''}"]
    head += ["synchronous / asynchronous", "first, published options", "resolves"]
    rows = []
    for point in results.suite.points:
        tuned, alike = results.tuned.get(point.name), results.like_for_like.get(point.name)
        base = tuned.of(BASELINE) if tuned else None
        rows.append(
            (
                point.name,
                *_first(tuned),
                *(_first(alike) if has_groups else ()),
                seconds(base.mean.mean) if base else "",
                _gap(alike),
                _families(alike, results.synchronous),
                _first(results.published.get(point.name))[0],
                seconds(tuned.resolution) if tuned else "",
            )
        )
    text = (
        "Options are tuned unless it says published. `seconds` are those of the earliest row. `synchronous / asynchronous` is the time of "
        f"the earliest row in rounds over that of the earliest one without{', like for like' if has_groups else ''}. `resolves` is the "
        "smallest difference that a board of all tuned rows shows with probability 0.8."
    )
    return "\n\n".join(["### Who is first at which point", text, table(head, rows)])


def _as_they_are(results: Results) -> str:
    """Returns the table of a suite that does not tune, with a line for each point and row."""
    head = ("point", "row", "targets reached", "accuracy at the end, %", "updates")
    rows = []
    for point, of_point in results.complete(tuned=False).items():
        for standing in results.published[point].standings:
            ends = [run.meta["final"] for run in of_point[standing.row]]
            accuracies = ", ".join("-" if end["test_accuracy"] is None else f"{100 * end['test_accuracy']:.1f}" for end in ends)
            reached = f"{standing.hits} of {standing.attempts}"
            rows.append((point, standing.row, reached, accuracies, ", ".join(f"{end['version']:,}" for end in ends)))
    text = (
        "Options are those that the suite names; nobody looked for better ones here. Targets count once a seed. Accuracies at the end of "
        "the budget, and the updates until then, are given for every seed."
    )
    return "\n\n".join(["### What every row comes to", text, table(head, rows)])


def _first(board: Board | None) -> tuple[str, str]:
    """Returns the names of the rows that are first, and the seconds of the earliest one."""
    if board is None:
        return "", ""
    first = board.first
    return (", ".join(one.row for one in first), seconds(first[0].mean.mean)) if first else ("nobody reaches a target", "")


def _gap(board: Board | None) -> str:
    return "" if board is None else interval(numbers.gap(board), bound=numbers.gap_bound(board))


def _families(board: Board | None, synchronous: Sequence[str]) -> str:
    if board is None:
        return ""
    return interval(numbers.family_gap(board, synchronous), bound=numbers.family_bound(board, synchronous))


# ---- by algorithm ----


def _by_algorithm(results: Results, reference: Reference | None) -> str:
    tuned, published = results.tuned, results.published
    if not tuned:
        return ""
    head = (
        "algorithm", "first at", "targets reached, %", f"by {100 * EARLY:g} % of the budget", f"within {FACTOR:g}x of the reference",
        "published: targets reached, %", f"time / `{BASELINE}`'s", "published / tuned", "median trial / best trial",
    )  # fmt: skip
    rows = []
    references = [label for label, family in results.families.items() if family == "reference"]
    for name in [*results.names, *references]:
        own = times(tuned, name)
        if not own.seconds:
            continue
        points = len(numbers.points_of(tuned, name))
        rows.append(
            (
                name,
                "not ranked" if name in references else f"{numbers.first_at(tuned, name)} of {points}",
                interval(numbers.solved(tuned, name), 100),
                f"{100 * ecdf(own, np.array([EARLY]))[0]:.0f}",
                f"{100 * profile(own, reference, np.array([FACTOR]))[0]:.0f}" if reference and reference.seconds else "",
                interval(numbers.solved(published, name), 100) if numbers.points_of(published, name) else "",
                interval(numbers.ratio(tuned, BASELINE, tuned, name)),
                interval(numbers.ratio(tuned, name, published, name)),
                _sensitivity(results, name),
            )
        )
    text = (
        "Shares are in percent of targets and seeds, over the points where a row is. The last three columns are geometric means over "
        f"points: the time over that of tuned `{BASELINE}`, the published time over the tuned one, and the median trial's time over the "
        "best one's, on the validation part. `within` is of the best times of tuned rows, which were frozen, so that a new entrant "
        "moves nobody's share; where a row is not, it has reached none."
    )
    return "\n\n".join(["### All points together", text, table(head, rows)])


def _sensitivity(results: Results, name: str) -> str:
    spreads = results.spread(name)
    return f"{np.exp(np.mean([np.log(middle / best) for best, middle in spreads])):.2f}" if spreads else ""


# ---- between suites ----


def _agreements(one: Results, other: Results) -> str:
    head = ("point", "rows", "Kendall's tau", f"earliest in {one.suite.name}", f"earliest in {other.suite.name}")
    rows = []
    for point in one.suite.points:
        first, second = one.tuned.get(point.name), other.tuned.get(point.name)
        found = numbers.agreement(first, second) if first and second else None
        if first and second and found is not None:
            here, there = numbers.common(first, second)
            rows.append((point.name, f"{len(here)}", interval(found), here[0].row, there[0].row))
    if not rows:
        return ""
    text = (
        "Points of the same name, and the rows with tuned options that both suites have there, in the order of their times to the "
        "targets. Tau is 1 for the same order, 0 where the orders have nothing in common, and -1 for the opposite one. Rows that cannot be "
        "told apart lower it."
    )
    return "\n\n".join([f"## Does {other.suite.name} order them as {one.suite.name} does?", text, table(head, rows)])
