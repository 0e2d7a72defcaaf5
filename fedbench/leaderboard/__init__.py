"""The leaderboard: a static page made from records, with the data beside it."""

from fedbench.leaderboard.site import build, check

__all__ = ["build", "check"]
