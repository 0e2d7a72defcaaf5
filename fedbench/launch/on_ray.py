"""An executor that works at tasks on a Ray cluster. It needs the extra [ray]."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType

from fedbench import extras
from fedbench.errors import UsageError
from fedbench.launch.executors import Begun, Done, Failed, Hear, R, T, Work, WorkerDied, attempt
from fedbench.process import PYTHON

AHEAD = 2  # tasks per processor of the cluster that are handed over, so that a free worker need not wait
ADDRESS = re.compile(r"(?P<host>[\w.-]+|\[[0-9a-fA-F:]+\]):(?P<port>\d{1,5})")
CONNECT_SECONDS, ANSWER_SECONDS = 5.0, 14.0


class OnRay:
    """Works at tasks on the nodes of a Ray cluster that is there already. None is started, since
    this machine's processes are bounded by another executor.

    A task whose worker or node dies is tried again on another one. Without a file system that all
    nodes share, the results of the tasks come back and are stored here.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        shares_files: bool = False,
        at_once: int | None = None,
        cpus: int = 1,
        retries: int = 3,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """
        Args:
            address: HOST:PORT of the cluster; None is the cluster that this machine belongs to.
            shares_files: whether all nodes share the file system of the store.
            at_once: the largest number of tasks under way; None is as many as the cluster works at.
            cpus: processors of a task.
            retries: how often a task is tried again if its worker dies.
            tell: is told what is handed over, before it is.

        Raises:
            UsageError: for an address of another form.
        """
        if address is not None and ADDRESS.fullmatch(address) is None:
            raise UsageError(f"ray: expected the address HOST:PORT, such as 10.0.0.1:6379, got {address!r:.80}")
        self.address, self.shares_files, self.at_once, self.cpus, self.retries = address, shares_files, at_once, cpus, retries
        self.tell = tell or (lambda line: None)

    @property
    def _place(self) -> str:
        return "on this machine" if self.address is None else f"at {self.address}"

    def check(self) -> None:
        """Raises UsageError within 20 seconds if Ray is not installed, or no cluster answers. Ray
        itself would try for minutes, and print warnings."""
        if _ray().is_initialized():
            return
        if self.address is not None:
            _connect(self.address)
        where = [] if self.address is None else ["--address", self.address]
        try:
            asked = subprocess.run(
                [*PYTHON, "-m", "ray.scripts.scripts", "health-check", *where],
                capture_output=True,
                timeout=ANSWER_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise UsageError(f"ray: what listens {self._place} does not answer as a Ray cluster") from None
        if asked.returncode != 0:
            raise UsageError(f"ray: no cluster {self._place}; `ray start --head` starts one, --on ray:HOST:PORT names another")

    def run(self, work: Work[T, R], tasks: Sequence[T], hear: Hear[R]) -> None:
        """Works at all tasks. Raises UsageError as `check` does."""
        ray = _ray()
        if not ray.is_initialized():
            self.check()
            try:
                ray.init(address=self.address or "auto", log_to_driver=False, configure_logging=False)
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise UsageError(f"ray: no cluster {self._place}: {error}") from None
        on_node = ray.remote(num_cpus=self.cpus, max_retries=self.retries)(attempt)
        places = max(1, int(ray.cluster_resources().get("CPU", 1)) // self.cpus)
        most = AHEAD * places if self.at_once is None else min(self.at_once, AHEAD * places)
        self.tell(f"ray: {len(tasks)} runs to the cluster {self._place}, at most {min(most, places)} at a time")
        waiting = iter(enumerate(tasks))
        under_way: dict[object, int] = {}
        try:
            while True:
                while len(under_way) < most and (following := next(waiting, None)) is not None:
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


def _connect(address: str) -> None:
    """Raises UsageError unless somebody listens at HOST:PORT. Another thread looks, since a name
    server may take longer than anybody waits."""
    match = ADDRESS.fullmatch(address)
    assert match is not None
    said: list[str] = []

    def look() -> None:
        try:
            socket.create_connection((match["host"].strip("[]"), int(match["port"])), CONNECT_SECONDS).close()
        except (OSError, OverflowError, UnicodeError) as error:
            said.append(str(getattr(error, "strerror", None) or error))
        else:
            said.append("")

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    looking.join(CONNECT_SECONDS)
    why = said[0] if said else "no answer"
    if why:
        raise UsageError(f"ray: nobody listens at {address} ({why}); `ray start --head` starts a cluster and says its address")


def _done(ray: ModuleType, reference: object, number: int) -> Done[R] | Failed:
    try:
        found: Done[R] | Failed = ray.get(reference)
    except ray.exceptions.RayError as error:
        return Failed(number, WorkerDied(f"its worker died, also when it was tried again: {type(error).__name__}"))
    return replace(found, task=number)


def _ray() -> ModuleType:
    extras.require("ray", "--on ray")
    import ray

    return ray
