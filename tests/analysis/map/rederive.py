"""Derives what a map says from plain columns, with numpy and scipy alone and by another method.

Where the package has moments and a bootstrap, this draws all effects, variances and costs beyond
their censoring one after the other from what they are given the rest (a Gibbs sampler). All of a
group of terms have one variance here. A flat mean has variance 100, and every variance the prior of
half an effect of 2 %, or 10 % for lack of fit, points and luck (inverse gamma with shape 1/2 and
half its square as the scale).
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array
from scipy.special import log_ndtr, ndtri_exp

LEVEL, MAIN, SQUARE, INTERACTION = range(4)


class Columns:
    """The model: factors as {name: kinds, or "log", or "linear"}, squares and pairs by name."""

    def __init__(self, factors, squares, pairs, points):
        self.factors, self.squares, self.pairs = factors, squares, pairs
        self.ends = {
            f: (min(self.number(f, points)), max(self.number(f, points))) for f, kind in factors.items() if isinstance(kind, str)
        }
        raw, self.group = self.raw(points)
        self.centre, self.scale = np.r_[0, raw.mean(0)[1:]], np.r_[1, raw.std(0)[1:]]

    def number(self, factor, at):
        return np.log(at[factor]) if self.factors[factor] == "log" else np.array(at[factor], float)

    def one(self, factor, at):
        """-1 to 1, or contrasts of every kind with the mean of those before it."""
        if isinstance(self.factors[factor], str):
            low, high = self.ends[factor]
            return [2 * (self.number(factor, at) - low) / (high - low) - 1]
        place = np.array([self.factors[factor].index(value) for value in at[factor]])
        return [np.where(place < k, -1.0, np.where(place == k, k, 0)) for k in range(1, len(self.factors[factor]))]

    def raw(self, at):
        main = [column for factor in self.factors for column in self.one(factor, at)]
        square = [self.one(factor, at)[0] ** 2 for factor in self.squares]
        both = [a * b for one, other in self.pairs for a in self.one(one, at) for b in self.one(other, at)]
        return np.stack([np.ones(len(main[0])), *main, *square, *both], 1), np.repeat(
            range(4), [1, len(main), len(square), len(both)]
        )

    def __call__(self, at):
        return (self.raw(at)[0] - self.centre) / self.scale


def one_hot(values, width=None):
    return np.eye(width or values.max() + 1)[values]


def sampled(model, points, runs, draws=1500, burn=300, seed=1):
    """Draws of the coefficients (B, K, P), and of the variances of lack of fit, with the luck of a
    tuning, and of points (B,)."""
    generator, names = np.random.default_rng(seed), sorted(set(runs["algorithm"]))
    k = np.array([names.index(name) for name in runs["algorithm"]])
    n = np.array([points["point"].index(point) for point in runs["point"]])
    x, limit, censored, count = model(points)[n], np.log(runs["cost"]), np.array(runs["is_censored"]), len(names)
    departures = (one_hot(k)[:, :, None] * x[:, None]).reshape(len(k), -1)
    fit, of_seeds = n * count + k, np.unique(n * 1000 + np.array(runs["seed"]), return_inverse=True)[1]
    z = np.concatenate(
        [x, departures, one_hot(fit, count * points_of(points)), one_hot(n, points_of(points)), one_hot(of_seeds)], 1
    )
    drawn = list(zip(runs["algorithm"], runs.get("tuning") or [None] * len(k), strict=True))
    luck = {one: place for place, one in enumerate(dict.fromkeys(one for one in drawn if one[1] is not None))}
    lucky = np.array([[luck.get(one) == place for place in range(len(luck))] for one in drawn], float).reshape(len(k), -1)
    kept = z.any(0)  # an algorithm that has no run at a point
    columns = x.shape[1]
    sizes = [columns, count * columns, z.shape[1]]
    group = np.r_[
        model.group, 4 + np.tile(model.group, count), np.full(count * points_of(points), 8), np.full(points_of(points), 9)
    ]
    group = np.r_[np.r_[group, np.full(sizes[2] - len(group), 10)][kept], np.full(len(luck), 11)]
    z = np.concatenate([z[:, kept], lucky], 1)
    z, variance, noise, cost, found = csr_array(z), np.full(12, 0.05), np.full(count, 0.05), limit.copy(), []
    for step in range(draws + burn):
        variance[[LEVEL, MAIN]] = 100  # nothing is known of the mean over algorithms
        system = (z.T @ z.multiply(1 / noise[k][:, None])).toarray()
        system = cholesky(system + np.diag(1 / variance[group]), lower=True)
        effects = solve_triangular(system, z.T @ (cost / noise[k]), lower=True) + generator.standard_normal(z.shape[1])
        effects = solve_triangular(system, effects, lower=True, trans="T")
        middle, deviation = z @ effects, np.sqrt(noise[k])
        beyond = log_ndtr((middle - limit) / deviation) + np.log(generator.uniform(size=len(k)))
        cost = np.where(censored, middle - deviation * ndtri_exp(beyond), limit)
        for g in range(12):
            variance[g] = ((0.1 if g in (8, 9, 11) else 0.02) ** 2 + (effects[group == g] ** 2).sum()) / generator.chisquare(
                1 + (group == g).sum()
            )
        for a in range(count):
            noise[a] = (0.02**2 + ((cost - middle)[k == a] ** 2).sum()) / generator.chisquare(1 + (k == a).sum())
        if step >= burn:
            own = effects[columns : columns * (count + 1)].reshape(count, columns)
            found.append((effects[:columns] + own, variance[8] + variance[11] * bool(luck), variance[9]))
    return [np.array(part) for part in zip(*found, strict=True)]


def points_of(points):
    return len(points["point"])


def costs_at(model, found, at, seed=2):
    """Draws of log costs at new points (B, L, K)."""
    coefficients, fit, point = found
    smooth, generator = np.einsum("bkp,lp->blk", coefficients, model(at)), np.random.default_rng(seed)
    shared = np.sqrt(point)[:, None, None] * generator.standard_normal((*smooth.shape[:2], 1))
    return smooth + shared + np.sqrt(fit)[:, None, None] * generator.standard_normal(smooth.shape)


def regret(costs):
    return costs - costs.min(-1, keepdims=True)


def measured(points, runs, names):
    """Log costs (N, K) at each point by least squares on algorithms and seeds."""
    found = np.empty((len(points), len(names)))
    for n, point in enumerate(points):
        rows = [j for j, here in enumerate(runs["point"]) if here == point]
        k = np.array([names.index(runs["algorithm"][j]) for j in rows])
        s = np.array([runs["seed"][j] for j in rows])
        seeds = one_hot(s) - one_hot(s).any(0) / len(set(s))  # their effects have the mean 0
        found[n] = np.linalg.pinv(np.concatenate([one_hot(k), seeds], 1))[: len(names)] @ np.log([runs["cost"][j] for j in rows])
    return found


def nearest(model, points, at):
    """Which of the points is the nearest to each level."""

    def place(levels):
        parts = [
            model.one(f, levels) if isinstance(kind, str) else [2**0.5 * (np.array(levels[f]) == one) for one in kind]
            for f, kind in model.factors.items()
        ]
        return np.stack([column for part in parts for column in part], 1)

    return (((place(at)[:, None] - place(points)) ** 2).sum(2)).round(9).argmin(1)


def in_set(costs, sure=0.9):
    """How many algorithms are needed at each level so that one is within 10 % with that
    probability, taking always the one that helps most."""
    sizes = []
    for close in (regret(costs) <= np.log(1.1)).swapaxes(0, 1):
        left, size = close, 0
        while len(left) > (1 - sure) * len(close) + 1e-9:
            left, size = left[~left[:, left.sum(0).argmax()]], size + 1
        sizes.append(size)
    return sizes
