"""The interface of a local optimiser of one's own."""

from __future__ import annotations

from typing import Any

from fedbench.errors import UnwrittenError
from fedbench.types import Vector


class Optimizer:
    """The rule by which clients turn the direction of a step into new parameters.

    A class in a file extends it, and a scenario names the file. Every job has a new object and a
    new state, since clients keep nothing between jobs.

    Examples
    --------
    >>> import numpy as np
    >>> import fedbench as fb
    >>> class Sign(fb.Optimizer):
    ...     def update(self, parameters, gradient, state, step, lr):
    ...         return parameters - lr * np.sign(gradient), state
    >>> Sign().update(np.zeros(2), np.array([3.0, -4.0]), None, 0, 0.5)
    (array([-0.5,  0.5]), None)
    """

    def init(self, parameters: Vector) -> Any:
        """Returns the state at the start of a job. By default there is none.

        Parameters
        ----------
        parameters : array (d,) float32
            The model from which the job starts, read-only.

        Returns
        -------
        object
            The state: whatever `update` wants to find.
        """
        return None

    def update(self, parameters: Vector, gradient: Vector, state: Any, step: int, lr: float) -> tuple[Vector, Any]:
        """Returns the parameters after a step, and the state. Both must depend on the arguments
        alone.

        Parameters
        ----------
        parameters : array (d,) float32
            The parameters before the step, read-only.
        gradient : array (d,) float32
            The direction along which the algorithm would go down: the gradient of the mini-batch
            with the algorithm's weight decay, proximal term and correction. Read-only.
        state : object
            What `init` or the last update returned. It may be changed in place.
        step : int
            The step within the job, from 0.
        lr : float
            The algorithm's rate, times the factor of `local.schedule`.

        Returns
        -------
        parameters : array (d,) float32
            The new parameters. A job whose parameters are not finite diverges.
        state : object
            The new state.

        Raises
        ------
        UnwrittenError
            The class has no such method of its own.
        """
        raise UnwrittenError(f"optimizer {type(self).__name__}: update(parameters, gradient, state, step, lr) is not written")
