"""Measures what an algorithm has computed in a run, and compares it with what it declares. Clock
and ledger charge for what is declared alone, so an algorithm that asks for more is faster than it
is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from fedbench.engine.passes import Passes, gradients_of
from fedbench.types import Dispatch, GradientWork, LocalRule, ServerWork, Work


@dataclass
class Measured:
    """What was asked for.

    per_step, full: the gradients of a job by its local rule.
    before, in_update: how often the full gradient of one client was asked for, at the most: in
    `init`, and for one update.
    own, jobs: what the server computes for itself, and the forward passes for logits of jobs.
    after: the total of `own` after `init` and after every update.
    """

    per_step: int = 1
    full: int = 0
    before: int = 0
    in_update: int = 0
    own: Passes = field(default_factory=Passes)
    jobs: int = 0
    after: list[int] = field(default_factory=list)
    _clients: Counter[int] = field(default_factory=Counter)

    def rule(self, rule: LocalRule) -> LocalRule:
        """Notes what a local rule asks for, and returns it."""
        asked = gradients_of(rule)
        self.per_step, self.full = max(self.per_step, asked.per_step), max(self.full, asked.full)
        return rule

    def reply(self, work: Work) -> None:
        """Notes the logits that the server computed for a job."""
        self.jobs += len(work.by_products.get("public_logits", ()))

    def gradient(self, client: int, *, first: bool) -> None:
        """Notes a full gradient of a client, before the first update or later."""
        self._clients[client] += 1
        when = "before" if first else "in_update"
        setattr(self, when, max(getattr(self, when), self._clients[client]))

    def updated(self) -> None:
        """Notes that an update, or `init`, has ended."""
        self._clients.clear()
        self.after.append(self.own.total)

    def undeclared(self, work: GradientWork, server: ServerWork, dispatch: Dispatch, updates: int | None) -> Iterator[str]:
        """Yields a sentence for everything that is more than was declared, in a run of so many
        updates. None is a run that stopped at its target: jobs of later updates have run then."""
        if self.per_step > work.per_step or self.full > work.full:
            yield (
                f"gradient_work: declares {work.per_step} a step and {work.full} full, its local rule asks for {self.per_step} and "
                f"{self.full}"
            )
        before, later = {"every_round": (1, 1), True: (1, 0), False: (0, 0)}[dispatch.prelude]
        if self.before > before or self.in_update > later:
            yield (
                f"dispatch: declares prelude={dispatch.prelude!r}, of one client {self.before} full gradients were asked for before the "
                f"first update, and up to {self.in_update} in an update"
            )
        does = [*self.after, self.own.total]  # the last are for the update that would come next
        allowed = [server.first_passes + update * server.passes for update in range(len(does))]
        over = next((update for update, (one, says) in enumerate(zip(does, allowed, strict=True)) if one > says), None)
        total = self.own.total + self.jobs
        if over is not None:
            yield _more(allowed[over], over, does[over])
        elif updates is not None and total > (says := server.first_passes + updates * server.passes):
            yield _more(says, updates, total)


def _more(says: int, updates: int, does: int) -> str:
    return f"server_work: declares {says:,} forward passes of an example in {updates:,} updates, the server computed {does:,}"
