"""Phase two of a run: walk the planned updates. The only such loop there is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from fedbench import kernels as k
from fedbench.engine.interrupts import held_back
from fedbench.engine.trainers.base import Assignment, Stage, Trainer, checked_rule
from fedbench.engine.waves import WaveQueue
from fedbench.errors import FedbenchError, RecordError
from fedbench.kernels.scheduler import Chunk
from fedbench.protocols import Algorithm, Logits, Pullback, Rows
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Job, Message, Reply, State, Vector, Work

WAVE_BYTES = 1 << 30


class Observer(Protocol):
    """Watches a run. It may read, not change."""

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None: ...

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None: ...


class Diverged(Exception):
    """The model is no longer finite; `version` is the first such version."""

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version} is not finite")
        self.version = version


@dataclass(frozen=True)
class EngineTools:
    """What init, broadcast and step may use."""

    execution: Execution

    @property
    def info(self) -> Info:
        return self.execution.info

    def gradients(self, clients: Iterable[int], x: Vector) -> Iterator[Vector]:
        return self.execution.trainer.gradients(clients, x, self.execution.buffers)

    @property
    def public_shape(self) -> tuple[int, int]:
        return self.execution.trainer.public_shape

    def public_batches(self, version: int, size: int, steps: int | None = None) -> Iterator[Rows]:
        return self.execution.trainer.public_batches(version, size, steps)

    def public_logits(self, x: Vector, rows: Rows, *, training: bool = False) -> tuple[Logits, Pullback]:
        e = self.execution
        return e.trainer.public_logits(x, e.buffers, rows, e.version, training=training)


@dataclass
class Result:
    """A job's reply between its wave and its update."""

    reply: Reply
    buffers: Vector
    server_seconds: float

    @property
    def bytes(self) -> int:
        arrays = [*self.reply.sent.values(), self.buffers]
        return sum(a.nbytes for a in arrays) + (0 if self.reply.memory is None else self.reply.memory.nbytes)


class Execution:
    """The state of a run between updates, and `run`, which advances it through a plan's chunks.

    `wave_bytes` bounds a wave together with all results not yet consumed (one job always fits); `wave_size` bounds the jobs of
    a wave. Neither changes a bit of any result. `step_writes_memory`: may `step` overwrite rows of state.memory (Rounds, Poll)?
    """

    def __init__(
        self,
        algorithm: Algorithm,
        trainer: Trainer,
        info: Info,
        x0: Vector,
        *,
        wave_bytes: int = WAVE_BYTES,
        wave_size: int | None = None,
        step_writes_memory: bool = True,
        given: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.algorithm, self.trainer, self.info = algorithm, trainer, info
        self.tools = EngineTools(self)
        self.wave_bytes, self.wave_size = wave_bytes, wave_size
        self.step_writes_memory, self.given = step_writes_memory, given
        self.dtype, self.shape = x0.dtype, x0.shape
        self.version = 0
        self.buffers = trainer.initial_buffers()
        self.state: State = algorithm.init(x0.copy(), self.tools)
        self.messages: dict[int, tuple[Message, Vector]] = {}
        self.waves = 0
        self.at_boundary = True  # is the state that of a version, and finite?
        self.trained_steps = 0  # of the jobs consumed so far
        self.server_seconds = 0.0  # of host time: steps, and what the server does for the jobs consumed so far
        self.selections: list[list[int]] = []  # of every round begun, where the algorithm selects
        self._result_bytes = 0
        self._check_model("init")
        self._reset_results()

    def _reset_results(self) -> None:
        self._results: dict[int, Result] = {}
        self._pending_memory: dict[int, Vector] = {}

    @property
    def memory(self) -> ClientTable | None:
        return self.state.memory if "memory" in self.state else None

    # ---- the loop ----

    def run(self, chunks: Iterable[Chunk], observers: Sequence[Observer] = ()) -> None:
        """Execute every update of the chunks that lies at or after the current version. Raises Diverged."""
        for chunk in chunks:
            if self.version >= chunk.first_version + len(chunk.time):
                continue
            self._load(chunk)
            for update in range(self.version - chunk.first_version, len(chunk.time)):
                time_ns = int(chunk.time[update])
                for observer in observers:
                    observer.before_update(self, self.version, time_ns)
                self._update(chunk.entries[chunk.offsets[update] : chunk.offsets[update + 1]])
                for observer in observers:
                    observer.after_update(self, self.version, time_ns)

    def _load(self, chunk: Chunk) -> None:
        """Take in a chunk; jobs of updates that this execution has behind it (after a resume) are left out."""
        self.chunk = chunk
        ahead = chunk.consumed_by >= self.version
        self.queue = WaveQueue(chunk, from_version=self.version, has_memory=self.memory is not None)
        self._uses = Counter(chunk.base[ahead].tolist())
        self._live = set(chunk.live_bases.tolist())
        missing = sorted(base for base, uses in self._uses.items() if uses and base < self.version and base not in self.messages)
        if missing:  # only after a restore
            raise RecordError(f"checkpoint: lacks the model of version {missing[0]}, from which a client still trains; delete it")
        self._reset_results()
        self._release_messages()

    def _update(self, entries: npt.NDArray[np.int64]) -> None:
        """One server update: broadcast, waves, batch, commit memory, average buffers, step."""
        distinct = list(dict.fromkeys(entries.tolist()))
        self._broadcast()
        self.queue.advance(self.version)
        self._compute(distinct)
        batch = self._batch(entries, distinct)
        with held_back():
            self.at_boundary = False  # from here to the end of the update the state is between two versions
            self._commit_memory(distinct)
            self._average_buffers(entries, batch)
            self._step(batch)
            for index in distinct:
                self.trained_steps += int(self.chunk.steps[index])
                self.server_seconds += self._results.pop(index).server_seconds
                self._uses[int(self.chunk.base[index])] -= 1
            self.version += 1
            self._release_messages()
            if not np.isfinite(k.norm(self.state.x)):
                raise Diverged(self.version)
            self.at_boundary = True

    def _broadcast(self) -> None:
        if self.version not in self.messages and (self._uses[self.version] > 0 or self.version in self._live):
            message = self.algorithm.broadcast(self.state, self.tools).frozen()
            self.messages[self.version] = (message, self.buffers)

    def _release_messages(self) -> None:
        for base in [b for b in self.messages if self._uses[b] == 0 and b not in self._live]:
            del self.messages[base]

    # ---- client side ----

    def _compute(self, needed: list[int]) -> None:
        while any(index not in self._results for index in needed):
            wave = self.queue.take(self._room())
            prepared = [self._prepare(self.queue.job(index)) for index in wave]
            works = self.trainer.train([assignment for _, _, assignment in prepared])
            self.waves += 1
            for index, (message, memory, assignment), work in zip(wave, prepared, works, strict=True):
                self._finish(index, message, memory, assignment, work)

    def _room(self) -> int | None:
        """How many jobs the next wave may have; at least one."""
        if self._result_bytes == 0:  # nothing has run yet, so the size of a result is not known
            return self.wave_size or 1
        room = max(1, self.wave_bytes // self._result_bytes - len(self._results))
        return min(room, self.wave_size or room)

    def _prepare(self, job: Job) -> tuple[Message, Vector, Assignment]:
        message, buffers = self.messages[job.base]
        memory = self._memory_of(job.client)
        with Stage(job, f"local rule of {self.algorithm.name}"):
            rule = checked_rule(self.algorithm.local(message, job, memory), self.dtype, self.shape)
        return message, memory, Assignment(job, rule, buffers)

    def _memory_of(self, client: int) -> Vector:
        """The memory that the client's last run job left, committed or not; read-only. Empty if clients have none."""
        if self.memory is None:
            return np.empty(0, self.dtype)
        row = self._pending_memory.get(client)
        if row is None:
            row = self.memory[client].view()
            row.flags.writeable = False
        return row

    def _finish(self, index: int, message: Message, memory: Vector, assignment: Assignment, work: Work) -> None:
        job = assignment.job
        with Stage(job, f"reply of {self.algorithm.name}"):
            reply = self.algorithm.reply(message, job, work, memory)
        if reply.memory is not None:
            reply.memory.flags.writeable = False
            self._pending_memory[job.client] = reply.memory
        result = self._results[index] = Result(reply, work.buffers, work.server_seconds)
        self._result_bytes = max(self._result_bytes, result.bytes)
        self.queue.ran(index)

    # ---- server side ----

    def _batch(self, entries: npt.NDArray[np.int64], distinct: list[int]) -> Batch:
        c = self.chunk
        clients, base = c.client[entries], c.base[entries]
        sent = {
            name: np.stack([self._results[index].reply.sent[name] for index in entries.tolist()])
            for name in self._results[distinct[0]].reply.sent
        }
        first = np.zeros(len(entries), np.bool_)
        first[np.unique(entries, return_index=True)[1]] = True
        bases = base.tolist()
        return Batch(
            clients=clients,
            steps=c.steps[entries],
            base=base,
            staleness=self.version - base,
            n=self.info.n[clients],
            p=self.info.p[clients],
            first=first,
            version=self.version,
            sent=sent,
            base_x=lambda i: self.messages[bases[i]][0].x,
            given=self.given[self.version] if self.version < len(self.given) else {},
        )

    def _commit_memory(self, distinct: list[int]) -> None:
        if self.memory is None:
            return
        for index in distinct:
            client, row = int(self.chunk.client[index]), self._results[index].reply.memory
            if row is not None:
                self.memory[client] = row
                if self._pending_memory.get(client) is row:
                    del self._pending_memory[client]

    def _average_buffers(self, entries: npt.NDArray[np.int64], batch: Batch) -> None:
        if self.buffers.size:
            weights = self.algorithm.buffer_weights(batch, self.info)
            self.buffers = k.weighted_sum(weights, [self._results[index].buffers for index in entries.tolist()])

    def _step(self, batch: Batch) -> None:
        if self.memory is not None:
            self.memory.writeable = self.step_writes_memory
        begin = time.perf_counter()
        with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is an outcome, not a warning
            self.algorithm.step(self.state, batch, self.tools)
        self.server_seconds += time.perf_counter() - begin
        if self.memory is not None:
            self.memory.writeable = True
        self._check_model("step")

    def _check_model(self, where: str) -> None:
        x = self.state.x
        if x.dtype != self.dtype or x.shape != self.shape:
            raise FedbenchError(
                f"{self.algorithm.name}.{where}: x must stay {self.dtype} {self.shape}, got {x.dtype} {x.shape}; "
                "a numpy float64 scalar times a float32 vector gives float64: use Python floats"
            )
