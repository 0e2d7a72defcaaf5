"""The torch trainer: trains any model as an nn.Module, job by job on the CPU, with one intra-op
thread per worker.

Each worker is a thread with a module of its own. The result of a job depends on the job alone, so
the number of workers changes no bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from fedbench.engine.trainers.base import Assignment, Stage
from fedbench.engine.trainers.torch.base import TorchTask
from fedbench.engine.trainers.torch.data import host
from fedbench.engine.trainers.torch.replica import Replica
from fedbench.engine.trainers.torch.rule import Direction, is_plain
from fedbench.kernels.random import Purpose, RandomStream
from fedbench.types import Array, Work


class TorchTrainer(TorchTask):
    """Trains a Task. `workers` threads share the jobs of a wave."""

    channels_last_where_faster = True

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
        if is_plain(rule) and local.clip_norm is None and not local.steps_differ:
            for features, labels in self._batches(job):
                replica.descend(features, labels, rule.lr, rule.weight_decay)
        else:
            y, direction = replica.flat, Direction(rule, clip_norm=local.clip_norm)
            for step, batch in enumerate(self._batches(job)):
                h = direction.gradient(replica, *batch)
                y.add_(direction(h, y), alpha=-rule.lr * local.factor_of_step(step))
            by_products = direction.by_products(job.steps)
        return self._work(replica, assignment, host(replica.flat), host(replica.buffers), by_products)
