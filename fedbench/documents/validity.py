"""How much of a submission others have found to be true."""

from __future__ import annotations

from enum import StrEnum


class Validity(StrEnum):
    """The rungs from the least valid to the most valid. RETRACTED is not a rung, but stands beside
    them."""

    SELF_REPORTED = "self-reported"
    """It has the form of a submission. Nobody but its authors vouches for its numbers."""
    CHECKED = "checked"
    """Everything that can be checked without a run is right."""
    RE_RUN = "re-run-identical"
    """Records that were drawn at random were run again and had the same digests."""
    RETRACTED = "retracted"
    """It was taken back. The reason is shown."""
