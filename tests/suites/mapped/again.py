"""Derives what the map of a suite says from its archive, with numpy, scipy and pyarrow alone.

Usage: python -m tests.suites.mapped.again FOLDER SUITE DESIGN.yaml [DRAWS]
FOLDER has suites/SUITE with runs.parquet, curves.parquet and map.json, and tuned/SUITE.yaml if the
suite tunes. Costs follow the text of docs/rules.md, and the fit is the Gibbs sampler of
`tests/analysis/map/rederive.py`. Believed of map.json is which scenario is which point, who works
in rounds, who is in a set of the best at points held out, and who has public data: those do not
enter here, though they tell a little of how hard points and seeds are. What was measured agrees to
five digits. Logarithms of what was drawn agree within AT_LEAST + SHARE of the half width of their
interval, errors of models within 2 AT_LEAST + SHARE of themselves, since a bound is in them or is
not; probabilities on average within MEAN, and each within MOST. Else it exits with 1.
"""

import functools
import json
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tests.analysis.map import rederive as sampler

CURVE = ["seconds", "gradient_evaluations", "bytes", "version", "test_accuracy"]
AXES = ("seconds", "gradient_evaluations", "bytes")
AT_LEAST, SHARE, MEAN, MOST = 0.03, 0.35, 0.04, 0.25
CLOSE, SURE = np.log(1.1), 0.9


# ---- the design, from its text ----


def value(text):
    return float(text) if re.fullmatch(r"-?[\d.]+(e-?\d+)?", text) else text.strip('"')


class Design:
    """Factors with their levels, what interacts, which points are impossible, and the drawn
    rows."""

    def __init__(self, text):
        head, drawn = re.split(r"^drawn:", text, flags=re.M)
        parts = dict(re.findall(r"^(\w+):(.*(?:\n[ ].*|\n#.*)*)", head, re.M))
        blocks = re.findall(r"^  (\w+):(.*(?:\n   .*)*)", parts["factors"], re.M)
        self.levels = {name: [value(x) for x in re.findall(r"\{level: ([^,}]+)", block)] for name, block in blocks}
        # The level that leaves the scenario as it is: neither sets a key nor multiplies one.
        whole = {name: re.findall(r"\{level: (?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}", block) for name, block in blocks}
        calm = {name: [not re.search(r"\b(set|times): \{", one) for one in several] for name, several in whole.items()}
        self.base = {name: several[calm[name].index(True) if any(calm[name]) else 0] for name, several in self.levels.items()}
        is_text = {name: isinstance(several[0], str) for name, several in self.levels.items()}
        self.factors = {
            name: tuple(self.levels[name]) if is_text[name] else "log" if "scale: log" in block else "linear"
            for name, block in blocks
        }
        self.squares = [name for name, several in self.levels.items() if not is_text[name] and len(several) > 2]
        self.pairs = []
        for a, b in re.findall(r"\[(\w+), (\w+)\]", parts.get("interactions", "")):
            for c in self.levels if b == "all" else [b]:
                if c != a and {a, c} not in map(set, self.pairs):
                    self.pairs.append((a, c))
        cells = re.findall(r"\{((?:\w+: \[[^]]*\](?:, )?)+)\}", parts.get("impossible", ""))
        self.impossible = [
            {name: [value(x.strip()) for x in several.split(",")] for name, several in re.findall(r"(\w+): \[([^]]*)\]", cell)}
            for cell in cells
        ]
        self.rows = {}
        for kind, lines in re.findall(r"^  (design|held_out): .*\n((?:    - .*\n?)*)", drawn, re.M):
            self.rows[kind] = [[value(x.strip()) for x in row.split(",")] for row in re.findall(r"- \[(.*)\]", lines)]

    def is_possible(self, at):
        return not any(all(at.get(name) in several for name, several in cell.items()) for cell in self.impossible)

    def possible(self):
        grid = np.meshgrid(*[np.arange(len(x)) for x in self.levels.values()], indexing="ij")
        rows = np.stack([x.ravel() for x in grid], 1)
        several = [{name: self.levels[name][k] for name, k in zip(self.levels, row, strict=True)} for row in rows]
        return [at for at in several if self.is_possible(at)]

    def columns(self, several):
        return {name: [at[name] for at in several] for name in self.levels}


class Model(sampler.Columns):
    """The columns without those that are sums of columns before them."""

    kept = None

    def raw(self, at):
        values, group = super().raw(at)
        if self.kept is None:
            self.kept = [
                k
                for k in range(values.shape[1])
                if np.linalg.matrix_rank(values[:, : k + 1]) > np.linalg.matrix_rank(values[:, :k])
            ]
        return values[:, self.kept], group[self.kept]


# ---- the runs ----


def runs(folder):
    """{hash of the scenario: {row: {seed: run}}}, without references."""
    table = pq.read_table(folder / "runs.parquet").to_pylist()
    curves = [x.to_numpy() for x in pq.read_table(folder / "curves.parquet", columns=CURVE).columns]
    end, there = 0, {}
    for line in table:
        given, end = json.loads(line["specification"]), end + line["points"]
        run = line | given["scenario"] | given["algorithm"]
        seconds, *counts, run["version"], run["accuracy"] = (curve[end - line["points"] : end] for curve in curves)
        run["spent"] = np.array([np.rint(seconds * 1e9), *counts]).astype(np.int64)
        if not given["algorithm"].get("reference"):
            there.setdefault(given["scenario_hash"], {}).setdefault(run["selector"], {})[run["seed"]] = run
    return there


def rows_at(points, there, file):
    """Yields point, runs and anchor of the rows with tuned options; of all rows, if the suite does
    not tune."""
    text = re.split(r"^draws:", file.read_text(), flags=re.M)[0] if file.exists() else ""
    chosen = dict(re.findall(r'^  "(.+)":\n((?:    .*\n)+)', text, re.M))
    for point, place in points.items():
        rows = there.get(place["scenario"], {})
        if not chosen:
            yield from ((point, row, None) for row in rows.values())
        for key, text_of in re.findall(r'"(.+?)": (.*)', chosen.get(point, "")):
            choice = json.loads(text_of)
            if row := row_of(rows, key, choice["options"]):
                yield point, row, (choice.get("anchor") or {"point": point})["point"] if "anchor" in text else None


def columns(folder, suite, said):
    """By axis the columns of all runs of rows that are compared."""
    several = list(rows_at(said["points"], runs(folder / "suites" / suite), folder / "tuned" / f"{suite}.yaml"))
    lines = [(point, *line(run)) for point, row, _ in several for _, run in sorted(row.items())]
    names = [(run["name"], point, seed, anchor) for point, row, anchor in several for seed, run in sorted(row.items())]
    at, each, watched = (np.array(x) for x in zip(*lines, strict=True))  # (R,), (R, T, 5), (R, 3)
    missed = each[:, :, 3].any(1)
    mean, last = each[:, :, :3].mean(1), each[:, :, :3].max(1)
    known = {point: (last - mean)[(at == point) & ~missed].mean(0) for point in {*at[~missed]}}
    gaps = np.array([known.get(point, np.mean([*known.values()], 0)) for point in at])
    begun = np.where(each[:, :, 4:] > 0, each[:, :, :3], np.inf)
    scale = np.array((1e9, 1, 1))
    cost = np.exp(np.where(missed[:, None], np.minimum(watched, begun.max(1)) - gaps, mean)) / scale
    certain = np.where(each[:, :, 3:4] > 0, np.minimum(begun, watched[:, None]), each[:, :, :3])
    least = np.exp(certain.mean(1)) / scale
    kept = [k for k, (name, *_) in enumerate(names) if name not in said["public_data"]]
    keys = ("algorithm", "point", "seed", "tuning", "cost", "is_censored", "least")
    found = {}
    for axis, x, y in zip(AXES, cost.T, least.T, strict=True):
        rows = [(*names[k], float(x[k]), bool(missed[k]), float(y[k])) for k in kept]
        found[axis] = dict(zip(keys, map(list, zip(*rows, strict=True)), strict=True))
    return found


def line(run):
    """What a run spent until its targets, and until its end over 1.2, where it could last reach
    one and be seen to hold it. One that broke off goes on to the end of the budget."""
    end, broke = run["spent"][:, run["points"] - 1], run["state"] != "finished"
    until = max(end[0], run["budget"]["seconds"] * 1e9 if broke else 0) * 5 / 6
    watched = np.log(np.maximum(1, [until, *(end[1:] * (until / end[0] if end[0] else 1))]))
    return [spent(run, target["value"]) for target in run["targets"]], watched


def spent(run, target):
    """Logs of nanoseconds, gradients and bytes until a target is held, whether it is missed, and
    whether it was reached."""
    ns, last = run["spent"][0], run["points"] - 1
    above, log = run["accuracy"] >= np.float32(target), np.log(np.maximum(1, run["spent"]))
    if run["state"] != "finished":
        return np.r_[log[:, last], True, False]
    for k in np.flatnonzero(above):
        models = np.unique(run["version"][k:], return_index=True)[1]
        end = max(k + models[2] if len(models) > 2 else last + 1, np.searchsorted(5 * ns, 6 * ns[k], side="right") - 1)
        is_seen = end <= last and 6 * ns[k] <= 5 * ns[last]
        if above[k : end + 1].all():  # a run that ends inside the window is censored
            return np.r_[log[:, k], not is_seen, True]
    return np.r_[log[:, last], True, False]


def row_of(rows, selector, options):
    """The row of an algorithm that has these options, None if there is no run of it."""
    own = {run["selector"]: row for row in rows.values() for run in row.values() if run["name"] == selector.split("[")[0]}
    fits = [row for row in own.values() if options.items() <= next(iter(row.values()))["options"].items()]
    assert len(fits) < 2, f"{selector} with {options} is more than one row"
    return fits[0] if fits else None


def among(rows, points, names):
    kept = [k for k, x in enumerate(rows["point"]) if x in points and rows["algorithm"][k] in names]
    return {key: [x[k] for k in kept] for key, x in rows.items()}


# ---- what follows ----


class Axis:
    """The draws of one axis."""

    def __init__(self, design, said, rows, draws):
        self.design, self.names = design, said["algorithms"]
        of_kind = {kind: [p for p, x in said["points"].items() if x["kind"] == kind] for kind in ("design", "held_out")}
        self.levels = {p: x["levels"] for p, x in said["points"].items()}
        for kind, several in of_kind.items():
            assert [list(self.levels[p].values()) for p in several] == design.rows.get(kind, []), "levels are not those drawn"
        self.points = {"point": of_kind["design"], **design.columns([self.levels[p] for p in of_kind["design"]])}
        self.new = {"point": of_kind["held_out"], **design.columns([self.levels[p] for p in of_kind["held_out"]])}
        self.runs, self.unseen = (among(rows, of_kind[kind], self.names) for kind in ("design", "held_out"))
        assert sorted(set(self.runs["algorithm"])) == self.names
        self.model, self.main = (Model(design.factors, design.squares, pairs, self.points) for pairs in (design.pairs, []))
        self.drawn, self.drawn_main = (
            sampler.sampled(x, self.points, self.runs, draws, draws // 4) for x in (self.model, self.main)
        )

    def costs(self, several, main=False):
        model, drawn = (self.main, self.drawn_main) if main else (self.model, self.drawn)
        return sampler.costs_at(model, drawn, self.design.columns(several))

    def runs_there(self, several):
        """At every level, or at both levels around it, that are open to it."""
        known = {f: {self.levels[p][f] for p in self.points["point"]} for f in self.design.levels}

        def around(f, x):
            if x in known[f]:
                return [x]
            return [e(y) for e, y in ((max, [y for y in known[f] if y < x]), (min, [y for y in known[f] if y > x])) if y]

        opened = [self.open_to(a) for a in self.names]
        return np.array([[all((f, y) in one for f, x in at.items() for y in around(f, x)) for one in opened] for at in several])

    @functools.cache  # noqa: B019
    def open_to(self, name):
        """Levels with runs at most of their points, less and less of which are asked, and without
        a miss at one."""
        lines = [dict(zip(self.runs, row, strict=True)) for row in zip(*self.runs.values(), strict=True)]
        has = {x["point"] for x in lines if x["algorithm"] == name}
        whole = has - {x["point"] for x in lines if x["algorithm"] == name and x["is_censored"]}
        left, pairs = set(self.points["point"]), [(f, x) for f, several in self.design.levels.items() for x in several]
        while left:
            at = {(f, x): {p for p in left if self.levels[p][f] == x} for f, x in pairs}
            share = {one: len(points & has) / len(points) for one, points in at.items() if points}
            worst = min(share, key=share.get)
            if share[worst] > 0.5:
                return {one for one in share if at[one] & whole}
            left -= at[worst]
        return set()

    def regret(self, several):
        return sampler.regret(np.where(self.runs_there(several), self.costs(several), np.inf))


def tally(found, said, drawn, given):
    """A number, and whether it agrees: logs of a value and of the ends of the interval that is
    given."""
    value, low, high = np.log(given)
    off = abs(drawn.mean() - value)
    found.append((said, off, AT_LEAST + SHARE * (high - low) / 2))


def agree(axis, said, name):
    """(what, by how much it is off, how much it may be), of all numbers of an axis."""
    design, found = axis.design, []
    place = axis.names.index
    cases = {"the middle": {}} | {
        f"{f} {x if isinstance(x, str) else f'{x:g}'}": {f: x} for f in design.levels for x in design.levels[f]
    }
    for one in (one for one in said["advice"] if one["axis"] == name):
        at = design.base | cases[one["words"]] | ({} if one["at_work"] is None else {"at_work": one["at_work"]})
        cost, regret = axis.costs([at])[:, 0], axis.regret([at])[:, 0]
        tally(found, f"{one['words']}: cost", cost[:, place(next(iter(one["tries"])))], one["cost"])
        for algorithm, ratio in one["tries"].items():
            tally(found, f"{one['words']}: {algorithm}", regret[:, place(algorithm)], ratio)
        none = (regret[:, [place(x) for x in one["tries"]]].min(1) > CLOSE).mean()
        found.append((f"{one['words']}: none of those named is close", max(0.0, none - (1 - SURE)), 0.08))
    for one in (one for one in said["always"] if one["axis"] == name):
        kept = [p for p in axis.points["point"] if one["at_work"] in (None, axis.levels[p].get("at_work"))]
        kept = [p for p in kept if axis.runs_there([axis.levels[p]]).any()]
        regret = axis.regret([axis.levels[p] for p in kept])[:, :, place(one["algorithm"])]
        tally(found, f"always {one['algorithm']}", regret.mean(1), one["mean"])
        found.append(worst(axis, one, kept))
    for one in (one for one in said["prices"] if one["axis"] == name and one["ratio"]):
        at = design.base | one["levels"]
        cost = np.where(axis.runs_there([at]), axis.costs([at]), np.inf)[:, 0]
        waits = np.isin(axis.names, said["waits"])
        tally(found, f"waiting {one['levels']}", cost[:, waits].min(1) - cost[:, ~waits].min(1), one["ratio"])
    off, possible = [], design.possible()
    for one in (one for one in said["regions"] if one["axis"] == name):
        inside = [at for at in possible if one["levels"].items() <= at.items()]
        close = np.mean([(axis.regret(inside[k : k + 50]) <= CLOSE).mean(0).sum(0) for k in range(0, len(inside), 50)], 0)
        close *= len(range(0, len(inside), 50)) / len(inside)
        off += [(f"close {one['levels']} {a}", abs(close[place(a)] - x), MOST) for a, x in one["close"].items()]
    found += [*off, (f"close on average over {len(off)}", np.mean([x for _, x, _ in off]), MEAN)]
    return found + [x for one in said["judged"] if one["axis"] == name for x in judged(axis, one)]


def worst(axis, one, kept):
    """The largest measured regret, and where: no model's, so it agrees to five digits."""
    rows, k = among(axis.runs, kept, axis.names), axis.names.index(one["algorithm"])
    misses = {x[:2] for x in zip(rows["point"], rows["algorithm"], rows["is_censored"], strict=True) if x[2]}
    bound = np.array([[(p, a) in misses for a in axis.names] for p in kept])
    seen = np.where(axis.runs_there([axis.levels[p] for p in kept]), measured(kept, rows, axis.names), np.nan)
    regret = seen[:, k] - np.where(bound | np.isnan(seen), np.inf, seen).min(1)
    n = np.nanargmax(regret)
    is_same = (kept[n], bool(bound[:, k].any())) == (one["worst_at"], one["worst"][2] is None)
    return f"always {one['algorithm']}, at worst", abs(max(regret[n], 0) - np.log(one["worst"][0])) if is_same else 1, 2e-5


def judged(axis, one):
    """The nearest point is no model's: its error agrees to six digits. Sets of the best are those
    of map.json."""
    names, at = axis.names, [axis.levels[p] for p in one["rows"]]
    kept = {
        key: [x for k, x in enumerate(column) if axis.unseen["point"][k] in one["rows"]] for key, column in axis.unseen.items()
    }
    bound = np.zeros((len(at), len(names)), bool)
    for p, a, is_bound in zip(kept["point"], kept["algorithm"], kept["is_censored"], strict=True):
        bound[list(one["rows"]).index(p), names.index(a)] |= is_bound
    there = np.array([[(p, a) in set(zip(kept["point"], kept["algorithm"], strict=True)) for a in names] for p in one["rows"]])
    wanted = np.array([[a in one["in_sets"][p] for a in names] for p in one["rows"]]) & there
    seen, design = measured(list(one["rows"]), kept, names), measured(axis.points["point"], axis.runs, names)
    ratio = seen - np.where(wanted & ~bound, seen, np.inf).min(1, keepdims=True)

    def error(predicted):
        off = sampler.regret(np.where(there, predicted, np.inf))
        off = off.mean(0) if off.ndim == 3 else off
        off = off - ratio
        wrong = off[wanted & ~(bound & (off >= 0))]  # who is above a bound is not
        return np.sqrt((wrong**2).sum() / (wanted & ~bound).sum())

    places = sampler.Columns(axis.design.factors, [], [], axis.points)
    near = np.empty_like(seen)
    for k, here in enumerate(at):
        usable = [n for n in range(len(design)) if not np.isnan(design[n, wanted[k]]).any()]
        several = {f: [axis.points[f][n] for n in usable] for f in axis.design.levels}
        near[k] = design[usable[sampler.nearest(places, several, axis.design.columns([here]))[0]]]
    near = np.where(np.isnan(near), np.inf, near)
    own = [error(x) for x in (axis.costs(at), near, axis.costs(at, main=True))]
    return [
        ("error of the map", abs(own[0] - one["error"]), 2 * AT_LEAST + SHARE * one["error"]),
        ("error of the nearest point", abs(own[1] - one["nearest"]), 1e-5),
        ("error of main effects", abs(own[2] - one["main"]), 2 * AT_LEAST + SHARE * one["main"]),
    ]


def measured(points, runs, names):
    """As `sampler.measured`, NaN where an algorithm has no run."""
    found = np.full((len(points), len(names)), np.nan)
    for n, p in enumerate(points):
        own = among(runs, [p], names)
        here = sorted(set(own["algorithm"]))
        found[n, [names.index(a) for a in here]] = sampler.measured([p], own | {"cost": own["least"]}, here)[0]
    return found


def main(folder, suite, design, draws=1500):
    said = json.loads((folder / "suites" / suite / "map.json").read_text())
    rows, bad = columns(folder, suite, said), 0
    for name in AXES:
        found = agree(Axis(Design(design.read_text()), said, rows[name], int(draws)), said, name)
        off = [one for one in found if not one[1] <= one[2]]
        bad += len(off)
        print(f"{name}: {len(rows[name]['cost'])} runs, {len(found)} numbers compared, {len(off)} differ, largest share of what they may "
              f"be off {max(x / y for _, x, y in found):.2f}")  # fmt: skip
        for what, by, may in off:
            print(f"  {what}: off by {by:.4g}, may be {may:.4g}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), *sys.argv[4:]))
