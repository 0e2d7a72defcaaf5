"""The page of findings in Markdown: what the runs of suites say, with intervals, and what they do not say."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from fedbench.analysis.board import Board, times
from fedbench.analysis.profiles import Reference, ecdf, profile
from fedbench.suites.findings.markdown import interval, seconds, table
from fedbench.suites.findings.results import BASELINE, Results, agreement, first_at, gain, ratio, solved
from fedbench.suites.findings.sentences import hardest, in_short, of_limited

HALF_WAY = 0.3  # of the budget, by which a second share is shown
FACTOR = 2.0  # of the reference time

WORDS = """\
**Time to the targets** is in virtual seconds. It is the mean over the targets; a target that is not reached counts with the whole
budget. Smaller is better. **First** at a point are the earliest row and all rows that the seeds cannot tell from it, which does not say
that they are equal. Brackets are 95 % intervals over seeds, for these scenarios. `docs/rules.md` has the rules, which were fixed before
the runs."""

LIMITS = """\
- Options are the best of a few trials, chosen on tuning seeds and held-out training data. More trials, or other ranges, can change who is
  first. The search spaces are `fedbench/suites/spaces`.
- Seeds draw shards, speeds, absences and orders of examples anew. Intervals over seeds say nothing about other data, other models, or
  other strengths of the same factor.
- The earliest row of a point is found in the runs that its lead is measured on, so the lead is a little overstated.
- Time is virtual: of the stated speeds and links. Who computes or sends more in the same time is not charged for it. Some algorithms keep
  all clients at work by definition, so they are also compared without these.
- The times depend on which targets and budgets were set. They were set before the runs.
- Rows that cannot be told apart are not shown to be equal. `resolves` is what a difference must be to be seen with probability 0.8."""


def page(suites: Sequence[tuple[Results, Reference]], command: str, rules_version: int) -> str:
    """Returns the whole page. `command`: what makes it again from the committed records."""
    sections = ["# Findings", f"Made by `{command}` from committed records, under version {rules_version} of the rules.", WORDS]
    for results, reference in suites:
        sections += [_head(results), in_short(results), _by_point(results), hardest(results), _by_algorithm(results, reference)]
    sections += [_agreements(one, other) for (one, _), (other, _) in itertools.pairwise(suites)]
    own = [line for results, _ in suites for line in _of_suite(results)]
    sections.append("\n\n".join(["## What this does not say", "\n".join([LIMITS, *own])]))
    return "\n\n".join(section for section in sections if section) + "\n"


def _of_suite(results: Results) -> Iterator[str]:
    name = results.suite.name
    if results.flattered:
        yield f"- {name}: unlabelled public data, held out of the training data, flatter {', '.join(results.flattered)}."
    if results.incomplete:
        yield f"- {name}: rows that lack a seed are left out: {', '.join(results.incomplete)}."


def _head(results: Results) -> str:
    suite, runs = results.suite, results.runs.values()
    commits = sorted({str(run.meta["provenance"]["commit"])[:12] for run in runs})
    states = {state: sum(run.state == state for run in runs) for state in sorted({run.state for run in runs})}
    tried = f" Tuned rows have the best of {suite.tuning.trials + 1} trials each." if suite.tuning is not None else ""
    return "\n\n".join(
        [
            f"## {suite.name} (`{suite.content_hash()}`)",
            f"{suite.about} {len(runs):,} runs ({', '.join(f'{number:,} {state}' for state, number in states.items())}) of "
            f"{len(results.labels)} algorithms, {suite.seeds.count} seeds a row, at commit {', '.join(commits)}.{tried} Targets: "
            f"{', '.join(f'{100 * value:g} %' for value in results.targets)} test accuracy.",
        ]
    )


# ---- by point ----


def _by_point(results: Results) -> str:
    head = (
        "point", "first", "seconds", f"first{of_limited(results)}", "seconds", f"`{BASELINE}`", f"`{BASELINE}` / earliest of these",
        "first, published options", "resolves",
    )  # fmt: skip
    rows = []
    for point in results.suite.points:
        tuned, limited = results.tuned.get(point.name), results.limited.get(point.name)
        base = tuned.of(BASELINE) if tuned else None
        rows.append(
            (
                point.name,
                *_first(tuned),
                *_first(limited),
                seconds(base.mean.mean) if base else "",
                interval(gain(limited)) if limited and base else "",
                _first(results.published.get(point.name))[0],
                seconds(tuned.resolution) if tuned else "",
            )
        )
    text = (
        "Options are tuned unless it says published. `seconds` are those of the earliest row. `resolves` is the smallest difference that "
        "such a board shows with probability 0.8."
    )
    return "\n\n".join(["### Who is first at which point", text, table(head, rows)])


def _first(board: Board | None) -> tuple[str, str]:
    """Names of the first and the seconds of the earliest."""
    if board is None:
        return "", ""
    first = board.first
    return (", ".join(one.row for one in first), seconds(first[0].mean.mean)) if first else ("nobody reaches a target", "")


# ---- by algorithm ----


def _by_algorithm(results: Results, reference: Reference) -> str:
    head = (
        "algorithm", "clients at work", "first at", "targets reached, %", f"by {100 * HALF_WAY:g} % of the budget",
        f"within {FACTOR:g}x of the reference", "published: targets reached, %", f"time / `{BASELINE}`'s", "published / tuned",
        "typical trial / best",
    )  # fmt: skip
    tuned, published = results.tuned, results.published
    rows = []
    for name in results.names:
        own = times(tuned, name)
        if not own.seconds:
            continue
        at = sum(found.of(name) is not None for found in tuned.values())
        rows.append(
            (
                name,
                f"{results.at_work(name):.0f}",
                f"{first_at(tuned, name)} of {at}",
                interval(solved(tuned, name), 100),
                f"{100 * ecdf(own, np.array([HALF_WAY]))[0]:.0f}",
                f"{100 * profile(own, reference, np.array([FACTOR]))[0]:.0f}" if reference.seconds else "",
                interval(solved(published, name), 100) if times(published, name).seconds else "",
                interval(ratio(tuned, BASELINE, tuned, name)),
                interval(ratio(tuned, name, published, name)),
                _sensitivity(results, name),
            )
        )
    text = (
        "Every point counts alike. Shares are in percent of targets and seeds. Where an interval has no width, all seeds gave the same. "
        f"The last three columns are geometric means over the points: tuned time over that of tuned `{BASELINE}`, published time over "
        "tuned, and the median trial's time over the best one's, on the validation part. The reference times are the frozen ones of "
        f"`{reference.name}`: a new entrant moves nobody's numbers."
    )
    return "\n\n".join(["### All points together", text, table(head, rows)])


def _sensitivity(results: Results, name: str) -> str:
    spreads = results.spread(name)
    return f"{np.exp(np.mean([np.log(middle / best) for best, middle in spreads])):.2f}" if spreads else ""


# ---- between suites ----


def _agreements(one: Results, other: Results) -> str:
    head = ("point", "rows", "Kendall's tau", f"first in {one.suite.name}", f"first in {other.suite.name}")
    rows = []
    for point in one.suite.points:
        first, second = one.tuned.get(point.name), other.tuned.get(point.name)
        found = agreement(first, second) if first and second else None
        if first and second and found is not None:
            tau, common = found
            earliest = next(row.row for row in first.standings if row.place is not None and second.of(row.row))
            rows.append((point.name, f"{common}", interval(tau), earliest, _first(second)[0]))
    if not rows:
        return ""
    text = (
        "Rows with tuned options that both suites have, in the order of their times to the targets. Tau is 1 where the orders are the same "
        f"and 0 where they have nothing in common. First in {one.suite.name}: the earliest of the rows that both have."
    )
    return "\n\n".join([f"## Does {other.suite.name} order them as {one.suite.name} does?", text, table(head, rows)])
