"""Tasks on a Ray cluster, an optional extra: pip install 'fedbench-suite[ray]'."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from fedbench.errors import UsageError
from fedbench.suites.executors import Begun, Done, Hear, Work, WorkerDied, fit_to_travel

AHEAD = 2  # tasks that are handed over for every processor of the cluster: a worker that is free finds the next one there


class OnRay:
    """Runs on the nodes of a Ray cluster, or of one that is started here and ends with the program.

    A task whose worker or node dies is tried again on another one. Without a file system that all
    nodes share, what the tasks give comes back here and is stored here.
    """

    def __init__(self, address: str | None = None, *, shares_files: bool = False, retries: int = 3) -> None:
        """address: as `ray.init` takes it; None starts a cluster of this machine. retries: of a
        task whose worker dies."""
        self.address, self.shares_files, self.retries = address, shares_files, retries

    def run(self, work: Work, tasks: Sequence[Any], hear: Hear) -> None:
        """UsageError if Ray is not installed or the cluster cannot be reached."""
        ray = _ray()
        if not ray.is_initialized():
            try:
                ray.init(address=self.address, log_to_driver=False, include_dashboard=False, configure_logging=False)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise UsageError(f"ray: no cluster at {self.address or 'this machine'}: {error}") from None
        attempt = ray.remote(num_cpus=1, max_retries=self.retries)(_attempt)
        places = max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = iter(enumerate(tasks))
        under_way: dict[Any, int] = {}
        try:
            while True:
                while len(under_way) < AHEAD * places and (following := next(waiting, None)) is not None:
                    number, task = following
                    hear(Begun(number))
                    under_way[attempt.remote(work, task)] = number
                if not under_way:
                    return
                for reference in ray.wait(list(under_way), num_returns=1)[0]:
                    hear(_done(ray, reference, under_way.pop(reference)))
        except BaseException:
            for reference in under_way:
                with contextlib.suppress(Exception):
                    ray.cancel(reference, force=True)
            raise


def _attempt(work: Work, task: Any) -> Done:
    """Does the work on a node. What goes wrong in it comes back as a result, since trying again
    would not help."""
    try:
        return Done(0, work(task, lambda *report: None))
    except Exception as error:
        return Done(0, error=fit_to_travel(error))


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
