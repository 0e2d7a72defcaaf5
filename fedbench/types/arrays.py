"""Names for the kinds of arrays that the package passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.floating[Any]]
Weights = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer[Any]]
