"""FAVANO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fedbench import kernels as k
from fedbench.bibliography import cited
from fedbench.protocols import Algorithm, Count, Positive, Tools, option
from fedbench.types import Batch, Dispatch, Info, Poll, ServerMemory, State, Vector, Weights

KNOWN = 5  # polls of a client from which on its mean number of steps is taken for known


@dataclass(frozen=True, kw_only=True)
class FAVANO(Algorithm):
    """Federated averaging with asynchronous nodes (FAVAS): a poll takes whatever its clients have
    done, made comparable by 1/alpha.

        client: z_i = the model that it received last;   w_i = after the E_i steps done by the poll
        server: u_i = z_i + (w_i - z_i) / alpha_i,  z_i if E_i = 0;   x <- (x + sum_S u_i) / (s + 1),   s = |S|

    By a poll a client has done 0 <= E_i <= K steps.

    P and E in alpha are means over the client's polls so far, this one included. alpha_i is at
    least 1, so that the progress of a client with few polls is not enlarged. So clients count alike
    if they do some steps a poll. One that does fewer than one in the mean counts for less, for
    about that mean, and a run with such clients warns. There is no server rate: a poll moves the
    model by about local_lr s / (s + 1) average gradients, so local_lr is larger than in other
    algorithms.

    Source: Leconte et al. 2023 (FAVAS, also FAVANO), after a description; no code of the authors is
    public.
    """

    name = "favano"
    full_name = "FAVANO"
    source = cited(leconte2023="after a description")

    local_lr: Positive = option(0.1, source="Wang et al. 2024 (DeFedAvg), Table 2")
    cohort_size: Count = option(10, "How many clients a poll asks.")
    alpha: Literal["stochastic", "deterministic"] = option(
        "stochastic", "What alpha_i is: P(E_i > 0) E_i (stochastic), or the mean of E_i (deterministic)."
    )
    period_seconds: Positive | None = option(
        None, "Virtual seconds from poll to poll; none: the mean over the clients of the time that K steps take.", "ours"
    )
    max_steps: Count | None = option(
        None, "The largest number of steps that a client does for a poll (K); none: the scenario's.", "the scenario"
    )

    def dispatch(self, info: Info) -> Dispatch:
        return Poll(cohort_size=self.cohort_size, period_seconds=self.period_seconds, max_steps=self.max_steps)

    def server_memory(self, info: Info) -> ServerMemory:
        return ServerMemory(own=1, per_version=1)

    def init(self, x0: Vector, tools: Tools) -> State:
        never = np.zeros(tools.info.clients, np.int64)
        return State(x=x0, polls=never, polls_with_steps=never.copy(), steps=never.copy())

    def step(self, state: State, batch: Batch, tools: Tools) -> None:
        alpha, z = self.normalisers(state, batch), [batch.base_x(i) for i in range(len(batch.clients))]
        share = 1 / (len(z) + 1)
        weights = [share] * (1 + len(z)) + (share / alpha).tolist()
        state.x = k.weighted_sum(weights, [state.x, *z, *batch.delta])

    def warnings(self, state: State) -> list[str]:
        mean = state.steps / np.maximum(1, state.polls)
        seldom = (state.polls >= KNOWN) & (mean < 1)
        if not seldom.any():
            return []
        return [
            f"favano: {np.count_nonzero(seldom)} of {len(mean)} clients did fewer than one step a poll in the mean, at least "
            f"{mean[seldom].min():.2g}, and so count for less than the others; see period_seconds, cohort_size"
        ]

    def normalisers(self, state: State, batch: Batch) -> Weights:
        """Counts the poll, and returns alpha_i of the polled clients."""
        i, E = batch.clients, batch.steps
        state.polls[i] += 1
        state.polls_with_steps[i] += E > 0
        state.steps[i] += E
        mean = state.steps[i] if self.alpha == "deterministic" else state.polls_with_steps[i] * E
        return np.asarray(np.maximum(1.0, mean / state.polls[i]))
