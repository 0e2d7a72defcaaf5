"""Makes the leaderboard: a static site that is made from records and has its data beside it."""

from fedbench.leaderboard.document import of_records, of_suite
from fedbench.leaderboard.site import build, check, write

__all__ = ["build", "check", "of_records", "of_suite", "write"]
