"""Phase two of a run: executes the planned updates. No other module has a loop over updates."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

import numpy as np

from fedbench import kernels as k
from fedbench.engine.declared import dispatch, returned
from fedbench.engine.deltas import Deltas, groups
from fedbench.engine.interrupts import Interrupts
from fedbench.engine.place import Form, Place, on_host
from fedbench.engine.public import PublicData
from fedbench.engine.replies import Replies
from fedbench.engine.tools import EngineTools
from fedbench.engine.trainers.base import Assignment, Backend, Columns, Snapshot, Stage, TrainsColumns, checked_rule
from fedbench.engine.waves import Indices, WaveQueue
from fedbench.errors import RecordError
from fedbench.kernels.scheduler import Chunk
from fedbench.protocols import Algorithm
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Job, LocalRule, Message, Reply, State, Vector

WAVE_BYTES = 1 << 30


class Observer(Protocol):
    """Is called before and after every update. It may read the execution, but not change it."""

    def before_update(self, execution: Execution, version: int, time_ns: int) -> None: ...

    def after_update(self, execution: Execution, version: int, time_ns: int) -> None: ...


class Diverged(Exception):
    """The model is no longer finite; `version` is the first version that is not."""

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version} is not finite")
        self.version = version


class Execution:
    """Holds the state of a run between updates; `run` advances it through the chunks of a plan.

    No result depends on `wave_bytes`, `wave_size` or `workers`, to the bit.

    Args:
        algorithm: the equations of server and clients.
        backend: trains the jobs.
        info: what the algorithm may know of the clients.
        x0: the initial model (d,).
        wave_bytes: bounds a wave together with all results that are not consumed yet. One job
            always fits.
        wave_size: bounds the jobs of a wave; None: no bound.
        workers: a wave has the same number of jobs for each of them where possible.
        rate: the factor of the rate in jobs that start from a version.
        place: puts the model and its buffers where the server's step computes; see engine/place.py.
    """

    def __init__(
        self,
        algorithm: Algorithm,
        backend: Backend,
        info: Info,
        x0: Vector,
        *,
        wave_bytes: int = WAVE_BYTES,
        wave_size: int | None = None,
        workers: int = 1,
        rate: Callable[[int], float] = lambda base: 1.0,
        place: Place = on_host,
    ) -> None:
        self.algorithm, self.backend, self.info = algorithm, backend, info
        self.public, self.tools = PublicData(backend), EngineTools(self)
        self.wave_bytes, self.wave_size, self.workers, self.rate = wave_bytes, wave_size, workers, rate
        self.step_writes_memory = dispatch(algorithm, info).starts_from_later_version
        self.place, x0 = place, place(x0)
        self.form = Form.of(x0)
        self.version = self.waves = self.trained_steps = 0  # steps are those of the jobs consumed so far
        self.buffers = place(backend.initial_buffers())
        self.state = returned(algorithm, "init", State, algorithm.init(x0.copy(), self.tools))
        self.messages: dict[int, tuple[Message, Vector]] = {}
        self.at_boundary = True  # whether the state is that of a version, and finite
        self.begun = time.perf_counter()  # if it was interrupted, so much earlier as it had run before
        self.server_seconds = 0.0  # host time of server steps, and of the server's work for the jobs consumed so far
        self.selections: list[list[int]] = []  # the clients of every round begun, if the algorithm selects them
        self._one_rule = type(algorithm).local is Algorithm.local  # all jobs of a version have the same rule
        one_vector = type(algorithm).reply is Algorithm.reply and not self.buffers.size
        self._bulk = backend if one_vector and isinstance(backend, TrainsColumns) else None
        self._result_bytes = x0.nbytes if self._bulk else 0
        self._interrupts = Interrupts()
        self._check_model("init", self.state.x)
        self._reset_results()

    def _reset_results(self) -> None:
        self._waiting = 0  # how many jobs have run and are not consumed
        self._replies = Replies(self.state)

    @property
    def memory(self) -> ClientTable | None:
        return self.state.memory if "memory" in self.state else None

    # ---- the loop ----

    def run(self, chunks: Iterable[Chunk], observers: Sequence[Observer] = ()) -> None:
        """Executes every update of the chunks that lies at or after the current version. Raises
        Diverged if the model is no longer finite."""
        with self._interrupts.heard():
            self._run(chunks, observers)

    def _run(self, chunks: Iterable[Chunk], observers: Sequence[Observer]) -> None:
        end = self.version
        for chunk in chunks:
            end = chunk.first_version + len(chunk.time)
            if self.version >= end:
                continue
            self._load(chunk)
            for update in range(self.version - chunk.first_version, len(chunk.time)):
                time_ns = int(chunk.time[update])
                for observer in observers:
                    observer.before_update(self, self.version, time_ns)
                self._update(chunk.entries[chunk.offsets[update] : chunk.offsets[update + 1]])
                for observer in observers:
                    observer.after_update(self, self.version, time_ns)
        if self.version > end:  # possible only after a restore
            raise RecordError(f"checkpoint: it is of version {self.version:,}, and the plan ends with {end:,}; delete it")

    def _load(self, chunk: Chunk) -> None:
        """Takes in a chunk. After a resume, jobs of updates that this execution already has behind
        it are left out."""
        self.chunk = chunk
        ahead = chunk.consumed_by >= self.version
        self.queue = WaveQueue(chunk, from_version=self.version, has_memory=self.memory is not None)
        self._uses = Counter(chunk.base[ahead].tolist())
        self._live = set(chunk.live_bases.tolist())
        self._has_run = np.zeros(len(chunk.client), np.bool_)
        if self._bulk:
            self._deltas = Deltas(chunk, self.state.x)
        missing = sorted(base for base, uses in self._uses.items() if uses and base < self.version and base not in self.messages)
        if missing:  # possible only after a restore
            raise RecordError(f"checkpoint: lacks the model of version {missing[0]}, from which a client still trains; delete it")
        self._reset_results()
        for base in list(self.messages):
            self._release_message(base)

    def _update(self, entries: Indices) -> None:
        """Makes one server update: broadcast, train waves, form the batch, commit memory, average
        buffers, step."""
        ascends = (entries[1:] > entries[:-1]).all()  # then no job counts twice
        distinct = entries if ascends else np.array(list(dict.fromkeys(entries.tolist())))
        self._broadcast()
        self.queue.advance(self.version)
        self._compute(distinct)
        batch = self._batch(entries, distinct)
        with self._interrupts.held_back():
            self.at_boundary = False  # from here to the end of the update the state is between two versions
            if not self._bulk:
                self._replies.commit_memory(distinct.tolist())
            self._average_buffers(entries, batch)
            self._step(batch)
            self._forget(distinct)
            self.version += 1
            if not np.isfinite(k.norm(self.state.x)):
                raise Diverged(self.version)
            self.at_boundary = True

    def _forget(self, consumed: Indices) -> None:
        """Counts and releases jobs whose update is done."""
        self.trained_steps += int(self.chunk.steps[consumed].sum())
        self._waiting -= len(consumed)
        bases = Counter(self.chunk.base[consumed].tolist())
        self._uses.subtract(bases)
        for base in (*bases, self.version):
            self._release_message(base)
        if not self._bulk:
            self.server_seconds += self._replies.forget(consumed.tolist())

    def _broadcast(self) -> None:
        if self.version not in self.messages and (self._uses[self.version] > 0 or self.version in self._live):
            message = returned(self.algorithm, "broadcast", Message, self.algorithm.broadcast(self.state, self.tools)).frozen()
            self.messages[self.version] = (message, self.buffers)

    def _release_message(self, base: int) -> None:
        if self._uses[base] == 0 and base not in self._live:
            self.messages.pop(base, None)

    # ---- client side ----

    def _compute(self, needed: Indices) -> None:
        while not self._has_run[needed].all():
            wave = self.queue.take(self._room(), int(needed.max()), self.workers)
            if self._bulk:
                self._train_columns(self._bulk, wave)
            else:
                self._train(wave)
            self.waves += 1
            self._waiting += len(wave)
            self._has_run[wave] = True
            self.queue.ran(wave)

    def _room(self) -> int | None:
        """Returns how many jobs the next wave may have, at least one; None for any number."""
        if self._result_bytes == 0:  # nothing has run yet, so the size of a result is not known
            return self.wave_size or 1
        room = max(1, self.wave_bytes // self._result_bytes - self._waiting)
        return min(room, self.wave_size or room)

    def _train_columns(self, backend: TrainsColumns, wave: Indices) -> None:
        """Trains jobs that send one vector, which the backend writes into the matrix that the
        update sums."""
        c = self.chunk
        base = c.base[wave]
        first = rule = np.arange(len(wave))
        if self._one_rule:
            _, first, rule = groups(base)
        rules = [self._rule(job) for job in self.queue.jobs(wave[first])]
        columns = Columns(c.client[wave], c.k[wave], base, c.steps[wave], rules, rule, self.algorithm.sends)
        backend.train_columns(columns, self._deltas.places(wave))

    def _train(self, wave: Indices) -> None:
        """Trains jobs whose replies the algorithm makes one by one."""
        jobs = self.queue.jobs(wave)
        works = self.backend.train([Assignment(job, self._rule(job), self._message(job)[1]) for job in jobs])
        for index, job, work in zip(wave.tolist(), jobs, works, strict=True):
            with Stage(job, f"reply of {self.algorithm.name}"):
                reply = self.algorithm.reply(self._message(job)[0], job, work, self._replies.memory_of(job.client))
                returned(self.algorithm, "reply", Reply, reply)
            self._result_bytes = max(self._result_bytes, self._replies.put(index, job, reply, work))

    def _rule(self, job: Job) -> LocalRule:
        with Stage(job, f"local rule of {self.algorithm.name}"):
            rule = self.algorithm.local(self._message(job)[0], job, self._replies.memory_of(job.client))
            return checked_rule(rule, self.form.dtype, self.form.shape, self.rate(job.base))

    def _message(self, job: Job) -> tuple[Message, Vector]:
        """Returns what the job's version sent, and the model buffers that went with it."""
        return self.messages[job.base]

    # ---- server side ----

    def judged(self) -> Snapshot:
        """Returns a copy of the model that is judged now, with its buffers. Of clients that are
        alone it has all models (N, d)."""
        alone, state = self.algorithm.alone, self.state
        models = [state.memory[i] for i in range(self.info.clients)] if alone else [self.algorithm.evaluated(state)]
        for x in models:
            self._check_model("evaluated", x)
        return Snapshot(np.stack(models) if alone else models[0].copy(), self.buffers.copy())

    def _batch(self, entries: Indices, distinct: Indices) -> Batch:
        c = self.chunk
        clients, base = c.client[entries], c.base[entries]
        first = np.full(len(entries), len(distinct) == len(entries))
        if len(distinct) < len(entries):
            first[np.unique(entries, return_index=True)[1]] = True
        return Batch(
            clients=clients,
            steps=c.steps[entries],
            base=base,
            staleness=self.version - base,
            n=self.info.n[clients],
            p=self.info.p[clients],
            first=first,
            version=self.version,
            sent={self.algorithm.sends: self._deltas.take(self.version, entries)} if self._bulk else self._replies.sent(entries),
            base_x=lambda i: self.messages[int(base[i])][0].x,
        )

    def _average_buffers(self, entries: Indices, batch: Batch) -> None:
        if self.buffers.size:
            self.buffers = self._replies.buffers(entries, self.algorithm.entry_weights(batch, self.info))

    def _step(self, batch: Batch) -> None:
        if self.memory is not None:
            self.memory.writeable = self.step_writes_memory
        begin = time.perf_counter()
        with np.errstate(over="ignore", invalid="ignore"):  # a diverging run is an outcome, not a warning
            if self._has_diverged(batch):
                self.state.x = np.full_like(self.state.x, np.nan)
            else:
                self.algorithm.step(self.state, batch, self.tools)
        self.server_seconds += time.perf_counter() - begin
        if self.memory is not None:
            self.memory.writeable = True
        self._check_model("step", self.state.x)

    def _has_diverged(self, batch: Batch) -> bool:
        """Tells whether a client sent numbers that are not finite in an array that has not the
        model's shape. Servers keep such arrays, logits for example, and a model that they have not
        reached yet would hide the divergence. In an array of the model's shape such numbers show in
        the next model."""
        return not all(np.isfinite(sent).all() for sent in batch.sent.values() if sent.shape[1:] != self.form.shape)

    def _check_model(self, where: str, x: object) -> None:
        self.form.check(f"{self.algorithm.name}.{where}", x)
