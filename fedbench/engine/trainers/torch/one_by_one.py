"""The torch trainer: trains any model as an nn.Module, job by job on the CPU, with one intra-op
thread per worker.

Each worker is a thread with a module of its own. The result of a job depends on the job alone, so
the number of workers changes no bit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from fedbench import own_optimizers
from fedbench.engine.trainers.base import Assignment, Stage, Workload
from fedbench.engine.trainers.torch.base import TorchTask
from fedbench.engine.trainers.torch.data import host, load
from fedbench.engine.trainers.torch.replica import Replica
from fedbench.engine.trainers.torch.rule import Direction, is_plain
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.types import Array, Work


class TorchTrainer(TorchTask):
    """Trains a Task. `workers` threads share the jobs of a wave."""

    channels_last_where_faster = True

    def __init__(self, workload: Workload, *, workers: int = 1, dtype: npt.DTypeLike = np.float32, device: str = "cpu") -> None:
        super().__init__(workload, workers=workers, dtype=dtype, device=device)
        code, sha256 = self.local.optimizer, self.local.optimizer_sha256
        self.begin = None if code is None or sha256 is None else own_optimizers.made(code, sha256)

    def train(self, wave: Sequence[Assignment]) -> list[Work]:
        return self._map(self._run, wave)

    def _run(self, replica: Replica, assignment: Assignment) -> Work:
        with Stage(assignment.job, "local training"):
            return self._local(replica, assignment)

    def _local(self, replica: Replica, assignment: Assignment) -> Work:
        job, rule = assignment.job, assignment.rule
        replica.load(rule.start, assignment.buffers)
        replica.module.set_masks(RandomStream(self.seed, Purpose.dropout, job.client, job.k))
        replica.module.train()
        by_products: dict[str, Array] = {}
        local = self.local
        if is_plain(rule, local):
            for features, labels in self._batches(job):
                replica.descend(features, labels, rule.lr, rule.weight_decay)
        else:
            y, direction = replica.flat, Direction(rule, local)
            update = None if self.begin is None else self.begin(rule.start)
            for step, batch in enumerate(self._batches(job)):
                h = direction.gradient(replica, *batch)
                lr = rule.lr * local.factor_of_step(step)
                if update is None:
                    y.add_(direction(h, y), alpha=-lr)
                else:
                    load(y, update(host(y), host(direction(h, y)), step, lr))
            by_products = direction.by_products(job.steps, assignment.rule.start)
        return self._work(replica, assignment, host(replica.flat), host(replica.buffers), by_products)
