"""What a set of records says: statistics over seeds, standings at a common horizon, targets, mean
curves. Reads records, runs nothing."""
