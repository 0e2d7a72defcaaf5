"""How much of a submission somebody else has seen to be true."""

from __future__ import annotations

from enum import StrEnum


class Validity(StrEnum):
    """From the least to the most; RETRACTED stands beside the others."""

    SELF_REPORTED = "self-reported"
    """It has the form of a submission; its numbers are its authors' word."""
    CHECKED = "checked"
    """Everything that can be seen without a run fits."""
    RE_RUN = "re-run-identical"
    """Records drawn at random were run again, with the same digests."""
    RETRACTED = "retracted"
    """It was taken back; the reason is shown."""
