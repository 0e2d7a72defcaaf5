"""FedaGrac and its variants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.errors import UsageError
from fedbench.protocols import Cohort, NonNegative, Positive, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import (
    Batch,
    Info,
    Job,
    LocalRule,
    Message,
    Reply,
    Rounds,
    ServerMemory,
    State,
    Traffic,
    Vector,
    Weights,
    Work,
)

INCREASE = ((0, 0.1), (50, 0.5), (150, 1.0))
TIE = 1e-9
TRANSIT = {  # by variant: what a slow and a fast client contribute to nu
    "default": ("gbar", "gfirst"),
    "avg": ("gbar", "gbar"),
    "first": ("gfirst", "gfirst"),
    "reverse": ("gfirst", "gbar"),
}


@dataclass(frozen=True, kw_only=True)
class FedaGrac(Cohort):
    """Calibrated gradients under step asynchronism: who does more local steps is held to the
    direction of the others.

        client: y <- y - local_lr * (g(y) + lambda_t (nu - nu_i));  gbar_i, gfirst_i = the mean and the first of its g
        server: x <- x + server_lr * sum w_i Delta_i;   Kbar = sum w_i K_i;   fast: K_i > Kbar (1 + 1e-9), so that a tie is slow
                nu <- sum w_i v_i,   v_i = gfirst_i if fast else gbar_i;   nu_i <- gbar_i
        w_i = p_i if all clients take part, else 1/|S|; who does not take part keeps its nu_i

    Source: Wu et al. 2021, Alg. 1. Departures: server_lr, which is 1 in the paper. A cohort is
    drawn by default; sampling = all is the paper's. A slow client's v_i counts as an upload, though
    a server that knows nu_i could infer it.
    """

    name = "fedagrac"
    full_name = "FedaGrac"
    source = cited(wu2021="Alg. 1")
    clients_remember = True

    server_lr: Positive = option(1.0, "The server's learning rate.")
    calibration_rate: NonNegative | Literal["increase"] | tuple[tuple[int, float], ...] = option(
        0.05,
        "The rate lambda_t: a number, [[first round, value], ..] with rounds from 0, or increase (0.1, 0.5 from round 50, 1 from 150).",
        "the largest that Wu et al. 2021 tried for networks",
    )
    variant: Literal["default", "avg", "first", "reverse"] = option(
        "default",
        "What v_i is: gfirst_i of the fast and gbar_i of the slow (default), gbar_i of all (avg, as SCAFFOLD), gfirst_i of all (first), "
        "or gbar_i of the fast and gfirst_i of the slow (reverse).",
    )
    init_reference: Literal["grad", "zero"] = option(
        "grad", "Where nu_i and nu start: at the clients' full gradients at x0 and their p-weighted mean (grad), or at 0 (zero)."
    )
    local_ref: Literal["alg1", "eq4"] = option(
        "alg1", "What nu_i becomes: gbar_i as in Alg. 1, or v_i as in eq. (4), of the default variant only."
    )
    fast_above: Positive | None = option(None, "The number of steps beyond which a client is fast; none: Kbar.", "Wu et al. 2021")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.calibration_rate, tuple):
            object.__setattr__(self, "calibration_rate", checked_schedule(self.calibration_rate))
        if self.local_ref == "eq4" and self.variant != "default":
            raise UsageError(f"fedagrac: local_ref eq4 is defined for the default variant only, got variant {self.variant!r}")

    def dispatch(self, info: Info) -> Rounds:
        return Rounds(select=self.sampling, cohort_size=self.cohort_size, prelude=self.init_reference == "grad")

    def traffic(self, info: Info) -> Traffic:
        return Traffic(down=2, up=2, exchanges=2)

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=2)

    def init(self, x0: Vector, tools: Tools) -> State:
        nu, table = np.zeros_like(x0), ClientTable(tools.info.clients, np.zeros_like(x0))
        if self.init_reference == "grad":
            for i, g in enumerate(tools.gradients(range(tools.info.clients), x0)):
                table[i] = g + self.weight_decay * x0 if self.weight_decay and self.optimizer == "sgd" else g
            nu = k.weighted_sum(tools.info.p, table.dense())
        return State(x=x0, nu=nu, memory=table)

    def broadcast(self, state: State, tools: Tools) -> Message:
        return Message(x=state.x, nu=state.nu)

    def calibration(self, version: int) -> float:
        """Returns lambda_t of the round that starts from this version."""
        if isinstance(self.calibration_rate, float):
            return self.calibration_rate
        schedule = INCREASE if isinstance(self.calibration_rate, str) else self.calibration_rate
        return [value for first, value in schedule if first <= version][-1]

    def local(self, message: Message, job: Job, nu_i: Vector) -> LocalRule:
        rate = self.calibration(job.base)
        correction = rate * (message.nu - nu_i) if rate else None
        return self.rule(message.x, correction=correction, wants=("mean_gradient", "first_gradient"))

    def reply(self, message: Message, job: Job, work: Work, nu_i: Vector) -> Reply:
        return Reply(delta=work.delta, gbar=work.mean_gradient, gfirst=work.first_gradient, memory=work.mean_gradient)

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        w = self.entry_weights(batch, tools.info)
        threshold = self.fast_above or (w * batch.steps).sum()
        slow, fast = (getattr(batch, name) for name in TRANSIT[self.variant])
        v = [fast[i] if steps > threshold * (1 + TIE) else slow[i] for i, steps in enumerate(batch.steps.tolist())]
        state.x = state.x + self.server_lr * k.weighted_sum(w, batch.delta)
        state.nu = k.weighted_sum(w, v)
        if self.local_ref == "eq4":
            for client, v_i in zip(batch.clients.tolist(), v, strict=True):
                state.memory[client] = v_i

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        return k.participation_weights(batch, info)


def checked_schedule(schedule: tuple[object, ...]) -> tuple[tuple[int, float], ...]:
    """Returns the rows as (round, value). Raises UsageError unless the rounds ascend from 0 and the
    values are finite and >= 0."""
    pairs = [row for row in schedule if isinstance(row, tuple) and len(row) == 2]
    rows = [(first, float(value)) for first, value in pairs if isinstance(first, int) and isinstance(value, int | float)]
    rounds = [first for first, _ in rows]
    ascend = len(rows) == len(schedule) and rounds[:1] == [0] and rounds == sorted(set(rounds))
    if not ascend or not all(0 <= value < math.inf for _, value in rows):
        raise UsageError(
            f"fedagrac: calibration_rate must be [[first round, value], ..], rounds ascending from 0 and values >= 0, got {schedule}"
        )
    return tuple(rows)
