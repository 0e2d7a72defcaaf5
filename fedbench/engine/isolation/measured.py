"""Measures what an algorithm has computed in a run, and compares it with what it declares. Clock
and ledger charge for what is declared alone, so an algorithm that asks for more is faster than it
is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from fedbench.protocols import Logits, Pullback
from fedbench.types import PASSES_OF_A_GRADIENT, Dispatch, GradientWork, LocalRule, ServerWork, Vector, Work


@dataclass
class Measured:
    """What was asked for.

    per_step, full: the gradients of a job by its local rule.
    gradients_in: the methods of the server that asked for full gradients of clients.
    passes: forward passes of an example at the server, as which gradients count too.
    """

    per_step: int = 1
    full: int = 0
    gradients_in: set[str] = field(default_factory=set)
    passes: int = 0

    def rule(self, rule: LocalRule) -> LocalRule:
        """Notes what a local rule asks for, and returns it."""
        self.per_step = max(self.per_step, 1 if rule.anchor is None else 2)
        self.full = max(self.full, int("full_gradient" in rule.wants))
        return rule

    def reply(self, work: Work) -> None:
        """Notes the logits that the server computed for a job."""
        self.passes += len(work.by_products.get("public_logits", ()))

    def pulled(self, pullback: Pullback, examples: int) -> Pullback:
        """Notes a forward pass of so many examples, and the gradients for which it is used."""
        self.passes += examples
        first = True

        def noted(dlogits: Logits) -> Vector:
            nonlocal first
            self.passes += examples * (PASSES_OF_A_GRADIENT - first)
            first = False
            return pullback(dlogits)

        return noted

    def undeclared(self, work: GradientWork, server: ServerWork, dispatch: Dispatch, updates: int | None) -> Iterator[str]:
        """Yields a sentence for everything that is more than was declared, in a run of so many
        updates. None is a run that stopped at its target: jobs of later updates have run then."""
        if self.per_step > work.per_step or self.full > work.full:
            yield (
                f"gradient_work: declares {work.per_step} a step and {work.full} full, its local rule asks for {self.per_step} and "
                f"{self.full}"
            )
        charged = {"every_round": {"init", "broadcast", "step"}, True: {"init"}, False: set()}[dispatch.prelude]
        if more := sorted(self.gradients_in - charged):
            yield f"dispatch: declares prelude={dispatch.prelude!r}, {' and '.join(more)} asked for full gradients of clients"
        if updates is not None and self.passes > (says := server.first_passes + updates * server.passes):
            yield f"server_work: declares {says:,} forward passes of an example in {updates:,} updates, the server computed {self.passes:,}"
