"""Turns a run's specification into a record: plans its jobs and updates, executes them,
evaluates."""
