"""An executor that works at tasks on a Ray cluster. It is an optional extra:
pip install 'fedbench-suite[ray]'."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from fedbench.errors import UsageError
from fedbench.launch.executors import Begun, Done, Hear, Work, WorkerDied, attempt

AHEAD = 2  # tasks per processor of the cluster that are handed over, so that a free worker need not wait


class OnRay:
    """Works at tasks on the nodes of a Ray cluster. Without an address a cluster is started on this
    machine, which ends with the program.

    A task whose worker or node dies is tried again on another one. Without a file system that all
    nodes share, the results of the tasks come back and are stored here.
    """

    def __init__(self, address: str | None = None, *, shares_files: bool = False, retries: int = 3) -> None:
        """
        Args:
            address: as `ray.init` takes it; None starts a cluster on this machine.
            shares_files: whether all nodes share the file system of the store.
            retries: how often a task is tried again if its worker dies.
        """
        self.address, self.shares_files, self.retries = address, shares_files, retries

    def run(self, work: Work, tasks: Sequence[Any], hear: Hear) -> None:
        """Works at all tasks. Raises UsageError if Ray is not installed or the cluster cannot be
        reached."""
        ray = _ray()
        if not ray.is_initialized():
            try:
                ray.init(address=self.address, log_to_driver=False, include_dashboard=False, configure_logging=False)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise UsageError(f"ray: no cluster at {self.address or 'this machine'}: {error}") from None
        on_node = ray.remote(num_cpus=1, max_retries=self.retries)(attempt)
        places = max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = iter(enumerate(tasks))
        under_way: dict[Any, int] = {}
        try:
            while True:
                while len(under_way) < AHEAD * places and (following := next(waiting, None)) is not None:
                    number, task = following
                    hear(Begun(number))
                    under_way[on_node.remote(work, task)] = number
                if not under_way:
                    return
                for reference in ray.wait(list(under_way), num_returns=1)[0]:
                    hear(_done(ray, reference, under_way.pop(reference)))
        except BaseException:
            for reference in under_way:
                with contextlib.suppress(Exception):
                    ray.cancel(reference, force=True)
            raise


def _done(ray: Any, reference: Any, number: int) -> Done:
    try:
        found: Done = ray.get(reference)
    except ray.exceptions.RayError as error:
        return Done(number, error=WorkerDied(f"its worker died, also when it was tried again: {type(error).__name__}"))
    return Done(number, found.result, found.error)


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UsageError("ray is not installed; pip install 'fedbench-suite[ray]'") from None
    return ray
