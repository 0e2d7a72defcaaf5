"""What the papers prove, measured on quadratic problems: exact moments, bounds, orders as slopes
with intervals, limits, laws."""
