"""FedStale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.errors import UsageError
from fedbench.protocols import Cohort, Count, Fraction, Positive, Range, Tools, option
from fedbench.tables import ClientTable
from fedbench.types import Batch, Info, Integers, Rounds, ServerMemory, State, Vector, Weights

Probability = Annotated[float, Range(low=0, high=1, open="low")]


@dataclass(frozen=True, kw_only=True)
class FedStale(Cohort):
    """A mixture of FedAvg and FedVARP: what clients sent last counts with the weight
    `stale_weight`.

        x <- x + server_lr * (sum_S (a_i / pi_i) (Delta_i - beta h_i) + beta sum_{j=1..N} a_j h_j)
        then h_i <- Delta_i,  i in S;   h starts at 0

    beta = `stale_weight`; pi_i = the probability that client i takes part in a round. Under
    participation = interval it is estimated from the rounds between participations: 1 / pi_i is the
    mean of the intervals that ended before this round, and 1 before the first. A round is an update
    here, so rounds in which nobody is there do not count.

    Source: Rodio and Neglia 2024, after the abstract and the authors' code, which was read and has
    the update and the estimate.
    """

    name = "fedstale"
    full_name = "FedStale"
    source = cited(rodio2024="after the abstract and the authors' code")

    server_lr: Positive = option(1.0, "The server's learning rate.")
    stale_weight: Fraction = option(
        0.5, "The weight beta of what clients sent last; 0: FedAvg, 1 with uniform weights: FedVARP.", "ours: half way"
    )
    weights: Literal["p", "uniform"] = option(
        "p", "The weights a_i of the clients in the objective: p_i (p), or 1/N (uniform).", "Rodio and Neglia 2024"
    )
    participation: Literal["cohort", "interval"] | tuple[Probability, ...] | None = option(
        None,
        "The probabilities pi_i: |S|/N (cohort), estimated from the intervals between participations (interval), or a list with one of "
        "every client; none: cohort where a cohort is drawn, interval where all take part that are there.",
        "Rodio and Neglia 2024",
    )
    cutoff: Count | None = option(None, "After how many rounds an interval ends also without participation; none: never.", "ours")

    def dispatch(self, info: Info) -> Rounds:
        if isinstance(pi := self.participation, tuple) and len(pi) != info.clients:
            raise UsageError(f"fedstale: participation must be {info.clients} probabilities, one a client, got {len(pi)}")
        return Rounds(select=self.sampling, cohort_size=self.cohort_size)

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=1, per_client=1)

    def init(self, x0: Vector, tools: Tools) -> State:
        zero = np.zeros(tools.info.clients, np.int64)
        return State(x=x0, h_i=ClientTable(len(zero), np.zeros_like(x0)), intervals=zero, ended=zero.copy())

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        S, N, a = batch.clients, tools.info.clients, self.a(tools.info)
        fresh, stale, known = self.fresh_weights(a, S, state), a.copy(), state.h_i.written()
        stale[S] -= fresh
        coefficients = [*fresh, *(self.stale_weight * stale[known])]
        state.x = state.x + self.server_lr * k.weighted_sum(coefficients, [*batch.delta, *(state.h_i[j] for j in known)])
        for i, delta in zip(S, batch.delta, strict=True):
            state.h_i[i] = delta
        rounds = batch.version + 1  # intervals end for clients that took part, and by the cut-off
        over = np.isin(np.arange(N), S) | (rounds - state.ended >= (self.cutoff or rounds + 1))
        state.intervals[over] += 1
        state.ended[over] = rounds

    def a(self, info: Info) -> Weights:
        """Returns the weights a_i of the clients in the objective (N,)."""
        return info.p if self.weights == "p" else np.full(info.clients, 1 / info.clients)

    def entry_weights(self, batch: Batch, info: Info) -> Weights:
        """Returns a_i / pi_i, i in S. Estimated intervals are not known here, and count as
        equal."""
        a = self.a(info)
        pi = self.participation if isinstance(self.participation, tuple) else np.ones(info.clients)
        return np.asarray(a[batch.clients] / np.array(pi)[batch.clients])

    def fresh_weights(self, a: Weights, S: Integers, state: State) -> Weights:
        """Returns a_i / pi_i, i in S."""
        pi = self.participation or ("interval" if self.sampling == "all" else "cohort")
        if pi == "cohort":
            return len(a) * a[S] / len(S)
        return a[S] * self.interval_i(state)[S] if pi == "interval" else a[S] / np.array(pi)[S]

    def interval_i(self, state: State) -> Weights:
        """Returns the mean interval of every client (N,), in rounds. Intervals follow each other
        from the first round on, so that together they are as long as the run was when the last one
        ended."""
        return np.where(state.intervals > 0, state.ended / np.maximum(state.intervals, 1), 1.0)
