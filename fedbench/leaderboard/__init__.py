"""The leaderboard: a static page made from records, with the data beside it."""

from fedbench.leaderboard.site import build, build_suites, check

__all__ = ["build", "build_suites", "check"]
