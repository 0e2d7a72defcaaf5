"""Whether two tables of costs order the rows that both have alike.

Source: Kendall 1945, tau-b.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
    return tau_of(order(first), order(second))


def order(values: Floats, is_bound: npt.NDArray[np.bool_] | None = None) -> Floats:
    """Returns 1 where the first of two values is larger, -1 where it is smaller, else 0 (.., K, K).
    Values may be lower bounds (.., K): of two bounds, and of a bound below a value, the order is
    not known, and is 0 too."""
    found = np.sign(values[..., :, None] - values[..., None, :])
    if is_bound is None:
        return found
    one, other = is_bound[..., :, None], is_bound[..., None, :]
    is_known = ~(one | other) | (one & ~other & (found > 0)) | (other & ~one & (found < 0))
    return np.where(is_known, found, 0.0)


def tau_of(one: Floats, other: Floats) -> Floats:
    """Returns tau-b between two orders (.., K, K); 0 where one of them has ties only."""
    agree = (one * other).sum(axis=(-2, -1))
    most = np.sqrt((one**2).sum(axis=(-2, -1)) * (other**2).sum(axis=(-2, -1)))
    return np.asarray(np.divide(agree, most, out=np.zeros_like(agree), where=most > 0), np.float64)
