"""FedQS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.errors import UsageError
from fedbench.protocols import BelowOne, Buffered, Fraction, NonNegative, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Array, Batch, Info, Job, LocalRule, Message, Reply, ServerMemory, State, Traffic, Vector, Work


@dataclass(frozen=True, kw_only=True)
class FedQS(Buffered):
    """Buffered asynchronous aggregation in which clients are told apart by how often they report
    and by how far they turn away from the server's last step; their rates and weights follow.

        theta = angle in degrees of x^b - x^{b-1} and d_i;   0, unknown, without one or below 0.001
        typed: theta, theta_bar and c_i > 0;   unlike: theta > theta_bar;   fast: c_i > mean c
        slow:  rate_i <- rate_i + move;   fast, not unlike:  rate_i <- rate_i - move
        move = rate_gain * min(mean c / c_i, ratio_cap);   rate_i stays in [rate_min, rate_max]
        unlike: feedback, or, if slow, what slow_unlike says;   not unlike: momentum

        c_j <- c_j + 1;   theta_bar = mean of the known theta_i;   w_j = n_j / sum_S n, with feedback
            times (e/2)^(share - c_j / sum c) (1 + min(theta_j / theta_bar, 2)^2)
        x <- x + server_lr * sum_S (w_j / sum_S w) Delta_j,   or   sum_S (w_j / sum_S w) y_j

    The first part is the client's at the start of a job on version b, d_i its last Delta; the
    second is the server's, in the forms gradient and model.

    c are the results that the server used from every client, with their mean over those with any. A
    client that is not typed keeps its rate. The weights follow from the server's state, so buffers
    of models, such as those of BatchNorm, are averaged with equal weights.

    Source: Li et al. 2025 (FedQS): classes, rates and weights after the authors' code, the angle
    after descriptions of the paper, whose box was not read. The code compares d_i with the model,
    and asks slow, unlike clients for their accuracies by class, for which clients have no data
    here: `slow_unlike` is one option for all. It resets the feedback of jobs under way, which here
    stays with its job.
    """

    name = "fedqs"
    full_name = "FedQS"
    source = cited(li2025fedqs="after the authors' code and descriptions")
    clients_remember = True

    server_lr: Positive = option(1.0, "The server's learning rate, in the form gradient.")
    restart: Literal["resample", "self"] = option("self", source="the paper: a client works on")
    form: Literal["gradient", "model"] = option("gradient", "What is averaged: progress (gradient), or end models (model).")
    rate_gain: NonNegative = option(0.002, "How far a client's rate moves (a).", "the authors' code")
    ratio_cap: Positive = option(9.0, "The largest factor of the move.", "the authors' code")
    rate_min: Positive = option(1e-3, "The smallest rate of a typed client.", "the authors' code")
    rate_max: Positive = option(0.2, "The largest rate of a typed client.", "the authors' code")
    share: Fraction = option(0.1, "The share of results above which feedback weighs less.", "theirs, with buffers of 10")
    client_momentum: BelowOne = option(0.0, "Momentum of a client that is told to use it.", "the authors' code")
    slow_unlike: Literal["feedback", "momentum"] = option("feedback", "What slow, unlike clients do.", "ours: one for all")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate_min > self.rate_max:
            raise UsageError(f"fedqs: rate_min must be <= rate_max, got {self.rate_min:g} and {self.rate_max:g}")

    def traffic(self, info: Info) -> Traffic:
        return Traffic(down=2, up=1, exchanges=1)

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=2)

    def init(self, x0: Vector, tools: Tools) -> State:
        N, row = tools.info.clients, np.zeros_like(x0, shape=len(x0) + 1)  # a client's last Delta, and its rate - local_lr
        return State(x=x0, x_prev=x0, theta_i=np.zeros(N), theta_bar=0.0, c=np.zeros(N, np.int64), memory=ClientTable(N, row))

    def broadcast(self, state: State, tools: Tools) -> Message:
        return Message(x=state.x, x_prev=state.x_prev, theta_bar=state.theta_bar, c=state.c.tolist())

    def role(self, message: Message, client: int, memory: Vector) -> tuple[float, float, float, bool]:
        """Returns what a client finds when its job starts: its angle in degrees, its rate, its
        momentum, and whether it asks for feedback."""
        theta, rate = k.direction_angle(message.x, message.x_prev, memory[:-1], smallest=1e-3), self.local_lr + float(memory[-1])
        c, c_i, active = sum(message.c), message.c[client], sum(count > 0 for count in message.c)
        if not (theta > 0 and message.theta_bar > 0 and c_i > 0):
            return theta, rate, self.momentum, False
        unlike, fast = theta > message.theta_bar, c_i * active > c
        move = self.rate_gain * min(c / (active * c_i), self.ratio_cap)
        rate += move if not fast else 0.0 if unlike else -move
        feedback = unlike and (fast or self.slow_unlike == "feedback")
        return theta, min(max(rate, self.rate_min), self.rate_max), self.momentum if feedback else self.client_momentum, feedback

    def local(self, message: Message, job: Job, memory: Vector) -> LocalRule:
        _, rate, momentum, _ = self.role(message, job.client, memory)
        return self.rule(message.x, lr=rate, momentum=momentum)

    def reply(self, message: Message, job: Job, work: Work, memory: Vector) -> Reply:
        theta, rate, _, feedback = self.role(message, job.client, memory)
        kept = np.append(work.delta, work.delta.dtype.type(rate - self.local_lr))
        result = {"gradient": work.delta, "model": work.end}[self.form]
        return Reply(result=result, theta=np.array(theta), feedback=np.array(feedback), memory=kept)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        i, x = batch.clients, state.x
        np.add.at(state.c, i, 1)
        known = batch.theta > 0
        state.theta_i[i[known]] = batch.theta[known]  # of a client that is there twice, the last
        state.theta_bar = float(state.theta_i.sum() / max(1, np.count_nonzero(state.theta_i)))
        turned = np.minimum(state.theta_i[i] / (state.theta_bar or 1.0), 2)
        raised = k.power(np.e / 2, self.share - state.c[i] / state.c.sum()) * (1 + turned**2)
        w = k.weights("examples", batch, tools.info) * np.where(batch.feedback > 0, raised, 1.0)
        mean = k.weighted_sum(w / w.sum(), batch.result)
        state.x, state.x_prev = x + self.server_lr * mean if self.form == "gradient" else mean, x

    def rate_i(self, state: State) -> Array:
        """Returns the present rate of every client, float64 (N,)."""
        return np.asarray(self.local_lr + state.memory.dense()[:, -1].astype(np.float64))
