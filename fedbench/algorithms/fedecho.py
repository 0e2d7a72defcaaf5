"""FedEcho."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import BelowOne, Buffered, Count, CountOrZero, Fraction, Positive, RowIndices, Tools, option
from fedbench.types import Batch, Info, Job, LocalRule, Message, Reply, ServerMemory, ServerWork, State, Stream, Vector, Work

RESNET18_RATE = 3e-6  # the paper's rate of distillation
PAPER, OPEN = "Wang et al. 2025", "ours; the paper leaves it open"
LITTLE = 0.01  # a share of the updates' movement; 0.005 of it left the accuracies of all seeds on digits-demo unchanged


@dataclass(frozen=True, kw_only=True)
class FedEcho(Buffered):
    """Buffered asynchronous aggregation, then distillation from what every client's newest model
    says of unlabelled public data.

        on arrival: Z_i <- logits of all public rows under x^base + Delta_i,   the client's end model
        server:     x <- x + server_lr * (1/M) sum Delta,   M = buffer_size;   then distill_steps times, on a batch B of public rows:
                    t = mean of Z_i[B] over the clients that have reported;   y = logits of B under x;   P = softmax(t)
                    alpha = H alpha_max + (1 - H) alpha_min,   H = mean entropy of P / log classes
                    G = gradient of mean_B [alpha KL(P || softmax(y)) + (1 - alpha) CE(y, argmax t)] with respect to x
                    G <- G min(1, clip_norm / |G|);   x <- step of distill_optimizer along G with rate distill_lr

    Without distillation steps this is FedBuff. There is no staleness weight, and no weight decay in
    the distillation. A step of Adam moves each of d parameters by up to about its rate, and so the
    model by up to sqrt(d) times the rate: the default rate moves every model as far as the paper's
    rate moves ResNet-18. A run warns if distillation moved the model by less than 1% of what the
    updates did.

    Source: Wang et al. 2025, Alg. 1, eq. (2)-(4). The paper leaves distill_steps, the batch size,
    the state of Adam and the student's mode open. Its experiments on images have 50 clients,
    concurrency 25 and 2,000 public examples.
    """

    name = "fedecho"
    full_name = "FedEcho"
    source = cited(wang2025="Alg. 1")
    requires = frozenset({"public_data"})

    server_lr: Positive = option(1.0, "The server's learning rate.")
    dispatch_before_update: bool = option(
        False, "Whether the client that replaces a buffer's last arrival starts from the model before the update, or after it."
    )
    distill_steps: CountOrZero | None = option(
        None, "Distillation steps after every update; none: one shuffled pass over the public rows.", OPEN
    )
    distill_batch_size: Count = option(50, "Public rows of a distillation step.", OPEN)
    distill_optimizer: Literal["adam", "sgd"] = option(
        "adam", "The rule of a distillation step: Adam, clipped before the moments, as in the experiments; or SGD, as in eq. (2)."
    )
    distill_lr: Positive | None = option(
        None,
        "The rate of a distillation step; none: the paper's 3e-6 for ResNet-18, times sqrt(11173962 / d) for d parameters.",
        "the paper's appendix A, scaled to the model",
    )
    beta1: BelowOne = option(0.9, "Decay of Adam's first moment.", PAPER)
    beta2: BelowOne = option(0.999, "Decay of Adam's second moment.", PAPER)
    eps: Positive = option(1e-8, "What Adam adds to the root of the second moment.", PAPER)
    adam_state: Literal["persist", "reset"] = option(
        "persist", "Whether Adam's moments persist over updates, or start anew at each.", OPEN
    )
    clip_norm: Positive | None = option(5.0, "The largest norm of a distillation gradient; none: it is not clipped.", PAPER)
    alpha_min: Fraction = option(0.2, "Share of the KL term for a teacher without doubt.", PAPER)
    alpha_max: Fraction = option(0.8, "Share of the KL term for a teacher that does not know.", PAPER)
    teacher: Literal["logits", "prob_mean"] = option(
        "logits",
        "What is averaged over the clients: logits, as Alg. 1, or probabilities, as appendix B (prob_mean; entropy, KL and label are "
        "then of their mean).",
    )
    student: Literal["eval", "train"] = option(
        "eval", "The mode of the student's layers: eval, or train (with dropout and batch statistics).", OPEN
    )

    def dispatch(self, info: Info) -> Stream:
        order: Literal["before_update", "after_update"] = "before_update" if self.dispatch_before_update else "after_update"
        return dataclasses.replace(super().dispatch(info), order=order)

    def server_work(self, info: Info) -> ServerWork:
        """The server infers the model of every arrival on all public rows (Alg. 1, line 5), and
        distils."""
        rows, _ = info.public_shape
        if self.distill_steps is None:
            return ServerWork(forward=self.buffer_size * rows, gradients=rows)
        passes, rest = divmod(self.distill_steps, max(1, -(-rows // self.distill_batch_size)))
        return ServerWork(forward=self.buffer_size * rows, gradients=passes * rows + rest * self.distill_batch_size)

    def server_memory(self, info: Info) -> ServerMemory:
        rows, classes = info.public_shape
        own = 3 if self.distill_optimizer == "adam" else 1
        return ServerMemory(own=own, per_version=1, public_logits=info.clients * rows * classes)

    def init(self, x0: Vector, tools: Tools) -> State:
        rows, classes = tools.public_shape
        Z = k.TeacherMean(rows, classes, x0.dtype, "logits" if self.teacher == "logits" else "probabilities")
        moment = np.zeros_like(x0 if self.distill_optimizer == "adam" else x0[:0])
        return State(x=x0, Z=Z, m=moment, v=moment.copy(), adam_step=0, updates_moved=0.0, distillation_moved=0.0)

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        return self.rule(message.x, wants=("public_logits",))

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        return Reply(delta=work.delta, logits=work.public_logits)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        update = self.server_lr * k.mean(batch.delta)
        state.x = state.x + update
        for client, logits in zip(batch.clients, batch.logits, strict=True):
            state.Z.replace(int(client), logits)
        if self.adam_state == "reset":
            state.m[:], state.v[:], state.adam_step = 0, 0, 0
        before = state.x.copy()
        for rows in tools.public_batches(batch.version, self.distill_batch_size, self.distill_steps):
            self.distill(state, rows, tools)
        state.updates_moved += k.norm(update)
        state.distillation_moved += k.norm(state.x - before)

    def warnings(self, state: State) -> list[str]:
        if self.distill_steps == 0 or not state.distillation_moved < LITTLE * state.updates_moved:
            return []
        return [
            f"fedecho: distillation moved the model by {state.distillation_moved / state.updates_moved:.2g} of what the updates did, "
            f"so this is all but FedBuff; distill_lr = {self.rate(state.x.size):.2g} is too small for this model"
        ]

    def rate(self, d: int) -> float:
        """Returns the rate of a distillation step on a model of d parameters."""
        return k.rate_for(d, RESNET18_RATE) if self.distill_lr is None else self.distill_lr

    def distill(self, state: State, rows: RowIndices, tools: Tools) -> None:
        """Makes one distillation step on a batch of public rows, in place."""
        student, pullback = tools.public_logits(state.x, rows, training=self.student == "train")
        G = pullback(k.distill_gradient(student, state.Z.mean(rows), self.alpha_min, self.alpha_max, kind=state.Z.kind))
        if self.distill_optimizer == "sgd":
            k.clip_sgd(state.x, G, self.rate(state.x.size), self.clip_norm)
            return
        state.adam_step += 1
        rule = k.AdamRule(self.rate(state.x.size), self.beta1, self.beta2, self.eps, step=state.adam_step)
        k.clip_adam(state.x, state.m, state.v, G, rule, self.clip_norm)
