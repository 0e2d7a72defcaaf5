"""Runs the code of algorithms that nobody has vouched for in a process of its own, which may read
Python's libraries and the plug-in's file, write into an empty folder, and nothing else.

Only the equations run there. The virtual clock, training, evaluation and the record belong to the
process that asks, which never imports the plug-in.
"""
