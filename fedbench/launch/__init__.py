"""Runs many specifications: here, side by side in processes, on a Ray cluster or as Slurm jobs."""
