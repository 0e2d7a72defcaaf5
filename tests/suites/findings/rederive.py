"""Derives numbers of the page of findings from archives and the text of docs/rules.md alone.

Usage: python tests/suites/findings/rederive.py [FOLDER with findings.md, suites and tuned]
Rules are quoted; "read as" is what the page means where they say less. Numbers agree to their
digits, ends of resampled intervals to 0.02, or "by luck" to 4 standard errors of a percentile of
10,000 draws; else it exits with 1. Which algorithms a table has is believed."""

import functools
import json
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scipy import optimize, special, stats

FOLDER = Path(*sys.argv[1:] or [Path(__file__).resolve().parents[3] / "results"])
CURVE = ["seconds", "gradient_evaluations", "bytes", "version", "test_accuracy"]


def row_of(there, selector, options):
    """The row that has these options, and the fewest others; archives do not name defaults."""
    name, said = selector.split("[")[0], re.findall(r"\w+=\w+", selector)
    fits = [key for key, row in there.items() if row[0]["name"] == name and options.items() <= row[0]["options"].items()]
    fits.sort(key=lambda key: (-sum(x in key for x in said), key.count("=")))
    return there[fits[0]] if fits else None


@functools.cache
def said_of(suite):  # by a map: its points, with their scenarios and levels, and who has public data
    file = FOLDER / "suites" / suite / "map.json"
    return json.loads(file.read_text()) if file.exists() else {"points": {}, "public_data": []}


def belongs(suite, point, sizes, scenario, rows):
    """Whether rows are of a point: by the map, else by their options and by the race's clients."""
    known = said_of(suite)["points"]
    if point in known:  # one algorithm found that it cannot run
        return scenario == known[point]["scenario"]
    run = all(rows) and next(iter(rows[0].values()))
    return run and (not sizes or [run["at_work"], run["clients"]][-len(sizes) :] == sizes)


@functools.cache
def load(suite):
    """{(point, name): the row with tuned options, its runs by seed}, algorithms not in rounds."""
    runs = pq.read_table(FOLDER / "suites" / suite / "runs.parquet").to_pylist()
    table = pq.read_table(FOLDER / "suites" / suite / "curves.parquet", columns=CURVE)
    curves, end, rows, tuned = [column.to_numpy() for column in table.columns], 0, {}, {}
    for run in runs:
        said, end = json.loads(run["specification"]), end + run["points"]
        seconds, *counts, run["version"], run["accuracy"] = (curve[end - run["points"] : end] for curve in curves)
        run["spent"] = np.array([np.rint(seconds * 1e9), *counts]).astype(np.int64)  # "as whole nanoseconds"
        run.update(said["scenario"] | said["algorithm"] | json.loads(run["rest"])["ledger"])
        rows.setdefault(said["scenario_hash"], {}).setdefault(run["selector"], {})[run["seed"]] = run
    raced = json.loads(file.read_text())["points"] if (file := FOLDER / "suites" / suite / "race.json").exists() else {}
    sizes = {point: [int(x) for x in re.findall(r"\d+", looks[0]["group"].replace(",", ""))] for point, looks in raced.items()}
    for point, lines in re.findall(r'^  "(.+)":\n((?:    .*\n)+)', (FOLDER / "tuned" / f"{suite}.yaml").read_text(), re.M):
        chosen = {key: json.loads(choice)["options"] for key, choice in re.findall(r'"(.+?)": (.*)', lines)}
        names = [key if key.split("[")[0] in chosen else key.split("[")[0] for key in chosen]
        found = {key: [row_of(there, *choice) for choice in chosen.items()] for key, there in rows.items()}
        (found,) = [x for key, x in found.items() if belongs(suite, point, sizes.get(point), key, x)]
        tuned |= {(point, name): row for name, row in zip(names, found, strict=True) if row}
    return tuned, {run["name"] for run in runs if run["messages_peak"] > 1}  # jobs at different models at work together


def costs(run, value):
    """Log costs by axis, whether it is a miss, logs of costs over those an evaluation before."""
    ns, good, done, size = run["spent"][0], run["accuracy"] >= np.float32(value), run["state"] == "finished", run["points"]
    models = np.cumsum(np.diff(run["version"], prepend=run["version"][0]) != 0)
    # "In [t, 1.2 t]; fewer than three different models: it goes on until the first of the third"
    end = np.maximum(np.searchsorted(models, models + 2), np.searchsorted(5 * ns, 6 * ns, side="right") - 1)
    end = np.where(6 * ns > 5 * ns[-1], size, end)
    held = [k for k in np.flatnonzero(good & done) if end[k] < size and good[k : end[k] + 1].all()]
    censored = np.flatnonzero(np.r_[True, ~good])[-1] % size if done else 0  # "a run that ends before is censored at t"
    at, log = held[0] if held else censored or size - 1, np.log(np.maximum(1, run["spent"]))  # "at least 1 nanosecond"
    cost = log[:, at] if done else [np.log(run["budget"]["seconds"] * 1e9), *log[1:, at]]  # "it counts with the whole budget"
    return [*cost, not held, *((log[:, at] - log[:, max(0, at - 1)]) * bool(held or censored))]


def mean(x, keep):  # over what is kept; 0 where nothing is
    return np.where(keep, x, 0).sum(-1) / np.maximum(1, keep.sum(-1))


def scatter(y, seeds):
    """S: of "y less its mean over all K rows of the group and then less its mean over seeds"."""
    r = y - y.mean(-2, keepdims=True)
    return (np.where(seeds, r - mean(r, seeds)[..., None], 0) ** 2).sum(-1) / np.maximum(1, seeds.sum(-1) - 1)


class Board:
    """Rows of a group at a point, over the targets that get a verdict."""

    def __init__(self, suite, point, names):
        tuned, stream = load(suite)
        self.point, self.names, self.best, run = point, names, [0], tuned[point, names[0]][0]
        self.targets = [target["value"] for target in run["targets"]]
        rows = [[tuned[point, name][seed] for seed in sorted(tuned[point, name])] for name in names]
        found = [[[costs(run, target) for target in self.targets] for run in row] for row in rows]
        grid, found = np.diff(run["spent"][0]), np.moveaxis(found, 3, 0)
        least = 10 * grid[0] if (grid == grid[0]).all() else 0  # "fewer than ten steps of the grid"
        verdict = np.exp(found[0].mean(1).min(0)) >= least  # "the earliest row, by its geometric mean over seeds"
        self.targets, found = [x for x, there in zip(self.targets, verdict, strict=True) if there], found[..., verdict]
        self.shown = ", ".join(f"{100 * x:g}" for x in self.targets) + " %"
        self.log, self.missed, self.step, self.seeds = found[:3], found[3] > 0, found[4:], found.shape[2]
        self.stream, self.never = np.array([name.split("[")[0] in stream for name in names]), self.missed.all((1, 2))
        self.lower, self.y = self.missed.any((1, 2)), self.log.sum(3) / max(1, len(self.targets))

    def judge(self, v0, f0):
        """Regrets with ends, the set, the cheapest row, by axis, from what v is moderated to."""
        i, j, k = self.missed[:, None], self.missed, len(self.names)
        assert k > 2, "a group of two rows is not covered"
        x, keep, other = self.log[:, :, None] - self.log[:, None], ~(i & j), ~np.eye(k, dtype=bool)
        x, seeds, rows = np.where(j & ~i, np.minimum(x, 0), x), keep.any(-1), keep[:, :, None]  # "only j misses: at most 0"
        low, d = (mean(mean(x, keep), seeds) for x in (x, np.where(i & ~j, np.maximum(x, 0), x)))  # "only i misses: at least 0"
        n, f0, v0 = seeds.sum(-1), np.minimum(f0, k - 1)[:, None, None], v0[:, None, None, None]
        s = scatter(mean(self.log[:, None, None], rows), seeds[:, :, None])
        least = mean(mean(self.step[:, None, None] ** 2 / 12, rows), seeds[:, :, None])  # "at least the mean of s^2 / 12"
        v = np.maximum(k / (k - 2) * (s - s.sum(-1, keepdims=True) / (k * (k - 1))), least)
        v = (f0[..., None] * v0 + (n[..., None] - 1) * v) / np.where(n < 3, np.nan, f0 + n - 1)[..., None]
        a, b = np.einsum("xiji->xij", v), np.einsum("xijj->xij", v)
        freedom = (a + b) ** 2 / (a**2 + b**2) * (f0 + n - 1)  # "of Welch 1947"
        low -= stats.t.ppf(1 - 0.05 / (k - 1), freedom) * ((a + b) / np.maximum(1, n)) ** 0.5
        low = np.where(other & ~np.isnan(low), low, -np.inf)  # "with fewer than three seeds nothing is told apart"
        self.inside = ~(low > 0).any(2) & ~self.never
        self.best = np.where(self.never, np.inf, np.where(other, d, -np.inf).max(2)).argmin(1)  # "the smallest largest d"
        rival = other & self.inside[:, None]
        self.beaten = (rival & (i & ~j).any((2, 3))).any(2)  # "misses a target that a row of the set reaches": the same seed
        d, high = np.where(other, d, 0).max(2), np.where(rival, -low.swapaxes(1, 2), -np.inf).max(2)
        self.regret, self.ends = np.exp(d), np.exp([low.max(2), np.maximum(d, high)])  # "at least the regret itself"

    def spent(self, axis=0):  # by the cheapest row
        x = np.exp(self.y[axis, (row := self.best[axis])].mean()) / (1e9, 1, 1e6)[axis]
        shown = f"{round(x, max(0, 2 - int(np.floor(np.log10(x))))):,.12g}{(' s', '', ' MB')[axis]}"
        return "never" if self.never[row] else "≥ " * int(self.lower[row]) + shown

    def decision(self, axis, page):
        """The cheapest row with its cost, then the set with regrets; who costs alike as on the
        page."""
        regret, best = self.regret[axis], self.best[axis]
        rest = [k for k in regret.argsort() if self.inside[axis, k] and k != best]
        rest = [f"{self.names[k]} {'≥ ' * int(self.beaten[axis, k])}{regret[k]:.2f}" for k in rest]
        first = [x for x in page.partition("; ")[2].split(", ") if x in rest][:4]
        if [x.partition(" ")[2] for x in first] == [x.partition(" ")[2] for x in rest[:4]]:
            rest[:4] = first
        rest[4:] = [f"{len(rest) - 4} more"] * (len(rest) > 4)
        return f"**{self.names[best]}** {self.spent(axis)}" + "; " * bool(rest) + ", ".join(rest)

    def cell(self, column, name, page):
        if column.endswith("at work") or "fewest" in column:
            return self.decision(1 if "gradients" in column else 2 if "bytes" in column else 0, page)
        what, k = name if column == self.point else column, self.names.index(name) if name in self.names else 0
        told = {"targets": self.shown, "algorithm": self.names[0], "cost": self.spent(), "cheapest, cost": self.spent()}
        if what not in self.names:
            return self.rounds() if "rounds" in what else told.get(what, "" if column == self.point else None)
        return "never" if self.never[k] else f"**{self.ratio(k)}**" if self.inside[0, k] else self.ratio(k)

    def ratio(self, k):
        (low, high), beaten = self.ends[:, 0, k], int(self.beaten[0, k])
        return f"{'≥ ' * beaten}{self.regret[0, k]:.2f} [{low:.2f}, {'∞' if beaten else f'{high:.2f}'}]"

    def rounds(self):
        """As "the smallest cost of rows in rounds over that of the others" that reach a target."""
        sides = [np.flatnonzero(~self.never & side) for side in (~self.stream, self.stream)]
        if not all(map(len, sides)):
            return ""
        one, other = (self.lower[side[self.y[0, side].mean(1).argmin()]] for side in sides)
        x = np.subtract(*((self.y[0] @ draws(self.seeds))[side].min(0) for side in sides))
        return ("", "≤ ", "≥ ", "? ")[2 * one + other] + resampled(np.exp(x), self.seeds)


def prior(boards, axis):
    """(v0, f0), "fitted (Smyth 2004) to S K / (K - 1) of all rows without a miss"."""
    found, half = [], []
    for board, rows in ((board, ~board.lower) for board in boards if sum(~board.lower) >= 3):  # "groups with at least three"
        s = scatter(board.y[axis, rows], np.full((1, board.seeds), True)) * rows.sum() / (rows.sum() - 1)
        found += [x for x in np.maximum(s, (board.step[axis, rows] ** 2 / 12).mean((1, 2))) if x > 0]  # "the same least value"
        half += [(board.seeds - 1) / 2] * (len(found) - len(half))
    if len(found) < 4:
        return 1.0, 0.0  # "fewer than four such rows"
    e = np.log(found) - special.digamma(half) + np.log(half)
    noise = special.polygamma(1, half).mean()
    f = optimize.brentq(lambda f: special.polygamma(1, f) - max(1e-8, e.var(ddof=1) - noise), 1e-6, 1e9)
    return np.exp(e.mean() + special.digamma(f) - np.log(f)), 2 * f


@functools.cache
def boards(suite):  # by (system, point)
    (tuned, _), found = load(suite), {}
    for of, system, head, rows in TABLES:
        if of != suite:
            continue
        if "levels" in head:
            found |= {(system, p): Board(suite, p, compared(suite, p)) for p in dict.fromkeys(p for p, _ in tuned)}
            continue
        names = dict.fromkeys(row["cost" in head] for row in rows if of == suite and {"targets", "cost"} & {rows[0][0], *head})
        for point in dict.fromkeys(point for point, name in tuned if name in names):
            board = Board(suite, point, [name for name in names if (point, name) in tuned])
            found |= {(system, point): board} if board.targets else {}
    v0, f0 = np.transpose([prior([*found.values()], axis) for axis in range(3)])
    for board in (board for board in found.values() if len(board.names) > 1):
        board.judge(v0, f0)
    return found


def compared(suite, point):
    """Rows without public data that a race kept, from the archive: the table names the best."""
    left = {*said_of(suite)["public_data"], "centralised"}
    there = {name: len(row) for (where, name), row in load(suite)[0].items() if where == point and name not in left}
    return [name for name, seeds in there.items() if seeds == max(there.values())]


def largest(suite, name):
    """The largest regret where a target is held, where that is, at how many points one is held, at
    how many none, and at how many the row is among the best."""
    there = {p: (board, board.names.index(name)) for (_, p), board in boards(suite).items()
             if p.startswith("design") and name in board.names}  # fmt: skip
    held = {p: board.regret[0, k] for p, (board, k) in there.items() if not board.never[k]}
    at, best = max(held, key=held.get), sum(board.inside[0, k] for board, k in there.values())
    return there[at][0].ratio(there[at][1]), at, f"{len(held)}", f"{len(there) - len(held)}", f"{best}"


def at_level(suite, level):
    """Median regrets at the points with a level, the larger of two in the middle, and the largest,
    of rows that run at all of them; a bound if a smaller one is a bound."""
    factor, value = level.split(" ")
    levels = {p: said["levels"][factor] for p, said in said_of(suite)["points"].items() if p.startswith("design")}
    there = {p for p, x in levels.items() if (x if isinstance(x, str) else f"{x:g}") == value}
    several, told = [board for (_, p), board in boards(suite).items() if p in there and len(board.names) > 1], []
    for name in sorted(set.intersection(*(set(board.names) for board in several))):
        places = [(board, board.names.index(name)) for board in several]
        one = np.array(sorted((np.inf if board.never[k] else board.regret[0, k], int(board.beaten[0, k])) for board, k in places))
        (middle, most), half = one[[len(one) // 2, -1], 0], len(one) // 2 + 1
        bound = ["≥ " * int(x.max()) for x in (one[:half, 1], one[:, 1])]
        worst = "no target" if np.isinf(most) else f"{bound[1]}{most:.2f}"
        told.append((middle, most, name, f"{name} {bound[0]}{middle:.2f}, at worst {worst}"))
    return f"{len(several)}", "; ".join(text for *_, text in sorted(told)[:4])


def draws(n):
    """The seeds' shares in all, and in "draws of n seeds, the same for all rows and points"."""
    return np.c_[np.full(n, 1 / n), np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), 50_000).T / n]


def resampled(x, n):
    """The first, and "percentiles Phi(-sqrt(n / (n - 1)) t) from both ends" with their luck."""
    q = stats.norm.cdf(-((n / (n - 1)) ** 0.5) * stats.t.ppf(0.975, n - 1))
    luck = 4 * (q * (1 - q) * (1 / 10_000 + 1 / 50_000)) ** 0.5
    ends = [np.quantile(x[1:], np.clip([p, p - luck, p + luck], 0, 1)) for p in (q, 1 - q)]
    return f"{x[0]:.2f}" + " [{}, {}]".format(*("⟨{};{};{}⟩".format(*end) for end in ends)) * bool(np.ptp(x) > 1e-9)


def always(suite, system, name):
    """As "the geometric mean over points of its cost over the smallest cost of its group"."""
    there = {point: (board, board.names.index(name)) for (where, point), board in boards(suite).items() if where == system}
    y = {point: y[k] - y.min(0) for point, (board, k) in there.items() for y in [board.y[0] @ draws(board.seeds)]}
    worst, n = max(y, key=lambda point: y[point][0]), next(iter(there.values()))[0].seeds
    lower = "≥ " * any(board.lower[k] for board, k in there.values())
    return lower + resampled(np.exp(np.mean([*y.values()], 0)), n), f"{np.exp(y[worst][0]):.2f}", worst


def cells(suite, system, header, row):
    """What they should have; nothing if they are not covered."""
    if "worst" in header:
        return always(suite, system, row[0])
    if header[0] == "level":
        return at_level(suite, row[0])
    if "largest regret" in header:
        return largest(suite, row[0])
    there, found = {} if {"updates", "did not finish", "verdict", "spread"} & {*header} else boards(suite), []
    for column, page in zip(header[1:], row[1:], strict=True):
        where = re.sub("^a", "A", column.split(", ")[-1]) if column.endswith("at work") else system
        board = there.get((system, column), there.get((where, row[0])))
        none = "no verdict" if there and re.search("at work$|fewest|rounds|^cost$", column) else None
        found.append(board.cell(column, row[0], page) if board else none)
    return found


TABLES, total, left, of, system = [], np.zeros(4, int), {}, "", ""
for chapter, part, block in re.findall(r"^## (.*)|^### (.*)|((?:^\|.*\n)+)", (FOLDER / "findings.md").read_text("utf-8"), re.M):
    of, system = (re.sub(r".*\((.+)\)", r"\1", chapter), chapter) if chapter else (of, part or system)
    if block:
        header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
        TABLES.append((of, system, header, rows))
for suite, system, header, rows in TABLES:
    for row in rows:
        for column, page, mine in zip(header[1:], row[1:], cells(suite, system, header, row), strict=True):
            left[column] = left.get(column, 0) + (mine is None)
            parts = re.split("⟨(.*?)⟩", page if mine is None else mine)  # every second is of an end: itself, its least and most
            shown = re.fullmatch(r"(-?\d+\.\d+)".join(map(re.escape, parts[::2])), page)
            pairs = zip(shown.groups() if shown else (), parts[1::2], strict=False)
            ends = np.array([[x, *end.split(";")] for x, end in pairs], float).reshape(-1, 4)
            x, _, low, high = luck = ends[abs(ends[:, 0] - ends[:, 1]) > 0.02 + 0.005].T
            wrong = not shown or (x < low - 0.005).any() or (x > high + 0.005).any()
            total += [mine is not None, len(ends), luck.shape[1], wrong]
            if wrong:
                print(f"{suite} / {system} / {row[0]} / {column}: page {page}, found {mine}")
print("{} cells compared, {} resampled ends, {} of them by luck, {} cells differing.".format(*total))
print("Not covered:", ", ".join(f"{count} cells of {what}" for what, count in left.items() if count))
sys.exit(bool(total[3]))
