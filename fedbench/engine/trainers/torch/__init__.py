"""Trainers that compute with torch: job by job on the CPU (`one_by_one`), or side by side on a
device (`stacked`)."""
