"""Computes how well the points of a design tell the effects of its model apart."""

from __future__ import annotations

import numpy as np

from fedbench.suites.design.model import Model, Rows
from fedbench.suites.design.schema import Figures
from fedbench.types import Weights

ROUNDS = 200  # of the algorithm for weights, after which its bound is tight to a thousandth
DIGITS = 3
PLACES = 9  # decimals to which numbers are equal, so that the first of several largest ones is named


def figures(model: Model, rows: Rows) -> Figures:
    """Returns the figures of the design with these points, rounded to DIGITS digits."""
    x = model.values[rows]
    terms = [column.term for column in model.columns]
    centred = x[:, 1:] - x[:, 1:].mean(axis=0)
    correlation = _scaled(centred).T @ _scaled(centred)
    inflation = np.diag(np.linalg.inv(correlation)).round(PLACES) if len(terms) > 1 else np.ones(0)
    others = np.array([[a != b for b in terms[1:]] for a in terms[1:]], np.bool_).reshape(correlation.shape)
    shared = (np.abs(correlation) * others).round(PLACES)
    a, b = np.unravel_index(int(shared.argmax()), shared.shape) if shared.size else (0, 0)
    left_out = [column.term for column in model.left_out]
    return Figures(
        points=len(rows),
        effects=len(terms),
        d_efficiency=_rounded(_efficiency(model.values[model.candidates], x)),
        condition=_rounded(np.linalg.cond(_scaled(x))),
        variance_inflation=_rounded(inflation.max(initial=1.0)),
        inflated=terms[1 + int(inflation.argmax())] if len(inflation) else "",
        aliasing=_rounded(shared.max(initial=0.0)),
        aliased=(terms[1 + a], terms[1 + b]) if shared.any() else ("", ""),
        left_out={term: left_out.count(term) for term in dict.fromkeys(left_out)},
    )


def _rounded(value: float | np.floating) -> float:
    return float(f"{value:.{DIGITS}g}")


def _scaled(columns: Weights) -> Weights:
    return np.asarray(columns / np.sqrt((columns**2).sum(axis=0)))


def _efficiency(candidates: Weights, x: Weights) -> float:
    """Returns a lower bound of the efficiency of the points x (n, p).

    Weights w on the candidates are multiplied by d / p, where d is the variance of a prediction at
    a candidate, until ROUNDS are over. Of any weights, det(M) <= det(M(w)) (max d / p)^p, by the
    equivalence theorem. Source: Silvey, Titterington and Torsney, Communications in Statistics A 7
    (1978), p. 1379.
    """
    n, p = x.shape
    w = np.full(len(candidates), 1 / len(candidates))
    bound = np.inf
    for _ in range(ROUNDS):
        information = (candidates.T * w) @ candidates
        d = (candidates @ np.linalg.inv(information) * candidates).sum(axis=1)
        bound = min(bound, np.linalg.slogdet(information)[1] + p * np.log(d.max() / p))
        if d.max() < p * (1 + 1e-9):
            break
        w = w * d / p
    return float(np.exp((np.linalg.slogdet(x.T @ x)[1] - bound) / p) / n)
