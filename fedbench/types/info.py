"""What an algorithm may know about the clients before the run."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from fedbench.errors import UsageError
from fedbench.types.arrays import Weights


class Info:
    """What an algorithm may know about the clients before the run.

    Where a function is given, it is called when the value is first read: a plan needs no shards
    unless its policy does.

    Parameters
    ----------
    clients : int
        The number of clients N.
    n : float64 array (N,), or a function that returns it
        The number of examples of every client.
    p : float64 array (N,), optional
        The weights of the clients in the objective, which sum to 1. The default is n_i / sum n_j.
    step_seconds : float64 array (N,), or a function that returns it, optional
        The mean virtual seconds of one local step of every client. The default is 1 for all.
    job_seconds : float64 array (N,), or a function that returns it, optional
        The mean virtual seconds of all local steps of a job of every client. The default is
        `step_seconds`.
    public_shape : (int, int), or a function that returns it
        The number of the server's public examples P, and of their classes C. The default is (0, 0),
        for none.
    """

    def __init__(
        self,
        clients: int,
        n: Weights | Callable[[], Weights],
        p: Weights | None = None,
        step_seconds: Weights | Callable[[], Weights] | None = None,
        job_seconds: Weights | Callable[[], Weights] | None = None,
        *,
        public_shape: tuple[int, int] | Callable[[], tuple[int, int]] = (0, 0),
    ) -> None:
        self.clients = clients
        self._n = n
        self._p = p
        self._step_seconds = step_seconds
        self._job_seconds = job_seconds
        self._public_shape = public_shape

    @functools.cached_property
    def n(self) -> Weights:
        """The number of examples of every client, float64 (N,)."""
        return self._n() if callable(self._n) else self._n

    @functools.cached_property
    def public_shape(self) -> tuple[int, int]:
        """The number of public examples P and of their classes C."""
        return self._public_shape() if callable(self._public_shape) else self._public_shape

    @functools.cached_property
    def p(self) -> Weights:
        """The weights of the clients in the objective, float64 (N,), which sum to 1."""
        return self._p if self._p is not None else self.n / self.n.sum()

    @functools.cached_property
    def step_seconds(self) -> Weights:
        """The mean virtual seconds of one local step of every client, float64 (N,)."""
        if self._step_seconds is None:
            return np.ones(self.clients)
        return self._step_seconds() if callable(self._step_seconds) else self._step_seconds

    @property
    def fastest_steps(self) -> int:
        """The local steps of a job of the client with the fastest steps, the first of equal
        ones."""
        self.check_seconds()
        fastest = int(np.argmin(self.step_seconds))
        return max(1, round(float(self.job_seconds[fastest] / self.step_seconds[fastest])))

    @functools.cached_property
    def job_seconds(self) -> Weights:
        """The mean virtual seconds of a job's local steps for every client, float64 (N,)."""
        if self._job_seconds is None:
            return self.step_seconds
        return self._job_seconds() if callable(self._job_seconds) else self._job_seconds

    def check_seconds(self) -> None:
        """Checks that every client has a speed, for an algorithm that divides by its seconds.

        Raises
        ------
        UsageError
            The mean seconds of a client's job are 0, or infinite: they have no mean.
        """
        missing = ~(np.isfinite(self.job_seconds) & (self.job_seconds > 0))
        if missing.any():
            client = int(np.argmax(missing))
            raise UsageError(
                "the algorithm goes by the speeds of the clients, so the computing time of a job must have a mean > 0, "
                f"got {self.job_seconds[client]:g} s of client {client} (compute of the scenario)"
            )
