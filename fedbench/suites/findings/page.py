"""The page of findings in Markdown: what the runs of suites say, with intervals, and what they do
not say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fedbench import rules
from fedbench.documents.suite import rows_at
from fedbench.errors import UsageError
from fedbench.suites.findings import tables
from fedbench.suites.findings.map_carried import elsewhere, of_others
from fedbench.suites.findings.map_screens import of_map
from fedbench.suites.findings.results import Results
from fedbench.suites.findings.sentences import DEFINITIONS, in_short
from fedbench.suites.mapped.statements import Map

TUNED_LIMITS = """\
- Options are the best of a few trials, chosen on tuning seeds and held-out training data. More trials, or other ranges, can change which
  algorithm costs least, and no interval contains this luck. The search spaces are `fedbench/suites/spaces`.
"""
LIMITS = """\
- Seeds draw shards, speeds, absences and orders of examples anew. Intervals over seeds say nothing about other data, other models, or
  other strengths of the same factor.
- The largest and smallest of several numbers are found in the runs that measure them, so they are overstated.
- Time is virtual: of the stated speeds and links. Every client has a link of its own, and what the server computes takes no time.
- Seconds are never compared between points, since budgets, speeds and targets differ.
- Rows with default options have the defaults of the version that ran them. They are no paper's options."""


def page(suites: Sequence[Results], command: str, maps: Mapping[str, Map] | None = None) -> str:
    """Returns the whole page.

    Args:
        suites: the results of every suite.
        command: the command that makes the page again from the committed records.
        maps: by name what the maps of suites with a design say, with which the page then begins.

    Raises:
        UsageError: for a suite with one seed.
    """
    for results in suites:
        if results.suite.seeds.count < 2:
            raise UsageError(f"findings of suite {results.suite.name}: intervals need at least 2 seeds, it has 1")
    made = (
        f"Which federated algorithm reaches a target accuracy at the least cost, and is the difference real? Made by `{command}` from "
        f"committed records, by version {rules.VERSION} of the rules (`docs/rules.md`)."
    )
    sections = [
        "# Findings",
        made,
        *(
            section
            for results in suites
            if (said := (maps or {}).get(results.suite.name))
            for section in (*of_map(results, said), *of_others(results, elsewhere(results, suites)))
        ),
        *_first_screen(suites),
        "## Words",
        "\n".join(f"- {line}" for line in DEFINITIONS),
    ]
    first = _first_tuned(suites)
    for results in suites:
        sections += [f"## {results.suite.name}", _head(results), "" if results is first else in_short(results)]
        sections += tables.of_suite(results) if results.tuned else [tables.as_they_are(results)]
    limits = f"{TUNED_LIMITS if first is not None else ''}{LIMITS}"
    own = [line for results in suites for line in _limits(results)]
    sections += ["## What this does not say", "\n".join([limits, *own])]
    return "\n\n".join(section for section in sections if section) + "\n"


def _first_screen(suites: Sequence[Results]) -> Iterator[str]:
    """Yields the decision table of the first suite with tuned rows, and what to know first."""
    results = _first_tuned(suites)
    if results is not None:
        yield f"## Which algorithm costs least? ({results.suite.name})"
        yield (
            f"{results.suite.about} Each cell has the cheapest algorithm with its cost, then those that may be as cheap, with their "
            "regret. Only algorithms with as many clients at work compete."
        )
        yield tables.decisions(results)
        yield in_short(results)


def _first_tuned(suites: Sequence[Results]) -> Results | None:
    """Returns the first suite with tuned rows and without a map, which has a screen of its own."""
    return next((one for one in suites if one.tuned and one.suite.design is None), None)


def _limits(results: Results) -> Iterator[str]:
    name = results.suite.name
    if any(run.spec.scenario.holds_out_public_data for run in results.runs.values()):
        yield f"- {name}: public data are held out of the training data, which flatters algorithms that use them."
    dirty = sum(bool(run.provenance.dirty) for run in results.runs.values())
    if dirty:
        yield f"- {name}: {dirty:,} runs were made with local changes, and are not valid by the rules."
    for reason, rows in results.absent.items():
        yield f"- {name}: left out, {reason}: {rows_at(rows)}."


def _head(results: Results) -> str:
    suite, runs = results.suite, results.runs.values()
    states = {state: sum(run.state == state for run in runs) for state in sorted({run.state for run in runs})}
    at = f" at {len(suite.anchors.points)} points, and with fewer at the others" if suite.anchors is not None else ""
    tried = (
        f" Each algorithm was tuned with {suite.tuning.trials + 1} trials{at}."
        if suite.tuning is not None and results.tuned
        else ""
    )
    boards = [*results.tuned.items(), *results.default.items()]
    rows = {one.row for _, found in boards for one in found.standings}
    aims = sorted({(one.target, point) for point, found in boards for row in found.standings for one in row.arrivals})
    targets = dict.fromkeys(results.told(point, [target]) for target, point in aims)
    kind = " test accuracy" if all(one.endswith(" %") for one in targets) else ""  # other metrics have their names
    return (
        f"{suite.about} {len(runs):,} runs ({', '.join(f'{number:,} {state}' for state, number in states.items())}) of {len(rows)} "
        f"algorithms, {results.seeds_in_words} a row, at commit {', '.join(one[:12] for one in results.commits)}.{tried} Targets: "
        f"{', '.join(targets)}{kind}. Suite hash `{suite.content_hash()}`."
    )
