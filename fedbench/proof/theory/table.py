"""All claims in the order in which they are shown, and their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fedbench.errors import UsageError, nearest
from fedbench.proof.theory import baselines, calibrated, delayed, distilled, laws, limits, moments, orders, rates
from fedbench.proof.theory.rows import Claim, Row

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for room in (moments, rates, orders, delayed, baselines, calibrated, distilled, limits, laws)
    for claim in vars(room).values()
    if isinstance(claim, Claim)
}


def chosen(names: Sequence[str] = (), *, quick: bool = False) -> list[Claim]:
    """Returns the claims of these names, or all. With `quick` only those that take a few seconds.

    UsageError for an unknown name, or if none is left.
    """
    for name in names:
        if name not in CLAIMS:
            raise UsageError(f"theory: unknown claim {name!r}{nearest(name, CLAIMS)}")
    found = [claim for claim in CLAIMS.values() if (not names or claim.name in names) and (claim.quick or not quick)]
    if not found:
        raise UsageError(f"theory: {', '.join(names)} takes longer than --quick allows; leave it out")
    return found


def rows(claims: Sequence[Claim]) -> Iterator[tuple[Claim, Row]]:
    """Yields one row after the other, each with its claim."""
    return ((claim, row) for claim in claims for row in claim.measure())
