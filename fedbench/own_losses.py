"""Losses of the user's own, by their code, `path/to/myloss.py:Huber` or `package.module:Huber`.
Code is run under the rules of `own_models`, and only when models are trained or evaluated."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol

import torch
from torch import nn

from fedbench import own_models
from fedbench.errors import FedbenchError, UsageError, quoted
from fedbench.foreign import described
from fedbench.own_models import Named

CLOSE = 1e-3
"""How far a batch may be from the mean over its examples, relative to it."""


class Loss(Protocol):
    """A loss of outputs (n, ..) at labels (n,), which are classes or real numbers."""

    def mean(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Returns the mean over a mini-batch, whose gradient clients follow."""

    def terms(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Returns what `mean` is the mean of (n,)."""

    def each(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Returns the loss of every example (n,), as evaluation states it."""


class Own:
    """A loss whose code is run here: of outputs (n, classes) at classes (n,), or of outputs (n,) at
    real labels (n,).

    The first batch is computed twice, and example by example, since a loss must depend on its
    arguments alone and be a mean over examples: what clients minimise together is one over all of
    their examples.
    """

    def __init__(self, code: Named) -> None:
        """Runs the code. UsageError unless it is a function, or a class that makes one."""
        self.selector, found = code.selector, code.found()
        with self._running("cannot be made"):
            function: object = found() if isinstance(found, type) else found
        if not callable(function):
            raise UsageError(f"loss {self.selector}: expected a function of outputs and labels, got {quoted(function, 80)}")
        if isinstance(function, nn.Module) and any(True for _ in function.parameters()):
            raise UsageError(f"loss {self.selector}: has parameters, which nobody would train; put them into the model")
        self._function, self._is_new = function, True

    def mean(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        found = self._value(outputs, labels)
        if self._is_new and len(labels) > 1:
            self._check(found.detach(), outputs.detach(), labels)
            self._is_new = False
        return found

    def terms(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return self.each(outputs, labels)

    def each(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.stack([self._value(outputs[i : i + 1], labels[i : i + 1]) for i in range(len(labels))])

    def _check(self, found: torch.Tensor, outputs: torch.Tensor, labels: torch.Tensor) -> None:
        again, apart = self._value(outputs, labels), self.each(outputs, labels).mean()
        if not torch.isfinite(found):
            return
        if not torch.equal(found, again):
            raise UsageError(
                f"loss {self.selector}: gives {found:g} and then {again:g} for the same outputs; it must depend on its arguments alone"
            )
        if not torch.isclose(found, apart, rtol=CLOSE, atol=CLOSE * 1e-3):
            raise UsageError(
                f"loss {self.selector}: gives {found:g} for {len(labels)} examples, whose own losses have the mean {apart:g}; it must be "
                "the mean of the losses of single examples"
            )

    def _value(self, outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Returns the value for a batch. UsageError if the code fails or gives no scalar tensor."""
        given = outputs.squeeze(1) if labels.is_floating_point() else outputs
        with self._running(f"fails on outputs {tuple(given.shape)} and labels {tuple(labels.shape)}"):
            found: object = self._function(given, labels.clone())
        if not isinstance(found, torch.Tensor) or found.shape != () or found.dtype != outputs.dtype:
            got = f"{found.dtype} {tuple(found.shape)}" if isinstance(found, torch.Tensor) else quoted(found, 80)
            raise UsageError(f"loss {self.selector}: must give one number as a tensor {outputs.dtype} (), got {got}")
        if outputs.requires_grad and not found.requires_grad:
            raise UsageError(f"loss {self.selector}: has no gradient; it must be computed from the outputs with torch")
        return found

    @contextlib.contextmanager
    def _running(self, what: str) -> Iterator[None]:
        """Turns whatever the code raises into a UsageError."""
        try:
            yield
        except FedbenchError:
            raise
        except Exception as error:
            why, *code = described(error)
            raise UsageError(f"loss {self.selector}: {what}: {why}", *code) from error


def made(code: str, sha256: str) -> Loss:
    """Returns the loss whose code has this sum. OriginError if the user has not named it, or it has
    changed."""
    named = own_models.of(code, sha256, "loss")
    there: Loss | None = own_models.there(named)
    return there or Own(named)
