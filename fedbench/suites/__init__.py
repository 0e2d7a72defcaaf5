"""Suites are designed experiments; they are priced, tuned, computed and judged."""
