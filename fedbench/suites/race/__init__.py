"""Races: rows that cannot be the best any more get no further seeds."""
