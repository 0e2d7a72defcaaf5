"""What the papers prove, measured: exact bounds, orders as slopes with intervals, and limits in closed form, on quadratic problems."""
