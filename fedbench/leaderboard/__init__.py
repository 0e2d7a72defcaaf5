"""Makes the leaderboard: a static site that is made from records and has its data beside it."""
