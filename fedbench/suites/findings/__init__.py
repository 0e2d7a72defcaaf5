"""Findings: what the runs of suites say, with intervals."""
