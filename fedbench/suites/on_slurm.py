"""Tasks as arrays of Slurm jobs, an optional extra: pip install 'fedbench-suite[slurm]'."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fedbench.errors import UsageError
from fedbench.suites.executors import Begun, Done, Hear, Work, WorkerDied, fit_to_travel

POLL_SECONDS = 0.5
QUEUE_SECONDS = 5.0


class OnSlurm:
    """Groups of tasks as the jobs of one array; all nodes share the file system, and so the store.

    A job that Slurm cancels, or ends at its time limit, is handed in again; what it had finished is
    in the store and is taken from there. A job that Slurm itself requeues goes on by itself.
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
            folder: of the scripts and logs of the jobs; all nodes must see it.
            cluster: slurm, local (processes of this machine), or None for what there is.
            group: tasks of a job: short ones are not worth a job each.
            at_once: jobs of the array that run at a time, at most.
            minutes: after which Slurm may end a job.
            retries: how often a job that ended without its results is handed in again.
            parameters: others of submitit, such as slurm_partition.
        """
        self.folder, self.cluster, self.group, self.at_once = Path(folder), cluster, group, at_once
        self.minutes, self.retries, self.parameters = minutes, retries, parameters or {}

    def run(self, work: Work, tasks: Sequence[Any], hear: Hear) -> None:
        """UsageError if submitit is not installed, or there is no such cluster."""
        left = list(enumerate(tasks))
        groups = [left[i : i + self.group] for i in range(0, len(left), self.group)]
        for number, _ in left:
            hear(Begun(number))
        for attempt in itertools.count(1):
            groups = self._handed_in(work, groups, hear, last=attempt > self.retries)
            if not groups:
                return

    def _handed_in(self, work: Work, groups: Sequence[Any], hear: Hear, *, last: bool) -> list[Any]:
        """Hand all groups in and await them; those that ended without results, unless this is the
        last attempt."""
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
    """What a job that has ended gave, or why it gave nothing."""
    if not job.paths.result_pickle.exists():  # submitit would wait for it
        return [], f"its job {job.job_id} ended without results ({job.state})"
    try:
        return job.result(), ""
    except Exception as error:
        return [], f"its job {job.job_id} ended without results ({job.state}): {type(error).__name__}"


class Queue:
    """Slurm's queue. submitit asks the accounting whether a job has ended, which many clusters do
    not have."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}
        self._missing: dict[str, int] = {}

    def lacks(self, job: Any) -> bool:
        """Has the job left the queue, in two looks QUEUE_SECONDS apart? Its result may come a
        moment later."""
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
    """Some tasks one after the other, on a node. Called again after a requeue it goes through all
    of them; finished ones are taken from the store."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def __call__(self, tasks: Sequence[tuple[int, Any]]) -> list[Done]:
        return [self._done(number, task) for number, task in tasks]

    def _done(self, number: int, task: Any) -> Done:
        try:
            return Done(number, self.work(task, lambda *report: None))
        except Exception as error:
            return Done(number, error=fit_to_travel(error))

    def checkpoint(self, tasks: Sequence[tuple[int, Any]]) -> Any:
        """submitit asks this at a time limit or a preemption: the same once more."""
        import submitit

        return submitit.helpers.DelayedSubmission(self, tasks)
