"""Scenarios: heterogeneity as data."""
