"""Whether two tables of costs order the rows that both have alike.

Source: Kendall 1945, tau-b.
"""

from __future__ import annotations

import numpy as np

from fedbench.analysis import bootstrap
from fedbench.analysis.bootstrap import Floats, Interval, Strata
from fedbench.analysis.costs import Costs

LEAST = 3
"""With fewer rows there is no order to agree on."""


def agreement(first: Costs, second: Costs) -> Interval | None:
    """Returns Kendall's tau-b between the orders, by cost, of the rows that both have: 1 for the
    same order, -1 for the opposite one. A draw of seeds in which all rows have the same cost counts
    as 0. None with fewer than LEAST such rows."""
    rows = [row for row in first.rows if row in second.rows]
    if len(rows) < LEAST:
        return None
    strata = {name: one.among(rows).log.mean(axis=2) for name, one in (("first", first), ("second", second))}
    return bootstrap.estimate(strata, of_means)


def of_means(means: Strata) -> Floats:
    """Returns tau-b between the means (draws, K) of "first" and "second", for each draw."""
    return tau(means["first"], means["second"])


def tau(first: Floats, second: Floats) -> Floats:
    """Returns tau-b between the orders of the values of two arrays (.., K); 0 where all values of
    one of them are the same."""
    one, other = (np.sign(values[..., :, None] - values[..., None, :]) for values in (first, second))
    agree = (one * other).sum(axis=(-2, -1))
    most = np.sqrt((one**2).sum(axis=(-2, -1)) * (other**2).sum(axis=(-2, -1)))
    return np.asarray(np.divide(agree, most, out=np.zeros_like(agree), where=most > 0), np.float64)
