"""Parts of a scenario: how much slower clients are than the nominal speed, and which of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fedbench.scenarios.base import Float, Part, PositiveFloat, PositiveInt


class ByLabel(Part):
    """Clients that own rare classes tend to be slow.

    `rare_classes` classes are drawn once per seed, and the slowdowns are dealt out by rank. Clients
    are ranked by strength s + sqrt(1 - strength^2) e. Here s is the share of those classes in a
    client's examples, standardised over the clients, and e ~ N(0, 1). With strength 0 the examples
    do not matter, with 1 the share alone decides. The slowdowns themselves stay the same.
    """

    strength: Annotated[Float, Field(ge=0, le=1)]
    rare_classes: PositiveInt = 2


class BySize(Part):
    """Clients with many examples tend to be slow.

    The slowdowns are dealt out by the rank rule of `by_label`, where s is the number of a client's
    examples, standardised over the clients.
    """

    strength: Annotated[Float, Field(ge=0, le=1)]


class Slowdown(Part):
    """A factor on a client's step time, drawn once per client, by the law that `kind` names.

    - slowdown: U(low, high).
    - speed: high / U(low, high), so that speeds are uniform.
    - bounded_pareto: a heavy tail, of a density proportional to x^(-shape - 1) between low and
      high.
    - lognormal: exp(log_sigma z) with z ~ N(0, 1), so that the median is 1 and speeds are
      lognormal, too.

    Which client has which of the factors is drawn, or it follows the clients' examples: by label,
    or by size.
    """

    kind: Literal["slowdown", "speed", "bounded_pareto", "lognormal"] = "slowdown"
    low: PositiveFloat = 1.0
    high: PositiveFloat = 1.0
    shape: Annotated[Float, Field(ge=1e-3, le=100)] | None = None
    log_sigma: Annotated[Float, Field(gt=0, le=5)] | None = None
    by_label: ByLabel | None = None
    by_size: BySize | None = None

    @property
    def tied_to(self) -> str:
        """Returns the key by which the factors follow the clients' examples; empty if they do
        not."""
        return next((key for key in ("by_label", "by_size") if getattr(self, key) is not None), "")

    def _check(self) -> None:
        if self.high < self.low:
            raise ValueError(f"high must be >= low, got low {self.low:g}, high {self.high:g}")
        if (self.kind == "bounded_pareto") != (self.shape is not None):
            has = "none" if self.shape is None else f"{self.shape:g}"
            raise ValueError(f"kind: bounded_pareto goes with a shape, the others without, got {self.kind} and shape {has}")
        if (self.kind == "lognormal") != (self.log_sigma is not None):
            has = "none" if self.log_sigma is None else f"{self.log_sigma:g}"
            raise ValueError(f"kind: lognormal goes with a log_sigma, the others without, got {self.kind} and log_sigma {has}")
        if self.kind == "lognormal" and (self.low, self.high) != (1, 1):
            raise ValueError(f"kind: lognormal has neither low nor high, got low {self.low:g}, high {self.high:g}")
        if self.by_label is not None and self.by_size is not None:
            raise ValueError("the slowdowns are dealt out by one rank: expected by_label or by_size, got both")
