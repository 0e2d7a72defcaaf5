"""The tables of the page of findings."""

from __future__ import annotations

from collections.abc import Sequence

from fedbench.analysis.axes import SECONDS
from fedbench.analysis.ranking import Ranking
from fedbench.suites.findings import numbers, servers
from fedbench.suites.findings.markdown import table
from fedbench.suites.findings.results import Results
from fedbench.suites.findings.sentences import sensitivity
from fedbench.written import SHORT, cost, digits, estimate, percent, ratio, sign

OTHER_AXES = {"gradient_evaluations": ("gradients", "gradients"), "bytes": ("bytes", "MB")}
MOST = 4  # rows of a set that a cell names


def of_suite(results: Results) -> list[str]:
    """Returns the sections on a suite with tuned rows. With a design every point has its own
    levels, so that rows are compared at one point after the other (`map_points.measured`)."""
    found = []
    for kind, groups in results.systems.items():
        ranked = numbers.rankings(results, kind)
        if max((len(one.rows) for one in ranked.values()), default=0) < 2:
            if ranked:
                found += [f"### {_title(kind)}", _alone(results, kind)]
            continue
        if results.suite.design is not None:
            continue
        words = ", ".join(dict.fromkeys(group.words for group in groups.values()))
        found += [f"### {_title(kind)}", f"The systems are {words}.", _always(results, kind), _regrets(results, kind)]
        found += [_other_axes(results, kind), _how_sure(results, kind)]
    return [*found, *_algorithms(results)]


def _title(kind: str) -> str:
    return kind[0].upper() + kind[1:]


def decisions(results: Results) -> str:
    """Returns the table of the cheapest rows by point: by group in seconds, and for the group with
    the fewest clients at work in gradients and bytes. Groups of one row have no column."""
    kinds = [
        kind
        for kind, groups in results.systems.items()
        if any(len(results.tuned[point].members(group)) > 1 for point, group in groups.items())
    ]
    if not kinds:
        return ""
    head = ["point", *kinds, *(f"fewest {words}, {kinds[0]}" for words, _ in OTHER_AXES.values())]
    wanted = [*((kind, SECONDS.name) for kind in kinds), *((kinds[0], axis) for axis in OTHER_AXES)]
    rows = []
    for point in results.suite.points:
        if point.name in results.tuned:
            rows.append((point.name, *(cell(_ranking(results, kind, point.name, axis), axis) for kind, axis in wanted)))
    return table(head, rows)


def _ranking(results: Results, kind: str, point: str, axis: str) -> Ranking | None:
    group = results.systems[kind].get(point)
    return None if group is None else results.tuned[point].ranking(group, axis)


def cell(one: Ranking | None, axis: str) -> str:
    """Returns the cheapest row with its cost, and the others of the set of the best."""
    if one is None:
        return ""
    if one.leader is None:
        return "no verdict" if one.found is None else "nobody reaches a target"
    others = [row for row in one.best if row != one.leader]
    told = [f"{row} {found.text}" for row in others[:MOST] if (found := one.regret(row))]
    more = f", {len(others) - MOST} more" if len(others) > MOST else ""
    told_others = f"; {', '.join(told)}{more}" if told else ""
    return f"**{one.leader}** {_cost(one, one.leader, axis)}{told_others}"


def _cost(one: Ranking, row: str, axis: str) -> str:
    return cost(one.cost(row), one.misses(row), axis, SHORT)


def _alone(results: Results, kind: str) -> str:
    """Returns the table of a group with one row, which is compared with nobody. Where its server
    computes, what that would cost stands beside it."""
    found = {point: results.tuned[point].ranking(group) for point, group in results.systems[kind].items()}
    found = {point: one for point, one in found.items() if one.found is not None}
    head = ["point", "algorithm", "targets", "cost"]
    rows = [[point, one.rows[0], results.told(point, one.targets), _cost_or_never(one)] for point, one in found.items()]
    text = "One algorithm has this system, so that it is compared with no other."
    if next(iter(results.systems[kind].values())).public_data:
        head += [
            "server's gradients",
            "mean time",
            "without public data",
            "its mean time",
            "falls behind it below, gradients / s",
        ]
        leads = [servers.lead(results, kind, point) for point in found]
        rows = [[*row, *_lead(one)] for row, one in zip(rows, leads, strict=True)]
        text += (
            " Its server computes with models, which takes no time here. `server's gradients` is what the server computes until a target, "
            "in gradients of one example (three forward passes count as one). Beside it stands the cheapest algorithm without public data "
            "and with as many clients at work that holds these targets with every seed. Times are means over seeds and targets. Last, the "
            "speed of the server below which the algorithm takes longer than that one: the first number if its work overlaps with the "
            "clients' as far as it can, the second if everybody waits for it. Empty where a target is missed, or where a race gave the "
            "two other numbers of seeds."
        )
    return "\n\n".join([text, table(head, rows)])


def _cost_or_never(one: Ranking) -> str:
    return "never" if one.leader is None else _cost(one, one.rows[0], SECONDS.name)


def _lead(found: servers.Lead | None) -> list[str]:
    if found is None:
        return [""] * 5
    speeds = [digits(one) for one in (found.slowest, found.fastest) if one is not None]
    told = " to ".join(speeds) if len(speeds) == 2 else "always behind"
    own, other = (SHORT["seconds"](seconds) for seconds in (found.seconds, found.rival_seconds))
    return [digits(found.gradients), own, found.rival, other, told]


def _always(results: Results, kind: str) -> str:
    """Returns the table of what it costs to always use one row."""
    ranked = numbers.rankings(results, kind)
    shared = numbers.always(ranked)
    if not shared:
        return ""
    rows = [(one.row, estimate(*one.ratio, sign(one.is_bound)), ratio(one.worst), one.worst_at) for one in shared]
    left = sorted({row for found in ranked.values() for row in found.rows} - {one.row for one in shared})
    text = (
        "What it costs to always use one algorithm: its cost over the smallest cost of each point, as the geometric mean over the "
        f"{len(ranked)} points with a verdict, and at worst."
    )
    if left:
        text += f" Left out, since some of these points lack them: {', '.join(left)}."
    return "\n\n".join([text, table(("algorithm", "cost / smallest cost", "worst", "at"), rows)])


def _regrets(results: Results, kind: str) -> str:
    """Returns the table of the regret of every row at every point."""
    ranked = numbers.rankings(results, kind)
    order = sorted({row for one in ranked.values() for row in one.rows}, key=lambda row: (numbers.mean_regret(ranked, row), row))
    head = ("algorithm", *ranked)
    rows = [
        ("targets", *(results.told(point, one.targets) for point, one in ranked.items())),
        ("cheapest, cost", *(_cost(one, one.leader, SECONDS.name) for one in ranked.values() if one.leader)),
        *((row, *(_regret(one, row) for one in ranked.values())) for row in order),
    ]
    return "\n\n".join(["Regret in seconds. Bold: the set of the best.", table(head, rows)])


def _regret(one: Ranking, row: str) -> str:
    if row not in one.rows:
        return ""
    if one.found is not None and not one.found.reaches[one.rows.index(row)]:
        return "never"
    found = str(one.regret(row))
    return f"**{found}**" if row in one.best else found


def _other_axes(results: Results, kind: str) -> str:
    """Returns the tables of the other axes: the cheapest row and the set of the best."""
    head = ("point", *(f"fewest {words}" for words, _ in OTHER_AXES.values()))
    points = numbers.rankings(results, kind)
    rows = [(point, *(cell(numbers.rankings(results, kind, axis).get(point), axis) for axis in OTHER_AXES)) for point in points]
    return table(head, rows)


def _how_sure(results: Results, kind: str) -> str:
    head = ("point", "shows a ratio of", "halves agree", "rounds / no rounds", "cheapest under other rules of holding")
    rows = []
    for point, one in numbers.rankings(results, kind).items():
        price = numbers.waiting(one, results.synchronous)
        shown, same = one.resolution, one.stability
        rows.append(
            (
                point,
                "" if shown is None else ratio(shown),
                "" if same is None else percent(same),
                "" if price is None else f"{price}",
                sensitivity(numbers.leaders(results, kind, point)),
            )
        )
    text = (
        "How sure: the ratio that a board shows with a probability of 80 %; in how many of all splits both halves of the seeds have "
        "the same cheapest algorithm; the cost of the cheapest algorithm in rounds over that of the cheapest one without; and whether "
        "another rule of holding a target has another cheapest one."
    )
    return "\n\n".join([text, table(head, rows)])


def _algorithms(results: Results) -> list[str]:
    """Returns the table of what belongs to an algorithm at all points together, without columns
    that nobody fills. With a design an algorithm has as many systems as the points."""
    columns = {
        "algorithm": "",
        "system": "",
        "at work, % of those allowed": "How many of the clients that may be at work are at work on average, at the points with the fewest "
        "and the most; the others wait.",
        "default / tuned": "The cost with default options over that with tuned ones, as the geometric mean over points, where a miss "
        "counts with what the run had spent.",
        "at half the trials": "The expected time of the best of half of the trials over that of the best of all, on the validation part, "
        "as the geometric mean over points; it is no interval.",
        "second best > 1.25": "At how many points the second best trial takes more than 1.25 times as long as the best.",
        "options at an edge": "At how many points a chosen option lies in the outer 5 % of its interval.",
        "did not finish": "",
    }
    rows = [dict(zip(columns, row, strict=True)) for name in results.names if (row := _algorithm(results, name))]
    if results.suite.design is not None:
        columns.pop("system")
    shown = {head: about for head, about in columns.items() if any(row[head] for row in rows)}
    told = "\n".join(f"- `{head}`: {about}" for head, about in shown.items() if about)
    return ["### The algorithms", told, table(list(shown), [[row[head] for head in shown] for row in rows])]


def _algorithm(results: Results, name: str) -> tuple[str, ...]:
    """Returns the line of an algorithm; nothing if it has no row."""
    places = [one for board in results.tuned.values() if (one := board.of(name)) is not None]
    if not places:
        return ()
    defaults = list(numbers.default_over_tuned(results, name).values())
    half = numbers.at_half(results, name)
    return (
        name,
        ", ".join(dict.fromkeys(one.group.kind for one in places)),
        _between([100 * one.under_way / one.group.at_work for one in places if one.under_way is not None]),
        ratio(numbers.geometric_mean(defaults)) if defaults else "",
        "" if half is None else ratio(half),
        *_marks(results, name),
        f"{sum(one.unfinished for one in places)}",
    )


def _between(values: Sequence[float]) -> str:
    """Returns the smallest and the largest value, without digits after the point."""
    if not values:
        return ""
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"


def _marks(results: Results, name: str) -> tuple[str, str]:
    """Returns at how many points the best trial stands alone, and which options lie at an edge,
    with the number of points."""
    found = [one for (_, label), one in results.luck.items() if label == name]
    if not found:
        return "", ""
    edges = sorted({option for one in found for option in one.edges})
    told = ", ".join(f"{option} {sum(option in one.edges for one in found)}" for option in edges)
    return f"{sum(one.stands_alone for one in found)} of {len(found)}", told


def as_they_are(results: Results) -> str:
    """Returns the table of a suite that does not tune, with a line for each point and row."""
    head = ("point", "algorithm", "targets held", "accuracy at the end, %", "updates")
    rows = []
    for point, of_point in results.complete(tuned=False).items():
        for standing in results.default[point].standings:
            ends = [run.final for run in of_point[standing.row]]
            accuracies = ", ".join("-" if end.test_accuracy is None else f"{100 * end.test_accuracy:.1f}" for end in ends)
            held = f"{standing.hits} of {standing.attempts}"
            rows.append((point, standing.row, held, accuracies, ", ".join(f"{end.version:,}" for end in ends)))
    text = (
        "Options are those that the suite names; none were tuned here. Targets count once a seed. Accuracies at the end of the budget, and "
        "the updates until then, are given for every seed."
    )
    return "\n\n".join([text, table(head, rows)])
