"""Submissions: results that others made. They are checked without trust, run again in part, and
what was found is written down."""
