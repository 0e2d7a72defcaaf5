"""What a set of records says: statistics over seeds, comparisons at a common horizon, boards of the
times to targets, and mean curves. Nothing here runs an algorithm."""
