"""From the runs of a suite with a design to what its map says.

`factors` turns a design into what the model of costs wants, `columns` the runs, `fitting` fits and
draws, and `statements` asks the draws what a reader wants to know.
"""
