"""Whether two lists of costs order the rows that both have alike.

Source: Kendall 1945, tau-b.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fedbench.analysis.bootstrap import Floats

LEAST = 3
"""With fewer rows there is no order to agree on."""


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
