"""What a set of records says: statistics over seeds, time to target, comparisons, mean curves. Reads records, runs nothing."""
