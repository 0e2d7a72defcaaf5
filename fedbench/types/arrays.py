"""Names for the kinds of arrays that the package passes around."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""An array of any dtype and shape."""
Vector = npt.NDArray[np.floating]
"""A model-sized array (d,), C-contiguous, of the run's dtype: float32, or float64 in theory and
conformance."""
Weights = npt.NDArray[np.float64]
"""A float64 array (N,) or (K,) with a number for every client or every entry of an update."""
Integers = npt.NDArray[np.integer]
"""An array (N,) or (K,) of whole numbers of any integer dtype."""
