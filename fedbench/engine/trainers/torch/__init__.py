"""Trainers that compute with torch: job by job on the CPU (`one_by_one`), or the jobs of a wave
side by side on a device (`stacked`)."""
