"""An executor that works at tasks in arrays of Slurm jobs. It is an optional extra:
pip install 'fedbench-suite[slurm]'."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedbench.errors import UsageError
from fedbench.launch.executors import Begun, Done, Hear, Work, WorkerDied, attempt

POLL_SECONDS = 0.5
QUEUE_SECONDS = 5.0  # between two looks at the queue


class OnSlurm:
    """Works at groups of tasks. Each group is a job, and all jobs are one array. All nodes share
    the file system, and so the store.

    A job that Slurm cancels, or ends at its time limit, is handed in again. The runs that it had
    finished are in the store and are taken from there. A job that Slurm itself requeues goes on by
    itself.
    """

    shares_files = True

    def __init__(
        self,
        folder: str | Path,
        *,
        cluster: str | None = None,
        group: int = 8,
        at_once: int = 64,
        minutes: int = 60,
        retries: int = 3,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        """
        Args:
            folder: for the scripts and logs of the jobs; all nodes must see it.
            cluster: slurm, local (processes of this machine), or None for slurm if there is one,
                else local.
            group: the number of tasks in a job; short tasks are not worth a job each.
            at_once: the largest number of jobs of the array that run at a time.
            minutes: the time limit of a job.
            retries: how often a job that ended without its results is handed in again.
            parameters: further ones of submitit, such as slurm_partition.
        """
        self.folder, self.cluster, self.group, self.at_once = Path(folder), cluster, group, at_once
        self.minutes, self.retries, self.parameters = minutes, retries, parameters or {}

    def run(self, work: Work, tasks: Sequence[Any], hear: Hear) -> None:
        """Works at all tasks. Raises UsageError if submitit is not installed, or if there is no
        such cluster."""
        left = list(enumerate(tasks))
        groups = [left[i : i + self.group] for i in range(0, len(left), self.group)]
        for number, _ in left:
            hear(Begun(number))
        for attempts in itertools.count(1):
            groups = self._handed_in(work, groups, hear, last=attempts > self.retries)
            if not groups:
                return

    def _handed_in(self, work: Work, groups: Sequence[Any], hear: Hear, *, last: bool) -> list[Any]:
        """Hands all groups in, waits for them, and returns those that ended without results. After
        the last attempt the tasks of such groups fail instead."""
        executor = self._executor()
        queue = Queue() if executor.cluster == "slurm" else None
        jobs = dict(zip(executor.map_array(Group(work), groups), groups, strict=True))
        lost = []
        try:
            while jobs:
                for job in [one for one in jobs if one.done() or (queue is not None and queue.lacks(one))]:
                    group = jobs.pop(job)
                    found, why = _results(job)
                    for done in found:
                        hear(done)
                    if why and not last:
                        lost.append(group)
                    elif why:
                        for number, _ in group:
                            hear(Done(number, error=WorkerDied(why)))
                time.sleep(POLL_SECONDS if jobs else 0)
        except BaseException:
            for job in jobs:
                job.cancel(check=False)
            raise
        return lost

    def _executor(self) -> Any:
        try:
            import submitit
        except ImportError:
            raise UsageError("submitit is not installed; pip install 'fedbench-suite[slurm]'") from None
        try:
            executor = submitit.AutoExecutor(folder=self.folder, cluster=self.cluster)
        except (RuntimeError, ValueError, AssertionError) as error:
            raise UsageError(f"slurm: no cluster {self.cluster or ''}: {error}") from None
        executor.update_parameters(timeout_min=self.minutes, cpus_per_task=1, **self.parameters)
        if executor.cluster == "slurm":
            executor.update_parameters(slurm_array_parallelism=self.at_once)
        return executor


def _results(job: Any) -> tuple[list[Done], str]:
    """Returns the results of a job that has ended, or the reason why there are none."""
    if not job.paths.result_pickle.exists():  # submitit would wait for it
        return [], f"its job {job.job_id} ended without results ({job.state})"
    try:
        return job.result(), ""
    except Exception as error:
        return [], f"its job {job.job_id} ended without results ({job.state}): {type(error).__name__}"


class Queue:
    """Asks Slurm's queue whether jobs have ended. Submitit asks Slurm's accounting, which many
    clusters do not have."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}
        self._missing: dict[str, int] = {}

    def lacks(self, job: Any) -> bool:
        """Returns whether the job was missing from the queue in two looks, QUEUE_SECONDS apart. One
        look is not enough, since the result may come a moment after the job has left."""
        name, now = str(job.job_id), time.monotonic()
        if now < self._next.get(name, now - 1):
            return False
        self._next[name] = now + QUEUE_SECONDS
        said = subprocess.run(
            ["squeue", "--noheader", "--format=%i", f"--jobs={name}"], capture_output=True, text=True, check=False
        )
        self._missing[name] = 0 if said.stdout.strip() else self._missing.get(name, 0) + 1
        return self._missing[name] > 1


class Group:
    """Works at some tasks one after the other, on a node. If it is called again after a requeue, it
    goes through all of them, and takes those that were finished from the store."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def __call__(self, tasks: Sequence[tuple[int, Any]]) -> list[Done]:
        return [attempt(self.work, task, number) for number, task in tasks]

    def checkpoint(self, tasks: Sequence[tuple[int, Any]]) -> Any:
        """Returns what submitit hands in after a time limit or a preemption: the same group
        again."""
        import submitit

        return submitit.helpers.DelayedSubmission(self, tasks)
