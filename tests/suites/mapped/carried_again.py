"""Derives what of a map holds with another network from two archives, with numpy and pyarrow alone.

Usage: python -m tests.suites.mapped.carried_again FOLDER MAP OTHER
Believed of map.json is which scenario is which point. A point of OTHER is the scenario that is the
map's but for the network, and for when a run ends.
"""

import json
import sys
from pathlib import Path

import numpy as np

from tests.suites.mapped import again

APART = {"name", "about", "task", "budget", "evaluation", "targets"}


def places(points, there, other):
    """{point: hash of the other suite's scenario}, of the points that both have."""
    ours = {point: system(there[place["scenario"]]) for point, place in points.items() if place["scenario"] in there}
    theirs = {system(rows): key for key, rows in other.items()}
    return {point: theirs[own] for point, own in ours.items() if own in theirs}


def any_of(rows):
    return next(iter(next(iter(rows.values())).values()))


def system(rows):
    given = json.loads(any_of(rows)["specification"])["scenario"]
    return json.dumps({key: value for key, value in given.items() if key not in APART}, sort_keys=True)


def costs(folder, suite, points, there, most):
    """{(point, algorithm): (log costs by axis, whether a target is missed)} of rows with tuned
    options, by the first targets."""
    found = {}
    for point, row, _ in again.rows_at(points, there, folder / "tuned" / f"{suite}.yaml"):
        logs, missed = [], False
        for run in row.values():
            each, watched = again.line(run | {"targets": run["targets"][:most]})
            each = np.array(each)
            begun = np.where(each[:, 4:] > 0, each[:, :3], np.inf)
            logs.append(np.where(each[:, 3:4] > 0, np.minimum(begun, watched), each[:, :3]).mean(0))
            missed |= bool(each[:, 3].any())
        found[point, next(iter(row.values()))["name"]] = np.mean(logs, 0) - np.log((1e9, 1, 1)), missed
    return found


def tau(one, other):
    """Kendall's tau-b of pairs (cost, whether it is a bound). Of two bounds, and of a bound below a
    cost, the order is not known. Without any order it is 0."""

    def sign(a, b):
        (x, low), (y, other_low) = a, b
        known = not (low or other_low) or (low and not other_low and x > y) or (other_low and not low and y > x)
        return np.sign(x - y) if known else 0.0

    first, second = (np.array([[sign(a, b) for b in side] for a in side]) for side in (one, other))
    most = np.sqrt((first**2).sum() * (second**2).sum())
    return (first * second).sum() / most if most else 0.0


def carried(folder, suite, other):
    """By axis: points, mean tau, geometric mean of regrets, and where the first of the map is not
    within 10 % of the best or misses a target."""
    points = json.loads((folder / "suites" / suite / "map.json").read_text())["points"]
    there, others = (again.runs(folder / "suites" / name) for name in (suite, other))
    common = places(points, there, others)
    most = min(len(any_of(next(iter(side.values())))["targets"]) for side in (there, others))
    ours = costs(folder, suite, {point: points[point] for point in common}, there, most)
    theirs = costs(folder, other, {point: {"scenario": key} for point, key in common.items()}, others, most)
    found = {}
    for axis, name in enumerate(again.AXES):
        taus, regrets, missed = [], [], {}
        for point in common:
            names = sorted(a for p, a in theirs if p == point and (p, a) in ours)
            one, two = ({a: (side[point, a][0][axis], side[point, a][1]) for a in names} for side in (ours, theirs))
            taus.append(tau(list(one.values()), list(two.values())))
            lead = min((a for a in names if not one[a][1]), key=lambda a: one[a][0])
            best = min((a for a in names if not two[a][1]), key=lambda a: two[a][0])
            regrets.append(max(0.0, two[lead][0] - two[best][0]))
            if two[lead][1] or regrets[-1] > again.CLOSE:
                missed[point] = f"{lead} costs {'≥ ' * two[lead][1]}{np.exp(regrets[-1]):.2f} times as much as {best}"
        found[name] = len(taus), np.mean(taus), np.exp(np.mean(regrets)), missed
    return found


if __name__ == "__main__":
    for axis, said in carried(Path(sys.argv[1]), *sys.argv[2:]).items():
        print(axis, *said)
