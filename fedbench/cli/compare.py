"""`fedbench compare`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import typer

from fedbench.analysis.pairing import Finding, Line, Pairing, findings, pairing
from fedbench.cli.options import ARCHIVES, TUNED, ArchivesOption, FolderOption, JsonOption
from fedbench.cli.output import UNLIMITED, columns_of, out, print_json, say
from fedbench.cli.rows import KINDS, OptionsOption, PointsOption, RecordsOption, Source, SuiteOption
from fedbench.errors import UsageError, nearest
from fedbench.suites.compared import Compared
from fedbench.written import Ratio


def command(
    first: Annotated[
        str, typer.Argument(help="First row: an algorithm as its records name it. With --suite also 'NAME (tuned)'.")
    ],
    second: Annotated[str, typer.Argument(help="Second row.")],
    records: RecordsOption = None,
    suite: SuiteOption = None,
    points: PointsOption = None,
    options: OptionsOption = None,
    tuned_in: FolderOption = TUNED,
    archives: ArchivesOption = ARCHIVES,
    metric: Annotated[
        str | None, typer.Option(help="Metric whose targets are compared. Default: test_accuracy, or the one that has targets.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the costs of two algorithms.

    The cost is the virtual time until the targets are held. Both algorithms are compared seed by
    seed. The command prints the ratio of their costs with two 95 % intervals: one of this pair
    alone, and one that holds together with those of all pairs of the board.

    Rows of a suite have tuned options, if there are any. 'NAME (default)' has the default ones.
    """
    source = Source(records, suite, points or (), options, tuned_in, archives, metric)
    names, kinds = zip(*(_parted(name, suite) for name in (first, second)), strict=True)
    found = [replace(source, kind=kind or source.kind).compared() for kind in dict.fromkeys(kinds)]
    sides = [found[list(dict.fromkeys(kinds)).index(kind)] for kind in kinds]
    pairings = _pairings(sides, names, (first, second))
    if suite is not None and not as_json:
        say(" and ".join(dict.fromkeys(side.title for side in sides)))
    for one in pairings:
        if as_json:
            print_json(*(_as_json(one, line) for line in one.lines))
        else:
            for finding in findings(one, first, second):
                _show(finding)


def _show(found: Finding) -> None:
    """Prints a finding: in a pipe as one sentence, on a terminal the verdict and below it the
    numbers."""
    if columns_of(out) == UNLIMITED:
        say(found.sentence)
        return
    for line in (f"{found.where}: {found.verdict}", *(f"  {fact}" for fact in found.facts)):
        say(line)


def _parted(name: str, suite: str | None) -> tuple[str, str | None]:
    """Returns the label and the kind of options of `fedecho (tuned)`; no kind without one."""
    for kind in KINDS:
        if suite is not None and name.endswith(f" ({kind})"):
            return name.removesuffix(f" ({kind})"), kind
    return name, None


def _pairings(sides: list[Compared], names: tuple[str, ...], given: tuple[str, str]) -> list[Pairing]:
    names = tuple(_label(side, name, told) for side, name, told in zip(sides, names, given, strict=True))
    found = []
    for point in sides[0].rows:
        rows = [side.rows.get(point, {}) for side in sides]
        if names[0] not in rows[0] or names[1] not in rows[1]:
            continue
        if sides[0].title == sides[1].title:
            found.append(pairing(point, rows[0], sides[0].boards.get(point), *names))
        else:
            found.append(pairing(point, {given[0]: rows[0][names[0]], given[1]: rows[1][names[1]]}, None, *given))
    if not any(one.lines for one in found):
        raise UsageError("compare: no scenario that both were run on has a target")
    return found


def _label(side: Compared, name: str, told: str) -> str:
    try:
        return side.label(name)
    except UsageError:
        raise UsageError(f"compare: {side.title} has no row {told!r}{nearest(name, side.known)}") from None


def _as_json(one: Pairing, line: Line) -> dict[str, object]:
    accuracy = one.accuracy
    return {
        "point": one.point,
        "systems": [group.words for group in one.groups],
        "metric": one.metric,
        "target": line.target,
        "has_verdict": line.has_verdict,
        "verdict": line.verdict,
        "first": vars(line.first),
        "second": vars(line.second),
        "seeds": line.seeds,
        "ratio": _ratio(line.ratio),
        "ratio_among_all_pairs": _ratio(line.together),
        "pairs": line.pairs,
        "accuracy_difference": None if accuracy is None else {"mean": accuracy.mean, "half_width": accuracy.half_width},
        "accuracy_at_seconds": one.at_seconds,
    }


def _ratio(given: Ratio) -> Mapping[str, float | None]:
    """Returns the ratio and its ends, None for an end that is not known."""
    return dict(zip(("value", "low", "high"), given.numbers or (None, None, None), strict=True))
