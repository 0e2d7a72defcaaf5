"""Measures the claims of papers on quadratic problems: exact moments, bounds, orders, limits and
laws of schedules. Orders are exponents with intervals."""
