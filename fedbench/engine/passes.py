"""Counts what an algorithm computes, for those who compare it with what it declares."""

from __future__ import annotations

from fedbench.protocols import Logits, Pullback
from fedbench.types import PASSES_OF_A_GRADIENT, GradientWork, LocalRule, Vector


def gradients_of(rule: LocalRule) -> GradientWork:
    """Returns the gradients of a job that its local rule asks for."""
    return GradientWork(1 if rule.anchor is None else 2, int("full_gradient" in rule.wants))


class Passes:
    """Counts what is computed with models at the server, in examples. A forward pass from which a
    gradient is computed is part of the gradient."""

    def __init__(self) -> None:
        self.forward = self.gradients = 0

    @property
    def total(self) -> int:
        """All of it in forward passes of an example."""
        return self.forward + PASSES_OF_A_GRADIENT * self.gradients

    def pulled(self, pullback: Pullback, examples: int) -> Pullback:
        """Counts a forward pass of so many examples. Returns its pullback, whose first use turns it
        into a gradient, and each further one is another gradient."""
        self.forward += examples
        uses = 0

        def counted(dlogits: Logits) -> Vector:
            nonlocal uses
            uses += 1
            self.forward -= examples if uses == 1 else 0
            self.gradients += examples
            return pullback(dlogits)

        return counted
