"""The interface of a metric of one's own."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from fedbench.errors import UnwrittenError


class Metric:
    """A number by which models are judged, beside accuracy and loss.

    A class in a file extends it. A scenario names the file, and every model that is evaluated gets
    a value. The class body states `name` and `higher_is_better` as constants, since they are read
    before any code is run.

    Attributes
    ----------
    name : str
        The name of its curve: small letters, digits and underscores.
    higher_is_better : bool
        Whether a target is met at or above its value, or at or below it. By default at or above.

    Examples
    --------
    >>> import numpy as np
    >>> import fedbench as fb
    >>> class Recall(fb.Metric):
    ...     name = "recall_of_class_0"
    ...
    ...     def value(self, logits, labels, features):
    ...         return float((logits.argmax(axis=1) == 0)[labels == 0].mean())
    >>> Recall().value(np.eye(2), np.array([0, 1]), np.zeros((2, 3)))
    1.0
    """

    name: ClassVar[str]
    higher_is_better: ClassVar[bool] = True

    def value(self, logits: npt.NDArray[np.float32], labels: npt.NDArray[np.int64], features: npt.NDArray[Any]) -> float:
        """Returns the metric of a model on the examples that test accuracy is measured on. It must
        depend on the arguments alone, and must not change them.

        Parameters
        ----------
        logits : array (n, classes) float32
            What the model gives for every example.
        labels : array (n,) int64
            The classes of the examples.
        features : array (n, ...) float32
            The examples.

        Returns
        -------
        float
            A number. NaN meets no target.

        Raises
        ------
        UnwrittenError
            The class has no such method of its own.
        """
        raise UnwrittenError(f"metric {type(self).__name__}: value(logits, labels, features) is not written")
