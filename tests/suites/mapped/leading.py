"""The rule of the page "How the map was made" on which algorithms a suite with another network asks
about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from fedbench.suites.findings.results import Results


def leaders(results: Results, points: Iterable[str], first: str = "fedavg", most: int = 6) -> list[str]:
    """Returns the algorithms that a suite at these points asks about, by the rule of the page "How
    the map was made": so many, which together are in as many as possible of the map's sets of the
    best, at each of these points and on each axis."""
    rankings = [one for point in points for one in results.tuned[point].rankings.values() if not one.group.public_data]
    return covering([set(one.best) for one in rankings], first, most)


def covering(sets: Sequence[Collection[str]], first: str, most: int) -> list[str]:
    """Returns `first`, and then again and again the row that is in most of the sets that have none
    of the chosen yet. Of several, and when every set has one, it is the row in more sets in all,
    then the first by name. `most` are chosen, if there are as many."""
    chosen, rows = [first], {row for one in sets for row in one}
    while len(chosen) < most and (left := sorted(rows - set(chosen))):
        bare = [one for one in sets if not set(chosen) & set(one)]
        chosen.append(min(left, key=lambda row: (-sum(row in one for one in bare), -sum(row in one for one in sets), row)))
    return chosen
