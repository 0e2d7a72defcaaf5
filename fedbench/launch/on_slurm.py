"""An executor that works at tasks in arrays of Slurm jobs. It is an optional extra:
pip install 'fedbench-suite[slurm]'."""

from __future__ import annotations

import contextlib
import io
import itertools
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Generic

from fedbench import extras
from fedbench.errors import UsageError
from fedbench.launch.executors import Begun, Done, Failed, Hear, R, T, Work, WorkerDied, attempt
from fedbench.process import safe_path
from fedbench.written import counted

if TYPE_CHECKING:
    from submitit import Job
    from submitit.helpers import DelayedSubmission

Numbered = Sequence[tuple[int, T]]
Ended = Done[R] | Failed

COMMANDS = ("sbatch", "srun", "squeue", "scancel")
LARGEST_ARRAY = 1000  # jobs; Slurm's MaxArraySize is 1001 where nobody changed it
POLL_SECONDS = 0.5
QUEUE_SECONDS = 5.0  # between two looks at the queue


@dataclass(frozen=True)
class Request:
    """What is asked of Slurm. None leaves it to the cluster.

    partition, account: names that the cluster has.
    minutes: the time limit of a job.
    memory: of a job, such as 4G.
    at_once: the largest number of jobs that run at a time.
    cpus: processors of a job.
    """

    partition: str | None = None
    account: str | None = None
    minutes: int = 60
    memory: str | None = None
    at_once: int = 64
    cpus: int = 1

    def __post_init__(self) -> None:
        """Raises UsageError for what Slurm would not take."""
        for name in ("minutes", "at_once", "cpus"):
            if getattr(self, name) < 1:
                raise UsageError(f"slurm: {name} must be at least 1, got {getattr(self, name)}")
        a_name = (r"[\w.,:@+-]+", "a name that the cluster has")
        a_size = (r"[1-9]\d*[KMGT]", "a number with K, M, G or T, such as 4G")
        for key, (form, expected) in {"partition": a_name, "account": a_name, "memory": a_size}.items():
            value = getattr(self, key)
            if value is not None and not re.fullmatch(form, value):
                raise UsageError(f"slurm: {key}: expected {expected}, got {value!r:.80}")

    def __str__(self) -> str:
        partition = "the cluster's default partition" if self.partition is None else f"partition {self.partition}"
        account = "" if self.account is None else f" (account {self.account})"
        memory = "" if self.memory is None else f", {self.memory} of memory"
        each = f"each up to {counted(self.minutes, 'minute')} on {counted(self.cpus, 'processor')}{memory}"
        return f"to {partition}{account}, at most {self.at_once} at a time, {each}"

    def parameters(self) -> dict[str, str | int]:
        """Returns the parameters of submitit."""
        named = {"partition": self.partition, "account": self.account, "mem": self.memory}
        return {
            "timeout_min": self.minutes,
            "cpus_per_task": self.cpus,
            "slurm_array_parallelism": self.at_once,
            **{f"slurm_{name}": value for name, value in named.items() if value is not None},
        }


class OnSlurm:
    """Works at groups of tasks. Each group is a job, and all jobs are one array. All nodes share
    the file system, and so the store. Nothing is started on this machine.

    A job that Slurm cancels, or ends at its time limit, is handed in again. The runs that it had
    finished are in the store and are taken from there. A job that Slurm itself requeues goes on by
    itself.
    """

    shares_files = True

    def __init__(
        self,
        folder: str | Path,
        request: Request | None = None,
        *,
        group: int = 8,
        retries: int = 3,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """
        Args:
            folder: for the scripts and logs of the jobs; all nodes must see it.
            request: what is asked of Slurm.
            group: the number of tasks in a job; short tasks are not worth a job each. Groups are
                larger if there would be too many jobs for an array.
            retries: how often a job that ended without its results is handed in again.
            tell: is told what is handed in, before it is.
        """
        self.folder, self.request, self.group, self.retries = Path(folder), request or Request(), group, retries
        self.tell = tell or (lambda line: None)

    def check(self) -> None:
        """Raises UsageError if submitit is not installed, or Slurm's commands are not here."""
        _submitit()
        lacking = [name for name in COMMANDS if shutil.which(name) is None]
        if lacking:
            raise UsageError(
                f"slurm: no {' and no '.join(lacking)} on this machine; log in to the cluster, or leave --on slurm out to run here"
            )

    def run(self, work: Work[T, R], tasks: Sequence[T], hear: Hear[R]) -> None:
        """Works at all tasks. Raises UsageError as `check` does, or if Slurm refuses the jobs."""
        self.check()
        left = list(enumerate(tasks))
        size = max(self.group, -(-len(left) // LARGEST_ARRAY))
        groups: Sequence[Numbered[T]] = [left[i : i + size] for i in range(0, len(left), size)]
        for attempts in itertools.count(1):
            self.tell(f"slurm: {counted(sum(map(len, groups)), 'run')} in {counted(len(groups), 'job')} {self.request}")
            groups = self._handed_in(work, groups, hear, attempts)
            if not groups:
                return

    def _handed_in(self, work: Work[T, R], groups: Sequence[Numbered[T]], hear: Hear[R], attempts: int) -> Sequence[Numbered[T]]:
        """Hands all groups in, waits for them, and returns those that ended without results. After
        the last attempt the tasks of such groups fail instead."""
        is_last = attempts > self.retries
        queue, jobs = Queue(), dict(zip(self._jobs(work, groups), groups, strict=True))
        lost = []
        try:
            for number, _ in itertools.chain(*groups if attempts == 1 else ()):
                hear(Begun(number))
            while jobs:
                for job in [one for one in jobs if one.done() or queue.lacks(one)]:
                    group = jobs.pop(job)
                    found, why = _results(job)
                    for done in found:
                        hear(done)
                    if why and not is_last:
                        lost.append(group)
                    elif why:
                        for number, _ in group:
                            hear(Failed(number, WorkerDied(why)))
                time.sleep(POLL_SECONDS if jobs else 0)
        except BaseException:
            for job in jobs:
                job.cancel(check=False)
            raise
        return lost

    def _jobs(self, work: Work[T, R], groups: Sequence[Numbered[T]]) -> list[Job[list[Ended[R]]]]:
        """Hands the groups in and returns their jobs. Raises UsageError if Slurm refuses them."""
        submitit = _submitit()
        executor = submitit.AutoExecutor(folder=self.folder, cluster="slurm")
        executor.update_parameters(**self.request.parameters())
        try:
            with safe_path(), contextlib.redirect_stderr(io.StringIO()):  # submitit prints what the error says, too
                return list(executor.map_array(Group(work), groups))
        except (submitit.core.utils.FailedJobError, submitit.core.utils.FailedSubmissionError) as error:
            said = " ".join(str(error).split()) or "it gave no reason"
            raise UsageError(f"slurm: sbatch refused {counted(len(groups), 'job')} {self.request}: {said:.500}") from None


def _submitit() -> ModuleType:
    extras.require("slurm", "--on slurm")
    import submitit

    return submitit


def _results(job: Job[list[Ended[R]]]) -> tuple[list[Ended[R]], str]:
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

    def lacks(self, job: Job[T]) -> bool:
        """Returns whether the job was missing from the queue in two looks, QUEUE_SECONDS apart. One
        look is not enough, since the result may come a moment after the job has left."""
        name, now = str(job.job_id), time.monotonic()
        if now < self._next.get(name, now - 1):
            return False
        self._next[name] = now + QUEUE_SECONDS
        said = subprocess.run(
            ["squeue", "--noheader", "--format=%i", f"--jobs={name}"], capture_output=True, text=True, check=False
        )
        is_missing = not said.stdout.strip() and (said.returncode == 0 or "Invalid job id" in said.stderr)
        self._missing[name] = self._missing.get(name, 0) + 1 if is_missing else 0
        return self._missing[name] > 1


class Group(Generic[T, R]):
    """Works at some tasks one after the other, on a node. If it is called again after a requeue, it
    goes through all of them, and takes those that were finished from the store."""

    def __init__(self, work: Work[T, R]) -> None:
        self.work = work

    def __call__(self, tasks: Numbered[T]) -> list[Ended[R]]:
        return [attempt(self.work, task, number) for number, task in tasks]

    def checkpoint(self, tasks: Numbered[T]) -> DelayedSubmission:
        """Returns what submitit hands in after a time limit or a preemption: the same group
        again."""
        import submitit

        return submitit.helpers.DelayedSubmission(self, tasks)
